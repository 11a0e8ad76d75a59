//! Rate limits: for all uploads together, for those of each person, for
//! downloads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;

/// How much a transfer may catch up after a wait of another kind: a timer that
/// was late, a peer that was not ready.
const CATCH_UP: Duration = Duration::from_millis(200);

/// Hands out bytes at a steady rate, first come first served.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: AtomicU64,
    watch: Stopwatch,
    spent: Mutex<Duration>,
}

impl Pace {
    /// A limit in bytes per second, at least 1.
    pub(crate) fn new(rate: u64) -> Self {
        Self {
            rate: AtomicU64::new(rate.max(1)),
            watch: Stopwatch::start(),
            spent: Mutex::default(),
        }
    }

    /// A limit that may be set later; `None`: as fast as it goes.
    pub(crate) fn limited(rate: Option<u64>) -> Self {
        Self::new(rate.unwrap_or(u64::MAX))
    }

    /// From now on it is this; `None`: as fast as it goes.
    pub(crate) fn set(&self, rate: Option<u64>) {
        self.rate.store(rate.unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
    }

    fn rate(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }

    /// A chunk size that keeps the flow smooth: what may be sent in a fiftieth
    /// of a second.
    pub(crate) fn chunk(&self) -> u64 {
        (self.rate() / 50).max(1_024)
    }

    /// How long to pause after `bytes` were sent.
    pub(crate) fn after(&self, bytes: u64) -> Duration {
        self.after_at(self.watch.elapsed(), bytes)
    }

    /// The same, `now` after the start.
    fn after_at(&self, now: Duration, bytes: u64) -> Duration {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate());
        *spent = (*spent).max(now.saturating_sub(CATCH_UP))
            + Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX));
        spent.saturating_sub(now)
    }
}

/// A limit in bytes per second, shared by all holders of a clone of it.
#[derive(Debug, Clone)]
pub struct Rate(pub(crate) Arc<Pace>);

impl Rate {
    /// A limit in bytes per second, at least 1.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        Self(Arc::new(Pace::new(bytes_per_second)))
    }
}

/// The rate limits that apply to one upload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paces(pub(crate) Vec<Arc<Pace>>);

impl Paces {
    /// True when there are none now.
    pub(crate) fn is_free(&self) -> bool {
        self.0.iter().all(|pace| pace.rate() == u64::MAX)
    }

    /// The largest chunk that suits all limits and `most`.
    pub(crate) fn chunk(&self, most: u64) -> u64 {
        self.0.iter().map(|pace| pace.chunk()).fold(most, u64::min)
    }

    /// How long to pause after `bytes` were sent.
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
            // Assume that every timer is late.
            now += pace.after_at(now, 10_000) + 5 * MS;
        }
        assert!(now <= 1_006 * MS, "a megabyte took {now:?}");
    }

    #[test]
    fn a_rate_that_is_changed_holds_for_what_runs() {
        let pace = Pace::new(1_000);
        assert_eq!(pace.after_at(Duration::ZERO, 500), 500 * MS);
        pace.set(Some(500_000));
        assert_eq!(pace.after_at(500 * MS, 500), MS);
        pace.set(None);
        assert!(pace.after_at(1_000 * MS, 1 << 30) < MS);
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
