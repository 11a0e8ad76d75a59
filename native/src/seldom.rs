//! Rate limit for warnings that strangers can cause.

use servent_core::time::{Duration, Instant};

use crate::Clock;

/// The shortest time between two warnings of one kind.
const BETWEEN: Duration = Duration::from_secs(10);

/// Counts the occurrences of a warning.
#[derive(Debug, Default)]
pub struct Seldom {
    told: Option<(Clock, Instant)>,
    since: u64,
}

impl Seldom {
    /// Counts an occurrence. When it is time for a warning: how many
    /// occurrences before this one were not reported.
    pub fn tell(&mut self) -> Option<u64> {
        let early = match &self.told {
            Some((clock, at)) => clock.now().since(*at) < BETWEEN,
            None => false,
        };
        if early {
            self.since += 1;
            return None;
        }
        let clock = self.told.take().map_or_else(Clock::new, |(clock, _)| clock);
        let now = clock.now();
        self.told = Some((clock, now));
        Some(std::mem::take(&mut self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_at_once_is_told_once() {
        let mut seldom = Seldom::default();
        assert_eq!(seldom.tell(), Some(0));
        assert!((0..1_000).all(|_| seldom.tell().is_none()));
        assert_eq!(seldom.since, 1_000);
    }
}
