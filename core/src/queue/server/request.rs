//! Handles the requests of clients.

use core::net::IpAddr;

use super::tables::entry::{EntryPhase, Patience, QueueEntry};
use super::{Output, QueueEffects, QueueRequest, QueueServer, QueueVerdict};
use crate::address::owner;
use crate::id::ConnId;
use crate::queue::{Dialect, Event, PositionLoss, QueuePolicy, QueuePosition, QueueRefusal, pace};
use crate::time::{Duration, Instant};

/// The most bytes one entry counts for in the ETA, so that sums stay plausible.
const BYTES_MAX: u64 = 1 << 40;
/// Absent entries for which an event is emitted when a client is served ahead
/// of them.
const PASSED_TOLD: u32 = 8;

/// Which entry a request belongs to.
enum KnownEntry {
    /// Identified by its id or its connection. Such a client counts by itself,
    /// not by its address.
    Surely(u32),
    /// Identified by its address.
    ByAddress(u32),
    Stranger,
}

impl QueueServer {
    pub(super) fn request(
        &mut self,
        now: Instant,
        mut request: QueueRequest,
        fx: &mut QueueEffects,
    ) {
        request.peer = request.peer.to_canonical();
        request.bytes = request.bytes.min(BYTES_MAX);
        request.rest = request.rest.min(BYTES_MAX);
        let known = self.recognise(&request);
        let whose = (request.conn, request.peer);
        match known {
            KnownEntry::Surely(_) => {}
            KnownEntry::Stranger => {
                if let Some(left) = self.requests.refused(owner(request.peer), now) {
                    return self.refuse(whose, QueueRefusal::Hammering, left, fx);
                }
                // A request that is served at once costs nothing unwanted: only
                // one that must wait is counted.
                self.settle(now, fx);
                if !self.lets_in(request.peer, now) && self.refuse_over_rate(now, whose, fx) {
                    return;
                }
            }
            KnownEntry::ByAddress(_) => {
                if self.refuse_over_rate(now, whose, fx) {
                    return;
                }
            }
        }
        match known {
            KnownEntry::Surely(at) | KnownEntry::ByAddress(at) => {
                match self.places.slab[at].phase {
                    EntryPhase::Waiting => self.asked_again(now, at, &request, fx),
                    EntryPhase::Uploading | EntryPhase::Pausing => {
                        self.next_range(now, at, &request, fx)
                    }
                    EntryPhase::Reserved => self.go_on(now, at, &request, fx),
                }
            }
            KnownEntry::Stranger => self.newcomer(now, &request, fx),
        }
    }

    /// Counts a request for its address; true when the address asks too often,
    /// in which case it has been answered.
    fn refuse_over_rate(
        &mut self,
        now: Instant,
        (conn, peer): (ConnId, IpAddr),
        fx: &mut QueueEffects,
    ) -> bool {
        let Some(left) = self.requests.count(owner(peer), now) else { return false };
        self.refuse((conn, peer), QueueRefusal::Hammering, left, fx);
        true
    }

    fn recognise(&self, request: &QueueRequest) -> KnownEntry {
        // In Active Queueing only the connection identifies the place (AQ-7).
        let ticket = request.ticket.filter(|_| request.dialect != Dialect::Active);
        let by_ticket = ticket.and_then(|ticket| self.places.with_ticket(ticket));
        if let Some(at) = by_ticket.or_else(|| self.places.with_conn(request.conn)) {
            return KnownEntry::Surely(at);
        }
        let passive = Some(request.peer).filter(|_| request.dialect == Dialect::Passive);
        let waiting = passive.and_then(|peer| self.places.passive_of(peer));
        match waiting.or_else(|| self.reserved_for(request.peer, request.file)) {
            Some(at) => KnownEntry::ByAddress(at),
            None => KnownEntry::Stranger,
        }
    }

    /// A client of the queue asks again: was it allowed to, and is it its turn?
    fn asked_again(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        let entry = &self.places.slab[at];
        if let Some(why) = self.offence(now, entry, request) {
            let hangup = entry.dialect == Dialect::Active;
            self.lose(at, why, fx);
            if hangup {
                fx.output(Output::Hangup { conn: request.conn, why });
            } else if !self.refuse_over_rate(now, (request.conn, request.peer), fx) {
                // A client that lost its place is a newcomer, and counted as
                // one.
                self.newcomer(now, request, fx);
            }
            return;
        }
        if entry.peer != request.peer && self.address_is_full(request.peer) {
            let retry = pace::ADDRESS_RETRY.scaled(self.config.time_scale);
            return self.refuse((request.conn, request.peer), QueueRefusal::PerAddress, retry, fx);
        }
        let QueueEntry { arrival, peer, .. } = self.places.slab[at];
        self.holds.remove(arrival);
        self.take_connection(now, at, request, fx);
        if peer != request.peer {
            // The claim counted for the share of its former address.
            self.claims.remove(arrival, true);
            self.places.move_to(at, request.peer);
        }
        let entry = &mut self.places.slab[at];
        if entry.patience == Patience::Passed {
            entry.patience = Patience::Proven;
        }
        // A request without the header keeps the dialect spoken before.
        let silent = request.dialect == Dialect::Passive;
        let dialect = if silent { entry.dialect } else { request.dialect };
        if dialect == Dialect::Active && entry.file != request.file {
            self.move_to_end(at, fx);
        }
        self.note(at, request);
        let entry = &self.places.slab[at];
        let (ticket, seat) = (entry.ticket, entry.seat);
        let position = self.line.position(seat);
        fx.event(Event::Asked { ticket, conn: request.conn, position });
        self.decide(now, at, request, fx);
    }

