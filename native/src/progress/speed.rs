//! A rate over the last few seconds, and what it says about the rest.

use servent_core::time::{Duration, Instant};

/// How long bytes are counted before there is a rate.
const WINDOW: Duration = Duration::from_millis(500);

/// A rate over the last few seconds.
#[derive(Debug, Default)]
pub(crate) struct RecentRate {
    since: Option<(Instant, u64)>,
    per_second: u64,
    grows: bool,
}

impl RecentRate {
    /// Counts up to `have` bytes; returns the rate, 0 before there is one.
    pub(crate) fn update(&mut self, now: Instant, have: u64) -> u64 {
        let (at, before) = *self.since.get_or_insert((now, have));
        let passed = now.since(at);
        if passed >= WINDOW {
            let fresh = have.saturating_sub(before).saturating_mul(1_000) / passed.as_millis();
            // A path's start-up says nothing about what comes after it.
            self.grows = fresh > self.per_second.saturating_mul(3) / 2;
            // The average of the old and the new rate: steady, yet it follows.
            self.per_second = if self.grows { fresh } else { self.per_second.midpoint(fresh) };
            self.since = Some((now, have));
        }
        self.per_second
    }

    /// True when the rate says how long the rest takes: it no longer grows by half
    /// from one measurement to the next.
    pub(crate) const fn is_steady(&self) -> bool {
        !self.grows
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

    /// A path of 10 MB/s that begins with 14 KB a round trip of 100 ms and doubles
    /// that; every estimate shown is right within a third.
    #[test]
    fn the_time_left_is_believable_while_a_path_starts_slowly() {
        const WHOLE: u64 = 100_000_000;
        let mut arrived = vec![0];
        let mut trip = 14_000;
        while let Some(have) = arrived.last().filter(|have| **have < WHOLE) {
            arrived.push(have + trip);
            trip = (trip * 2).min(1_000_000);
        }
        let (mut speed, mut first) = (RecentRate::default(), None);
        for (at, have) in arrived.iter().enumerate().take(arrived.len() - 10) {
            let rate = speed.update(Instant::from_micros(at as u64 * 100_000), *have);
            if rate > 0 && speed.is_steady() {
                first.get_or_insert(at);
                let (shown, truth) = ((WHOLE - have) / (rate / 10), (arrived.len() - at) as u64);
                assert!(
                    shown.abs_diff(truth) <= truth.div_ceil(3),
                    "at {at}: {shown}, not {truth}"
                );
            }
        }
        assert!(first.is_some_and(|at| at <= 20), "the first after {first:?} round trips");
    }
}
