//! One UDP socket: many datagrams per system call, in both directions.

mod address;
mod counters;
mod ecn;
mod loss;
mod peer_memory;
mod reply_source;
pub(crate) mod spare;
mod twice;

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use bytes::{Buf as _, Bytes, BytesMut};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit};
use servent_core::rng::Rng;
use servent_core::wire::meet::is_meet;
use servent_core::wire::unicast::{begins_with_messages, begins_with_messages_again};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::sys::{Batches, MANY, connect_anew, send_many};

pub use self::address::any_address;
pub(crate) use self::address::canonical;
pub use self::counters::SocketCounters;
use self::ecn::EcnPeers;
use self::loss::lose;
pub use self::loss::{LossRate, NoLoss};
use self::reply_source::ReplySources;
use self::twice::twice;

/// Room for the datagrams that the kernel may coalesce into one receive (GRO).
const BUFFER: usize = 65_536;
/// Socket buffer size requested from the kernel, each way.
const KERNEL_BUFFER: usize = 4 << 20;
/// Buffers kept for reuse once no message holds a part of them any more.
const KEPT: usize = 64;
/// Refused datagrams that are remembered until the node is told.
const TOO_LARGE: usize = 16;
/// Bytes for one peer from which on its path may mark instead of dropping (PA-7).
const MARKED: usize = 1_000;
/// Bytes that may wait for the socket; anything beyond that is dropped, as it
/// might be on a network.
const WAITING: usize = 8 << 20;

/// Datagrams of one peer in one buffer: each `segment` long, the last one
/// possibly shorter.
#[derive(Debug, Clone)]
pub(crate) struct Train {
    pub(crate) peer: SocketAddr,
    pub(crate) segment: usize,
    pub(crate) data: Bytes,
    /// What their IP headers say of congestion (RFC 3168).
    pub(crate) ecn: Option<EcnCodepoint>,
    /// The address of ours that they leave from; `None`: the system chooses.
    source: Option<IpAddr>,
}

impl Train {
    /// What says nothing of congestion.
    pub(crate) const fn new(peer: SocketAddr, segment: usize, data: Bytes) -> Self {
        Self { peer, segment, data, ecn: None, source: None }
    }

    /// How many of them a router has marked (PA-7).
    pub(crate) fn marks(&self) -> u64 {
        if self.ecn == Some(EcnCodepoint::Ce) { self.count() as u64 } else { 0 }
    }

    /// True for messages that are more than a word: what is short leaves with what is
    /// for other peers in one system call, and acknowledgements have no controller.
    fn may_fill_a_queue(&self) -> bool {
        let mut datagrams = self.data.chunks(self.segment);
        self.data.len() >= MARKED && datagrams.any(begins_with_messages)
    }

    /// True when something in it is a retransmission.
    fn is_sent_again(&self) -> bool {
        self.data.chunks(self.segment).any(begins_with_messages_again)
    }

    /// The number of datagrams.
    fn count(&self) -> usize {
        self.data.len().div_ceil(self.segment)
    }
}

/// The socket and what waits to be sent.
pub(crate) struct UdpEndpoint {
    udp: UdpSocket,
    batches: Batches,
    local: SocketAddr,
    v6: bool,
    loss: LossRate,
    dice: Rng,
    /// Empty buffers; a filled one is given away with its datagrams.
    inward: Vec<BytesMut>,
    /// Buffers that were given away.
    spent: VecDeque<Bytes>,
    metas: [RecvMeta; BATCH_SIZE],
    outward: VecDeque<Train>,
    /// The bytes in `outward`.
    waiting: usize,
    complained: bool,
    refused: bool,
    /// Datagrams that the system found too large: to which peer, and how many bytes.
    too_large: Vec<(SocketAddr, u32)>,
    /// The only peer, if there is one.
    only: Option<SocketAddr>,
    /// Peers whose path may mark; `None` where the system cannot say so.
    ecn: Option<EcnPeers>,
    /// Of a socket for all peers that listens on all addresses of this machine.
    sources: Option<ReplySources>,
    pub(crate) counters: SocketCounters,
}

