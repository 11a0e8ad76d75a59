//! What the users of connections and the node's task share.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::detour::Detours;
use super::pipe::outbox_bytes;
use super::{Datagrams, EndpointCounters, Lost, Pipe};

/// Peers of which it is remembered where they are.
const PLACES: usize = 256;

/// The connections of a socket, and what can be read without asking the node's
/// task.
#[derive(Debug)]
pub(crate) struct SharedEndpoint {
    pub(crate) local: SocketAddr,
    pub(crate) max_message: usize,
    /// Bytes of one connection that may wait for the task.
    pub(super) outbox: usize,
    /// Messages and bytes consumed from which on it is worth reporting them.
    pub(crate) tell: (u64, u64),
    pub(crate) backlog: usize,
    pub(crate) close_deadline: Duration,
    book: Mutex<Book>,
    counters: Mutex<EndpointCounters>,
    /// Datagrams that do not travel through the socket.
    pub(super) detours: Detours,
    /// There is something for the task to look at.
    pub(crate) work: Notify,
    /// A new peer is waiting, or none will come any more.
    pub(crate) came: Notify,
}

/// The connections, and which of them need attention.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) pipes: BTreeMap<SocketAddr, Arc<Pipe>>,
    /// Peers whose connection is not accepted yet.
    pub(crate) waiting: VecDeque<Arc<Pipe>>,
    /// Connections the task has to look at.
    pub(crate) queued: Vec<Arc<Pipe>>,
    /// Where peers are that are not at the address that is their name, the latest last.
    places: VecDeque<(SocketAddr, SocketAddr)>,
    /// Peers that are known to be gone.
    pub(super) gone: Vec<(SocketAddr, Lost)>,
    /// Every connection is to be closed.
    pub(crate) stopping: bool,
    /// The endpoint has ended.
    pub(crate) over: bool,
}

impl SharedEndpoint {
    pub(crate) fn new(local: SocketAddr, options: &Datagrams) -> Self {
        let Datagrams { config, backlog, close_deadline, .. } = options;
        Self {
            local,
            max_message: config.max_message as usize,
            outbox: outbox_bytes(config.max_pacing_rate),
            tell: (
                u64::from(config.recv_messages / 8).max(1),
                (config.recv_start.min(config.recv_bytes) / 8).max(1),
            ),
            backlog: *backlog,
            close_deadline: *close_deadline,
            book: Mutex::default(),
            counters: Mutex::default(),
            detours: Detours::default(),
            work: Notify::new(),
            came: Notify::new(),
        }
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the peer with this name is now.
    pub(crate) fn place_of(&self, name: SocketAddr) -> SocketAddr {
        let book = self.book();
        let known = book.places.iter().rev().find(|(other, _)| *other == name);
        known.map_or(name, |(_, at)| *at)
    }

    /// A peer is gone: its connection ends.
    pub(crate) fn give_up(&self, name: SocketAddr, why: Lost) {
        self.book().gone.push((name, why));
        self.work.notify_one();
    }

    /// A peer is elsewhere from now on.
    pub(super) fn note_place(&self, name: SocketAddr, at: SocketAddr) {
        let mut book = self.book();
        book.places.retain(|(other, _)| *other != name);
        if book.places.len() >= PLACES {
            book.places.pop_front();
        }
        book.places.push_back((name, at));
    }

    /// Tells the task to look at a connection.
    pub(crate) fn wake(&self, pipe: &Arc<Pipe>) {
        if pipe.queue() {
            self.book().queued.push(Arc::clone(pipe));
            self.work.notify_one();
        }
    }

    pub(crate) fn counters(&self) -> MutexGuard<'_, EndpointCounters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes every connection and waits until everything is acknowledged or
    /// the deadline has passed.
    pub(crate) async fn leave(&self) {
        self.book().stopping = true;
        self.work.notify_one();
        let over = async {
            loop {
                let came = self.came.notified();
                if self.book().over {
                    return;
                }
                came.await;
            }
        };
        // After the deadline everything ends as it is.
        let _ = tokio::time::timeout(self.close_deadline, over).await;
    }
}
