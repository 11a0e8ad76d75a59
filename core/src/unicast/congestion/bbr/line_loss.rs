//! What a line loses by itself.
//!
//! A datagram that is lost while nothing is queued was not lost because there
//! were too many: the line is bad, and sending less would not mend it. So the
//! share that is lost in round trips without a queue is what this line loses,
//! and only what is lost beyond it counts as too much.

/// Datagrams after which the older half of what is known counts half.
const MEMORY: u64 = 4_096;
/// Datagrams before anything is known.
const ENOUGH: u64 = 64;
/// The largest share that is believed to be the line's own: a tenth.
const MOST: (u64, u64) = (1, 10);
/// A line loses in bursts when so many datagrams are lost together, as seen in so many
/// round trips.
const BURST: (u64, u64) = (4, 8);

/// The share that is lost where nothing is queued.
#[derive(Debug, Clone, Default)]
pub(super) struct LineLoss {
    lost: u64,
    sent: u64,
    /// Round trips, and the sum of the squares of what each has lost.
    rounds: u64,
    squares: u128,
}

impl LineLoss {
    /// A round trip without a queue: of so many bytes sent, so many were lost.
    pub(super) fn add(&mut self, lost: u64, sent: u64, mtu: u64) {
        self.lost += lost;
        self.sent += sent;
        self.rounds += 1;
        self.squares += u128::from(lost) * u128::from(lost);
        while self.sent > MEMORY * mtu {
            (self.lost, self.sent) = (self.lost / 2, self.sent / 2);
            (self.rounds, self.squares) = (self.rounds / 2, self.squares / 2);
        }
    }

    /// Bytes that are lost together: the variance of what a round trip loses, over its
    /// mean. Where each datagram is lost by itself it is one.
    fn together(&self, mtu: u64) -> u64 {
        let (rounds, lost) = (u128::from(self.rounds), u128::from(self.lost));
        if self.rounds < BURST.1 || lost == 0 {
            return mtu;
        }
        let variance = (self.squares / rounds).saturating_sub((lost / rounds) * (lost / rounds));
        u64::try_from(variance * rounds / lost).unwrap_or(u64::MAX).max(mtu)
    }

    /// True when the line loses in bursts, and so many bytes of so many sent are no more
    /// than one of them: two standard deviations beyond its share.
    pub(super) fn is_burst(&self, lost: u64, sent: u64, mtu: u64) -> bool {
        let together = self.together(mtu);
        let share = self.share(sent, mtu);
        together >= BURST.0 * mtu && lost <= share + 2 * share.saturating_mul(together).isqrt()
    }

    /// What the line loses of so many bytes.
    fn share(&self, bytes: u64, mtu: u64) -> u64 {
        if self.sent < ENOUGH * mtu {
            return 0;
        }
        let share = (u128::from(bytes) * u128::from(self.lost) / u128::from(self.sent)) as u64;
        share.min(bytes * MOST.0 / MOST.1)
    }

    /// True when so many bytes lost of so many sent are too much: two percent
    /// beyond what the line loses by itself, give or take what chance makes of
    /// it (two standard deviations, in whole datagrams: the two percent are room
    /// for less).
    pub(super) fn is_exceeded(&self, lost: u64, sent: u64, mtu: u64) -> bool {
        exceeds(lost, sent, self.share(sent, mtu), mtu)
    }

    /// True when no line loses so many bytes of so many sent by itself: something drops
    /// what exceeds its rate, and lets nothing wait (a relay, a policer).
    pub(super) fn is_policed(lost: u64, sent: u64, mtu: u64) -> bool {
        exceeds(lost, sent, sent * MOST.0 / MOST.1, mtu)
    }

    /// True when the line alone may have lost so many bytes of so many sent.
    pub(super) fn explains(&self, lost: u64, sent: u64, mtu: u64) -> bool {
        let share = self.share(sent, mtu);
        if share == 0 {
            return lost == 0;
        }
        // What chance exceeds once in a hundred round trips (Poisson), whether the mean is a
        // tenth of a datagram or a hundred: in bytes, so that a part of a datagram counts.
        let deviation = share.saturating_mul(mtu).isqrt();
        lost <= share + deviation * 7 / 3 + mtu / 3
    }

