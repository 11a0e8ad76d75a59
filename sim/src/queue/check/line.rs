//! The queue and the slots of one server.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;

use super::loss;
use super::remanence::{LastReply, Reserves, has_left, moment};
use super::reservations::ReservationStarts;
use super::shares::Shares;
use crate::check::RecordViolations;
use servent_core::id::{ConnId, Guid};
use servent_core::node::ConnEvent;
use servent_core::node::WorldEvent;
use servent_core::queue::{Config, Dialect, Event as Queue, PositionLoss};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, Record};

/// How much later than announced a hold may end.
const LATE: Duration = Duration::from_secs(5);
/// Scaled intervals are rounded down, each on its own.
const ROUNDING: Duration = Duration::from_micros(1);

#[derive(Debug, Clone)]
pub(super) struct RecordedPosition {
    ticket: Guid,
    pub(super) dialect: Option<Dialect>,
    pub(super) conn: Option<ConnId>,
    /// Its request is held open: the client is present and waits only for the
    /// slot.
    held: bool,
    /// It was told its position.
    pub(super) told: bool,
    /// It was told to disconnect and come back, or its server restarted: no
    /// connection is expected.
    sent_away: bool,
    /// It was told not to retry before this.
    pub(super) not_before: Instant,
    /// It was told to retry by this; unknown after a restart.
    pub(super) deadline: Option<Instant>,
    /// How many of its connections broke; unknown after a restart.
    pub(super) breaks: Option<u8>,
    /// How often the server called it back.
    pub(super) calls: u8,
    /// Its server restarted, and it has not come back yet: until then it may
    /// still do so.
    pub(super) awaited: Option<Instant>,
    /// A slot reserved for it for long enough went to another one in the queue.
    passed: bool,
    /// It retried in time after it had been skipped.
    proven: bool,
}

impl RecordedPosition {
    /// True when its deadline has passed.
    fn is_overdue(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|by| by <= now)
    }
}

/// The state of one server according to its records.
#[derive(Debug, Clone)]
pub(super) struct RecordedLine {
    config: Config,
    places: BTreeMap<u64, RecordedPosition>,
    arrivals: BTreeMap<Guid, u64>,
    uploads: BTreeSet<Guid>,
    shares: Shares,
    open: BTreeSet<ConnId>,
    /// The connection of the last request.
    asking: Option<ConnId>,
    kept: ReservationStarts,
    reserves: Reserves,
    /// What the clients of restored places were told last.
    replies: BTreeMap<Guid, LastReply>,
    /// It is stalled, or the store of its site is away: nothing is decided.
    stalled: bool,
    away: bool,
    /// The instant of the last record.
    at: Instant,
    /// Places that must be lost before the clock advances.
    doomed: Vec<(Guid, Instant)>,
}

