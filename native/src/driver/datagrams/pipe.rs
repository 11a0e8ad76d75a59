//! What a connection and the endpoint's task share: messages on their way in
//! and out, both bounded, and how each direction ended.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servent_core::node::UnicastMessage;
use servent_core::unicast::{UnicastConnId, UnicastPayload};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Lost, SharedEndpoint, Undelivered};

/// Messages and bytes that may wait for the task; the send window comes after
/// it.
const OUTBOX: (usize, usize) = (8_192, 1 << 20);
/// What leaves in so many milliseconds may wait where the rate is limited: what is said last
/// waits no longer than that, and a peer that is dead is given no more. At least so many bytes.
const OUTBOX_LASTS: (u64, usize) = (250, 64 << 10);

/// Bytes that may wait for the task, at a greatest rate; 0: there is none.
pub(super) fn outbox_bytes(rate: u64) -> usize {
    let (ms, least) = OUTBOX_LASTS;
    match usize::try_from(rate.saturating_mul(ms) / 1_000) {
        Ok(bytes @ 1..) => bytes.clamp(least, OUTBOX.1),
        _ => OUTBOX.1,
    }
}

/// One connection, seen from both sides.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) peer: SocketAddr,
    /// Bytes that may wait for the task.
    outbox: usize,
    state: Mutex<State>,
    pub(crate) readable: Notify,
    pub(crate) writable: Notify,
    pub(crate) ended: Notify,
    /// It is in the list of connections the task has to look at.
    queued: AtomicBool,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) inbox: VecDeque<UnicastPayload>,
    /// Consumed by the application and not yet reported: messages, bytes.
    pub(crate) taken: (u64, u64),
    pub(crate) outbox: VecDeque<UnicastMessage>,
    pub(crate) outbox_bytes: usize,
    /// The send window is full: the task comes back when there is room.
    pub(crate) blocked: bool,
    /// Bytes the application handed in, and how many of them are acknowledged.
    pub(crate) accepted: u64,
    pub(crate) acknowledged: u64,
    /// The peer's connection that is being delivered.
    pub(crate) conn: Option<UnicastConnId>,
    /// How the peer's half ended: `Ok` with everything delivered.
    pub(crate) incoming: Option<Result<(), Lost>>,
    /// Why nothing more is sent.
    pub(crate) outgoing: Option<Lost>,
    /// Sequence numbers known to be undelivered.
    pub(crate) numbers: Vec<(u64, u64)>,
    pub(crate) closing: Closing,
    /// The application has dropped the connection.
    pub(crate) left: bool,
    /// When a datagram of a connection has come from the peer last.
    pub(crate) heard: Instant,
    /// How many had come by then.
    pub(crate) heard_count: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            inbox: VecDeque::new(),
            taken: (0, 0),
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            blocked: false,
            accepted: 0,
            acknowledged: 0,
            conn: None,
            incoming: None,
            outgoing: None,
            numbers: Vec::new(),
            closing: Closing::No,
            left: false,
            heard: Instant::now(),
            heard_count: 0,
        }
    }
}

/// How far the closing of our half is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Closing {
    /// Not requested.
    #[default]
    No,
    /// Requested.
    Asked,
    /// The engine has been told.
    Told,
    /// Given up: the deadline has passed.
    GivenUp,
    /// The application does not wait for what is still to be sent.
    Abandoned,
    /// Done.
    Done,
}

impl State {
    fn room(&self, bytes: usize) -> bool {
        self.outbox.len() < OUTBOX.0 && self.outbox_bytes < bytes
    }

    /// The error, if any messages were never acknowledged.
    pub(crate) fn undelivered(&self) -> Result<(), Undelivered> {
        let waiting = self.outbox.len();
        if self.numbers.is_empty() && waiting == 0 {
            return Ok(());
        }
        let bytes = self.accepted.saturating_sub(self.acknowledged);
        Err(Undelivered { numbers: self.numbers.clone(), waiting, bytes })
    }
}

impl Pipe {
    pub(crate) fn new(peer: SocketAddr, shared: &SharedEndpoint) -> Self {
        Self {
            peer,
            outbox: shared.outbox,
            state: Mutex::default(),
            readable: Notify::new(),
            writable: Notify::new(),
            ended: Notify::new(),
            queued: AtomicBool::new(false),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the connection for the task; true for the first call since the
    /// last [`Pipe::seen`]. Call it after the lock was held: the task clears
    /// the mark before it takes the lock, so a mark that is still set will be
    /// attended to.
    pub(crate) fn queue(&self) -> bool {
        !self.queued.load(Ordering::Acquire) && !self.queued.swap(true, Ordering::AcqRel)
    }

    /// The task is about to look at it.
    pub(crate) fn seen(&self) {
        self.queued.store(false, Ordering::Release);
    }

    /// The next message, or how the peer's half ended; `None` to wait.
    pub(crate) fn take(
        self: &Arc<Self>,
        shared: &SharedEndpoint,
    ) -> Option<Result<Option<UnicastPayload>, Lost>> {
        let mut state = self.lock();
        let Some(payload) = state.inbox.pop_front() else {
            return state.incoming.map(|how| how.map(|()| None));
        };
        state.taken.0 += 1;
        state.taken.1 += payload.len() as u64;
        // Consumption is reported an eighth of the window at a time; less can
        // wait.
        let (messages, bytes) = state.taken;
        let tell = messages >= shared.tell.0 || bytes >= shared.tell.1;
        drop(state);
        if tell {
            shared.wake(self);
        }
        Some(Ok(Some(payload)))
    }

    /// Hands a message to the task; gives it back when there is no room.
    pub(crate) fn put(
        self: &Arc<Self>,
        message: UnicastMessage,
        shared: &SharedEndpoint,
    ) -> Result<Option<UnicastMessage>, Lost> {
        let mut state = self.lock();
        if let Some(lost) = state.outgoing {
            return Err(lost);
        }
        if !state.room(self.outbox) {
            return Ok(Some(message));
        }
        state.outbox_bytes += message.data.len();
        state.accepted += message.data.len() as u64;
        state.outbox.push_back(message);
        let blocked = state.blocked;
        drop(state);
        if !blocked {
            shared.wake(self);
        }
        Ok(None)
    }

    /// The task has passed on that many bytes: senders waiting for room may go
    /// on once there is plenty of it, so that they are woken once for many
    /// messages.
    pub(crate) fn passed_on(&self, bytes: usize) {
        let mut state = self.lock();
        state.outbox_bytes -= bytes;
        let plenty = state.outbox.len() <= OUTBOX.0 / 2 && state.outbox_bytes <= self.outbox / 2;
        drop(state);
        if plenty {
            self.writable.notify_waiters();
        }
    }

    /// Both directions have ended.
    pub(crate) fn end(&self, why: Lost) {
        let mut state = self.lock();
        state.incoming.get_or_insert(Err(why));
        state.outgoing.get_or_insert(why);
        state.closing = Closing::Done;
        drop(state);
        self.wake_all();
    }

    pub(crate) fn wake_all(&self) {
        self.readable.notify_waiters();
        self.writable.notify_waiters();
        self.ended.notify_waiters();
    }
}
