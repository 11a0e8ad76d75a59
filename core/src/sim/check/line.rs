//! The line and the slots of one server.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Verdicts;
use crate::id::{ConnId, Guid};
use crate::node::ConnEvent;
use crate::queue::{Config, Dialect, Event as Queue};
use crate::sim::WorldEvent;
use crate::table::{Set, Table};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Record};

#[derive(Debug, Clone)]
struct Place {
    ticket: Guid,
    dialect: Option<Dialect>,
    conn: Option<ConnId>,
    /// It was told to hang up and come back, or its server restarted: no
    /// connection is expected.
    sent_away: bool,
    /// It was told not to ask before.
    not_before: Instant,
    /// Did not ask in its time: it may be passed until it asks again.
    lapsed: bool,
}

/// What the records of one server add up to.
#[derive(Debug, Clone)]
pub(super) struct Line {
    slots: u32,
    reserve: Duration,
    places: Table<u64, Place>,
    arrivals: Table<Guid, u64>,
    uploads: Set<Guid>,
    open: Set<ConnId>,
    /// The connection of the last request.
    asking: Option<ConnId>,
    /// Since when a slot has been free without a break.
    free_since: Option<Instant>,
    /// Places that must be gone before time goes on.
    doomed: Vec<(Guid, Instant)>,
}

impl Line {
    pub(super) fn new(config: &Config) -> Self {
        let scale = u64::from(config.time_scale.max(1));
        Self {
            slots: config.slots,
            reserve: config.entitled_reserve.ratio(1, scale),
            places: Table::new(),
            arrivals: Table::new(),
            uploads: Set::new(),
            open: Set::new(),
            asking: None,
            free_since: Some(Instant::ZERO),
            doomed: Vec::new(),
        }
    }

    pub(super) fn see(&mut self, record: &Record, verdicts: &mut Verdicts<'_>) {
        self.judge_the_doomed(record.at, verdicts);
        match &record.event {
            Event::Conn(event) => self.connection(record.at, event),
            Event::Queue(event) => self.queue(record.at, event, verdicts),
            Event::World(WorldEvent::Crashed) => {
                let fresh = Self { slots: self.slots, ..Self::new(&Config::default()) };
                *self = Self { reserve: self.reserve, ..fresh };
            }
            _ => {}
        }
    }

    /// AQ-7: the connection is the place.
    fn judge_the_doomed(&mut self, now: Instant, verdicts: &mut Verdicts<'_>) {
        let due = self.doomed.partition_point(|(_, at)| *at < now);
        for (ticket, _) in self.doomed.drain(..due) {
            if self.arrivals.contains_key(&ticket) {
                verdicts.violation("aq_connection", "check.aq_connection", [of(ticket)]);
            }
        }
    }

    fn connection(&mut self, now: Instant, event: &ConnEvent) {
        match event {
            ConnEvent::Accepted { conn, .. } | ConnEvent::Dialed { conn } => {
                self.open.insert(*conn);
            }
            ConnEvent::Request { conn, .. } => self.asking = Some(*conn),
            ConnEvent::Closed { conn } => {
                self.open.remove(conn);
                let Self { places, doomed, .. } = self;
                places.each_mut(|_, place| {
                    if place.conn == Some(*conn) {
                        place.conn = None;
                        if place.dialect == Some(Dialect::Active) {
                            doomed.push((place.ticket, now));
                        }
                    }
                });
            }
            _ => {}
        }
    }

    fn queue(&mut self, now: Instant, event: &Queue, verdicts: &mut Verdicts<'_>) {
        match event {
            Queue::Arrived { ticket, arrival, dialect, position, length, .. } => {
                self.join(*ticket, *arrival, Some(*dialect));
                self.position(*ticket, *position, *length, verdicts);
            }
            Queue::Restored { ticket, arrival, position } => {
                if *position == 0 {
                    self.uploads.insert(*ticket);
                    self.count_free(now);
                } else {
                    self.join(*ticket, *arrival, None);
                }
            }
            Queue::Asked { ticket, conn, .. } => {
                if let Some(place) = self.place(*ticket) {
                    (place.conn, place.lapsed) = (Some(*conn), false);
                }
            }
            Queue::Told { ticket, dialect, position, length, not_before, keep, .. } => {
                if let Some(place) = self.place(*ticket) {
                    (place.dialect, place.not_before) = (Some(*dialect), *not_before);
                    place.sent_away = !keep;
                }
                self.position(*ticket, *position, *length, verdicts);
                self.told_to_wait(*ticket, verdicts);
            }
            Queue::Lapsed { ticket } => self.lapsed(now, *ticket, verdicts),
            Queue::Moved { ticket, arrival, .. } => self.move_back(*ticket, *arrival),
            Queue::Started { ticket, free, .. } => self.started(now, *ticket, *free, verdicts),
            Queue::Lost { ticket, length, .. } => {
                self.leave(*ticket);
                self.uploads.remove(ticket);
                self.count_free(now);
                if *length != self.places.len() as u32 {
                    let args = [of(*ticket), ("length", format!("{length}"))];
                    verdicts.violation("length", "check.length", args);
                }
            }
            Queue::Finished { ticket, free } | Queue::Unreserved { ticket, free } => {
                self.uploads.remove(ticket);
                self.slots_agree(*ticket, *free, verdicts);
                self.count_free(now);
            }
            Queue::Slots { slots } => {
                self.slots = *slots;
                self.count_free(now);
            }
            _ => {}
        }
    }

