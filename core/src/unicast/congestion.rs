//! Limits the bytes in flight, besides what both windows allow.

use core::net::IpAddr;

use super::{Config, Congestion};
use crate::time::Instant;

/// The congestion window of a sender.
#[derive(Debug, Clone)]
pub(super) enum CongestionWindow {
    None,
    Fixed(u64),
    Cubic(Cubic),
}

/// After RFC 9438: reduced to seven tenths at a loss, then grows along a cubic
/// curve through the window at which the loss occurred. In whole bytes and
/// milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Cubic {
    mtu: u64,
    bytes: u64,
    /// Below this the window doubles every round trip (slow start).
    slow_until: u64,
    /// The window before the last reduction.
    before: u64,
    since: Instant,
    /// Losses of numbers up to this belong to the last reduction.
    recovered: u64,
}

impl CongestionWindow {
    /// The congestion window towards a peer (UC-14).
    pub(super) fn new(config: &Config, peer: IpAddr) -> Self {
        match config.congestion {
            Congestion::Cubic if peer.to_canonical().is_loopback() => Self::None,
            Congestion::Cubic if !config.to_the_letter() => Self::Cubic(Cubic {
                mtu: u64::from(config.mtu),
                bytes: 10 * u64::from(config.mtu),
                slow_until: u64::MAX,
                before: 0,
                since: Instant::ZERO,
                recovered: 0,
            }),
            Congestion::Fixed(bytes) if !config.to_the_letter() => Self::Fixed(bytes),
            _ => Self::None,
        }
    }

    /// Maximum bytes in flight.
    pub(super) const fn bytes(&self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Fixed(bytes) => *bytes,
            Self::Cubic(cubic) => cubic.bytes,
        }
    }

    /// So many bytes were acknowledged. `limited`: the window was in full use.
    pub(super) fn acked(&mut self, now: Instant, bytes: u64, limited: bool) {
        if let Self::Cubic(cubic) = self
            && limited
        {
            cubic.acked(now, bytes);
        }
    }

    /// Number `seq` is missing at the receiver; `sent` is the highest number
    /// sent.
    pub(super) fn lost(&mut self, now: Instant, seq: u64, sent: u64) {
        if let Self::Cubic(cubic) = self
            && seq > cubic.recovered
        {
            cubic.before = cubic.bytes;
            cubic.bytes = (cubic.bytes * 7 / 10).max(2 * cubic.mtu);
            cubic.slow_until = cubic.bytes;
            cubic.since = now;
            cubic.recovered = sent;
        }
    }

    /// No progress for several probes.
    pub(super) fn stalled(&mut self, now: Instant, sent: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.before = cubic.bytes;
            cubic.slow_until = cubic.bytes * 7 / 10;
            cubic.bytes = 2 * cubic.mtu;
            cubic.since = now;
            cubic.recovered = sent;
        }
    }
}

impl Cubic {
    fn acked(&mut self, now: Instant, bytes: u64) {
        if self.bytes < self.slow_until {
            self.bytes = (self.bytes + bytes).min(self.slow_until).min(1 << 40);
            return;
        }
        let target = self.target(now);
        let step = if target > self.bytes {
            let wide = u128::from(target - self.bytes) * u128::from(bytes);
            (wide / u128::from(self.bytes)) as u64
        } else {
            bytes / 100
        };
        self.bytes = (self.bytes + step.min(bytes)).min(1 << 40);
    }

    /// `before + 0.4 × (t − K)³` datagrams, `K³ = before × 0.3 ÷ 0.4`.
    fn target(&self, now: Instant) -> u64 {
        let k = cube_root(self.before / self.mtu * 750_000_000);
        let t = now.since(self.since).as_millis().min(100_000);
        let past = i128::from(t) - i128::from(k);
        let grown = past * past * past * 4 * i128::from(self.mtu) / 10_000_000_000;
        u64::try_from(i128::from(self.before) + grown).unwrap_or(0)
    }
}

