//! What those who use connections and the node's task share.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Counters, Datagrams, Pipe};

/// The connections of a socket, and what anybody may look at without asking
/// the node's task.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) local: SocketAddr,
    pub(crate) max_message: usize,
    /// Messages and bytes consumed that are worth telling.
    pub(crate) tell: (u64, u64),
    pub(crate) backlog: usize,
    pub(crate) close_deadline: Duration,
    book: Mutex<Book>,
    counters: Mutex<Counters>,
    /// The task has something to look at.
    pub(crate) work: Notify,
    /// Somebody has come, or nobody will.
    pub(crate) came: Notify,
}

/// Who there is, and who wants something.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) pipes: BTreeMap<SocketAddr, Arc<Pipe>>,
    /// Peers whose connection nobody has accepted yet.
    pub(crate) waiting: VecDeque<Arc<Pipe>>,
    /// Connections the task has to look at.
    pub(crate) queued: Vec<Arc<Pipe>>,
    /// Everything is to be closed.
    pub(crate) stopping: bool,
    /// Nobody is served any more.
    pub(crate) over: bool,
}

impl Shared {
    pub(crate) fn new(local: SocketAddr, options: &Datagrams) -> Self {
        let Datagrams { config, backlog, close_deadline, .. } = options;
        Self {
            local,
            max_message: config.max_message as usize,
            tell: (u64::from(config.recv_messages / 8).max(1), (config.recv_bytes / 8).max(1)),
            backlog: *backlog,
            close_deadline: *close_deadline,
            book: Mutex::default(),
            counters: Mutex::default(),
            work: Notify::new(),
            came: Notify::new(),
        }
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the task look at a connection.
    pub(crate) fn wake(&self, pipe: &Arc<Pipe>) {
        if pipe.queue() {
            self.book().queued.push(Arc::clone(pipe));
            self.work.notify_one();
        }
    }

    pub(crate) fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes every connection and waits until all that is acknowledged, or
    /// the deadline for it has passed.
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
        // Past the deadline it ends as it is.
        let _ = tokio::time::timeout(self.close_deadline, over).await;
    }
}