    fn join(&mut self, ticket: Guid, arrival: u64, dialect: Option<Dialect>) {
        let conn = self.asking.filter(|c| dialect.is_some() && self.open.contains(c));
        self.places.insert(
            arrival,
            Place {
                ticket,
                dialect,
                conn,
                sent_away: dialect.is_none(),
                not_before: Instant::ZERO,
                lapsed: false,
            },
        );
        self.arrivals.insert(ticket, arrival);
    }

    fn leave(&mut self, ticket: Guid) -> Option<(u64, Place)> {
        let arrival = self.arrivals.remove(&ticket)?;
        self.places.remove(&arrival).map(|place| (arrival, place))
    }

    /// A place may be passed only once its owner could have asked, or when a
    /// slot has been kept long enough.
    fn lapsed(&mut self, now: Instant, ticket: Guid, verdicts: &mut Verdicts<'_>) {
        let kept = self.free_since.is_some_and(|since| since + self.reserve <= now);
        let Some(place) = self.place(ticket) else { return };
        place.lapsed = true;
        if place.not_before > now && !kept {
            verdicts.violation("fifo", "check.lapsed_early", [of(ticket)]);
        }
    }

    fn move_back(&mut self, ticket: Guid, arrival: u64) {
        if let Some((_, place)) = self.leave(ticket) {
            self.places.insert(arrival, place);
            self.arrivals.insert(ticket, arrival);
        }
    }

    fn place(&mut self, ticket: Guid) -> Option<&mut Place> {
        self.places.get_mut(self.arrivals.get(&ticket)?)
    }

    fn free(&self) -> u32 {
        self.slots.saturating_sub(self.uploads.len() as u32)
    }

    fn count_free(&mut self, now: Instant) {
        if self.free() == 0 {
            self.free_since = None;
        } else {
            self.free_since.get_or_insert(now);
        }
    }

    /// How many who came earlier are there, and have not let their time pass.
    fn present_before(&self, arrival: u64) -> u32 {
        let connected = |p: &Place| p.conn.is_some_and(|c| self.open.contains(&c));
        let present = |p: &&Place| (p.sent_away || connected(p)) && !p.lapsed;
        self.places.range(..arrival).map(|(_, p)| p).filter(present).count() as u32
    }

    /// What a client is told is where it stands: `position ≤ length`, and
    /// both are right.
    fn position(&self, ticket: Guid, position: u32, length: u32, verdicts: &mut Verdicts<'_>) {
        let Some(arrival) = self.arrivals.get(&ticket) else {
            return verdicts.violation("position", "check.no_place", [of(ticket)]);
        };
        let stands = self.places.range(..=arrival).count() as u32;
        if position != stands || length != self.places.len() as u32 || position > length {
            let args =
                [of(ticket), ("told", format!("{position}")), ("stands", format!("{stands}"))];
            verdicts.violation("position", "check.position", args);
        }
    }

    /// Nobody is told to wait for whom a slot is free.
    fn told_to_wait(&self, ticket: Guid, verdicts: &mut Verdicts<'_>) {
        let Some(arrival) = self.arrivals.get(&ticket) else { return };
        let ahead = self.present_before(*arrival);
        if ahead < self.free() {
            let args = [of(ticket), ("free", format!("{}", self.free()))];
            verdicts.violation("idle_slot", "check.idle_slot", args);
        }
    }

    /// A slot goes to the first who are there; at most `slots` are taken.
    fn started(&mut self, now: Instant, ticket: Guid, free: u32, verdicts: &mut Verdicts<'_>) {
        let before = self.free();
        if !self.uploads.contains(&ticket) {
            let arrival = self.arrivals.get(&ticket).copied().unwrap_or(u64::MAX);
            let ahead = self.present_before(arrival);
            let patient = self.free_since.is_none_or(|since| since + self.reserve > now);
            if ahead >= before.max(1) && patient {
                let args = [of(ticket), ("ahead", format!("{ahead}"))];
                verdicts.violation("fifo", "check.fifo", args);
            }
            self.leave(ticket);
            self.uploads.insert(ticket);
        }
        if self.uploads.len() as u32 > self.slots {
            verdicts.violation("slots", "check.slots", [("slots", format!("{}", self.slots))]);
        }
        self.slots_agree(ticket, free, verdicts);
        self.count_free(now);
    }

    fn slots_agree(&self, ticket: Guid, free: u32, verdicts: &mut Verdicts<'_>) {
        if free != self.free() {
            let args =
                [of(ticket), ("said", format!("{free}")), ("free", format!("{}", self.free()))];
            verdicts.violation("free", "check.free", args);
        }
    }
}

fn of(ticket: Guid) -> (&'static str, String) {
    ("ticket", format!("{ticket}"))
}