impl RecordedLine {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: *config,
            places: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            uploads: BTreeSet::new(),
            shares: Shares::default(),
            open: BTreeSet::new(),
            asking: None,
            kept: ReservationStarts::default(),
            reserves: Reserves::default(),
            replies: BTreeMap::new(),
            stalled: false,
            away: false,
            at: Instant::ZERO,
            doomed: Vec::new(),
        }
    }

    /// The address of a place that is restored.
    pub(super) fn knows(&mut self, ticket: Guid, peer: IpAddr) {
        self.shares.come(ticket, peer);
    }

    /// What the client of a place that is restored was told last, by any server.
    pub(super) fn learn_reply(&mut self, ticket: Guid, reply: LastReply) {
        self.replies.insert(ticket, reply);
    }

    pub(super) fn observe(&mut self, record: &Record, found: &mut RecordViolations<'_>) {
        self.check_lost_connections(record.at, found);
        if self.at < record.at {
            self.check_parked(found);
            self.judge_the_reserved(record.at, found);
            self.at = record.at;
        }
        match &record.event {
            Event::Conn(event) => self.connection(record.at, event),
            Event::Queue(event) => self.queue(record.at, event, found),
            Event::World(WorldEvent::Crashed | WorldEvent::Replaced) => {
                *self = Self::new(&self.config);
            }
            Event::World(WorldEvent::Stalled) => self.stalled = true,
            Event::World(WorldEvent::Resumed) => {
                self.stalled = false;
                self.reserves.excuse(record.at);
            }
            Event::World(WorldEvent::StoreAway { away }) => self.store(*away),
            _ => {}
        }
    }

    /// The store of its site is away or back. No client is late for what it
    /// could not do meanwhile: every client has the full remanence to come back,
    /// and no connection is expected.
    fn store(&mut self, away: bool) {
        self.away = away;
        if away {
            return;
        }
        let until = self.at + self.config.remanence.scaled(self.config.time_scale);
        let moment = self.at + moment(&self.config);
        for place in self.places.values_mut() {
            place.deadline = Some(place.deadline.map_or(until, |by| by.max(until)));
            let broke = !place.sent_away && place.conn.is_none();
            place.awaited = (broke || place.awaited.is_some()).then_some(moment);
            place.sent_away = true;
        }
        self.reserves.excuse(self.at);
    }

    /// QA-6: a reserve costs those who are there no more than a moment, also
    /// after a restart.
    fn judge_the_reserved(&mut self, now: Instant, found: &mut RecordViolations<'_>) {
        let there = |p: &RecordedPosition| p.conn.is_some_and(|c| self.open.contains(&c)) && p.told;
        let is_wanted = self.places.values().any(there);
        self.reserves.want(self.at, is_wanted);
        if !self.stalled
            && !self.away
            && let Some(owner) = self.reserves.overdue(now, &self.config)
        {
            found.broken("reserve_idle", "check.reserve_idle", &[("ticket", &owner)]);
            self.reserves.end(owner);
        }
    }

    /// AQ-7: losing the connection loses the place.
    fn check_lost_connections(&mut self, now: Instant, found: &mut RecordViolations<'_>) {
        let due = self.doomed.partition_point(|(_, at)| *at < now);
        for (ticket, _) in self.doomed.drain(..due) {
            if self.arrivals.contains_key(&ticket) {
                found.broken("aq_connection", "check.aq_connection", &[("ticket", &ticket)]);
            }
        }
    }

    /// QA-4: no slot stays free while the clock advances if an entitled client
    /// is present whose request is held open.
    fn check_parked(&self, found: &mut RecordViolations<'_>) {
        let free = self.free();
        if free == 0 || self.away || self.stalled {
            return;
        }
        let there = |p: &&RecordedPosition| {
            p.held
                && !self.has_its_share(p.ticket)
                && p.conn.is_some_and(|c| self.open.contains(&c))
        };
        let held = self.places.iter().find(|(_, place)| there(place));
        if let Some((&arrival, place)) = held
            && self.present_before(self.at, arrival) < free
        {
            found.broken("idle_held", "check.idle_held", &[("ticket", &place.ticket)]);
        }
    }

    fn connection(&mut self, now: Instant, event: &ConnEvent) {
        match event {
            ConnEvent::Accepted { conn, .. } | ConnEvent::Dialed { conn } => {
                self.open.insert(*conn);
            }
            ConnEvent::Request { conn, .. } => self.asking = Some(*conn),
            // We close: from here on the client is not present.
            ConnEvent::Closing { conn, .. } => {
                self.open.remove(conn);
            }
            ConnEvent::Closed { conn } => {
                self.open.remove(conn);
                let Self { places, doomed, .. } = self;
                for place in places.values_mut() {
                    if place.conn == Some(*conn) {
                        place.conn = None;
                        if place.dialect == Some(Dialect::Active) {
                            doomed.push((place.ticket, now));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event of the queue")]
    fn queue(&mut self, now: Instant, event: &Queue, found: &mut RecordViolations<'_>) {
        match event {
            Queue::Arrived { ticket, arrival, peer, dialect, position, length } => {
                self.shares.come(*ticket, *peer);
                self.join(*ticket, *arrival, Some(*dialect));
                self.position(*ticket, *position, *length, found);
            }
            Queue::Restored { ticket, arrival, position } => {
                if *position == 0 {
                    self.uploads.insert(*ticket);
                    self.reserves.begin(now, *ticket);
                } else {
                    self.join(*ticket, *arrival, None);
                    let last = self.replies.remove(ticket);
                    let awaited = last.map(|last| last.awaited(now, &self.config));
                    if let Some(place) = self.place(*ticket) {
                        place.awaited = awaited;
                    }
                }
            }
            Queue::Asked { ticket, conn, .. } => {
                if let Some(place) = self.place(*ticket) {
                    place.conn = Some(*conn);
                    place.awaited = None;
                    place.proven |= place.passed;
                }
            }
            Queue::Told { .. } => self.check_position(now, event, found),
            Queue::Held { ticket, position, length, until } => {
                if let Some(place) = self.place(*ticket) {
                    (place.not_before, place.deadline) = (now, Some(*until + LATE));
                    (place.held, place.sent_away) = (true, false);
                }
                self.position(*ticket, *position, *length, found);
                self.told_to_wait(now, *ticket, found);
            }
            Queue::Entitled { ticket } => self.entitled(now, *ticket),
            Queue::Lapsed { ticket } => self.lapsed(now, *ticket, found),
            Queue::Away { ticket, until } => {
                self.give_up(now, *ticket);
                if let Some(place) = self.place(*ticket) {
                    (place.conn, place.deadline, place.held) = (None, Some(*until), false);
                    place.sent_away = false;
                    place.not_before = now;
                    place.breaks = place.breaks.map(|n| n.saturating_add(1));
                }
            }
            Queue::Called { ticket, attempt, to } => {
                self.shares.learn(*ticket, to.ip());
                if let Some(place) = self.place(*ticket) {
                    place.calls = (*attempt).max(place.calls);
                    if *attempt == 0 {
                        place.not_before = now;
                    }
                }
            }
            Queue::Reserved { ticket, .. } => self.reserves.begin(now, *ticket),
            Queue::Continued { ticket, .. } => self.reserves.end(*ticket),
            Queue::Policy { policy } => self.config.policy = *policy,
            Queue::Returned { ticket, arrival, .. } => {
                self.reserves.end(*ticket);
                self.join(*ticket, *arrival, None);
                if let Some(place) = self.place(*ticket) {
                    // Its transfer broke off: it is not present.
                    place.sent_away = false;
                }
            }
            Queue::Moved { ticket, arrival, .. } => self.move_back(now, *ticket, *arrival),
            Queue::Started { ticket, peer, free, .. } => {
                self.shares.come(*ticket, *peer);
                self.started(now, *ticket, *free, found);
            }
            Queue::Lost { ticket, why, length } => self.lost(now, *ticket, *why, *length, found),
            Queue::Finished { ticket, free } | Queue::Unreserved { ticket, free } => {
                self.uploads.remove(ticket);
                self.reserves.end(*ticket);
                self.shares.go(*ticket);
                self.slots_agree(*ticket, *free, found);
            }
            Queue::Released { ticket, uploads } => self.released(now, *ticket, *uploads),
            Queue::Slots { slots } => self.config.slots = *slots,
            _ => {}
        }
        self.kept.shrink(self.free_within());
    }

    fn join(&mut self, ticket: Guid, arrival: u64, dialect: Option<Dialect>) {
        let conn = self.asking.filter(|c| dialect.is_some() && self.open.contains(c));
        self.places.insert(
            arrival,
            RecordedPosition {
                ticket,
                dialect,
                conn,
                held: false,
                told: dialect.is_none(),
                sent_away: dialect.is_none(),
                not_before: Instant::ZERO,
                deadline: None,
                breaks: dialect.map(|_| 0),
                calls: 0,
                awaited: None,
                passed: false,
                proven: false,
            },
        );
        self.arrivals.insert(ticket, arrival);
    }

    fn leave(&mut self, ticket: Guid) -> Option<(u64, RecordedPosition)> {
        let arrival = self.arrivals.remove(&ticket)?;
        self.places.remove(&arrival).map(|place| (arrival, place))
    }

    /// Checks a reply: the position, when to retry, and whether the client has
    /// to wait at all.
    fn check_position(&mut self, now: Instant, event: &Queue, found: &mut RecordViolations<'_>) {
        let Queue::Told { ticket, dialect, position, length, not_before, deadline, keep } = event
        else {
            return;
        };
        if let Some(place) = self.place(*ticket) {
            (place.dialect, place.not_before) = (Some(*dialect), *not_before);
            (place.deadline, place.calls) = (Some(*deadline), 0);
            (place.told, place.sent_away, place.held) = (true, !keep, false);
        }
        self.position(*ticket, *position, *length, found);
        // A client that obeys must never be late, however slow the path (§2.2).
        let least = loss::WINDOW.scaled(self.config.time_scale);
        if *deadline + ROUNDING < *not_before + least {
            found.broken(
                "window",
                "check.window",
                &[
                    ("ticket", ticket),
                    ("window", &format_args!("{:?}", deadline.since(*not_before))),
                ],
            );
        }
        self.told_to_wait(now, *ticket, found);
    }

    /// A slot is reserved for a queued request.
    fn entitled(&mut self, now: Instant, ticket: Guid) {
        let Some(&arrival) = self.arrivals.get(&ticket) else { return };
        if self.kept.len() >= self.free_within() as usize {
            // A client being called back has no reservation, but no record says
            // so.
            let overdue = |a: &u64| self.places.get(a).is_some_and(|p| p.is_overdue(now));
            let other = self.kept.arrivals().find(overdue);
            if let Some(other) = other {
                self.kept.give_up(now, other);
            }
        }
        self.kept.keep(now, arrival);
    }

    fn give_up(&mut self, now: Instant, ticket: Guid) {
        if let Some(&arrival) = self.arrivals.get(&ticket) {
            self.kept.give_up(now, arrival);
        }
    }

    /// A slot stays reserved for a client until its announced deadline, however
    /// close to that it retries (PQ-16).
    fn lapsed(&mut self, now: Instant, ticket: Guid, found: &mut RecordViolations<'_>) {
        self.give_up(now, ticket);
        let Some(place) = self.place(ticket) else { return };
        // One that was not known has passed.
        let left = has_left(place, now);
        if *place.deadline.get_or_insert(now) > now && !left {
            found.broken("fifo", "check.lapsed_early", &[("ticket", &ticket)]);
        }
    }

    fn move_back(&mut self, now: Instant, ticket: Guid, arrival: u64) {
        self.give_up(now, ticket);
        if let Some((_, place)) = self.leave(ticket) {
            self.places.insert(arrival, place);
            self.arrivals.insert(ticket, arrival);
        }
    }

    /// Checks that the records support the reason for which a place is lost.
    fn lost(
        &mut self,
        now: Instant,
        ticket: Guid,
        why: PositionLoss,
        length: u32,
        found: &mut RecordViolations<'_>,
    ) {
        self.give_up(now, ticket);
        if let Some((_, place)) = self.leave(ticket) {
            let open = place.conn.is_some_and(|conn| self.open.contains(&conn));
            if !loss::is_borne_out(&place, why, now, open, &self.config) {
                found.broken(
                    "lost",
                    "check.lost",
                    &[("ticket", &ticket), ("why", &format_args!("{why:?}"))],
                );
            }
        }
        self.uploads.remove(&ticket);
        self.reserves.end(ticket);
        self.shares.go(ticket);
        if length != self.places.len() as u32 {
            found.broken("length", "check.length", &[("ticket", &ticket), ("length", &length)]);
        }
    }

    /// Another member of the site has its place from now on.
    fn released(&mut self, now: Instant, ticket: Guid, uploads: bool) {
        self.give_up(now, ticket);
        self.leave(ticket);
        self.reserves.end(ticket);
        if !uploads {
            self.uploads.remove(&ticket);
            self.shares.go(ticket);
        }
    }

    fn place(&mut self, ticket: Guid) -> Option<&mut RecordedPosition> {
        self.places.get_mut(self.arrivals.get(&ticket)?)
    }

    fn free(&self) -> u32 {
        self.config.slots.saturating_sub(self.uploads.len() as u32)
    }

    /// The share of one address, when others want slots.
    fn share(&self) -> u32 {
        match self.config.slots_per_ip {
            0 => self.config.slots.div_ceil(2).max(1),
            some => some,
        }
    }

    /// True when a request may have to wait although it is ahead of others,
    /// because its address has more places and slots than its share.
    fn has_its_share(&self, ticket: Guid) -> bool {
        self.shares.count_places(ticket) > self.share()
    }

    /// Free slots for addresses below their share: slots that one address holds
    /// beyond its share do not keep others out.
    fn free_within(&self) -> u32 {
        let held = self.shares.counted(&self.uploads, self.share());
        self.config.slots.saturating_sub(held)
    }

    /// How many earlier arrivals are present, within their announced window.
    /// What the server says of them is ignored.
    fn present_before(&self, now: Instant, arrival: u64) -> u32 {
        let connected = |p: &RecordedPosition| p.conn.is_some_and(|c| self.open.contains(&c));
        let present = |p: &&RecordedPosition| {
            (p.sent_away || connected(p)) && !p.is_overdue(now) && !has_left(p, now)
        };
        self.places.range(..arrival).map(|(_, p)| p).filter(present).count() as u32
    }

    /// How many earlier arrivals may be skipped because their address has
    /// its share.
    fn patient_before(&self, arrival: Option<u64>) -> u32 {
        let earlier = self.places.range(..arrival.unwrap_or(u64::MAX));
        earlier.filter(|(_, place)| self.has_its_share(place.ticket)).count() as u32
    }

    /// Checks that an announced position is right: `position ≤ length`, and
    /// both are correct.
    fn position(&self, ticket: Guid, position: u32, length: u32, found: &mut RecordViolations<'_>) {
        let Some(arrival) = self.arrivals.get(&ticket) else {
            return found.broken("position", "check.no_place", &[("ticket", &ticket)]);
        };
        let stands = self.places.range(..=arrival).count() as u32;
        if position != stands || length != self.places.len() as u32 || position > length {
            found.broken(
                "position",
                "check.position",
                &[("ticket", &ticket), ("told", &position), ("stands", &stands)],
            );
        }
    }

    /// Checks that a client for which a slot is free is not told to wait.
    fn told_to_wait(&self, now: Instant, ticket: Guid, found: &mut RecordViolations<'_>) {
        let Some(arrival) = self.arrivals.get(&ticket) else { return };
        let ahead = self.present_before(now, *arrival);
        if ahead < self.free() && !self.has_its_share(ticket) {
            found.broken(
                "idle_slot",
                "check.idle_slot",
                &[("ticket", &ticket), ("free", &self.free())],
            );
        }
    }

    /// Checks that a slot goes to the first requests present, unless it was
    /// reserved for them for long enough, and that at most `slots` are taken.
    fn started(&mut self, now: Instant, ticket: Guid, free: u32, found: &mut RecordViolations<'_>) {
        if !self.uploads.contains(&ticket) {
            let before = self.free_within();
            let arrival = self.arrivals.get(&ticket).copied();
            let ahead = self.present_before(now, arrival.unwrap_or(u64::MAX));
            let ahead = ahead.saturating_sub(self.patient_before(arrival));
            if ahead >= before {
                let open = self.pass(now, arrival);
                if before > 0 && ahead.min(before).saturating_sub(open) >= before {
                    found.broken("fifo", "check.fifo", &[("ticket", &ticket), ("ahead", &ahead)]);
                }
            }
            if let Some((arrival, _)) = self.leave(ticket) {
                self.kept.taken(arrival);
            }
            self.uploads.insert(ticket);
        }
        if self.shares.counted(&self.uploads, self.share()) > self.config.slots {
            found.broken("slots", "check.slots", &[("slots", &self.config.slots)]);
        }
        self.slots_agree(ticket, free, found);
    }

    /// A queued request is served ahead of earlier ones: returns how many of
    /// them it may skip. A new request may skip none, and none may
    /// skip those that were skipped before and have retried in time
    /// since.
    fn pass(&mut self, now: Instant, arrival: Option<u64>) -> u32 {
        let Some(arrival) = arrival else { return 0 };
        let reserve = self.config.entitled_reserve.scaled(self.config.time_scale);
        let mut open = 0;
        for ahead in self.kept.open_before(arrival, now, reserve) {
            if let Some(place) = self.places.get_mut(&ahead).filter(|place| !place.proven) {
                place.passed = true;
                open += 1;
            }
        }
        open
    }

    fn slots_agree(&self, ticket: Guid, free: u32, found: &mut RecordViolations<'_>) {
        if free != self.free() {
            found.broken(
                "free",
                "check.free",
                &[("ticket", &ticket), ("said", &free), ("free", &self.free())],
            );
        }
    }
}