fn cube_root(n: u64) -> u64 {
    let (mut low, mut high) = (0, 2_642_245);
    while low < high {
        let middle = u64::midpoint(low, high) + 1;
        if middle * middle * middle <= n { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots() {
        for n in [0, 1, 7, 8, 26, 27, 999, 1_000, u64::MAX] {
            let root = cube_root(n);
            assert!(u128::from(root).pow(3) <= u128::from(n));
            assert!(u128::from(root + 1).pow(3) > u128::from(n), "{n}");
        }
    }

    #[test]
    fn steps_back_once_a_round_and_comes_back_to_where_it_was() {
        let config = Config { congestion: Congestion::Cubic, ..Config::default() };
        let mut window = CongestionWindow::new(&config, [192, 0, 2, 1].into());
        for _ in 0..100 {
            window.acked(Instant::ZERO, 14_000, true);
        }
        let before = window.bytes();
        assert_eq!(before, 14_000 + 100 * 14_000);
        window.lost(Instant::ZERO, 5, 10);
        window.lost(Instant::ZERO, 6, 10);
        assert_eq!(window.bytes(), before * 7 / 10, "one step for one round");
        let mut now = Instant::ZERO;
        for second in 1..40 {
            now = Instant::from_secs(second);
            for _ in 0..20 {
                window.acked(now, 140_000, true);
            }
        }
        assert!(window.bytes() > before, "{} {before}", window.bytes());
        window.stalled(now, 20);
        assert_eq!(window.bytes(), 2_800);
    }

    /// A window of so many bytes that lost something at the beginning of time
    /// while it was 1010 datagrams wide; it is back at that after 9.115 s.
    fn cubic(bytes: u64) -> Cubic {
        let (since, recovered) = (Instant::ZERO, 0);
        Cubic { mtu: 1_400, bytes, slow_until: 0, before: 1_414_000, since, recovered }
    }

    #[test]
    fn grows_along_the_curve_of_the_rfc() {
        for (ms, bytes) in [
            (0, 989_910),
            (4_000, 1_339_059),
            (9_115, 1_414_000),
            (10_115, 1_414_560),
            (20_000, 2_136_226),
            (100_000, 421_815_891),
            (200_000, 421_815_891),
        ] {
            assert_eq!(cubic(0).target(Instant::from_micros(ms * 1_000)), bytes, "{ms} ms");
        }
    }

    #[test]
    fn a_round_takes_its_share_of_the_way_to_the_curve() {
        let after = |bytes: u64, ms: u64| {
            let mut cubic = cubic(bytes);
            cubic.acked(Instant::from_micros(ms * 1_000), 14_000);
            cubic.bytes - bytes
        };
        assert_eq!(after(989_800, 4_000), 4_940, "of what is acknowledged, not all at once");
        assert_eq!(after(2_000_000, 100_000), 14_000, "no more than what is acknowledged");
        assert_eq!(after(2_000_000, 9_115), 140, "beyond the curve a hundredth");
        assert_eq!(after(1_414_000, 9_115), 140, "and on it");
        assert_eq!(after(1 << 40, 9_115), 0, "up to a limit");
    }

    #[test]
    fn one_loss_a_round_and_a_stall_step_back_and_no_further_than_two_datagrams() {
        let now = Instant::from_secs(1);
        let config = Config { congestion: Congestion::Cubic, ..Config::default() };
        let mut window = CongestionWindow::new(&config, [192, 0, 2, 1].into());
        window.acked(now, 1_000, false);
        assert_eq!(window.bytes(), 14_000, "it was not in use");
        window.lost(now, 1, 10);
        assert_eq!(window.bytes(), 9_800);
        window.lost(now, 10, 20);
        assert_eq!(window.bytes(), 9_800, "it was sent before");
        window.lost(now, 11, 20);
        assert_eq!(window.bytes(), 6_860);
        window.stalled(now, 30);
        window.lost(now, 30, 40);
        assert_eq!(window.bytes(), 2_800, "one step");
        window.acked(now, 1_000, true);
        assert_eq!(window.bytes(), 3_800, "slow start");
        window.acked(now, 14_000, true);
        assert_eq!(window.bytes(), 6_860 * 7 / 10, "which ends below where it stalled");
        for seq in [31, 41, 51] {
            window.lost(now, seq, seq + 9);
        }
        assert_eq!(window.bytes(), 2_800);
        let near = CongestionWindow::new(&config, [127, 0, 0, 1].into());
        assert_eq!(near.bytes(), u64::MAX, "nothing is lost on the way to oneself");
        let config = Config { congestion: Congestion::Fixed(5_000), ..config };
        assert_eq!(CongestionWindow::new(&config, [192, 0, 2, 1].into()).bytes(), 5_000);
    }
}
