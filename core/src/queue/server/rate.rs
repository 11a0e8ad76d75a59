//! Measures how fast bytes are sent while uploads run.

use crate::time::{Duration, Instant};

/// Half-life of the average.
const MEMORY: Duration = Duration::from_secs(20);
/// A measurement over less time than this is not used.
const ENOUGH: Duration = Duration::from_millis(250);

/// Bytes sent, and the time in which transfers were running.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate {
    bytes: u64,
    time: Duration,
    now: Instant,
    /// Number of running transfers.
    running: u32,
}

impl Rate {
    /// Advances the time.
    pub(super) fn turn_to(&mut self, now: Instant) {
        if self.running > 0 {
            self.time = self.time + now.since(self.now);
        }
        self.now = now;
        if self.time > MEMORY {
            (self.bytes, self.time) = (self.bytes / 2, self.time.ratio(1, 2));
        }
    }

    /// The time it was last advanced to.
    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// A transfer starts.
    pub(super) fn begin(&mut self) {
        self.running += 1;
    }

    /// A transfer ends.
    pub(super) fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// So many bytes were sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Bytes per second, if known.
    pub(super) fn measured(&self) -> Option<u64> {
        if self.time < ENOUGH {
            return None;
        }
        let rate = u128::from(self.bytes) * 1_000_000 / u128::from(self.time.as_micros());
        u64::try_from(rate).ok().filter(|rate| *rate > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_do_not_count_and_a_change_is_noticed() {
        let mut rate = Rate::default();
        let mut now = Instant::from_secs(100);
        let mut run = |rate: &mut Rate, seconds: u64, bytes: u64| {
            rate.turn_to(now);
            rate.begin();
            for _ in 0..seconds {
                now += Duration::from_secs(1);
                rate.turn_to(now);
                rate.sent(bytes);
            }
            rate.end();
            now += Duration::from_secs(1_000);
        };
        assert_eq!(rate.measured(), None);
        rate.time = ENOUGH;
        rate.sent(1_000);
        assert_eq!(rate.measured(), Some(4_000));
        rate = Rate::default();
        run(&mut rate, 5, 3_000);
        assert_eq!(rate.measured(), Some(3_000));
        run(&mut rate, 5, 3_000);
        assert_eq!(rate.measured(), Some(3_000));
        run(&mut rate, 60, 1_000);
        let measured = rate.measured().unwrap();
        assert!((1_000..1_300).contains(&measured), "{measured}");
    }

    #[test]
    fn what_was_measured_long_ago_counts_less_however_rarely_it_is_looked_at() {
        let (mut rate, mut now) = (Rate::default(), Instant::from_secs(100));
        rate.turn_to(now);
        rate.begin();
        for bytes in [30_000; 20].into_iter().chain([3_000; 20]) {
            now += Duration::from_secs(3);
            rate.turn_to(now);
            rate.sent(bytes);
        }
        let measured = rate.measured().unwrap();
        assert!((1_000..2_000).contains(&measured), "{measured}");
        assert_eq!(rate.now(), now);
    }
}
