//! Datagrams of a peer that travel another way than through the socket.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use super::{LARGEST, SharedEndpoint};
use crate::net::udp::Train;

/// Bytes that may wait for one detour, about what is under way on a fast line; what comes
/// then is dropped, as it might be on a network.
const OUTWARD: usize = 256 << 10;
/// Bytes of one detour that may wait for the node's task; more are not read until it has
/// taken some.
const INWARD: usize = 256 << 10;
/// What one that waits costs besides its bytes.
const EACH: usize = 64;
/// Datagrams of all detours that the node takes in one turn.
const TOGETHER: usize = 512;

/// Every detour of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Detours {
    /// There is one: most endpoints have none, and need no lock then.
    any: AtomicBool,
    table: Mutex<DetourTable>,
}

#[derive(Debug, Default)]
struct DetourTable {
    ways: BTreeMap<SocketAddr, DetourWay>,
    /// What has come from each peer. It may have left since.
    arrived: BTreeMap<SocketAddr, DetourArrivals>,
    /// Those peers, in the order in which their datagrams are taken, one of each.
    turns: VecDeque<SocketAddr>,
    /// What the system found too large on the way of a peer: how many bytes.
    too_large: BTreeMap<SocketAddr, u32>,
    over: bool,
}

/// The way out to one peer.
#[derive(Debug)]
struct DetourWay {
    out: mpsc::UnboundedSender<Bytes>,
    /// What it costs that they wait.
    waiting: Arc<AtomicUsize>,
}

/// What has come from one peer.
#[derive(Debug, Default)]
struct DetourArrivals {
    datagrams: VecDeque<Bytes>,
    /// What it costs that they wait.
    waiting: usize,
    /// There is room again.
    room: Arc<Notify>,
}

const fn cost(data: &Bytes) -> usize {
    data.len() + EACH
}

impl DetourWay {
    /// Has those datagrams wait that fit; their bytes. They are copied: a few bytes of a
    /// received datagram keep a buffer for many.
    fn send(&self, train: &Train) -> usize {
        let segment = train.segment.clamp(1, train.data.len().max(1));
        let each = segment + EACH;
        let room = OUTWARD.saturating_sub(self.waiting.load(Ordering::Acquire)) / each;
        if room == 0 || segment > LARGEST as usize {
            return 0;
        }
        let fits = train.data.len().min(room.saturating_mul(segment));
        let data = Bytes::copy_from_slice(&train.data[..fits]);
        for at in (0..fits).step_by(segment) {
            let datagram = data.slice(at..fits.min(at + segment));
            self.waiting.fetch_add(cost(&datagram), Ordering::AcqRel);
            if self.out.send(datagram).is_err() {
                return 0; // It ends.
            }
        }
        fits
    }

    fn is_flushed(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0 || self.out.is_closed()
    }
}

impl Detours {
    fn table(&self) -> MutexGuard<'_, DetourTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when the datagrams of that peer take a detour.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.any.load(Ordering::Acquire) && self.table().ways.contains_key(&peer)
    }

    /// Sends datagrams on the detour of a peer, and returns how many bytes; without one
    /// they are dropped.
    pub(super) fn send(&self, train: &Train) -> usize {
        self.table().ways.get(&train.peer).map_or(0, |way| way.send(train))
    }

    /// What has arrived since the last call, one datagram of each peer in turn: one that
    /// sends much keeps no other waiting. True when there is more.
    pub(super) fn take(&self, into: &mut Vec<Train>) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut table = self.table();
        for _ in 0..TOGETHER {
            let Some(peer) = table.turns.pop_front() else { return false };
            let Some(arrived) = table.arrived.get_mut(&peer) else { continue };
            let Some(data) = arrived.datagrams.pop_front() else { continue };
            let full = arrived.waiting >= INWARD;
            arrived.waiting -= cost(&data);
            if full && arrived.waiting < INWARD {
                arrived.room.notify_one();
            }
            into.push(Train::new(peer, data.len(), data));
            if arrived.datagrams.is_empty() {
                table.arrived.remove(&peer);
            } else {
                table.turns.push_back(peer);
            }
        }
        !table.turns.is_empty()
    }

    /// The datagrams that the system has found too large since the last call: for which
    /// peer, and how many bytes the smallest had.
    pub(super) fn take_too_large(&self) -> BTreeMap<SocketAddr, u32> {
        if !self.any.load(Ordering::Acquire) {
            return BTreeMap::new();
        }
        std::mem::take(&mut self.table().too_large)
    }

    /// True when nothing waits to be sent.
    pub(super) fn is_flushed(&self) -> bool {
        !self.any.load(Ordering::Acquire) || self.table().ways.values().all(DetourWay::is_flushed)
    }

    /// Ends that of a peer.
    pub(super) fn close(&self, peer: SocketAddr) {
        if self.any.load(Ordering::Acquire) {
            self.table().ways.remove(&peer);
        }
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.over = true;
        table.ways.clear();
        table.arrived.values().for_each(|arrived| arrived.room.notify_one());
    }
}

