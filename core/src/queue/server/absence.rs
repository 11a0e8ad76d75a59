//! Dropped connections, missing polls, and calls.

use super::tables::entry::{EntryPhase, QueueEntry, Stored};
use super::{Output, QueueEffects, QueueServer};
use crate::address::owner;
use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, Event, PositionLoss, QueuePolicy, pace};
use crate::time::{Duration, Instant};

impl QueueServer {
    /// A connection is closed.
    pub(super) fn gone(&mut self, now: Instant, conn: ConnId, fx: &mut QueueEffects) {
        let Some(at) = self.places.with_conn(conn) else { return };
        let entry = &mut self.places.slab[at];
        if entry.phase != EntryPhase::Waiting {
            return self.end_upload(at, fx);
        }
        // A client that was never told of its place cannot come back to it.
        if entry.dialect == Dialect::Active || entry.told == 0 {
            self.count_unanswered(now, at);
            return self.lose(at, PositionLoss::ConnectionLost, fx);
        }
        if entry.dialect == Dialect::Passive {
            return self.go_away(now, at, fx);
        }
        entry.breaks = entry.breaks.saturating_add(1);
        // PARQ §4: at least one disconnection has to be allowed.
        let allowed = self.config.breaks_allowed.max(1);
        let allowed = if entry.sleeps { self.config.sleep_breaks.max(allowed) } else { allowed };
        if entry.breaks > allowed {
            return self.lose(at, PositionLoss::BrokeTooOften, fx);
        }
        self.go_away(now, at, fx);
    }

    /// A client gives back its place or slot (QA-8). What comes on another
    /// connection of its is not wanted any more.
    pub(super) fn leave(&mut self, here: ConnId, ticket: Guid, fx: &mut QueueEffects) {
        let Some(at) = self.places.with_ticket(ticket) else { return };
        let QueueEntry { phase, stored, .. } = self.places.slab[at];
        if stored == Stored::Released {
            return;
        }
        let conn = self.places.slab[at].conn();
        match phase {
            EntryPhase::Waiting => self.lose(at, PositionLoss::Left, fx),
            EntryPhase::Uploading | EntryPhase::Pausing | EntryPhase::Reserved => {
                self.end_upload(at, fx)
            }
        }
        if let Some(conn) = conn.filter(|conn| *conn != here) {
            fx.output(Output::Hangup { conn, why: PositionLoss::Left });
        }
    }

    /// The connection of an entry is used by another entry from now on.
    pub(super) fn let_go(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        let entry = &self.places.slab[at];
        match (entry.phase, entry.dialect) {
            (EntryPhase::Waiting, dialect) if dialect == Dialect::Active || entry.told == 0 => {
                self.count_unanswered(now, at);
                self.lose(at, PositionLoss::Replaced, fx);
            }
            (EntryPhase::Waiting, _) => self.go_away(now, at, fx),
            _ => self.end_upload(at, fx),
        }
    }

    /// Keeps the place of a client whose connection was lost (PQ-10), at least
    /// until the client may ask again and a slack after that.
    fn go_away(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        self.places.unbind(at);
        let held = now + self.config.remanence.scaled(self.config.time_scale);
        let entry = &mut self.places.slab[at];
        let slack = if entry.sleeps { self.config.sleep_window } else { pace::LIFETIME_SLACK };
        let until = held.max(entry.not_before + slack.scaled(self.config.time_scale));
        (entry.deadline, entry.unheard) = (until, true);
        // It may reconnect early, but gets no slot before its time.
        entry.not_before = now;
        let QueueEntry { ticket, arrival, seat, .. } = *entry;
        self.line.set_present(seat, false);
        self.claims.remove(arrival, true);
        self.holds.remove(arrival);
        self.wake_at(at, Some(until));
        self.save(at, fx);
        fx.event(Event::Away { ticket, until });
    }

