//! The free slots of one server that are reserved, for which client and since when.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use servent_core::time::{Duration, Instant};

/// The start of each reservation, by the arrival of the request it is for.
#[derive(Debug, Clone, Default)]
pub(super) struct ReservationStarts {
    since: BTreeMap<u64, Instant>,
    /// The start of reservations given up at this instant: the next one
    /// inherits it.
    given_up: Vec<Instant>,
    /// Reservations that were taken to be lost with a slot.
    dropped: BTreeMap<u64, Instant>,
    at: Instant,
}

impl ReservationStarts {
    /// A slot is reserved for the request with this arrival.
    pub(super) fn keep(&mut self, now: Instant, arrival: u64) {
        self.turn_to(now);
        let since = self.given_up.pop().unwrap_or(now);
        self.dropped.remove(&arrival);
        if self.since.insert(arrival, since).is_some() {
            // It had none, so it was the one that lost it: an address that has
            // its share loses first, and of clients that came back after a restart no
            // record gives the address.
            self.since.extend(self.dropped.pop_last());
        }
    }

    /// The reservation is given up; the slot stays free.
    pub(super) fn give_up(&mut self, now: Instant, arrival: u64) {
        self.turn_to(now);
        self.dropped.remove(&arrival);
        self.given_up.extend(self.since.remove(&arrival));
    }

    /// The slot is taken by the request it was reserved for.
    pub(super) fn taken(&mut self, arrival: u64) {
        self.dropped.remove(&arrival);
        self.since.remove(&arrival);
    }

    /// At most `free` slots are free: of those reserved, the one free for
    /// longest is taken. The latest arrival loses its reservation, and the
    /// request whose slot was taken inherits that one.
    pub(super) fn shrink(&mut self, free: u32) {
        while self.since.len() > free as usize {
            let Some((&last, &later)) = self.since.last_key_value() else { return };
            self.since.remove(&last);
            self.dropped.insert(last, later);
            let oldest = self.since.iter().min_by_key(|&(arrival, since)| (*since, *arrival));
            if let Some((&arrival, &since)) = oldest
                && since < later
            {
                self.since.insert(arrival, later);
            }
        }
    }

    /// The number of reservations.
    pub(super) fn len(&self) -> usize {
        self.since.len()
    }

    /// The arrivals they are for.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = u64> {
        self.since.iter().map(|(&arrival, _)| arrival)
    }

    /// Earlier arrivals whose slots have been free for long enough that others
    /// in the queue may take them.
    pub(super) fn open_before(
        &self,
        arrival: u64,
        now: Instant,
        reserve: Duration,
    ) -> impl Iterator<Item = u64> {
        let ahead = self.since.range(..arrival);
        ahead.filter(move |&(_, since)| *since + reserve <= now).map(|(&arrival, _)| arrival)
    }

    fn turn_to(&mut self, now: Instant) {
        if self.at != now {
            self.given_up.clear();
            self.at = now;
        }
    }
}