    /// The fault, if any, that costs a waiting client its place now.
    fn offence(
        &self,
        now: Instant,
        entry: &QueueEntry,
        request: &QueueRequest,
    ) -> Option<PositionLoss> {
        let called = entry.call_port.is_some() && self.config.calls > 0;
        if now > entry.deadline && !called {
            return Some(PositionLoss::Overdue);
        }
        let tolerance = self.config.early_tolerance.scaled(self.config.time_scale);
        if entry.dialect != Dialect::Passive && now + tolerance < entry.not_before {
            return Some(PositionLoss::TooEarly);
        }
        // Positions only decrease, so a client that missed our last reply knows
        // a greater one, never a smaller one.
        let named = request.told.filter(|_| request.ticket == Some(entry.ticket))?;
        let wrong = named < entry.told || (named > entry.told && !entry.unheard);
        wrong.then_some(PositionLoss::WrongPosition)
    }

    /// Binds the entry to the connection of the request, and unbinds what
    /// either was bound to before.
    pub(super) fn take_connection(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        if let Some(other) = self.places.with_conn(request.conn)
            && other != at
        {
            self.let_go(now, other, fx);
        }
        if let Some(old) = self.places.slab[at].conn()
            && old != request.conn
        {
            fx.output(Output::Hangup { conn: old, why: PositionLoss::Replaced });
        }
        self.places.bind(at, request.conn);
    }

    /// Takes over what the request says about its client.
    pub(super) fn note(&mut self, at: u32, request: &QueueRequest) {
        let entry = &mut self.places.slab[at];
        if entry.phase == EntryPhase::Waiting {
            self.line.set_bytes(entry.seat, request.bytes + request.rest);
        } else if let Some(upload) = self.uploads.get_mut(&entry.arrival) {
            upload.rest = request.rest;
        }
        entry.bytes = request.bytes;
        entry.file = request.file;
        entry.sleeps = request.sleeps;
        if request.dialect != Dialect::Passive {
            entry.dialect = request.dialect;
        }
        entry.set_callback(request.callback);
    }

    /// A different file was requested in Active Queueing (AQ-8).
    fn move_to_end(&mut self, at: u32, fx: &mut QueueEffects) {
        self.leave_line(at, true);
        let arrival = self.draw_arrival();
        self.places.slab[at].arrival = arrival;
        self.join_line(at);
        let QueueEntry { ticket, seat, .. } = self.places.slab[at];
        fx.event(Event::Moved { ticket, arrival, position: self.line.position(seat) });
    }

    /// A client without a place asks (AQ-2, AQ-3, AQ-10).
    pub(super) fn newcomer(&mut self, now: Instant, request: &QueueRequest, fx: &mut QueueEffects) {
        // Earlier events may have freed a slot; clients in the queue come
        // first.
        self.settle(now, fx);
        let starts = self.lets_in(request.peer, now);
        let busy = if starts {
            None
        } else if self.line.len() >= self.config.capacity {
            Some(QueueRefusal::QueueFull)
        } else {
            self.address_is_full(request.peer).then_some(QueueRefusal::PerAddress)
        };
        if let Some(why) = busy {
            let retry = match why {
                QueueRefusal::PerAddress => pace::ADDRESS_RETRY,
                _ => pace::BUSY_RETRY,
            };
            let retry = retry.scaled(self.config.time_scale);
            return self.refuse((request.conn, request.peer), why, retry, fx);
        }
        if let Some(other) = self.places.with_conn(request.conn) {
            self.let_go(now, other, fx);
        }
        let ticket = self.places.draw_ticket(&mut self.rng);
        let arrival = self.draw_arrival();
        let mut entry = QueueEntry::new(ticket, arrival, request.peer, now);
        entry.dialect = request.dialect;
        entry.bytes = request.bytes;
        entry.phase = if starts { EntryPhase::Uploading } else { EntryPhase::Waiting };
        let at = self.places.insert(entry);
        self.places.bind(at, request.conn);
        if starts {
            self.note(at, request);
            return self.begin(now, at, request, fx);
        }
        self.join_line(at);
        self.note(at, request);
        let (peer, dialect, length) = (request.peer, request.dialect, self.line.len());
        fx.event(Event::Arrived { ticket, arrival, peer, dialect, position: length, length });
        self.wait(now, at, request, fx);
    }

