//! What other programs hold in their hands: endpoints and connections.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use servent_core::unicast::{Order, Payload};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::counters::Counters;
use super::error::{BindError, ConnectError, Lost, SendError, Undelivered};
use super::options::Options;
use super::pipe::{Closing, Pipe};
use super::socket::{Socket, canonical};
use super::task::Task;

/// What handles and the task share.
pub(super) struct Shared {
    pub(super) local: SocketAddr,
    pub(super) max_message: usize,
    /// Messages and bytes consumed that are worth telling.
    pub(super) tell: (u64, u64),
    pub(super) backlog: usize,
    close_deadline: Duration,
    pub(super) book: Mutex<Book>,
    pub(super) counters: Mutex<Counters>,
    /// The task has something to look at.
    pub(super) work: Notify,
    /// Somebody has come, or nobody will.
    pub(super) came: Notify,
}

/// Who there is, and who wants something.
#[derive(Default)]
pub(super) struct Book {
    pub(super) pipes: BTreeMap<SocketAddr, Arc<Pipe>>,
    /// Peers whose connection nobody has accepted yet.
    pub(super) waiting: VecDeque<Arc<Pipe>>,
    /// Connections the task has to look at.
    pub(super) queued: Vec<Arc<Pipe>>,
    /// Everything is to be closed.
    pub(super) stopping: bool,
    /// The task has ended.
    pub(super) over: bool,
}

impl Shared {
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the task look at a connection.
    pub(super) fn wake(&self, pipe: &Arc<Pipe>) {
        if pipe.queue() {
            self.book().queued.push(Arc::clone(pipe));
            self.work.notify_one();
        }
    }

    pub(super) fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A UDP socket that speaks reliable unicast with many peers.
///
/// Dropped, it ends at once and says nothing to anybody; see
/// [`Endpoint::shutdown`].
pub struct Endpoint {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Endpoint {
    /// Binds an address and starts; port 0 takes any free one. `[::]` takes
    /// IPv4 too. Must be called inside a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn bind(at: SocketAddr, options: Options) -> Result<Self, BindError> {
        let Options { config, loss, seed, backlog, trace, close_deadline } = options;
        let socket = Socket::bind(at, config.seal, loss, seed)?;
        let shared = Arc::new(Shared {
            local: socket.local(),
            max_message: config.max_message as usize,
            tell: (u64::from(config.recv_messages / 8).max(1), (config.recv_bytes / 8).max(1)),
            backlog,
            close_deadline,
            book: Mutex::default(),
            counters: Mutex::default(),
            work: Notify::new(),
            came: Notify::new(),
        });
        let task =
            Task::new(socket, config, Arc::clone(&shared), trace.as_deref()).map_err(|why| {
                match trace {
                    Some(path) => BindError::Trace { path, why },
                    None => BindError::Socket { at, why },
                }
            })?;
        Ok(Self { shared, task: tokio::spawn(task.run()) })
    }

    /// The address it was given.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local
    }

    /// A connection with a peer. Nothing is sent before the first message:
    /// whether anybody is there shows when it is not acknowledged.
    ///
    /// # Errors
    /// There is one already, it is of another address family, or the
    /// endpoint has ended.
    pub fn connect(&self, peer: SocketAddr) -> Result<Connection, ConnectError> {
        let (peer, local) = (canonical(peer), self.shared.local);
        let dual = local.ip().is_unspecified() && local.is_ipv6();
        if peer.is_ipv4() != local.is_ipv4() && !dual {
            return Err(ConnectError::Family(peer));
        }
        let mut book = self.shared.book();
        if book.over || book.stopping {
            return Err(ConnectError::Ended);
        }
        if book.pipes.contains_key(&peer) {
            return Err(ConnectError::Exists(peer));
        }
        let pipe = Arc::new(Pipe::new(peer));
        book.pipes.insert(peer, Arc::clone(&pipe));
        Ok(Connection { pipe, shared: Arc::clone(&self.shared) })
    }

    /// The next peer that has sent something; `None` when the endpoint has
    /// ended. Its connection takes messages both ways.
    pub async fn accept(&self) -> Option<Connection> {
        loop {
            let came = self.shared.came.notified();
            {
                let mut book = self.shared.book();
                if let Some(pipe) = book.waiting.pop_front() {
                    return Some(Connection { pipe, shared: Arc::clone(&self.shared) });
                }
                if book.over {
                    return None;
                }
            }
            came.await;
        }
    }