    /// The timer of an entry expired.
    pub(super) fn wake(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        let entry = &self.places.slab[at];
        if entry.call_booked {
            return self.call(now, at, fx);
        }
        if self.end_hold(now, at, fx) {
            return;
        }
        let entry = &self.places.slab[at];
        let callable = entry.call_port.is_some() && entry.calls < self.config.calls;
        let adaptive = self.config.policy == QueuePolicy::Adaptive;
        match entry.phase {
            EntryPhase::Uploading => self.wake_at(at, None),
            EntryPhase::Pausing => self.end_upload(at, fx),
            EntryPhase::Reserved if entry.calls > 0 && callable && !adaptive => {
                self.book_call(now, at, fx);
            }
            EntryPhase::Reserved if now < entry.deadline => self.reserved(now, at, fx),
            EntryPhase::Reserved => self.end_upload(at, fx),
            EntryPhase::Waiting if callable => self.book_call(now, at, fx),
            EntryPhase::Waiting if now < entry.deadline => self.wake_at(at, Some(entry.deadline)),
            EntryPhase::Waiting => {
                let why =
                    if entry.calls > 0 { PositionLoss::Unreachable } else { PositionLoss::Overdue };
                let conn = entry.conn();
                self.lose(at, why, fx);
                if let Some(conn) = conn {
                    fx.output(Output::Hangup { conn, why });
                }
            }
        }
    }

    /// Books the next free time for a call (PQ-8): calls are spread evenly,
    /// however many are due at once.
    pub(super) fn book_call(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        let turn = self.next_call.max(now);
        self.next_call = turn + self.between_calls();
        self.places.slab[at].call_booked = true;
        if self.places.slab[at].phase == EntryPhase::Waiting && now >= self.places.slab[at].deadline
        {
            let QueueEntry { seat, arrival, .. } = self.places.slab[at];
            self.line.set_present(seat, false);
            self.claims.remove(arrival, true);
        }
        if turn <= now {
            self.call(now, at, fx);
        } else {
            self.wake_at(at, Some(turn));
        }
    }

    fn call(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        let QueueEntry { ticket, peer, arrival, .. } = self.places.slab[at];
        let Some(to) = self.places.slab[at].callback() else {
            self.places.slab[at].call_booked = false;
            return self.wake_at(at, Some(self.places.slab[at].deadline.max(now + TOUCH)));
        };
        let check = self.next_check(now, at);
        if let Some(wait) = self.calls.count(owner(peer), now) {
            self.places.slab[at].call_booked = check.is_none();
            return self.wake_at(at, check.or(Some(now + wait.max(TOUCH))));
        }
        let entry = &mut self.places.slab[at];
        entry.call_booked = false;
        entry.calls += 1;
        let attempt = entry.calls;
        let spacing = self.config.call_spacing.scaled(self.config.time_scale);
        if check.is_some() {
            self.called_back.insert(arrival, now);
        }
        self.wake_at(at, check.or(Some(now + spacing.max(TOUCH))));
        fx.event(Event::Called { ticket, to, attempt });
        fx.output(Output::Call { ticket, to });
    }

    /// When to check again whether others wait for the slot of an entry, if an
    /// adaptive server reserves one for it.
    fn next_check(&self, now: Instant, at: u32) -> Option<Instant> {
        let QueueEntry { phase, deadline, .. } = self.places.slab[at];
        let reserved = phase == EntryPhase::Reserved && self.config.policy == QueuePolicy::Adaptive;
        reserved.then(|| self.contested(now, deadline).max(now + TOUCH))
    }

    /// A call is over. Only the client's next request counts as success, so a
    /// delivered line changes nothing; when the last call failed, the place is
    /// lost.
    pub(super) fn call_done(
        &mut self,
        now: Instant,
        ticket: Guid,
        ok: bool,
        fx: &mut QueueEffects,
    ) {
        let Some(at) = self.places.with_ticket(ticket) else { return };
        let entry = &self.places.slab[at];
        let last = entry.calls >= self.config.calls && !entry.call_booked;
        if !ok && last && entry.phase == EntryPhase::Waiting && now >= entry.deadline {
            self.lose(at, PositionLoss::Unreachable, fx);
        }
    }
}

/// The minimum distance of a new deadline, so that time always advances.
const TOUCH: Duration = Duration::from_micros(1);
