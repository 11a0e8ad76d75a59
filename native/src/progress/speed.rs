//! A rate over the last few seconds, and what it says about the rest.

use servent_core::time::{Duration, Instant};

/// How long bytes are counted before there is a rate.
const WINDOW: Duration = Duration::from_millis(500);

/// A rate over the last few seconds.
#[derive(Debug, Default)]
pub(crate) struct RecentRate {
    since: Option<(Instant, u64)>,
    per_second: u64,
}

impl RecentRate {
    /// Counts up to `have` bytes; returns the rate, 0 before there is one.
    pub(crate) fn update(&mut self, now: Instant, have: u64) -> u64 {
        let (at, before) = *self.since.get_or_insert((now, have));
        let passed = now.since(at);
        if passed >= WINDOW {
            let fresh = have.saturating_sub(before).saturating_mul(1_000) / passed.as_millis();
            // The average of the old and the new rate: steady, yet it follows.
            self.per_second =
                if self.per_second == 0 { fresh } else { self.per_second.midpoint(fresh) };
            self.since = Some((now, have));
        }
        self.per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_the_bytes() {
        let mut speed = RecentRate::default();
        assert_eq!(speed.update(Instant::ZERO, 0), 0);
        assert_eq!(speed.update(Instant::from_secs(1), 1_000), 1_000);
        assert_eq!(speed.update(Instant::from_secs(2), 1_000), 500);
    }
}