    fn decide(&mut self, now: Instant, at: u32, request: &QueueRequest, fx: &mut QueueEffects) {
        self.settle(now, fx);
        if !self.is_next(at, now) {
            return self.wait(now, at, request, fx);
        }
        self.serve(now, at, request, fx);
    }

    /// Gives a slot to a client of the queue.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        let QueueEntry { seat, ticket, .. } = self.places.slab[at];
        let ahead = self.line.position(seat) - 1;
        for position in 1..=ahead.min(PASSED_TOLD) {
            let Some(other) = self.line.at(position) else { break };
            let other = &self.places.slab[other];
            if !self.claims.has(other.arrival) {
                fx.event(Event::Passed { ticket: other.ticket, by: Some(ticket) });
            }
        }
        self.passes(at, now);
        self.leave_line(at, false);
        self.begin(now, at, request, fx);
    }

    /// Tells a waiting client its place (AQ-3, PQ-4).
    pub(super) fn tell(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        let entry = &self.places.slab[at];
        let (dialect, ticket, seat) = (entry.dialect, entry.ticket, entry.seat);
        let position = self.line.position(seat);
        let length = self.line.len();
        let keep = match dialect {
            Dialect::Active => true,
            Dialect::Parq | Dialect::Parq11 => position <= self.config.sync_places,
            Dialect::Passive => false,
        };
        let (retry_after, lifetime) = self.window(now, at, position, keep);
        let (not_before, deadline) = (now + retry_after, now + lifetime);
        let eta = self.eta(at, now);
        if !keep {
            self.places.unbind(at);
        }
        let entry = &mut self.places.slab[at];
        (entry.told, entry.told_at) = (position, now);
        (entry.not_before, entry.deadline) = (not_before, deadline);
        entry.awaited = Instant::MAX;
        (entry.calls, entry.call_booked, entry.unheard) = (0, false, false);
        self.line.set_present(seat, true);
        self.wake_at(at, Some(deadline));
        self.save(at, fx);
        fx.event(Event::Told { ticket, dialect, position, length, not_before, deadline, keep });
        let limit = self.config.slots;
        let lost = self.why_gone(request).filter(|_| request.ticket != Some(ticket));
        let place = QueuePosition {
            dialect,
            ticket,
            position,
            length,
            limit,
            retry_after,
            lifetime,
            eta,
            keep,
            lost,
        };
        fx.output(Output::Reply { conn: request.conn, verdict: QueueVerdict::Wait(place) });
    }

    /// The time before which a client at `position` must not ask, and the time
    /// by which it must have asked.
    fn window(&self, now: Instant, at: u32, position: u32, keep: bool) -> (Duration, Duration) {
        let (dialect, scale) = (self.places.slab[at].dialect, self.config.time_scale);
        let (earliest, mut latest) = match self.config.policy {
            QueuePolicy::Text => pace::window(dialect, position),
            QueuePolicy::Adaptive => {
                let left = self.expected(at, now);
                let left = left.map(|left| left.ratio(u64::from(scale.max(1)), 1));
                pace::adaptive(dialect, position, left, keep)
            }
        };
        if self.places.slab[at].sleeps {
            latest = latest.max(earliest + self.config.sleep_window);
        }
        (earliest.scaled(scale), latest.scaled(scale))
    }

    fn address_is_full(&self, peer: IpAddr) -> bool {
        self.places.count_of(peer) >= self.config.per_ip
    }

    /// A request that needs no slot: too many of them exceed the rate limit too; then
    /// the address also has to wait when it asks for a slot without having a
    /// place.
    pub(super) fn admit_unqueued(
        &mut self,
        now: Instant,
        conn: ConnId,
        peer: IpAddr,
        fx: &mut QueueEffects,
    ) {
        self.refuse_over_rate(now, (conn, peer.to_canonical()), fx);
    }

    fn refuse(
        &self,
        (conn, peer): (ConnId, IpAddr),
        why: QueueRefusal,
        wait: Duration,
        fx: &mut QueueEffects,
    ) {
        fx.event(Event::Refused { peer, conn, why });
        // Whole seconds at full scale, rounded up, because it is a promise.
        let second = Duration::from_secs(1).scaled(self.config.time_scale).as_micros().max(1);
        let retry_after = Duration::from_micros(wait.as_micros().div_ceil(second) * second);
        let verdict = match why {
            QueueRefusal::Hammering => QueueVerdict::Hammering { retry_after },
            QueueRefusal::QueueFull | QueueRefusal::PerAddress => {
                QueueVerdict::Busy { retry_after, why }
            }
        };
        fx.output(Output::Reply { conn, verdict });
    }
}
