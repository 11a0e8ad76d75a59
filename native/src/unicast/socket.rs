//! One UDP socket: many datagrams a system call, in and out.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use bytes::{Bytes, BytesMut};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use servent_core::rng::Rng;
use servent_core::unicast::Payload;
use servent_core::wire::unicast::{PacketError, Seal};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::counters::SocketCounters;
use super::error::BindError;
use super::options::Loss;

/// Room for what one receive of the kernel may join into one buffer.
const BUFFER: usize = 65_536;
/// Bytes the kernel is asked to hold for us each way.
const KERNEL_BUFFER: usize = 4 << 20;
/// Buffers that are kept for when nobody holds a part of them any more.
const KEPT: usize = 64;
/// Bytes of datagrams one system call may carry.
const JOINED: usize = 65_000;
/// Bytes that may wait for the socket; what comes then is lost, as anything
/// may be on a network.
const WAITING: usize = 8 << 20;

/// Datagrams of one size to one peer, the last one possibly shorter.
#[derive(Debug, Clone, Copy)]
struct Train {
    to: SocketAddr,
    start: usize,
    end: usize,
    segment: usize,
    count: usize,
    /// It ends with a shorter one.
    closed: bool,
}

/// The socket and what waits for it.
pub(super) struct Socket {
    udp: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    v6: bool,
    seal: Seal,
    loss: Loss,
    dice: Rng,
    inward: Vec<BytesMut>,
    /// Buffers that went out as payloads.
    spent: VecDeque<Bytes>,
    metas: [RecvMeta; BATCH_SIZE],
    outward: Vec<u8>,
    trains: Vec<Train>,
    /// Trains that have left already.
    gone: usize,
    complained: bool,
    pub(super) counters: SocketCounters,
}

