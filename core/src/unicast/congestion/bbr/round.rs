//! Round trips, counted by what arrives, and what happened in each.

use crate::time::Duration;

/// What happened since the present round trip began.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundTally {
    /// Bytes that arrived, were lost, and arrived with a mark.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) marked: u64,
    /// Of the lost bytes those that were sent after start-up.
    pub(super) lost_later: u64,
    /// The highest rate and the most bytes of one sample.
    pub(super) rate: u64,
    pub(super) most: u64,
    /// The round trips measured: their sum, in microseconds, and how many.
    trips: (u64, u64),
}

impl RoundTally {
    pub(super) fn trip(&mut self, rtt: Duration) {
        self.trips = (self.trips.0 + rtt.as_micros(), self.trips.1 + 1);
    }

    /// The mean of the round trips measured.
    pub(super) fn mean(&self) -> Option<Duration> {
        let (sum, count) = self.trips;
        sum.checked_div(count).map(Duration::from_micros)
    }
}

/// The highest rate of the last two cycles of probes.
#[derive(Debug, Clone, Default)]
pub(super) struct RateFilter {
    before: u64,
    now: u64,
}

impl RateFilter {
    pub(super) fn take(&mut self, rate: u64) {
        self.now = self.now.max(rate);
    }

    pub(super) fn highest(&self) -> u64 {
        self.now.max(self.before)
    }

    /// What was measured before was not the path's.
    pub(super) const fn restart(&mut self, rate: u64) {
        *self = Self { before: 0, now: rate };
    }

    /// Another cycle begins.
    pub(super) fn advance(&mut self) {
        if self.now > 0 {
            self.before = core::mem::take(&mut self.now);
        }
    }
}