/// The other end of a detour: what the node sends to a peer comes out here, and what
/// goes in comes to the node from that peer. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Detour {
    way_in: DetourEntry,
    way_out: DetourExit,
}

/// Where datagrams go in.
#[derive(Debug)]
pub(crate) struct DetourEntry {
    shared: Arc<SharedEndpoint>,
    peer: SocketAddr,
    /// That of its way out, which shows which way is its own.
    waiting: Arc<AtomicUsize>,
}

/// Where datagrams come out.
#[derive(Debug)]
pub(crate) struct DetourExit {
    out: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

impl Detour {
    /// A detour for the datagrams of a peer; `None` when there is one already, or the
    /// endpoint has ended.
    pub(crate) fn open(shared: &Arc<SharedEndpoint>, peer: SocketAddr) -> Option<Self> {
        let mut table = shared.detours.table();
        if table.over || table.ways.contains_key(&peer) {
            return None;
        }
        // Bounded by what waits: see `OUTWARD`.
        let (way, out) = mpsc::unbounded_channel();
        let waiting = Arc::<AtomicUsize>::default();
        table.ways.insert(peer, DetourWay { out: way, waiting: Arc::clone(&waiting) });
        shared.detours.any.store(true, Ordering::Release);
        drop(table);
        let way_in =
            DetourEntry { shared: Arc::clone(shared), peer, waiting: Arc::clone(&waiting) };
        Some(Self { way_in, way_out: DetourExit { out, waiting } })
    }

    /// Its two halves; it ends with the first.
    pub(crate) fn split(self) -> (DetourEntry, DetourExit) {
        (self.way_in, self.way_out)
    }
}

impl DetourEntry {
    /// One datagram for the node. Returns when there is room for the next.
    pub(crate) async fn deliver(&self, data: &[u8]) {
        let room = if data.is_empty() { None } else { self.put(data) };
        if let Some(room) = room {
            room.notified().await;
        }
    }

    /// Has a datagram wait; what says that there is room for the next, if there is none.
    fn put(&self, data: &[u8]) -> Option<Arc<Notify>> {
        let mut table = self.shared.detours.table();
        let arrived = table.arrived.entry(self.peer).or_default();
        // Copied: a few bytes of what was read keep a buffer of it.
        arrived.datagrams.push_back(Bytes::copy_from_slice(data));
        arrived.waiting += data.len() + EACH;
        let first = arrived.datagrams.len() == 1;
        let room = (arrived.waiting >= INWARD).then(|| Arc::clone(&arrived.room));
        if first {
            table.turns.push_back(self.peer);
        }
        drop(table);
        self.shared.work.notify_one();
        room
    }

    /// The system has found a datagram of that many bytes too large for the way.
    pub(crate) fn too_large(&self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut table = self.shared.detours.table();
        let least = table.too_large.entry(self.peer).or_insert(bytes);
        *least = bytes.min(*least);
        drop(table);
        self.shared.work.notify_one();
    }

    /// Everything that was to be sent has been taken: an endpoint that ends waits for
    /// that.
    pub(crate) fn emptied(&self) {
        if self.shared.book().stopping {
            self.shared.work.notify_one();
        }
    }
}

impl DetourExit {
    fn taken(&self, data: Bytes) -> Bytes {
        self.waiting.fetch_sub(cost(&data), Ordering::AcqRel);
        data
    }

