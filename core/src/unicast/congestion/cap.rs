//! A rate that is not exceeded, whatever the path would carry.

use crate::time::{Duration, Instant};

/// So much time is made up for: that of a host that runs late. What did not leave while the
/// path was dark or the window full is not.
const BURST: Duration = Duration::from_millis(50);

/// When a greatest rate lets the next datagram leave.
#[derive(Debug, Clone)]
pub(in crate::unicast) struct RateCap {
    /// Bytes a second.
    rate: u64,
    /// The instant, and the fraction of a microsecond beyond it, in units of one over the
    /// rate.
    next: Instant,
    beyond: u64,
}

impl RateCap {
    /// A greatest rate in bytes a second; `None` for 0, which is no limit.
    pub(in crate::unicast) fn new(rate: u64) -> Option<Self> {
        (rate > 0).then_some(Self { rate, next: Instant::ZERO, beyond: 0 })
    }

    /// True when a datagram may leave now.
    pub(in crate::unicast) fn is_open(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// A datagram of so many bytes leaves.
    pub(in crate::unicast) fn sent(&mut self, now: Instant, bytes: u64) {
        if self.next + BURST < now {
            (self.next, self.beyond) = (now - BURST, 0);
        }
        let takes = bytes.saturating_mul(1_000_000).saturating_add(self.beyond);
        self.next += Duration::from_micros(takes / self.rate);
        self.beyond = takes % self.rate;
    }

    /// When the next one may leave.
    pub(in crate::unicast) const fn next(&self) -> Instant {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1_400;

    /// Bytes that leave at an instant.
    fn leave(cap: &mut RateCap, now: Instant) -> u64 {
        let mut bytes = 0;
        while cap.is_open(now) {
            cap.sent(now, MTU);
            bytes += MTU;
        }
        bytes
    }

    #[test]
    fn a_host_that_is_late_keeps_the_rate() {
        for (rate, late) in [(20_000, 0), (2_000_000, 3), (2_000_000, 40), (1_000_000_000, 3)] {
            let mut cap = RateCap::new(rate).unwrap();
            let (begin, mut sent) = (Instant::from_secs(9), 0);
            leave(&mut cap, begin);
            while cap.next() < begin + Duration::from_secs(10) {
                let now = cap.next() + Duration::from_millis(late);
                sent += leave(&mut cap, now);
            }
            let far = rate / 10 + 2 * MTU;
            assert!(sent.abs_diff(10 * rate) < far, "{rate}, {late} ms late: {sent}");
        }
    }

    #[test]
    fn after_a_minute_no_more_leaves_than_after_a_moment() {
        let mut cap = RateCap::new(2_000_000).unwrap();
        leave(&mut cap, Instant::from_secs(9));
        let after = leave(&mut cap, Instant::from_secs(69));
        assert!((100_000..=100_000 + 2 * MTU).contains(&after), "{after}");
    }
}
