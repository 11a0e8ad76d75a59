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

    #[test]
    fn a_probe_waits_two_to_two_and_a_half_round_trips_and_the_delay() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::new(&Config::default());
        assert_eq!((rtt.probe(0, ms(10)), rtt.probe(1, ms(10))), (ms(135), ms(270)));
        rtt.sample(ms(80));
        assert_eq!(rtt.probe(0, ms(0)), ms(200), "no more than that, however it varies");
        rtt.sample(ms(80));
        rtt.sample(ms(80));
        assert_eq!(rtt.probe(0, ms(0)), ms(170));
        (0..100).for_each(|_| rtt.sample(ms(80)));
        assert_eq!(rtt.probe(0, ms(0)), ms(160), "no less, however steady it is");
        let mut far = Rtt::new(&Config::default());
        far.sample(ms(3_000));
        assert_eq!(far.probe(0, ms(1_000)), ms(7_500), "longer than the longest timeout");
    }

    #[test]
    fn a_timeout_keeps_a_margin_on_a_steady_path_and_a_least_length() {
        let ms = Duration::from_millis;
        let steady = |each: Duration| {
            let mut rtt = Rtt::new(&Config::default());
            (0..100).for_each(|_| rtt.sample(each));
            rtt
        };
        assert_eq!((steady(ms(80)).timeout(0), steady(ms(80)).timeout(2)), (ms(100), ms(400)));
        assert_eq!(steady(ms(1)).timeout(0), ms(5));
        assert_eq!(steady(ms(0)).smoothed(), Duration::from_micros(1));
        assert_eq!(steady(Duration::from_secs(7_200)).smoothed(), Duration::from_secs(3_600));
    }
}