    /// The next datagram for the peer; `None` when the detour was ended.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        self.out.recv().await.map(|data| self.taken(data))
    }

    /// The same, if there is one now.
    pub(crate) fn next_now(&mut self) -> Option<Bytes> {
        self.out.try_recv().ok().map(|data| self.taken(data))
    }
}

impl Drop for DetourEntry {
    fn drop(&mut self) {
        let mut table = self.shared.detours.table();
        let way = table.ways.get(&self.peer);
        if way.is_some_and(|way| Arc::ptr_eq(&way.waiting, &self.waiting)) {
            table.ways.remove(&self.peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::super::Datagrams;
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    fn endpoint() -> Arc<SharedEndpoint> {
        Arc::new(SharedEndpoint::new(peer(1), &Datagrams::at(peer(1))))
    }

    /// How many datagrams of so many bytes wait for one that takes none, and their cost.
    fn waiting_of(bytes: usize) -> (usize, usize) {
        let shared = endpoint();
        let (_entry, mut out) = Detour::open(&shared, peer(2)).unwrap().split();
        // As the socket receives it: the rest of its buffer is others'.
        let buffer = Bytes::from(vec![0; 64 << 10]);
        for _ in 0..10_000 {
            shared.detours.send(&Train::new(peer(2), bytes, buffer.slice(..10 * bytes)));
        }
        assert!(!shared.detours.is_flushed());
        let cost = out.waiting.load(Ordering::Relaxed);
        let first = out.next_now().unwrap();
        assert!(!buffer.as_ptr_range().contains(&first.as_ptr()), "the buffer is kept");
        let mut count = 1;
        while out.next_now().is_some() {
            count += 1;
        }
        assert!(shared.detours.is_flushed());
        (count, cost)
    }

    #[test]
    fn what_waits_for_a_slow_one_is_bounded_in_bytes() {
        for bytes in [1, 60, 1_200, 6_000] {
            let (count, cost) = waiting_of(bytes);
            assert!(cost <= OUTWARD && cost > OUTWARD - 2 * (bytes + EACH), "{cost} of {bytes}");
            assert!(count * bytes <= OUTWARD, "{count} of {bytes}");
        }
    }

    #[test]
    fn what_no_message_carries_is_not_sent() {
        let shared = endpoint();
        let (_entry, mut out) = Detour::open(&shared, peer(2)).unwrap().split();
        let large = LARGEST as usize + 1;
        shared.detours.send(&Train::new(peer(2), large, vec![0; large].into()));
        assert_eq!(out.next_now(), None);
    }

    #[test]
    fn one_that_floods_keeps_no_other_waiting() {
        let shared = endpoint();
        let [(flood, _a), (modest, _b)] =
            [2, 3].map(|port| Detour::open(&shared, peer(port)).unwrap().split());
        let mut count = 0;
        while flood.deliver(&[0; 1_000]).now_or_never().is_some() {
            count += 1;
        }
        assert!((200..300).contains(&count), "{count} wait");
        assert!(modest.deliver(&[1; 100]).now_or_never().is_some());
        let mut taken = Vec::new();
        shared.detours.take(&mut taken);
        assert_eq!(taken[1].peer, peer(3), "each in its turn");
        assert!(flood.deliver(&[0; 1_000]).now_or_never().is_some(), "there is room again");
    }

    #[test]
    fn what_came_is_taken_after_the_peer_has_left() {
        let shared = endpoint();
        let (entry, out) = Detour::open(&shared, peer(2)).unwrap().split();
        assert!(entry.deliver(&[1; 10]).now_or_never().is_some());
        shared.detours.close(peer(2));
        let again = Detour::open(&shared, peer(2)).expect("a new one");
        drop((entry, out));
        assert!(shared.detours.has(peer(2)), "the new one stays");
        drop(again);
        let mut taken = Vec::new();
        assert!(!shared.detours.take(&mut taken));
        assert_eq!(taken.len(), 1);
    }
}
