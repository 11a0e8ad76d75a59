//! For whom the free slots of one server are kept, and each since when.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use servent_core::time::{Duration, Instant};

/// One instant for every slot that is kept, by the arrival of whom it is
/// kept for.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    since: BTreeMap<u64, Instant>,
    /// Slots that were given up at this instant: who is entitled next
    /// inherits the time they have stood free.
    given_up: Vec<Instant>,
    at: Instant,
}

impl Kept {
    /// A slot is kept for whoever arrived then.
    pub(super) fn keep(&mut self, now: Instant, arrival: u64) {
        self.turn_to(now);
        let since = self.given_up.pop().unwrap_or(now);
        self.since.insert(arrival, since);
    }

    /// It is kept no longer, and stays free.
    pub(super) fn give_up(&mut self, now: Instant, arrival: u64) {
        self.turn_to(now);
        self.given_up.extend(self.since.remove(&arrival));
    }

    /// Whoever it was kept for has taken it.
    pub(super) fn taken(&mut self, arrival: u64) {
        self.since.remove(&arrival);
    }

    /// No more than so many are free: of those that are kept the one that
    /// stood free longest is gone. Whoever came last goes without, and whoever
    /// the lost one was kept for is next in line for the other.
    pub(super) fn shrink(&mut self, free: u32) {
        while self.since.len() > free as usize {
            let Some((&last, &later)) = self.since.last_key_value() else { return };
            self.since.remove(&last);
            let oldest = self.since.iter().min_by_key(|&(arrival, since)| (*since, *arrival));
            if let Some((&arrival, &since)) = oldest
                && since < later
            {
                self.since.insert(arrival, later);
            }
        }
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.since.len()
    }

    /// The arrivals they are kept for.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = u64> {
        self.since.iter().map(|(&arrival, _)| arrival)
    }

    /// Those who arrived before and whose slots have stood free long enough to
    /// be taken by others of the line.
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
