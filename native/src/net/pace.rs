//! One upload rate for all uploads together.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;

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

    fn after_at(&self, now: Duration, bytes: u64) -> Duration {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate);
        *spent = (*spent).max(now) + Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX));
        *spent - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_uploads_share_one_rate() {
        let pace = Pace::new(1_000);
        let at = Duration::from_millis;
        assert_eq!(pace.after_at(at(0), 500), at(500));
        assert_eq!(pace.after_at(at(100), 500), at(900));
        assert_eq!(pace.after_at(at(3_000), 500), at(500), "what was not used is gone");
    }
}