impl Socket {
    /// Must be called inside a runtime.
    pub(super) fn bind(
        at: SocketAddr,
        seal: Seal,
        loss: Loss,
        seed: u64,
    ) -> Result<Self, BindError> {
        let failed = |why: io::Error| match why.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse { at },
            _ => BindError::Socket { at, why },
        };
        let raw = RawSocket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))
            .map_err(failed)?;
        if at.is_ipv6() {
            raw.set_only_v6(!at.ip().is_unspecified()).map_err(failed)?;
        }
        // As much as the system allows: what does not fit here is lost.
        let _ = raw.set_recv_buffer_size(KERNEL_BUFFER);
        let _ = raw.set_send_buffer_size(KERNEL_BUFFER);
        raw.bind(&at.into()).map_err(failed)?;
        let state = UdpSocketState::new((&raw).into()).map_err(failed)?;
        let udp = UdpSocket::from_std(raw.into()).map_err(failed)?;
        let local = udp.local_addr().map_err(failed)?;
        Ok(Self {
            udp,
            state,
            local,
            v6: at.is_ipv6(),
            seal,
            loss,
            dice: Rng::new(seed).fork("loss", 0),
            inward: (0..BATCH_SIZE).map(|_| BytesMut::zeroed(BUFFER)).collect(),
            spent: VecDeque::new(),
            metas: [RecvMeta::default(); BATCH_SIZE],
            outward: Vec::new(),
            trains: Vec::new(),
            gone: 0,
            complained: false,
            counters: SocketCounters::default(),
        })
    }

    pub(super) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits until something has come, or until what waits may leave.
    pub(super) async fn ready(&self) -> io::Result<()> {
        let wanted = if self.trains.is_empty() {
            Interest::READABLE
        } else {
            Interest::READABLE | Interest::WRITABLE
        };
        self.udp.ready(wanted).await.map(|_| ())
    }

    /// True when nothing waits for the socket.
    pub(super) fn is_flushed(&self) -> bool {
        self.trains.is_empty()
    }

    /// Takes the datagrams one system call brings; false when there was
    /// nothing.
    pub(super) fn receive(&mut self, mut take: impl FnMut(SocketAddr, Payload)) -> bool {
        let Self { udp, state, inward, metas, .. } = self;
        let received = udp.try_io(Interest::READABLE, || {
            let mut buffers = inward.iter_mut();
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = std::array::from_fn(|_| {
                IoSliceMut::new(buffers.next().map_or(&mut [], |buffer| &mut buffer[..]))
            });
            state.recv((&*udp).into(), &mut slices, metas)
        });
        let count = match received {
            Ok(count) => count,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return false,
            Err(why) => {
                // Such as an answer of a router to something sent before.
                tracing::debug!(%why, "receive");
                return true;
            }
        };
        self.counters.recv_calls += 1;
        for i in 0..count {
            let RecvMeta { addr, len, stride, .. } = self.metas[i];
            let (from, mut at) = (canonical(addr), 0);
            while at < len {
                let length = stride.clamp(1, len - at);
                self.counters.bytes_in += length as u64;
                if self.loss.hits(&mut self.dice) {
                    self.counters.lost_in += 1;
                } else {
                    let datagram = self.datagram(i, at, (length, len));
                    take(from, datagram);
                }
                at += length;
            }
        }
        true
    }

    /// A datagram of a buffer that was filled up to `end`. A large one keeps
    /// the buffer; others are copied, so that a message that is kept keeps no
    /// more than twice the datagram it came in.
    fn datagram(&mut self, buffer: usize, at: usize, (length, end): (usize, usize)) -> Payload {
        if length < BUFFER / 2 || at + length < end {
            return Payload::copy_from_slice(&self.inward[buffer][at..at + length]);
        }
        let fresh = self.fresh();
        let whole = std::mem::replace(&mut self.inward[buffer], fresh).freeze();
        let datagram = whole.slice(at..at + length);
        self.spent.push_back(whole);
        datagram
    }

    /// A buffer whose payloads have all been dropped, or a new one.
    fn fresh(&mut self) -> BytesMut {
        if let Some(oldest) = self.spent.pop_front() {
            match oldest.try_into_mut() {
                Ok(free) => return free,
                Err(held) if self.spent.len() < KEPT => self.spent.push_front(held),
                Err(_) => {} // Whoever holds it frees it.
            }
        }
        BytesMut::zeroed(BUFFER)
    }

    /// Counts a datagram that is none of ours.
    pub(super) fn garbage(&mut self, from: SocketAddr, why: PacketError) {
        self.counters.garbage += 1;
        tracing::debug!(%from, %why, "not a datagram of ours");
    }

    /// Queues a datagram.
    pub(super) fn send(&mut self, peer: SocketAddr, print: impl FnOnce(&Seal, &mut Vec<u8>)) {
        if self.loss.hits(&mut self.dice) {
            self.counters.lost_out += 1;
            return;
        }
        if self.outward.len() > WAITING {
            self.counters.send_failed += 1;
            return;
        }
        let start = self.outward.len();
        print(&self.seal, &mut self.outward);
        let (end, to) = (self.outward.len(), self.outward_address(peer));
        let length = end - start;
        let most = self.state.max_gso_segments();
        if self.trains.len() > self.gone
            && let Some(train) = self.trains.last_mut()
            && train.to == to
            && !train.closed
            && length <= train.segment
            && train.count < most
            && end - train.start <= JOINED
        {
            train.end = end;
            train.count += 1;
            train.closed = length < train.segment;
        } else {
            self.trains.push(Train { to, start, end, segment: length, count: 1, closed: false });
        }
    }

    /// Lets go what the socket takes now; the rest waits for it.
    pub(super) fn flush(&mut self) {
        while let Some(train) = self.trains.get(self.gone).copied() {
            match self.flush_singles() {
                Ok(0) => {}
                Ok(_) => continue,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(why) => {
                    self.failed(&train, &why);
                    self.gone += 1;
                    continue;
                }
            }
            let contents = &self.outward[train.start..train.end];
            let transmit = Transmit {
                destination: train.to,
                ecn: None,
                contents,
                segment_size: (train.count > 1).then_some(train.segment),
                src_ip: None,
            };
            let Self { udp, state, .. } = self;
            let sent = udp.try_io(Interest::WRITABLE, || state.try_send((&*udp).into(), &transmit));
            match sent {
                Ok(()) => {
                    self.counters.send_calls += 1;
                    self.counters.bytes_out += (train.end - train.start) as u64;
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(why) => self.failed(&train, &why),
            }
            self.gone += 1;
        }
        self.outward.clear();
        self.trains.clear();
        self.gone = 0;
    }

    /// Sends the datagrams to different peers that come next in one system
    /// call; how many left, 0 when there are none of that kind.
    #[cfg(target_os = "linux")]
    fn flush_singles(&mut self) -> io::Result<usize> {
        let single = |train: &&Train| train.count == 1;
        let waiting = self.trains[self.gone..].iter().take(super::many::MOST);
        let singles = waiting.take_while(single);
        if singles.clone().count() < 2 {
            return Ok(0);
        }
        let datagrams = singles.map(|train| (train.to, &self.outward[train.start..train.end]));
        let sent =
            self.udp.try_io(Interest::WRITABLE, || super::many::send(&self.udp, datagrams))?;
        let left = &self.trains[self.gone..self.gone + sent];
        self.counters.send_calls += 1;
        self.counters.bytes_out += left.iter().map(|t| (t.end - t.start) as u64).sum::<u64>();
        self.gone += sent;
        Ok(sent)
    }

    /// Where the system sends to one address a call.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "the same shape on every system")]
    fn flush_singles(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    /// A datagram the system refuses is a lost one; the first is told.
    fn failed(&mut self, train: &Train, why: &io::Error) {
        self.counters.send_failed += train.count as u64;
        if quinn_udp::is_msg_size_err(why) {
            self.counters.too_big += train.count as u64;
        }
        if !self.complained {
            self.complained = true;
            let (to, bytes) = (train.to, train.segment);
            tracing::warn!(%to, bytes, %why, "a datagram was refused by the system");
        }
    }

    /// An IPv4 peer as a dual-stack socket wants it.
    fn outward_address(&self, peer: SocketAddr) -> SocketAddr {
        match peer.ip() {
            IpAddr::V4(ip) if self.v6 => {
                SocketAddrV6::new(ip.to_ipv6_mapped(), peer.port(), 0, 0).into()
            }
            _ => peer,
        }
    }
}

/// An IPv4 peer of a dual-stack socket is an IPv4 peer.
pub(super) fn canonical(peer: SocketAddr) -> SocketAddr {
    match (peer.ip().to_canonical(), peer) {
        (IpAddr::V4(ip), _) => SocketAddr::new(ip.into(), peer.port()),
        (IpAddr::V6(ip), SocketAddr::V6(v6)) => {
            SocketAddrV6::new(ip, v6.port(), 0, v6.scope_id()).into()
        }
        (IpAddr::V6(_), SocketAddr::V4(_)) => peer,
    }
}