impl UdpEndpoint {
    /// Must be called inside a runtime.
    pub(crate) fn bind(
        (at, only): (SocketAddr, Option<SocketAddr>),
        loss: LossRate,
        seed: u64,
    ) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        if at.is_ipv6() {
            raw.set_only_v6(!at.ip().is_unspecified())?;
        }
        // As much as the system allows: what does not fit is lost.
        let _ = raw.set_recv_buffer_size(KERNEL_BUFFER);
        let _ = raw.set_send_buffer_size(KERNEL_BUFFER);
        raw.bind(&at.into())?;
        if let Some(peer) = only {
            raw.connect(&peer.into())?; // Only a connected socket reports refusals.
        }
        let batches = Batches::new(&raw)?;
        let ecn = batches.sets_ecn().then(EcnPeers::default);
        let udp = UdpSocket::from_std(raw.into())?;
        let local = udp.local_addr()?;
        Ok(Self {
            udp,
            batches,
            local,
            v6: at.is_ipv6(),
            loss,
            dice: Rng::new(seed).fork("loss", 0),
            inward: vec![BytesMut::new(); BATCH_SIZE],
            spent: VecDeque::new(),
            metas: [RecvMeta::default(); BATCH_SIZE],
            outward: VecDeque::new(),
            waiting: 0,
            complained: false,
            refused: false,
            too_large: Vec::new(),
            only,
            ecn,
            sources: (only.is_none() && at.ip().is_unspecified()).then(ReplySources::default),
            counters: SocketCounters::default(),
        })
    }

    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits until there is something to receive, or waiting datagrams can be
    /// sent.
    pub(crate) async fn ready(&self) -> io::Result<()> {
        let wanted = if self.outward.is_empty() {
            Interest::READABLE
        } else {
            Interest::READABLE | Interest::WRITABLE
        };
        self.udp.ready(wanted).await.map(|_| ())
    }

    /// True when nothing waits for the socket.
    pub(crate) fn is_flushed(&self) -> bool {
        self.outward.is_empty()
    }

    /// Receives the datagrams of one system call; false when there was nothing.
    pub(crate) fn receive(&mut self, into: &mut Vec<Train>) -> bool {
        for i in 0..BATCH_SIZE {
            if self.inward[i].is_empty() {
                self.inward[i] = self.fresh();
            }
        }
        let Self { udp, batches, inward, metas, .. } = self;
        let received = udp.try_io(Interest::READABLE, || {
            let mut buffers = inward.iter_mut();
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = std::array::from_fn(|_| {
                IoSliceMut::new(buffers.next().map_or(&mut [], |buffer| &mut buffer[..]))
            });
            batches.receive(udp, &mut slices, metas)
        });
        let count = match received {
            Ok(count) => count,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => return false,
            Err(why) => {
                self.refused |= why.kind() == io::ErrorKind::ConnectionRefused;
                // For example an ICMP error about something sent earlier.
                tracing::debug!(%why, "receive");
                return true;
            }
        };
        self.counters.recv_calls += 1;
        for i in 0..count {
            let RecvMeta { addr, len, stride, ecn, dst_ip, .. } = self.metas[i];
            if len == 0 {
                continue;
            }
            self.counters.bytes_in += len as u64;
            let (peer, segment) = (canonical(addr), stride.clamp(1, len));
            if let (Some(sources), Some(at)) = (&mut self.sources, dst_ip) {
                sources.came(peer, at);
            }
            let data = self.filled(i, len, segment);
            let train = Train { ecn, ..Train::new(peer, segment, data) };
            self.counters.marked_in += train.marks();
            let lost = lose(train, self.loss, &mut self.dice, |train| into.push(train));
            self.counters.lost_in += lost;
        }
        true
    }

    /// The received bytes. When there are several datagrams, or a large one,
    /// the buffer itself is given away, because a holder of one of several
    /// datagrams copies it. Others are copied here, so that no message keeps more
    /// than twice the memory of the datagram.
    fn filled(&mut self, buffer: usize, length: usize, segment: usize) -> Bytes {
        if length <= 2 * segment && length < BUFFER / 2 {
            return Bytes::copy_from_slice(&self.inward[buffer][..length]);
        }
        let whole = std::mem::take(&mut self.inward[buffer]).freeze();
        let filled = whole.slice(..length);
        self.spent.push_back(whole);
        filled
    }

    /// A buffer whose payloads have all been dropped, or a new one.
    fn fresh(&mut self) -> BytesMut {
        let free = self.spent.iter().position(Bytes::is_unique);
        if let Some(Ok(free)) = free.and_then(|at| self.spent.remove(at)).map(Bytes::try_into_mut) {
            return free;
        }
        if self.spent.len() >= KEPT {
            self.spent.pop_front(); // Freed with the last message that holds it.
        }
        BytesMut::zeroed(BUFFER)
    }

    /// True if the only peer's system has reported that nothing listens there, and that
    /// was not taken.
    pub(crate) const fn is_refused(&self) -> bool {
        self.refused
    }

    /// True if the only peer's system has reported since the last call that
    /// nothing listens there.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    /// The datagrams that the system has found too large since the last call.
    pub(crate) fn take_too_large(&mut self) -> Vec<(SocketAddr, u32)> {
        std::mem::take(&mut self.too_large)
    }

    /// Counts a datagram that does not parse.
    pub(crate) fn garbage(&mut self, from: SocketAddr, why: &dyn std::fmt::Display) {
        self.counters.garbage += 1;
        tracing::debug!(%from, %why, "not a datagram of ours");
    }

    /// Queues datagrams for sending. `heeds`, asked of those that could fill a queue: their
    /// sender heeds marks of congestion.
    pub(crate) fn send(
        &mut self,
        peer: SocketAddr,
        segment: u32,
        data: Bytes,
        heeds: impl FnOnce() -> bool,
    ) {
        let mut train = Train::new(self.outward_address(peer), segment as usize, data);
        if self.waiting > WAITING {
            self.counters.send_failed += train.count() as u64;
            return;
        }
        self.counters.note_size(&train);
        self.let_mark(peer, &mut train, heeds);
        train.source = self.sources.as_ref().and_then(|sources| sources.to(peer));
        let Self { loss, dice, outward, waiting, .. } = self;
        let lost = lose(train, *loss, dice, |train| {
            *waiting += train.data.len();
            outward.push_back(train);
        });
        self.counters.lost_out += lost;
    }

    /// Sends what the socket accepts now; the rest waits.
    pub(crate) fn flush(&mut self) {
        let most = self.batches.most();
        while !self.outward.is_empty() {
            match self.flush_singles() {
                Ok(0) => {}
                Ok(left) => {
                    self.left(left);
                    continue;
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(why) => {
                    self.failed(1, &why);
                    self.left(1);
                    continue;
                }
            }
            let Some(Train { peer, segment, data, ecn, source }) = self.outward.front() else {
                return;
            };
            let length = data.len().min(segment * most);
            let transmit = Transmit {
                destination: *peer,
                ecn: *ecn,
                contents: &data[..length],
                segment_size: (length > *segment).then_some(*segment),
                src_ip: *source,
            };
            let count = length.div_ceil(*segment);
            let Self { udp, batches, .. } = &*self;
            let (sent, reported) =
                twice(|| udp.try_io(Interest::WRITABLE, || batches.send(udp, &transmit)));
            self.refused |= reported;
            match sent {
                Ok(()) => {
                    self.counters.send_calls += 1;
                    self.counters.bytes_out += length as u64;
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return,
                Err(why) => self.failed(count, &why),
            }
            self.shorten(length);
        }
    }

    /// Removes the first `length` bytes of the first train.
    fn shorten(&mut self, length: usize) {
        match self.outward.front_mut() {
            Some(train) if train.data.len() > length => {
                train.data.advance(length);
                self.waiting -= length;
            }
            _ => self.left(1),
        }
    }

    /// Removes the first `trains` trains.
    fn left(&mut self, trains: usize) {
        let bytes: usize = self.outward.drain(..trains).map(|train| train.data.len()).sum();
        self.waiting -= bytes;
    }

    /// Sends the next trains of a single datagram with one system call; returns
    /// how many were sent, 0 when the next train is not a single datagram.
    fn flush_singles(&mut self) -> io::Result<usize> {
        // That call says nothing of congestion, and has the system choose the source.
        let plain = |train: &Train| train.ecn.is_none() && train.source.is_none();
        let single = |train: &&Train| train.data.len() <= train.segment && plain(train);
        let singles = self.outward.iter().take(MANY).take_while(single);
        if singles.clone().count() < 2 {
            return Ok(0);
        }
        let datagrams = singles.map(|train| (train.peer, &train.data[..]));
        let (sent, reported) = twice(|| {
            self.udp.try_io(Interest::WRITABLE, || send_many(&self.udp, datagrams.clone()))
        });
        self.refused |= reported;
        let sent = sent?;
        self.counters.send_calls += 1;
        let bytes = self.outward.iter().take(sent).map(|train| train.data.len() as u64);
        self.counters.bytes_out += bytes.sum::<u64>();
        Ok(sent)
    }

    /// A datagram the system refuses counts as lost; the first is logged.
    fn failed(&mut self, count: usize, why: &io::Error) {
        self.counters.send_failed += count as u64;
        if why.kind() == io::ErrorKind::ConnectionRefused {
            self.refused = true;
            return;
        }
        if quinn_udp::is_msg_size_err(why) {
            self.counters.too_big += count as u64;
            let first = self.outward.front().filter(|_| self.too_large.len() < TOO_LARGE);
            if let Some(train) = first {
                let bytes = train.segment.min(train.data.len()) as u32;
                self.too_large.push((canonical(train.peer), bytes));
            }
            return; // The node chooses a smaller size, and sends it again.
        }
        if self.reconnect(why) || self.choose_anew() {
            return;
        }
        // A knock may be at an address to which this machine has no way.
        if let Some(train) = self.outward.front()
            && !(self.complained || is_meet(&train.data))
        {
            self.complained = true;
            let (to, bytes) = (train.peer, train.segment);
            tracing::warn!(%to, bytes, %why, "a datagram was refused by the system");
        }
    }

    /// True when the machine has another address than the one that the socket
    /// keeps, as a laptop in another network has; and the socket has that one now
    /// (PA-9).
    fn reconnect(&self, why: &io::Error) -> bool {
        use io::ErrorKind::{AddrNotAvailable, InvalidInput, NetworkUnreachable};
        let gone = [InvalidInput, AddrNotAvailable, NetworkUnreachable];
        let Some(peer) = self.only.filter(|_| gone.contains(&why.kind())) else {
            return false;
        };
        let done = connect_anew(&self.udp, peer);
        tracing::debug!(%peer, %why, ?done, "the socket looks for another address");
        done.is_ok()
    }

    /// True when the first train had an address to leave from, which the machine may no
    /// longer have: the system chooses for what follows.
    fn choose_anew(&mut self) -> bool {
        let Some(Train { peer, source: Some(_), .. }) = self.outward.front() else { return false };
        if let Some(sources) = &mut self.sources {
            sources.forget(canonical(*peer));
        }
        true
    }

    /// The address of an IPv4 peer in the form a dual-stack socket wants.
    fn outward_address(&self, peer: SocketAddr) -> SocketAddr {
        match peer.ip() {
            IpAddr::V4(ip) if self.v6 => {
                SocketAddrV6::new(ip.to_ipv6_mapped(), peer.port(), 0, 0).into()
            }
            _ => peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn trains_of_many_arrive_as_they_were_cut() {
        let any = || ([127, 0, 0, 1], 0).into();
        let mut here = UdpEndpoint::bind((any(), None), LossRate::NONE, 1).unwrap();
        let mut there = UdpEndpoint::bind((any(), None), LossRate::NONE, 1).unwrap();
        let data: Bytes = (0..200 * 300_u32 + 7).map(|n| (n / 300) as u8).collect();
        here.send(there.local(), 300, data.clone(), || false);
        leaves(&mut here).await;
        let (mut trains, mut all, mut datagrams) = (Vec::new(), Vec::new(), 0);
        while all.len() < data.len() {
            there.ready().await.unwrap();
            there.receive(&mut trains);
            for train in trains.drain(..) {
                assert_eq!(train.peer, here.local());
                datagrams += train.count();
                all.extend_from_slice(&train.data);
            }
        }
        assert_eq!((datagrams, &all[..]), (201, &data[..]));
    }

    #[cfg(target_os = "linux")] // Elsewhere a socket is not told what ICMP says.
    #[tokio::test]
    async fn what_icmp_says_of_an_earlier_datagram_costs_no_later_one() {
        let bind = |at: (SocketAddr, Option<SocketAddr>)| UdpEndpoint::bind(at, LossRate::NONE, 1);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let at = bind((any, None)).unwrap().local();
        let mut here = bind((any, Some(at))).unwrap();
        // One datagram, a train of three, and two that leave with one call.
        for (length, times) in [(10, 1), (3_000, 1), (10, 2)] {
            here.send(at, 1_000, vec![1; 10].into(), || false); // Nothing listens.
            leaves(&mut here).await;
            let mut there = bind((at, None)).unwrap();
            for _ in 0..times {
                here.send(at, 1_000, vec![2; length].into(), || false);
            }
            leaves(&mut here).await;
            let mut bytes = 0;
            while bytes < length * times {
                let came =
                    tokio::time::timeout(std::time::Duration::from_secs(5), arrives(&mut there));
                let trains = came.await.unwrap_or_else(|_| panic!("{length} bytes arrive"));
                bytes += trains.iter().map(|train| train.data.len()).sum::<usize>();
            }
            assert!(here.take_refused(), "it is known all the same");
        }
        assert_eq!(here.counters.send_failed, 0);
    }

    #[cfg(target_os = "linux")] // Elsewhere 127.0.0.5 is no address of the loopback.
    #[tokio::test]
    async fn a_peer_is_answered_from_the_address_that_it_has_reached() {
        for everywhere in ["0.0.0.0:0", "[::]:0"] {
            let bind =
                |at: (SocketAddr, Option<SocketAddr>)| UdpEndpoint::bind(at, LossRate::NONE, 1);
            let Ok(mut there) = bind((everywhere.parse().unwrap(), None)) else { continue };
            let at = SocketAddr::from(([127, 0, 0, 5], there.local().port()));
            let mut here = bind((([127, 0, 0, 1], 0).into(), Some(at))).unwrap();
            // Neither one datagram nor a train of many comes from elsewhere.
            for length in [10, 3_000] {
                here.send(at, 1_000, vec![1; 10].into(), || false);
                leaves(&mut here).await;
                assert_eq!(arrives(&mut there).await[0].peer, here.local());
                for _ in 0..2 {
                    there.send(here.local(), 1_000, vec![2; length].into(), || false);
                }
                leaves(&mut there).await;
                let came =
                    tokio::time::timeout(std::time::Duration::from_secs(5), arrives(&mut here));
                assert_eq!(came.await.expect("it is from that address")[0].peer, at);
            }
        }
    }

    /// Sends what waits.
    async fn leaves(here: &mut UdpEndpoint) {
        while !here.is_flushed() {
            here.ready().await.unwrap();
            here.flush();
        }
    }

    /// A socket that shows what arrives, and whether it may be marked.
    async fn arrives(there: &mut UdpEndpoint) -> Vec<Train> {
        let mut trains = Vec::new();
        while trains.is_empty() {
            there.ready().await.unwrap();
            there.receive(&mut trains);
        }
        trains
    }

    #[tokio::test]
    async fn messages_may_be_marked_and_words_and_acknowledgements_may_not() {
        let families =
            [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")];
        for (here, there) in families {
            let bind = |at: &str| UdpEndpoint::bind((at.parse().unwrap(), None), LossRate::NONE, 1);
            let Ok(mut there) = bind(there) else { continue }; // No IPv6 here.
            let mut here = bind(here).unwrap();
            let (data, again, ack) = (0x20, 0x21, 0x28);
            let capable = here.ecn.as_ref().map(|_| EcnCodepoint::Ect0);
            for (first, bytes, segment, heeds, ecn) in [
                (data, 1_200, 1_200, true, capable),
                (data, 3_000, 1_200, true, capable),
                (data, 3_000, 1_200, false, None),
                (data, 20, 20, true, None),
                (ack, 1_200, 1_200, true, None),
                (again, 1_200, 1_200, true, None),
            ] {
                let mut datagrams = vec![0; bytes];
                datagrams.iter_mut().step_by(segment).for_each(|head| *head = first);
                here.send(there.local(), segment as u32, datagrams.into(), || heeds);
                leaves(&mut here).await;
                let trains = arrives(&mut there).await;
                let all: Vec<_> = trains.iter().map(|train| train.ecn).collect();
                assert!(all.iter().all(|its| *its == ecn), "{first:x}, {bytes}: {all:?}");
            }
        }
    }

    #[tokio::test]
    async fn what_a_router_has_marked_is_counted() {
        let at = "127.0.0.1:0".parse().unwrap();
        let mut there = UdpEndpoint::bind((at, None), LossRate::NONE, 1).unwrap();
        let router = RawSocket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
        router.set_tos_v4(EcnCodepoint::Ce as u32).unwrap();
        router.send_to(&[1; 30], &there.local().into()).unwrap();
        assert_eq!(arrives(&mut there).await[0].marks(), 1);
        assert_eq!(there.counters.marked_in, 1);
        router.set_tos_v4(EcnCodepoint::Ect0 as u32).unwrap();
        router.send_to(&[1; 30], &there.local().into()).unwrap();
        assert_eq!(arrives(&mut there).await[0].marks(), 0);
        assert_eq!(there.counters.marked_in, 1);
    }
}
