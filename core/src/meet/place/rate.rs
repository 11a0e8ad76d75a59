//! The rate that all relayed meetings share. Each that is active gets an equal part of it
//! at least; what one does not use the others may.

use crate::time::{Duration, Instant};

/// What the rate allows at once, as a part of a second, and at least in bytes.
const BURST: (u64, u64) = (4, 256 * 1_024);
/// The bytes that one meeting may save up, at least: a few large datagrams.
const SAVINGS: u64 = 16 * 1_024;
/// This part of the rate belongs to no meeting, so that one that begins need not wait.
const COMMON: u128 = 16;
/// The part of what is saved up in common that is for meetings that begin.
const WELCOME: u128 = 8;
/// A meeting that has sent nothing for one or two of these is not active.
const ACTIVE: Duration = Duration::from_secs(1);

/// A millionth of a byte: what a rate of one byte a second allows in a microsecond.
const BYTE: u128 = 1_000_000;

/// The rate, and what was not used of it.
#[derive(Debug, Clone)]
pub(super) struct SharedRate {
    rate: u128,
    burst: u128,
    /// Until when it was shared out.
    until: Instant,
    /// What each meeting that was always active has been given so far.
    given: u128,
    /// What belongs to no meeting.
    common: u128,
    /// The period of now, and how many meetings are active in the one before and in it.
    period: u64,
    active: [u32; 2],
}

/// The part of one meeting.
#[derive(Debug, Clone, Default)]
pub(super) struct RateShare {
    /// [`SharedRate::given`] when it was looked at last.
    given: u128,
    saved: u128,
    /// The period in which it was active last.
    period: Option<u64>,
}

impl SharedRate {
    /// `rate`: bytes a second.
    pub(super) fn new(rate: u64) -> Self {
        let burst = u128::from((rate / BURST.0).max(BURST.1)) * BYTE;
        let (given, common, active) = (0, burst, [0; 2]);
        Self { rate: rate.into(), burst, until: Instant::ZERO, given, common, period: 0, active }
    }

    /// How many of these bytes a meeting may pass on now: whole datagrams of `segment`
    /// bytes each.
    pub(super) fn take(
        &mut self,
        now: Instant,
        share: &mut RateShare,
        (segment, bytes): (u32, u32),
    ) -> u32 {
        self.share_out(now);
        let kept = if self.was_active(share) { self.burst / WELCOME } else { 0 };
        let common = self.common.saturating_sub(kept);
        let left = u64::try_from((share.saved + common) / BYTE).unwrap_or(u64::MAX);
        let (wanted, segment) = (u64::from(bytes), u64::from(segment.max(1)));
        let fits = if wanted <= left { wanted } else { left / segment * segment };
        let cost = u128::from(fits) * BYTE;
        let own = cost.min(share.saved);
        share.saved -= own;
        self.common -= cost - own;
        u32::try_from(fits).unwrap_or(bytes)
    }

    const fn meetings(&self) -> u32 {
        let [before, now] = self.active;
        if before > now { before } else { now }
    }

    /// Gives every active meeting its part of what the time since the last call allows.
    fn share_out(&mut self, now: Instant) {
        let passed = now.since(self.until).as_micros();
        self.until = now;
        let grown = self.rate * u128::from(passed);
        let meetings = u128::from(self.meetings());
        let common = if meetings == 0 { grown } else { grown / COMMON };
        self.give_back(common);
        self.given += (grown - common).checked_div(meetings).unwrap_or(0);
        let period = now.as_micros() / ACTIVE.as_micros();
        if period != self.period {
            let before = if period == self.period + 1 { self.active[1] } else { 0 };
            (self.period, self.active) = (period, [before, 0]);
        }
    }

    fn give_back(&mut self, bytes: u128) {
        self.common = (self.common + bytes).min(self.burst);
    }

    /// Counts a meeting as active, with what it was given meanwhile; false for one that
    /// has not been active lately.
    fn was_active(&mut self, share: &mut RateShare) -> bool {
        let active = share.period.is_some_and(|period| period + 1 >= self.period);
        if share.period.replace(self.period) != Some(self.period) {
            self.active[1] += 1;
        }
        let given = self.given - core::mem::replace(&mut share.given, self.given);
        if !active {
            share.saved = 0;
            return false;
        }
        let most = self.burst / u128::from(self.meetings().max(1));
        let most = most.max(u128::from(SAVINGS) * BYTE);
        let saved = share.saved + given;
        share.saved = saved.min(most);
        self.give_back(saved - share.saved);
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const RATE: u64 = 2_000_000;
    const DATAGRAM: u32 = 1_200;

    /// Ten seconds in which each meeting sends so many datagrams each ten milliseconds; the
    /// bytes that pass of each in a second.
    fn passed(datagrams: &[u32]) -> Vec<u64> {
        let mut rate = SharedRate::new(RATE);
        let mut shares: Vec<_> = datagrams.iter().map(|_| RateShare::default()).collect();
        let mut passed: Vec<_> = datagrams.iter().map(|_| 0).collect();
        for n in 0..1_000_u64 {
            let now = Instant::from_secs(1_000) + Duration::from_millis(10 * n);
            // The greedy ones are never late.
            for which in (0..datagrams.len()).rev() {
                let wanted = (DATAGRAM, datagrams[which] * DATAGRAM);
                passed[which] += u64::from(rate.take(now, &mut shares[which], wanted));
            }
        }
        passed.iter().map(|bytes| bytes / 10).collect()
    }

    #[test]
    fn one_meeting_alone_has_the_whole_rate() {
        let all = passed(&[100])[0];
        assert!((RATE * 98 / 100..=RATE * 105 / 100).contains(&all), "{all}");
    }

    #[test]
    fn no_meeting_starves_another() {
        // One datagram each ten milliseconds, among ten that send all they can.
        let mut wanted = [200; 11];
        wanted[0] = 1;
        let passed = passed(&wanted);
        let modest = u64::from(DATAGRAM) * 100;
        assert!(passed[0] >= modest * 99 / 100, "{} of {modest}", passed[0]);
        let all: u64 = passed.iter().sum();
        assert!((RATE * 95 / 100..=RATE * 105 / 100).contains(&all), "{all}");
        let share = RATE / 11;
        assert!(passed[1..].iter().all(|bytes| *bytes >= share * 90 / 100), "{passed:?}");
    }

    #[test]
    fn what_one_does_not_use_the_other_may() {
        let passed = passed(&[2, 100]);
        let rest = RATE - u64::from(DATAGRAM) * 200;
        assert!(passed[1] >= rest * 95 / 100, "{} of {rest}", passed[1]);
    }

    #[test]
    fn meetings_that_take_turns_pass_no_more_than_the_rate() {
        let mut rate = SharedRate::new(RATE);
        let mut shares: Vec<_> = (0..1_000).map(|_| RateShare::default()).collect();
        let mut passed = 0;
        for second in 0..30 {
            // All of them every third second, and one in between.
            let now = Instant::from_secs(1_000 + second);
            let count = if second % 3 == 0 { 1_000 } else { 1 };
            for share in &mut shares[..count] {
                passed += u64::from(rate.take(now, share, (DATAGRAM, 100 * DATAGRAM)));
            }
        }
        assert!(passed <= 30 * RATE + (RATE / BURST.0), "{passed} in thirty seconds");
    }
}
