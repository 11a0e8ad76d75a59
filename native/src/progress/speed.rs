//! A rate over the last few seconds, and what it says about the rest.

use servent_core::time::{Duration, Instant};

use super::fit::STILL;
use super::{length, rate};

/// How long bytes are counted before there is a rate.
const WINDOW: Duration = Duration::from_millis(500);
/// When nothing has come for so long, there is no rate any more: the last one says nothing
/// about when the rest is here.
const STALLED: Duration = Duration::from_secs(3);

/// A rate over the last few seconds.
#[derive(Debug, Default)]
pub(crate) struct RecentRate {
    since: Option<(Instant, u64)>,
    per_second: u64,
    grows: bool,
    /// The rate before the last measurement was not one of the start-up.
    settled: bool,
    /// Nothing came while it was measured last.
    pauses: bool,
    /// Bytes are expected: none is missed before.
    begun: bool,
    /// Since when nothing has come, and how much had come by then.
    still: Option<(Instant, u64)>,
    /// How long nothing has come, if it is long.
    waits: Option<Duration>,
}

impl RecentRate {
    /// Counts up to `have` bytes; returns the rate, 0 before there is one and while nothing
    /// comes.
    pub(crate) fn update(&mut self, now: Instant, have: u64) -> u64 {
        self.note_stillness(now, have);
        let (at, before) = *self.since.get_or_insert((now, have));
        let passed = now.since(at);
        if passed >= WINDOW {
            let fresh = have.saturating_sub(before).saturating_mul(1_000) / passed.as_millis();
            // A path's start-up says nothing about what comes after it.
            self.grows = fresh > self.per_second.saturating_mul(3) / 2;
            self.pauses = fresh == 0;
            // The average of the old and the new rate: steady, yet it follows. A rate of the
            // start-up is not part of it.
            let averaged = (self.settled || self.pauses) && !self.grows;
            self.per_second = if averaged { self.per_second.midpoint(fresh) } else { fresh };
            self.settled = !self.grows;
            self.since = Some((now, have));
        }
        if self.waits.is_some() {
            self.per_second = 0;
        }
        self.per_second
    }

    /// From now on bytes are expected.
    pub(crate) const fn begin(&mut self) {
        self.begun = true;
    }

    /// Before the first byte there is nothing to miss, unless it is expected.
    fn note_stillness(&mut self, now: Instant, have: u64) {
        let (since, before) = *self.still.get_or_insert((now, have));
        if have != before {
            self.still = Some((now, have));
        }
        let still = now.since(since);
        let moved = self.begun || self.per_second > 0 || self.waits.is_some();
        self.waits = Some(still).filter(|still| moved && have == before && *still >= STALLED);
    }

    /// True when the rate says how long the rest takes: it no longer grows by half
    /// from one measurement to the next, and something has come in the last one.
    const fn is_steady(&self) -> bool {
        !self.grows && !self.pauses
    }

    /// True when nothing has come for long.
    pub(crate) const fn is_still(&self) -> bool {
        self.waits.is_some()
    }

    /// The rate, and how long the rest of so many bytes takes; or that it waits.
    pub(crate) fn words(&self, left: Option<u64>) -> String {
        let whole = left == Some(0);
        let left = left.filter(|left| *left > 0);
        if let Some(still) = self.waits.filter(|_| !whole) {
            return format!("{}{}", STILL[0], length(still.as_secs()));
        }
        if self.per_second == 0 {
            return String::new();
        }
        let left = left.filter(|_| self.is_steady()).map(|left| left.div_ceil(self.per_second));
        let left = left.map_or_else(String::new, |left| format!(", {} left", length(left)));
        format!("{}{left}", rate(self.per_second))
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

    /// A line that goes dark: an estimate made of the last bytes would be days, for minutes.
    #[test]
    fn while_nothing_moves_there_is_no_rate_and_no_rest() {
        let (mut speed, left) = (RecentRate::default(), Some(10_000_000));
        let mut tenths = 0_u64..;
        let mut lines = |speed: &mut RecentRate, have: u64, count: usize| {
            let mut says = |tenth| {
                speed.update(Instant::from_micros(tenth * 100_000), have);
                speed.words(left)
            };
            tenths.by_ref().take(count).map(&mut says).collect::<Vec<_>>()
        };
        for have in 0..20 {
            lines(&mut speed, have * 100_000, 1);
        }
        assert_eq!(speed.words(left), "977 KiB/s, 10 s left");
        for line in lines(&mut speed, 2_000_000, 300).iter().skip(10) {
            assert!(!line.contains("left"), "{line}");
        }
        assert_eq!(speed.words(left), "waiting, nothing has moved for 29 s");
        assert_eq!(speed.update(Instant::from_secs(32), 2_000_000), 0);
        for have in 21..41 {
            lines(&mut speed, have * 100_000, 1);
        }
        assert_eq!(speed.words(left), "977 KiB/s, 10 s left");
    }

    /// A receiver that has taken the offer, and a path that carries none of the bytes.
    #[test]
    fn a_first_byte_that_is_expected_is_missed() {
        let mut speed = RecentRate::default();
        speed.begin();
        for second in 0..10 {
            speed.update(Instant::from_secs(second), 0);
        }
        assert_eq!(speed.words(Some(1)), "waiting, nothing has moved for 9 s");
    }

    #[test]
    fn what_has_not_begun_does_not_wait_for_more() {
        let mut speed = RecentRate::default();
        for second in 0..10 {
            speed.update(Instant::from_secs(second), 0);
        }
        assert_eq!(speed.words(Some(1)), "");
    }

    /// Paths of 10 MB/s that begin with 14 KB a round trip and double that in each; every
    /// estimate shown is right within a third.
    #[test]
    fn the_time_left_is_believable_while_a_path_starts_slowly() {
        for tenths in 1..=4 {
            believable(tenths);
        }
    }

    /// For a round trip of so many tenths of a second.
    fn believable(tenths: usize) {
        const WHOLE: u64 = 100_000_000;
        let mut arrived = vec![0];
        let mut trip = 14_000;
        while let Some(have) = arrived.last().copied().filter(|have| *have < WHOLE) {
            arrived.extend((1..=tenths as u64).map(|tenth| have + trip * tenth / tenths as u64));
            trip = (trip * 2).min(1_000_000 * tenths as u64);
        }
        arrived.truncate(arrived.partition_point(|have| *have < WHOLE) + 1);
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
        assert!(
            first.is_some_and(|at| at <= 20 * tenths),
            "the first after {first:?} tenths, round trips of {tenths}"
        );
    }
}
