//! The round-trip time of a peer, estimated according to RFC 6298, in whole
//! microseconds.

use super::Config;
use crate::time::Duration;

/// One estimate per peer, from both halves of its connections.
#[derive(Debug, Clone)]
pub(super) struct Rtt {
    smoothed: Option<u64>,
    variation: u64,
    least: u64,
    initial: u64,
    rto: (u64, u64),
}

impl Rtt {
    pub(super) fn new(config: &Config) -> Self {
        let micros = |d: Duration| d.scaled(config.time_scale).as_micros();
        Self {
            smoothed: None,
            variation: 0,
            least: u64::MAX,
            initial: micros(config.initial_rtt),
            rto: (micros(config.rto_min), micros(config.rto_max)),
        }
    }

    /// Takes a sample that no retransmission can have distorted (Karn).
    pub(super) fn sample(&mut self, took: Duration) {
        // An hour is no round trip; this keeps the sums far from overflow.
        let took = took.as_micros().clamp(1, 3_600_000_000);
        self.least = self.least.min(took);
        match self.smoothed {
            None => {
                self.smoothed = Some(took);
                self.variation = took / 2;
            }
            Some(smoothed) => {
                self.variation = (3 * self.variation + smoothed.abs_diff(took)) / 4;
                self.smoothed = Some((7 * smoothed + took) / 8);
            }
        }
    }

    pub(super) fn smoothed(&self) -> Duration {
        Duration::from_micros(self.smoothed.unwrap_or(self.initial))
    }

    /// The estimate, once there is one.
    pub(super) fn measured(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_micros)
    }

    pub(super) fn variation(&self) -> Duration {
        Duration::from_micros(self.smoothed.map_or(self.initial / 2, |_| self.variation))
    }

    /// The shortest round trip measured; zero before the first.
    pub(super) fn least(&self) -> Duration {
        Duration::from_micros(self.smoothed.map_or(0, |_| self.least))
    }

    /// The RTO, doubled `times` times, within its limits.
    pub(super) fn timeout(&self, times: u32) -> Duration {
        let smoothed = self.smoothed().as_micros();
        // On a steady path the timeout must not shrink to the round-trip time
        // itself: a quarter of it is the minimum margin here.
        let base = smoothed + (4 * self.variation().as_micros()).max(smoothed / 4);
        let base = base.clamp(self.rto.0, self.rto.1.max(self.rto.0));
        let doubled = base.saturating_mul(1 << times.min(20));
        Duration::from_micros(doubled.min(self.rto.1.max(self.rto.0)))
    }

    /// When the last message sent may be probed: one round trip and its
    /// variation, together at least two and at most two and a half round trips,
    /// plus the delay of the acknowledgement; doubled `times` times.
    pub(super) fn probe(&self, times: u32, ack_delay: Duration) -> Duration {
        let (smoothed, variation) = (self.smoothed().as_micros(), self.variation().as_micros());
        let base = (smoothed + 4 * variation).clamp(2 * smoothed, smoothed * 5 / 2);
        let doubled = (base + ack_delay.as_micros()).saturating_mul(1 << times.min(20));
        Duration::from_micros(doubled.min(self.rto.1.max(base)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_worked_steps_of_the_rfc() {
        let mut rtt = Rtt::new(&Config::default());
        assert_eq!(rtt.smoothed(), Duration::from_millis(50));
        assert_eq!(rtt.least(), Duration::ZERO);
        rtt.sample(Duration::from_millis(80));
        assert_eq!(rtt.smoothed(), Duration::from_millis(80));
        assert_eq!(rtt.variation(), Duration::from_millis(40));
        assert_eq!(rtt.timeout(0), Duration::from_millis(240));
        rtt.sample(Duration::from_millis(160));
        assert_eq!(rtt.smoothed(), Duration::from_millis(90));
        assert_eq!(rtt.variation(), Duration::from_millis(50));
        assert_eq!(rtt.least(), Duration::from_millis(80));
    }

    #[test]
    fn back_off_ends_at_the_limit() {
        let rtt = Rtt::new(&Config::default());
        assert_eq!(rtt.timeout(1), Duration::from_millis(300));
        assert_eq!(rtt.timeout(40), Duration::from_secs(2));
        assert_eq!(rtt.probe(40, Duration::ZERO), Duration::from_secs(2));
    }
}
