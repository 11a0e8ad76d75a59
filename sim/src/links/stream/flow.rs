//! Bulk transfers modelled as flows: a rate and a byte count instead of
//! packets.
//!
//! The transfers on one uplink share it evenly; what one cannot use, because
//! its receiver is slow, is shared among the others.

use alloc::vec::Vec;

use super::StreamContent;
use servent_core::time::{Duration, Instant};
use servent_core::trace::RecordCause;

/// Limits of the time between two progress reports. A report is also made when
/// the transfer ends.
const REPORT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// The number of reports aimed at per range.
const REPORTS: u64 = 16;

/// A range being transferred.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RangeFlow {
    pub(crate) content: StreamContent,
    pub(crate) bytes: u64,
    pub(crate) done: u64,
    pub(crate) reported: u64,
    pub(crate) rate: u64,
    pub(crate) generation: u32,
    pub(crate) cause: RecordCause,
    since: Instant,
    /// Millionths of a byte beyond `done`.
    fraction: u64,
}

impl RangeFlow {
    pub(crate) const fn new(
        content: StreamContent,
        bytes: u64,
        done: u64,
        generation: u32,
        now: Instant,
        cause: RecordCause,
    ) -> Self {
        Self {
            content,
            bytes,
            done,
            reported: done,
            rate: 0,
            generation,
            cause,
            since: now,
            fraction: 0,
        }
    }

    /// Updates `done` to `now` at the current rate.
    pub(crate) fn settle(&mut self, now: Instant) {
        let elapsed = now.since(self.since).as_micros();
        self.since = now;
        let moved = u128::from(self.rate) * u128::from(elapsed) + u128::from(self.fraction);
        let whole = u64::try_from(moved / 1_000_000).unwrap_or(u64::MAX);
        self.fraction = (moved % 1_000_000) as u64;
        self.done = self.bytes.min(self.done.saturating_add(whole));
    }

    /// When to report next, at the current rate; `None` when the rate is zero.
    pub(crate) fn next_report(&self) -> Option<Instant> {
        if self.rate == 0 {
            return None;
        }
        let left = u128::from(self.bytes - self.done) * 1_000_000
            - u128::from(if self.done == self.bytes { 0 } else { self.fraction });
        let left = left.div_ceil(u128::from(self.rate));
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(u64::MAX));
        let whole =
            Duration::from_micros(self.bytes.saturating_mul(1_000_000) / self.rate / REPORTS);
        Some(self.since + left.min(whole.clamp(REPORT.0, REPORT.1)))
    }
}

/// Shares `up` evenly among transfers that can use at most `caps` each.
pub(crate) fn share(up: u64, caps: &[u64]) -> Vec<u64> {
    let mut order: Vec<(u64, u64)> = caps.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut rates = alloc::vec![0; caps.len()];
    let mut left = up;
    for (served, (cap, i)) in order.iter().enumerate() {
        let even = left / (caps.len() - served) as u64;
        let rate = even.min(*cap);
        rates[*i as usize] = rate;
        left -= rate;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use servent_core::id::Sha1;

    #[test]
    fn an_uplink_is_shared_evenly_and_wholly() {
        assert_eq!(share(90, &[100, 100, 100]), [30, 30, 30]);
        assert_eq!(share(90, &[100, 10, 100]), [40, 10, 40]);
        assert_eq!(share(90, &[10, 10]), [10, 10]);
        assert_eq!(share(90, &[0, 100]), [0, 90]);
        assert_eq!(share(90, &[]), [0; 0]);
    }

    #[test]
    fn rounding_never_loses_a_byte() {
        let content = StreamContent { sha1: Sha1([0; 20]), damaged: false };
        let mut flow = RangeFlow::new(content, 1_000, 0, 0, Instant::ZERO, None);
        flow.rate = 3;
        let mut now = Instant::ZERO;
        for _ in 0..1_000 {
            now += Duration::from_micros(333_333);
            flow.settle(now);
        }
        assert_eq!(flow.done, 999);
        let end = flow.next_report().unwrap();
        flow.settle(end);
        assert_eq!((flow.done, end), (1_000, Instant::from_micros(333_333_334)));
    }
}
