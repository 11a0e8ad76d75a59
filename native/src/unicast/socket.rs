//! One UDP socket: many datagrams a system call, in and out.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use servent_core::rng::Rng;
use servent_core::unicast::Payload;
use servent_core::wire::unicast::{Packet, Seal};
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
    inward: Box<[u8]>,
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
            inward: vec![0; BUFFER * BATCH_SIZE].into_boxed_slice(),
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

    /// Takes what one system call brings; false when there was nothing.
    pub(super) fn receive(&mut self, mut take: impl FnMut(SocketAddr, Packet, u32)) -> bool {
        let Self { udp, state, inward, metas, .. } = self;
        let received = udp.try_io(Interest::READABLE, || {
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = {
                let mut chunks = inward.chunks_mut(BUFFER);
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()))
            };
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
            let from = canonical(addr);
            for datagram in self.inward[i * BUFFER..][..len].chunks(stride.max(1)) {
                self.counters.bytes_in += datagram.len() as u64;
                if self.loss.hits(&mut self.dice) {
                    self.counters.lost_in += 1;
                    continue;
                }
                // A copy of its own: a message that is kept keeps no more
                // than the datagram it came in.
                let datagram = Payload::copy_from_slice(datagram);
                match Packet::parse(&datagram, &self.seal) {
                    Ok(packet) => take(from, packet, datagram.len() as u32),
                    Err(why) => {
                        self.counters.garbage += 1;
                        tracing::debug!(%from, %why, "not a datagram of ours");
                    }
                }
            }
        }
        true
    }

    /// Queues a datagram.
    pub(super) fn send(&mut self, peer: SocketAddr, packet: &Packet) {
        if self.loss.hits(&mut self.dice) {
            self.counters.lost_out += 1;
            return;
        }
        if self.outward.len() > WAITING {
            self.counters.send_failed += 1;
            return;
        }
        let start = self.outward.len();
        packet.encode(&self.seal, &mut self.outward);
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
