//! Held requests: those whose answer is held back (QA-3).
//!
//! The client of a held request is present. It gets its slot the moment one is
//! reserved for it, and is told its place when the hold ends. Holds are not
//! persisted: a client that was never told a place loses it with its
//! connection, and after a crash no client gets an answer.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use super::tables::entry::{EntryPhase, QueueEntry};
use super::{QueueEffects, QueueRequest, QueueServer};
use crate::address::owner;
use crate::id::ConnId;
use crate::queue::{Dialect, Event, PositionLoss, QueuePolicy};
use crate::time::{Duration, Instant};

/// How long after the end of the hold the entry would be overdue. Only matters
/// when a timer is late.
const SLACK: Duration = Duration::from_secs(5);

/// A held request, and when it is answered at the latest.
#[derive(Debug, Clone, Copy)]
struct ParkedRequest {
    request: QueueRequest,
    until: Instant,
}

/// The held requests, by the arrival of their entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Holds(BTreeMap<u64, ParkedRequest>);

impl Holds {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, arrival: u64) -> bool {
        self.0.contains_key(&arrival)
    }

    /// Removes the held request of the entry with this arrival.
    pub(super) fn remove(&mut self, arrival: u64) -> Option<QueueRequest> {
        self.0.remove(&arrival).map(|held| held.request)
    }

    fn count_parked(&self, peer: IpAddr) -> usize {
        let peer = owner(peer);
        self.0.values().filter(|held| owner(held.request.peer) == peer).count()
    }
}

impl QueueServer {
    /// A request for which there is no slot now: holds it, or tells the client
    /// its place.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        let QueueEntry { seat, dialect, .. } = self.places.slab[at];
        let position = self.line.position(seat);
        let length = match dialect {
            Dialect::Active => None,
            Dialect::Passive => Some(self.config.hold_plain),
            Dialect::Parq | Dialect::Parq11 => Some(self.config.hold),
        };
        let length = length.filter(|length| {
            *length > Duration::ZERO
                && self.config.policy == QueuePolicy::Adaptive
                && request.waits
                && position <= self.config.sync_places
                && self.holds.0.len() < self.config.holds as usize
                && self.holds.count_parked(request.peer) < self.config.holds_per_ip as usize
        });
        match length {
            Some(length) => self.park(now, at, (request, length), fx),
            None => self.tell(now, at, request, fx),
        }
    }

    fn park(
        &mut self,
        now: Instant,
        at: u32,
        (request, length): (&QueueRequest, Duration),
        fx: &mut QueueEffects,
    ) {
        let scale = self.config.time_scale;
        let until = now + length.scaled(scale);
        let entry = &mut self.places.slab[at];
        (entry.not_before, entry.deadline) = (now, until + SLACK.scaled(scale));
        entry.awaited = Instant::MAX;
        (entry.calls, entry.call_booked) = (0, false);
        let QueueEntry { ticket, arrival, seat, told, .. } = *entry;
        self.holds.0.insert(arrival, ParkedRequest { request: *request, until });
        if told == 0 {
            // It asks once and waits, as it should: that is within its rate limit,
            // unless that is in vain.
            self.requests.forgive(owner(request.peer));
        }
        self.line.set_present(seat, true);
        self.wake_at(at, Some(until));
        let (position, length) = (self.line.position(seat), self.line.len());
        fx.event(Event::Held { ticket, position, length, until });
    }

    /// A request that was held until now was made in vain: it counts against
    /// its address like any other. Whether that is too many shows when it asks
    /// again.
    pub(super) fn count_unanswered(&mut self, now: Instant, at: u32) {
        let QueueEntry { peer, told, .. } = self.places.slab[at];
        if told == 0 {
            let _ = self.requests.count(owner(peer), now);
        }
    }

    /// Ends the hold of an entry; true when its request was held.
    pub(super) fn end_hold(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) -> bool {
        let Some(request) = self.holds.remove(self.places.slab[at].arrival) else { return false };
        let at = self.one_place(at, &request, fx);
        // We may be late, and there may be a slot now.
        self.settle(now, fx);
        if self.is_next(at, now) {
            self.serve(now, at, &request, fx);
        } else {
            self.count_unanswered(now, at);
            self.tell(now, at, &request, fx);
        }
        true
    }

    /// The place of a passive client whose hold ends. Apart from held requests,
    /// an address has one place: the earliest of those it had (PQ-3).
    fn one_place(&mut self, at: u32, request: &QueueRequest, fx: &mut QueueEffects) -> u32 {
        let QueueEntry { dialect, peer, arrival, .. } = self.places.slab[at];
        let passive = Some(peer).filter(|_| dialect == Dialect::Passive);
        let Some(other) = passive.and_then(|peer| self.places.passive_of(peer)) else { return at };
        if self.places.slab[other].arrival > arrival {
            self.lose(other, PositionLoss::Replaced, fx);
            return at;
        }
        self.lose(at, PositionLoss::Replaced, fx);
        self.places.bind(other, request.conn);
        self.note(other, request);
        other
    }

    /// Answers a held request now.
    pub(super) fn answer(&mut self, now: Instant, conn: ConnId, fx: &mut QueueEffects) {
        if let Some(at) = self.places.with_conn(conn)
            && self.places.slab[at].phase == EntryPhase::Waiting
        {
            self.end_hold(now, at, fx);
        }
    }

    /// The held request that is to be answered first, by [`Input::Answer`] if no
    /// timers are run: its connection, and when.
    ///
    /// [`Input::Answer`]: super::Input::Answer
    #[must_use]
    pub fn next_answer(&self) -> Option<(Instant, ConnId)> {
        let waits = |conn| {
            let at = self.places.with_conn(conn);
            at.is_some_and(|at| self.places.slab[at].phase == EntryPhase::Waiting)
        };
        let held = self.holds.0.values().map(|held| (held.until, held.request.conn));
        held.filter(|(_, conn)| waits(*conn)).min()
    }

    /// Gives slots to held requests, in order of arrival.
    pub(super) fn serve_held(&mut self, now: Instant, fx: &mut QueueEffects) {
        while self.free_within() > 0 {
            let next = self.holds.0.iter().find_map(|(&arrival, held)| {
                let at = self.places.with_conn(held.request.conn);
                at.is_none_or(|at| self.is_next(at, now)).then_some((arrival, at, held.request))
            });
            let Some((arrival, at, request)) = next else { return };
            let Some(at) = at else {
                self.holds.remove(arrival);
                continue;
            };
            self.serve(now, at, &request, fx);
            self.settle(now, fx);
        }
    }

    /// When a slot that is reserved for another client opens to parked requests.
    pub(super) fn next_open(&self) -> Option<(Instant, &'static str)> {
        if self.holds.is_empty() {
            return None;
        }
        let opens = self.claims.all().map(|claim| claim.open_at);
        let next = opens.filter(|at| *at > self.rate.now()).min()?;
        Some((next, "open"))
    }
}
