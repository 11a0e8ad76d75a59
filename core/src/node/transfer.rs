//! A body on its way out: progress, its end, and readers that stand still.

use core::mem;

use super::conn::{Phase, Timer, Transfer};
use super::{ConnEvent, Effects, Limit, Node, StoreError, tell};
use crate::id::ConnId;
use crate::queue::server;
use crate::time::{Duration, Instant};

impl Node {
    /// The host tells how much of the range has left.
    pub(super) fn served(&mut self, now: Instant, conn: ConnId, bytes: u64, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        let Phase::Sending(transfer) = &mut state.phase else { return };
        let whole = transfer.end - transfer.start;
        transfer.sent = transfer.sent.max(bytes.min(whole));
        if transfer.sent < whole {
            return;
        }
        let idle = Phase::Serving { place_until: Instant::ZERO };
        let Phase::Sending(done) = mem::replace(&mut state.phase, idle) else { return };
        self.conns.rest(conn);
        self.sent(now, conn, &done, fx);
    }

    fn sent(&mut self, now: Instant, conn: ConnId, done: &Transfer, fx: &mut Effects) {
        tell(fx, ConnEvent::Sent { conn, bytes: done.sent });
        self.queue(now, server::Input::Finished { conn, last: done.last }, fx);
        if !done.keep {
            return self.close(now, conn, true, "the client wants no more", fx);
        }
        self.await_request(now, conn, true);
        // What came in meanwhile waits no longer.
        self.requests(now, conn, fx);
    }

    /// The window over which a reader is judged has passed at `due`.
    pub(super) fn judge_reader(
        &mut self,
        now: Instant,
        conn: ConnId,
        due: Instant,
        fx: &mut Effects,
    ) {
        let Some(state) = self.conns.open(conn) else { return };
        let Phase::Sending(transfer) = &mut state.phase else { return };
        let taken = transfer.sent - transfer.judged;
        transfer.judged = transfer.sent;
        let limits = &self.config.limits;
        // A window of no length would be due again in the same instant.
        let length = limits.reader_window.max(Duration::from_millis(1));
        let window = u128::from(length.as_micros());
        // When we come this late it was us who slept, and the reader is not
        // to blame for what we did not send.
        let slept = now.since(due) >= length;
        if slept || u128::from(taken) * 1_000_000 >= u128::from(limits.reader_rate) * window {
            return self.conns.wake(conn, now + length, Timer::Rate);
        }
        tell(fx, ConnEvent::Limit { conn, limit: Limit::ReaderRate });
        // Ended by us, so the slot is free at once and not held for the owner.
        self.close(now, conn, false, "the reader is too slow", fx);
    }

    /// The file being served cannot be read to its end. What was promised in
    /// `Content-Length` cannot be kept, so the connection must break.
    pub(super) fn unreadable(
        &mut self,
        now: Instant,
        conn: ConnId,
        why: StoreError,
        fx: &mut Effects,
    ) {
        let sending = matches!(self.conns.open(conn).map(|c| &c.phase), Some(Phase::Sending(_)));
        if !sending {
            return;
        }
        let why = match why {
            StoreError::Changed => "the file changed while it was sent",
            StoreError::Denied => "the file may not be read",
            StoreError::Full | StoreError::Failed => "the file cannot be read",
        };
        self.close(now, conn, false, why, fx);
    }

    /// Replies pile up because the other end does not read them.
    pub(super) fn backlog(&mut self, now: Instant, conn: ConnId, bytes: u64, fx: &mut Effects) {
        if self.conns.get(conn).is_some_and(|c| matches!(c.phase, super::conn::Phase::Overlay)) {
            return self.overlay_backlog(now, conn, bytes, fx);
        }
        if bytes > self.config.limits.backlog && self.conns.open(conn).is_some() {
            tell(fx, ConnEvent::Limit { conn, limit: Limit::Backlog });
            self.close(now, conn, false, "replies pile up unread", fx);
        }
    }
}
