//! Datagrams of a peer that travel another way than through the socket.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::SharedEndpoint;
use crate::net::udp::Train;

/// Datagrams that may wait for one detour; what comes then is dropped, as it might be
/// on a network.
const OUTWARD: usize = 1_024;
/// Bytes of all detours that may wait for the node's task.
const INWARD: usize = 4 << 20;

/// Every detour of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Detours {
    /// There is one: most endpoints have none, and need no lock then.
    any: AtomicBool,
    table: Mutex<DetourTable>,
}

#[derive(Debug, Default)]
struct DetourTable {
    ways: BTreeMap<SocketAddr, mpsc::Sender<Bytes>>,
    arrived: VecDeque<Train>,
    /// The bytes in `arrived`.
    waiting: usize,
    over: bool,
}

impl Detours {
    fn table(&self) -> MutexGuard<'_, DetourTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when the datagrams of that peer take a detour.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.any.load(Ordering::Acquire) && self.table().ways.contains_key(&peer)
    }

    /// Sends datagrams on the detour of a peer; without one they are dropped.
    pub(super) fn send(&self, train: &Train) {
        let table = self.table();
        let Some(way) = table.ways.get(&train.peer) else { return };
        for at in (0..train.data.len()).step_by(train.segment.max(1)) {
            let end = train.data.len().min(at + train.segment);
            if way.try_send(train.data.slice(at..end)).is_err() {
                return; // It is full, or ends.
            }
        }
    }

    /// What has arrived since the last call.
    pub(super) fn take(&self, into: &mut Vec<Train>) {
        if self.any.load(Ordering::Acquire) {
            let mut table = self.table();
            table.waiting = 0;
            into.extend(table.arrived.drain(..));
        }
    }

    /// True when nothing waits to be sent.
    pub(super) fn is_flushed(&self) -> bool {
        !self.any.load(Ordering::Acquire)
            || self.table().ways.values().all(|way| way.capacity() == OUTWARD || way.is_closed())
    }

    /// Ends that of a peer.
    pub(super) fn close(&self, peer: SocketAddr) {
        self.table().ways.remove(&peer);
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.over = true;
        table.ways.clear();
    }
}

/// The other end of a detour: what the node sends to a peer comes out here, and what
/// goes in comes to the node from that peer. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Detour {
    way_in: DetourEntry,
    way_out: mpsc::Receiver<Bytes>,
}

/// Where datagrams go in.
#[derive(Debug)]
pub(crate) struct DetourEntry {
    shared: Arc<SharedEndpoint>,
    peer: SocketAddr,
}

impl Detour {
    /// A detour for the datagrams of a peer; `None` when there is one already, or the
    /// endpoint has ended.
    pub(crate) fn open(shared: &Arc<SharedEndpoint>, peer: SocketAddr) -> Option<Self> {
        let mut table = shared.detours.table();
        if table.over || table.ways.contains_key(&peer) {
            return None;
        }
        let (way, way_out) = mpsc::channel(OUTWARD);
        table.ways.insert(peer, way);
        shared.detours.any.store(true, Ordering::Release);
        drop(table);
        Some(Self { way_in: DetourEntry { shared: Arc::clone(shared), peer }, way_out })
    }

    /// Its two halves; it ends with the first.
    pub(crate) fn split(self) -> (DetourEntry, mpsc::Receiver<Bytes>) {
        (self.way_in, self.way_out)
    }
}

impl DetourEntry {
    /// One datagram for the node.
    pub(crate) fn deliver(&self, data: Bytes) {
        let mut table = self.shared.detours.table();
        if data.is_empty() || table.waiting + data.len() > INWARD {
            return;
        }
        table.waiting += data.len();
        table.arrived.push_back(Train::new(self.peer, data.len(), data));
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

impl Drop for DetourEntry {
    fn drop(&mut self) {
        self.shared.detours.table().ways.remove(&self.peer);
    }
}
