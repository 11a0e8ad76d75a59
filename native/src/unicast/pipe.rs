//! What a connection and the endpoint's task share: messages on their way in
//! and out, both bounded, and how each direction ended.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servent_core::unicast::{Conn, Order, Payload};
use tokio::sync::Notify;

use super::endpoint::Shared;
use super::error::{Lost, Undelivered};

/// Messages and bytes that may wait for the task; the send window is behind it.
const OUTBOX: (usize, usize) = (8_192, 1 << 20);

/// One connection, seen from both sides.
pub(super) struct Pipe {
    pub(super) peer: SocketAddr,
    state: Mutex<State>,
    pub(super) readable: Notify,
    pub(super) writable: Notify,
    pub(super) ended: Notify,
    /// It stands in the list of those the task has to look at.
    queued: AtomicBool,
}

/// What is behind the lock.
#[derive(Default)]
pub(super) struct State {
    pub(super) inbox: VecDeque<Payload>,
    /// Consumed and not yet told: messages, bytes.
    pub(super) taken: (u64, u64),
    pub(super) outbox: VecDeque<(Payload, Order)>,
    pub(super) outbox_bytes: usize,
    /// Bytes the application handed in, and of these the acknowledged ones.
    pub(super) accepted: u64,
    pub(super) acknowledged: u64,
    /// The peer's connection that is being delivered.
    pub(super) conn: Option<Conn>,
    /// How the peer's half ended: `Ok` with everything delivered.
    pub(super) incoming: Option<Result<(), Lost>>,
    /// Why nothing more is sent.
    pub(super) outgoing: Option<Lost>,
    /// What is known to be undelivered.
    pub(super) numbers: Vec<(u64, u64)>,
    pub(super) closing: Closing,
    /// The application has let go of it.
    pub(super) left: bool,
}

/// How far the closing of our half is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Closing {
    /// It is not wanted.
    #[default]
    No,
    /// It is wanted.
    Asked,
    /// The engine has been told.
    Told,
    /// The deadline has passed.
    GivenUp,
    /// It has ended.
    Done,
}

impl State {
    pub(super) fn room(&self) -> bool {
        self.outbox.len() < OUTBOX.0 && self.outbox_bytes < OUTBOX.1
    }

    /// What was never acknowledged, when there is any.
    pub(super) fn undelivered(&self) -> Result<(), Undelivered> {
        let waiting = self.outbox.len();
        if self.numbers.is_empty() && waiting == 0 {
            return Ok(());
        }
        let bytes = self.accepted.saturating_sub(self.acknowledged);
        Err(Undelivered { numbers: self.numbers.clone(), waiting, bytes })
    }
}

impl Pipe {
    pub(super) fn new(peer: SocketAddr) -> Self {
        Self {
            peer,
            state: Mutex::default(),
            readable: Notify::new(),
            writable: Notify::new(),
            ended: Notify::new(),
            queued: AtomicBool::new(false),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for the first who asks since the last [`Pipe::seen`]. To be asked
    /// after the lock was held: the task clears the mark before it takes the
    /// lock, so a mark that is still set is seen to.
    pub(super) fn queue(&self) -> bool {
        !self.queued.load(Ordering::Acquire) && !self.queued.swap(true, Ordering::AcqRel)
    }

    /// The task is about to look at it.
    pub(super) fn seen(&self) {
        self.queued.store(false, Ordering::Release);
    }

    /// The next message, or how it ended; `None` to wait.
    pub(super) fn take(self: &Arc<Self>, shared: &Shared) -> Option<Result<Option<Payload>, Lost>> {
        let mut state = self.lock();
        let Some(payload) = state.inbox.pop_front() else {
            return state.incoming.map(|how| how.map(|()| None));
        };
        state.taken.0 += 1;
        state.taken.1 += payload.len() as u64;
        // An eighth of the window at a time is told; less can wait.
        let (messages, bytes) = state.taken;
        let tell = messages >= shared.tell.0 || bytes >= shared.tell.1;
        drop(state);
        if tell {
            shared.wake(self);
        }
        Some(Ok(Some(payload)))
    }

    /// Hands a message to the task; gives it back when there is no room.
    pub(super) fn put(
        self: &Arc<Self>,
        payload: Payload,
        order: Order,
        shared: &Shared,
    ) -> Result<Option<Payload>, Lost> {
        let mut state = self.lock();
        if let Some(lost) = state.outgoing {
            return Err(lost);
        }
        if !state.room() {
            return Ok(Some(payload));
        }
        state.outbox_bytes += payload.len();
        state.accepted += payload.len() as u64;
        state.outbox.push_back((payload, order));
        drop(state);
        shared.wake(self);
        Ok(None)
    }

    /// Both directions have ended.
    pub(super) fn end(&self, why: Lost) {
        let mut state = self.lock();
        state.incoming.get_or_insert(Err(why));
        state.outgoing.get_or_insert(why);
        state.closing = Closing::Done;
        drop(state);
        self.wake_all();
    }

    pub(super) fn wake_all(&self) {
        self.readable.notify_waiters();
        self.writable.notify_waiters();
        self.ended.notify_waiters();
    }
}