    /// A rate that delivers this one in spite of the line's own losses.
    pub(super) fn compensated(&self, rate: u64, mtu: u64) -> u64 {
        if self.sent < ENOUGH * mtu {
            return rate;
        }
        let lost = self.lost.min(self.sent * MOST.0 / MOST.1);
        (u128::from(rate) * u128::from(self.sent) / u128::from(self.sent - lost)) as u64
    }
}

/// True when so many bytes lost of so many sent are more than this share, two standard
/// deviations and two percent.
fn exceeds(lost: u64, sent: u64, share: u64, mtu: u64) -> bool {
    let deviation = (share / mtu).isqrt() * mtu;
    lost > share + 2 * deviation + sent / 50
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1_000;

    #[test]
    fn a_clear_line_may_lose_two_percent() {
        let clear = LineLoss::default();
        assert!(!clear.is_exceeded(20_000, 1_000_000, MTU));
        assert!(clear.is_exceeded(20_001, 1_000_000, MTU));
        assert!(clear.explains(0, 1_000_000, MTU) && !clear.explains(1, 1_000_000, MTU));
        assert_eq!(clear.compensated(500, MTU), 500);
    }

    #[test]
    fn what_a_bad_line_loses_is_not_too_much_and_a_tenth_is_the_limit() {
        let mut bad = LineLoss::default();
        (0..1_000).for_each(|_| bad.add(5_000, 100_000, MTU));
        assert!(!bad.is_exceeded(70_000, 1_000_000, MTU));
        assert!(bad.is_exceeded(90_000, 1_000_000, MTU));
        assert!(bad.explains(60_000, 1_000_000, MTU) && !bad.explains(70_000, 1_000_000, MTU));
        assert!((bad.compensated(950, MTU)).abs_diff(1_000) <= 1);
        let mut worse = LineLoss::default();
        (0..1_000).for_each(|_| worse.add(50_000, 100_000, MTU));
        assert!(worse.is_exceeded(200_000, 1_000_000, MTU));
        assert!(worse.compensated(900, MTU).abs_diff(1_000) <= 1);
    }

    #[test]
    fn what_chance_makes_of_a_mean_below_a_datagram_is_no_queue() {
        let mut line = LineLoss::default();
        (0..1_000).for_each(|_| line.add(1_000, 1_000_000, MTU));
        let explained = |lost, sent| line.explains(lost * MTU, sent * MTU, MTU);
        // A thousandth is lost: of so many, more than this once in a hundred times.
        for (sent, most) in [(50, 0), (170, 1), (400, 2), (850, 3), (5_000, 10)] {
            assert!(explained(most, sent) && !explained(most + 1, sent), "{sent}");
        }
    }

    #[test]
    fn a_burst_is_one_where_the_line_has_lost_in_bursts_before() {
        let line = |lost: fn(u64) -> u64| {
            let mut line = LineLoss::default();
            (0..30).for_each(|round| line.add(lost(round) * MTU, 100 * MTU, MTU));
            move |lost: u64| line.is_burst(lost * MTU, 100 * MTU, MTU)
        };
        let bursts = line(|round| if round % 4 == 0 { 25 } else { 0 });
        assert!(bursts(25) && !bursts(40));
        let first = line(|round| if round == 29 { 25 } else { 0 });
        assert!(!first(25), "one may be too much sent");
        let (single, policed) = (line(|round| 4 + round % 3), line(|_| 20));
        assert!(!single(25) && !policed(20));
    }

    #[test]
    fn a_line_that_recovers_is_believed_again() {
        let mut line = LineLoss::default();
        (0..100).for_each(|_| line.add(5_000, 100_000, MTU));
        (0..500).for_each(|_| line.add(0, 100_000, MTU));
        assert!(line.is_exceeded(25_000, 1_000_000, MTU));
    }
}
