//! The round-trip time of a peer, estimated according to RFC 6298, in whole
//! microseconds.

use super::Config;
use crate::time::{Duration, Instant};

/// How long the shortest round trip is believed at least, and twice as long at most: routes
/// change, and a peer may have lied once.
const LEAST_LASTS: Duration = Duration::from_secs(10);

/// One estimate per peer, from both halves of its connections.
#[derive(Debug, Clone)]
pub(super) struct Rtt {
    smoothed: Option<u64>,
    variation: u64,
    /// The shortest of this span of time and of the one before.
    least: [u64; 2],
    /// The shortest time from a datagram to its acknowledgement, ever.
    whole: u64,
    /// When this span began.
    since: Instant,
    initial: u64,
    rto: (u64, u64),
}

impl Rtt {
    pub(super) fn new(config: &Config) -> Self {
        let micros = |d: Duration| d.scaled(config.time_scale).as_micros();
        Self {
            smoothed: None,
            variation: 0,
            least: [u64::MAX; 2],
            whole: u64::MAX,
            since: Instant::ZERO,
            initial: micros(config.initial_rtt),
            rto: (micros(config.rto_min), micros(config.rto_max)),
        }
    }

    /// An acknowledgement came after so long, of which the peer says that it waited for
    /// `delay`. It may be wrong, or lie: by its word alone no round trip is shorter than the
    /// shortest that was seen, but for what its clock and ours may differ by (RFC 9002 §5.3).
    /// Returns what was taken for the round trip.
    pub(super) fn acknowledged(
        &mut self,
        now: Instant,
        whole: Duration,
        delay: Duration,
    ) -> Duration {
        // What was seen before: of the first there is only its word.
        let seen = self.smoothed.map_or(Duration::ZERO, |_| Duration::from_micros(self.whole));
        let least = seen.min(whole).ratio(7, 8);
        self.whole = self.whole.min(whole.as_micros());
        // Longer than all of it is a lie; then the whole time counts.
        let trip = if delay < whole { (whole - delay).max(least) } else { whole };
        self.sample(now, trip);
        trip
    }

    /// Takes a sample that no retransmission can have distorted (Karn).
    pub(super) fn sample(&mut self, now: Instant, took: Duration) {
        // An hour is no round trip; this keeps the sums far from overflow.
        let took = took.as_micros().clamp(1, 3_600_000_000);
        if now >= self.since + LEAST_LASTS {
            let before = if now >= self.since + LEAST_LASTS + LEAST_LASTS {
                u64::MAX // Nothing was measured for long.
            } else {
                self.least[0]
            };
            (self.least, self.since) = ([u64::MAX, before], now);
        }
        self.least[0] = self.least[0].min(took);
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

    /// The shortest round trip measured lately; zero before the first.
    pub(super) fn least(&self) -> Duration {
        let [now, before] = self.least;
        Duration::from_micros(self.smoothed.map_or(0, |_| now.min(before)))
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

    const NOW: Instant = Instant::from_secs(1_000);

    #[test]
    fn follows_the_worked_steps_of_the_rfc() {
        let mut rtt = Rtt::new(&Config::default());
        assert_eq!(rtt.smoothed(), Duration::from_millis(50));
        assert_eq!(rtt.least(), Duration::ZERO);
        rtt.sample(NOW, Duration::from_millis(80));
        assert_eq!(rtt.smoothed(), Duration::from_millis(80));
        assert_eq!(rtt.variation(), Duration::from_millis(40));
        assert_eq!(rtt.timeout(0), Duration::from_millis(240));
        rtt.sample(NOW, Duration::from_millis(160));
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
        rtt.sample(NOW, ms(80));
        assert_eq!(rtt.probe(0, ms(0)), ms(200), "no more than that, however it varies");
        rtt.sample(NOW, ms(80));
        rtt.sample(NOW, ms(80));
        assert_eq!(rtt.probe(0, ms(0)), ms(170));
        (0..100).for_each(|_| rtt.sample(NOW, ms(80)));
        assert_eq!(rtt.probe(0, ms(0)), ms(160), "no less, however steady it is");
        let mut far = Rtt::new(&Config::default());
        far.sample(NOW, ms(3_000));
        assert_eq!(far.probe(0, ms(1_000)), ms(7_500), "longer than the longest timeout");
    }

    #[test]
    fn a_timeout_keeps_a_margin_on_a_steady_path_and_a_least_length() {
        let ms = Duration::from_millis;
        let steady = |each: Duration| {
            let mut rtt = Rtt::new(&Config::default());
            (0..100).for_each(|_| rtt.sample(NOW, each));
            rtt
        };
        assert_eq!((steady(ms(80)).timeout(0), steady(ms(80)).timeout(2)), (ms(100), ms(400)));
        assert_eq!(steady(ms(1)).timeout(0), ms(5));
        assert_eq!(steady(ms(0)).smoothed(), Duration::from_micros(1));
        assert_eq!(steady(Duration::from_secs(7_200)).smoothed(), Duration::from_secs(3_600));
    }

    #[test]
    fn a_delay_that_a_peer_declares_makes_no_trip_shorter_than_the_shortest() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::new(&Config::default());
        assert_eq!(rtt.acknowledged(NOW, ms(104), ms(99)), ms(5), "there is nothing yet");
        assert_eq!(rtt.acknowledged(NOW, ms(104), ms(4)), ms(100));
        assert_eq!(rtt.acknowledged(NOW, ms(130), ms(25)), ms(105));
        for (lie, trip) in [(39, 91), (40, 91), (129, 91), (130, 130), (131, 130)] {
            assert_eq!(rtt.acknowledged(NOW, ms(130), ms(lie)), ms(trip));
        }
        assert_eq!(rtt.acknowledged(NOW, ms(24), ms(1)), ms(23), "the way is shorter now");
    }

    #[test]
    fn what_was_short_once_is_forgotten() {
        let (ms, s) = (Duration::from_millis, Duration::from_secs);
        let mut rtt = Rtt::new(&Config::default());
        rtt.sample(NOW, ms(1));
        for n in 1..200 {
            rtt.sample(NOW + ms(100 * n), ms(100));
            assert_eq!(rtt.least(), ms(1), "{n}");
        }
        rtt.sample(NOW + s(20), ms(100));
        assert_eq!(rtt.least(), ms(100));
        rtt.sample(NOW + s(60), ms(200));
        assert_eq!(rtt.least(), ms(200), "after a pause");
    }
}
