//! The only place that reads the clock. Everything else takes `now` as an
//! argument.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use servent_core::time::Instant;

/// Microseconds since the Unix epoch that never go backwards within a run: the
/// wall clock is read once, then the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: std::time::Instant,
    origin_us: u64,
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
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin_us = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        Self { origin: std::time::Instant::now(), origin_us }
    }

    /// The current instant.
    #[must_use]
    pub fn now(&self) -> Instant {
        let run = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX);
        Instant::from_micros(self.origin_us.saturating_add(run))
    }

    /// The same instant on the runtime's monotonic clock, for a sleep. It
    /// decides nothing: after the sleep the clock is read again.
    pub(crate) fn wake_at(&self, at: Instant) -> tokio::time::Instant {
        let ahead = at.as_micros().saturating_sub(self.origin_us);
        let day = 24 * 3600 * 1_000_000;
        let far = self.now().since(Instant::from_micros(self.origin_us)).as_micros() + day;
        let steady = self.origin + std::time::Duration::from_micros(ahead.min(far));
        tokio::time::Instant::from_std(steady)
    }
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
    pub(crate) fn elapsed(&self) -> std::time::Duration {
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
    }
}
