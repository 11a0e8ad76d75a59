//! Hosts that do not run at once, because other programs have their processor.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};

/// How a host is late. What arrives waits in its socket meanwhile, and its timers are
/// late by as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDelay {
    /// From the end of one to the beginning of the next, in the mean.
    pub every: Duration,
    /// The longest; each is drawn.
    pub longest: Duration,
}

/// When a host does not run.
#[derive(Debug, Clone)]
pub(super) struct HostStalls {
    stalls: Vec<Stall>,
    /// It does not run before this.
    until: Instant,
}

impl HostStalls {
    pub(super) fn new(delays: &[HostDelay], dice: &Rng, begin: Instant) -> Self {
        let all = (0..).zip(delays);
        let stalls = all.map(|(n, delay)| Stall::new(*delay, dice.fork("delay", n), begin));
        Self { stalls: stalls.collect(), until: begin }
    }

    /// When the host runs again, if it does not run at `now`. One answer for all that
    /// happens meanwhile, so that its order stays.
    pub(super) fn end(&mut self, now: Instant) -> Option<Instant> {
        let mut until = self.until.max(now);
        if self.until <= now {
            while let Some(later) = self.stalls.iter_mut().find_map(|stall| stall.end(until)) {
                until = later;
            }
            self.until = until;
        }
        (now < until).then_some(until)
    }
}

/// When it does not, for one of its reasons.
#[derive(Debug, Clone)]
struct Stall {
    delay: HostDelay,
    dice: Rng,
    from: Instant,
    until: Instant,
}

impl Stall {
    const fn new(delay: HostDelay, dice: Rng, begin: Instant) -> Self {
        Self { delay, dice, from: begin, until: begin }
    }

    /// When it is over, if it has begun by `now`.
    fn end(&mut self, now: Instant) -> Option<Instant> {
        while self.until <= now {
            let mut draw = |most: u64| Duration::from_micros(self.dice.below(most.max(1)));
            self.from = self.until + draw(2 * self.delay.every.as_micros());
            self.until = self.from + draw(self.delay.longest.as_micros());
        }
        (self.from <= now).then_some(self.until)
    }
}
