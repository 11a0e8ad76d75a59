//! Rates: of all uploads together, of those of each person, of downloads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;

/// What a line may catch up on after it had to wait for something else: a
/// sleep that was too long, a peer that was not ready.
const CATCH_UP: Duration = Duration::from_millis(200);

/// Hands out bytes at a steady rate, first come first served.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: u64,
    watch: Stopwatch,
    spent: Mutex<Duration>,
}

impl Pace {
    /// So many bytes a second, at least 1.
    pub(crate) fn new(rate: u64) -> Self {
        Self { rate: rate.max(1), watch: Stopwatch::start(), spent: Mutex::default() }
    }

    /// A piece that keeps the line smooth: a fiftieth of a second's worth.
    pub(crate) fn chunk(&self) -> u64 {
        (self.rate / 50).max(1_024)
    }

    /// How long to rest after `bytes` have left.
    pub(crate) fn after(&self, bytes: u64) -> Duration {
        self.after_at(self.watch.elapsed(), bytes)
    }

    /// The same, so long after the beginning.
    fn after_at(&self, now: Duration, bytes: u64) -> Duration {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate);
        *spent = (*spent).max(now.saturating_sub(CATCH_UP))
            + Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX));
        spent.saturating_sub(now)
    }
}

/// Bytes a second that may be moved by whoever has a clone of it, together.
#[derive(Debug, Clone)]
pub struct Rate(pub(crate) Arc<Pace>);

impl Rate {
    /// So many bytes a second, at least 1.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        Self(Arc::new(Pace::new(bytes_per_second)))
    }
}

/// The rates that one upload keeps to, all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paces(pub(crate) Vec<Arc<Pace>>);

impl Paces {
    /// True when there is none.
    pub(crate) fn is_free(&self) -> bool {
        self.0.is_empty()
    }

    /// The largest piece that suits all, and `most`.
    pub(crate) fn chunk(&self, most: u64) -> u64 {
        self.0.iter().map(|pace| pace.chunk()).fold(most, u64::min)
    }

    /// How long to rest after `bytes` have left.
    pub(crate) fn after(&self, bytes: u64) -> Duration {
        self.0.iter().map(|pace| pace.after(bytes)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn two_uploads_share_one_rate() {
        let pace = Pace::new(1_000);
        assert_eq!(pace.after_at(Duration::ZERO, 500), 500 * MS);
        assert_eq!(pace.after_at(Duration::ZERO, 500), 1_000 * MS);
    }

    #[test]
    fn sleeps_that_are_too_long_cost_nothing_over_time() {
        let pace = Pace::new(1_000_000);
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            // Every timer is late.
            now += pace.after_at(now, 10_000) + 5 * MS;
        }
        assert!(now <= 1_006 * MS, "a megabyte took {now:?}");
    }

    #[test]
    fn what_was_not_used_for_long_is_gone() {
        let pace = Pace::new(1_000_000);
        let later = Duration::from_secs(60);
        let caught_up = pace.after_at(later, 200_000);
        assert_eq!(caught_up, Duration::ZERO);
        assert_eq!(pace.after_at(later, 100_000), 100 * MS);
    }
}
