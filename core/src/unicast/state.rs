//! The states OPEN, CLOSING and CLOSED (UC-6, UC-7, UC-8). A CLOSED entry is
//! removed. Only silence makes an entry expire (UC-13).

use super::cx::UnicastCx;
use super::{Config, ConnEnding, Event, Side, UnicastConnId};
use crate::time::{Duration, Instant};

/// The state of an entry.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// When it was last used, or the other side last mentioned it.
    touched: Instant,
    /// Since when it is CLOSING, and why; `None` when OPEN.
    closing: Option<(Instant, ConnEnding)>,
}

impl State {
    pub(super) const fn open(now: Instant) -> Self {
        Self { touched: now, closing: None }
    }

    pub(super) const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Why it is CLOSING.
    pub(super) fn ending(&self) -> Option<ConnEnding> {
        self.closing.map(|(_, why)| why)
    }

    /// It is used: OPEN again, if it was CLOSING (UC-7).
    pub(super) fn touch(&mut self, cx: &mut UnicastCx<'_>, conn: UnicastConnId, side: Side) {
        self.touched = cx.now;
        if self.closing.take().is_some() {
            cx.fx.event(Event::Reopened { peer: cx.peer, conn, side });
        }
    }

    /// The other side mentions it, if only in an acknowledgement or a request:
    /// it is not silent (UC-13). That does not reopen it.
    pub(super) fn note_mention(&mut self, now: Instant) {
        if self.closing.is_none() {
            self.touched = now;
        }
    }

    pub(super) fn close(
        &mut self,
        cx: &mut UnicastCx<'_>,
        conn: UnicastConnId,
        side: Side,
        why: ConnEnding,
    ) {
        if self.closing.is_none() {
            self.touched = cx.now;
            self.closing = Some((cx.now, why));
            cx.fx.event(Event::Closing { peer: cx.peer, conn, side, why });
        }
    }

    /// Reaps the entry (UC-8): true when it is CLOSED now.
    pub(super) fn reap(&mut self, cx: &mut UnicastCx<'_>, conn: UnicastConnId, side: Side) -> bool {
        if self.deadline(cx.config).is_none_or(|at| at > cx.now) {
            return false;
        }
        let closed = self.is_closing();
        self.close(cx, conn, side, ConnEnding::Idle);
        closed
    }

    /// When [`State::reap`] may have something to do.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        match self.closing {
            Some((since, _)) => Some(since + config.conn_close.scaled(config.time_scale)),
            None if config.conn_expiry == Duration::ZERO => None,
            None => Some(self.touched + config.conn_expiry.scaled(config.time_scale)),
        }
    }
}