    /// What it has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        *self.shared.counters()
    }

    /// Closes every connection, waits until that is acknowledged or
    /// [`Options::close_deadline`] has passed, and ends. What a connection
    /// could not deliver is what its own [`Connection::close`] says; call
    /// that first to know.
    pub async fn shutdown(mut self) {
        self.shared.book().stopping = true;
        self.shared.work.notify_one();
        // Past the deadline it is aborted when `self` is dropped.
        let _ = tokio::time::timeout(self.shared.close_deadline, &mut self.task).await;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Messages to and from one peer: in order, exactly once, or named.
///
/// Dropped, what was handed in is still sent in the background, and what the
/// peer sends is thrown away.
pub struct Connection {
    pipe: Arc<Pipe>,
    shared: Arc<Shared>,
}

/// Bytes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Handed to [`Connection::send`].
    pub accepted: u64,
    /// Acknowledged by the peer, at least.
    pub acknowledged: u64,
}

impl Connection {
    /// The other side.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.pipe.peer
    }

    /// Sends a message after all before it. Waits while the send window is
    /// full; when it returns, the message is kept until it is acknowledged.
    /// Dropped while it waits, the message is not sent.
    ///
    /// # Errors
    /// It is too long, or there is nobody to send it to.
    pub async fn send(&self, message: impl Into<Payload>) -> Result<(), SendError> {
        self.push(message.into(), Order::InOrder).await
    }

    /// Sends a message that is delivered as soon as it arrives whole,
    /// whatever was sent before it. Waits as [`Connection::send`] does.
    ///
    /// # Errors
    /// It is too long, or there is nobody to send it to.
    pub async fn send_at_once(&self, message: impl Into<Payload>) -> Result<(), SendError> {
        self.push(message.into(), Order::AtOnce).await
    }

    async fn push(&self, mut message: Payload, order: Order) -> Result<(), SendError> {
        let most = self.shared.max_message;
        if message.len() > most {
            return Err(SendError::TooLong { length: message.len(), most });
        }
        match self.pipe.put(message, order, &self.shared)? {
            None => return Ok(()),
            Some(back) => message = back,
        }
        loop {
            let writable = self.pipe.writable.notified();
            match self.pipe.put(message, order, &self.shared)? {
                None => return Ok(()),
                Some(back) => message = back,
            }
            writable.await;
        }
    }

    /// The next message; `None` when the peer has closed its half and
    /// everything before that was delivered. Dropping the future while it
    /// waits loses nothing.
    ///
    /// # Errors
    /// Why the next message will never come.
    pub async fn recv(&self) -> Result<Option<Payload>, Lost> {
        if let Some(next) = self.pipe.take(&self.shared) {
            return next;
        }
        loop {
            let readable = self.pipe.readable.notified();
            if let Some(next) = self.pipe.take(&self.shared) {
                return next;
            }
            readable.await;
        }
    }

    /// How far what was sent has come.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let state = self.pipe.lock();
        Progress { accepted: state.accepted, acknowledged: state.acknowledged }
    }

    /// Waits until everything sent so far is acknowledged, and ends our half;
    /// the peer's stays open. The waiting ends with
    /// [`Options::close_deadline`].
    ///
    /// # Errors
    /// What nobody acknowledged.
    pub async fn close(&self) -> Result<(), Undelivered> {
        self.set_closing(Closing::Asked);
        if tokio::time::timeout(self.shared.close_deadline, self.closed()).await.is_err() {
            self.set_closing(Closing::GivenUp);
            self.closed().await;
        }
        self.pipe.lock().undelivered()
    }

    fn set_closing(&self, wanted: Closing) {
        let mut state = self.pipe.lock();
        if state.closing != Closing::Done {
            state.closing = wanted;
        }
        state.outgoing.get_or_insert(Lost::Closed);
        drop(state);
        self.pipe.writable.notify_waiters();
        self.shared.wake(&self.pipe);
    }

    async fn closed(&self) {
        loop {
            let ended = self.pipe.ended.notified();
            let done = self.pipe.lock().closing == Closing::Done;
            if done || self.shared.book().over {
                return;
            }
            ended.await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pipe.lock().left = true;
        self.shared.wake(&self.pipe);
    }
}
