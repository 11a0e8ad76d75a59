//! The only place that reads the clock. Everything else takes `now` as an
//! argument.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use servent_core::time::Instant;

use crate::sys::steady;

/// The longest sleep of [`Clock::wake_at`]: the runtime's clock has an end.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Microseconds since the Unix epoch that never go backwards within a run: the
/// wall clock is read once, then a steady clock that goes on while the machine is
/// suspended. What others were told lies in their time, which goes on too.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: std::time::Instant,
    origin_us: u64,
    /// What [`steady`] said then.
    steady: Duration,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// Reads the wall clock; a clock set before 1970 counts from zero.
    #[must_use]
    pub fn new() -> Self {
        let origin_us = wall().as_micros();
        let origin = std::time::Instant::now();
        Self { origin, origin_us, steady: steady(origin) }
    }

    /// What the wall clock shows now. It may have been set since the start.
    pub(crate) fn wall() -> Instant {
        wall()
    }

    /// The current instant.
    #[must_use]
    pub fn now(&self) -> Instant {
        let run = steady(self.origin).saturating_sub(self.steady);
        let run = u64::try_from(run.as_micros()).unwrap_or(u64::MAX);
        Instant::from_micros(self.origin_us.saturating_add(run))
    }

    /// How long the machine has been suspended since the start; zero where the
    /// system does not tell. The two clocks are read one after the other, so it may
    /// be less than it was before, by the time between.
    pub(crate) fn suspended(&self) -> Duration {
        let all = steady(self.origin).saturating_sub(self.steady);
        all.saturating_sub(self.origin.elapsed())
    }

    /// The same instant on the runtime's monotonic clock, for a sleep. It
    /// decides nothing: after the sleep the clock is read again.
    pub(crate) fn wake_at(&self, at: Instant) -> tokio::time::Instant {
        let ahead = Duration::from_micros(at.since(self.now()).as_micros());
        tokio::time::Instant::from_std(std::time::Instant::now() + ahead.min(DAY))
    }
}

/// Microseconds since the Unix epoch by the wall clock; zero before 1970.
fn wall() -> Instant {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX))
}

/// A monotonic stopwatch for limiting how often something is reported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// How long it has run.
    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_from_the_epoch_and_never_backwards() {
        let clock = Clock::new();
        let first = clock.now();
        assert!(first > Instant::from_secs(1_600_000_000), "{first:?}");
        assert!(clock.now() >= first);
        let later = Instant::from_micros(first.as_micros() + 3_600_000_000);
        let ahead = clock.wake_at(later).into_std().duration_since(std::time::Instant::now());
        assert!((3_590..=3_600).contains(&ahead.as_secs()), "{ahead:?}");
    }

    #[test]
    fn a_suspension_counts_once_as_time_and_once_as_such() {
        let awake = Clock::new();
        let hour = Duration::from_secs(3_600);
        // As if an hour of what has passed since the boot had been after the start.
        let slept = Clock { steady: awake.steady.saturating_sub(hour), ..awake };
        let hour = awake.steady.min(hour);
        let ahead = slept.now().since(awake.now()).as_micros();
        assert!(u128::from(ahead).abs_diff(hour.as_micros()) < 1_000_000, "{ahead}");
        assert!(slept.suspended().abs_diff(hour) < Duration::from_secs(1));
        assert_eq!(awake.suspended().as_secs(), 0);
    }
}
