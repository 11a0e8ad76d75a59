//! The rate that all relayed meetings share. Each network with active meetings gets an
//! equal part of it at least, each owner of addresses in it an equal part of that, and each
//! meeting of an owner one of that; what one does not use the others may.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use crate::meet::holdings::neighbourhood;
use crate::time::{Duration, Instant};

/// What the rate allows at once, as a part of a second, and at least in bytes: far less
/// than may wait. A sender that sees a burst takes it for the rate of the path, and what
/// waits is full for as long as it believes that.
const BURST: (u64, u64) = (256, 16 * 1_024);
/// The same while something waits: a host that runs late makes up for its time, and what
/// leaves then is what waited.
const LATE: u64 = 16;
/// The bytes that one meeting may save up, at least: a few large datagrams.
pub(super) const SAVINGS: u64 = 16 * 1_024;
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
    /// Something waits for its share.
    waits: bool,
    /// Until when it was shared out.
    until: Instant,
    /// What each network that was always active has been given so far.
    given: u128,
    /// What belongs to no meeting.
    common: u128,
    /// The period of now, and how many networks are active in the one before and in it.
    period: u64,
    active: [u32; 2],
    /// The active owners in each network, and the active meetings of each owner.
    networks: BTreeMap<IpAddr, PartActivity>,
    owners: BTreeMap<IpAddr, PartActivity>,
}

/// What has a part of the rate, and shares it among its own.
#[derive(Debug, Clone, Copy, Default)]
struct PartActivity {
    /// The period in which one of them was active last.
    period: Option<u64>,
    /// How many are active in the period before and in that.
    active: [u32; 2],
}

impl PartActivity {
    /// One of them is active; true when it is the first in this period.
    fn is_first(&mut self, now: u64) -> bool {
        if self.period == Some(now) {
            return false;
        }
        let before = if self.period == now.checked_sub(1) { self.active[1] } else { 0 };
        (self.period, self.active) = (Some(now), [before, 0]);
        true
    }
}

fn greater([before, now]: [u32; 2]) -> u32 {
    before.max(now)
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
        Self {
            rate: rate.into(),
            burst,
            waits: false,
            until: Instant::ZERO,
            given: 0,
            common: burst,
            period: 0,
            active: [0; 2],
            networks: BTreeMap::new(),
            owners: BTreeMap::new(),
        }
    }

    /// How many of these bytes a meeting of an owner may pass on now: whole datagrams of
    /// `segment` bytes each.
    pub(super) fn take(
        &mut self,
        now: Instant,
        (owner, share): (IpAddr, &mut RateShare),
        (segment, bytes): (u32, u32),
    ) -> u32 {
        self.share_out(now);
        let kept = if self.was_active(owner, share) { self.burst / WELCOME } else { 0 };
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

    /// Says whether something waits for its share from now on.
    pub(super) const fn set_waiting(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// What may be saved up.
    fn most(&self) -> u128 {
        if self.waits { self.burst.max(self.rate * BYTE / u128::from(LATE)) } else { self.burst }
    }

    /// The bytes a second that a meeting of this owner is given at least.
    pub(super) fn fair(&self, owner: IpAddr) -> u64 {
        let parts = |part: Option<&PartActivity>| part.map_or(1, |it| greater(it.active).max(1));
        let owners = parts(self.networks.get(&neighbourhood(owner)));
        let meetings = parts(self.owners.get(&owner));
        let all = u128::from(greater(self.active).max(1)) * u128::from(owners);
        u64::try_from(self.rate / all / u128::from(meetings)).unwrap_or(u64::MAX)
    }

    /// Gives every active network its part of what the time since the last call allows.
    fn share_out(&mut self, now: Instant) {
        let passed = now.since(self.until).as_micros();
        self.until = now;
        let grown = self.rate * u128::from(passed);
        let networks = u128::from(greater(self.active));
        let common = if networks == 0 { grown } else { grown / COMMON };
        self.give_back(common);
        self.given += (grown - common).checked_div(networks).unwrap_or(0);
        let period = now.as_micros() / ACTIVE.as_micros();
        if period != self.period {
            let before = if period == self.period + 1 { self.active[1] } else { 0 };
            (self.period, self.active) = (period, [before, 0]);
            for parts in [&mut self.networks, &mut self.owners] {
                parts.retain(|_, it| it.period.is_some_and(|last| last + 1 >= period));
            }
        }
    }

    fn give_back(&mut self, bytes: u128) {
        self.common = (self.common + bytes).min(self.most());
    }

    /// Counts a meeting as active, with what it was given meanwhile; false for one that
    /// has not been active lately.
    fn was_active(&mut self, owner: IpAddr, share: &mut RateShare) -> bool {
        let active = share.period.is_some_and(|period| period + 1 >= self.period);
        let network = self.networks.entry(neighbourhood(owner)).or_default();
        let ours = self.owners.entry(owner).or_default();
        if network.is_first(self.period) {
            self.active[1] += 1;
        }
        if ours.is_first(self.period) {
            network.active[1] += 1;
        }
        if share.period.replace(self.period) != Some(self.period) {
            ours.active[1] += 1;
        }
        let parts = u128::from(greater(network.active)) * u128::from(greater(ours.active));
        let given = self.given - core::mem::replace(&mut share.given, self.given);
        let given = given.checked_div(parts).unwrap_or(0);
        if !active {
            share.saved = 0;
            return false;
        }
        let all = u128::from(greater(self.active)) * parts;
        let most = self.most().checked_div(all).unwrap_or(self.burst);
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

    fn network(number: usize) -> IpAddr {
        [192, 0, 2, u8::try_from(number).unwrap()].into()
    }

    /// Ten seconds in which the meeting of each network sends so many datagrams each ten
    /// milliseconds; the bytes that pass of each in a second.
    fn passed(datagrams: &[u32]) -> Vec<u64> {
        let each: Vec<_> = datagrams.iter().copied().enumerate().collect();
        passed_of(&each)
    }

    /// The same with the network of each meeting.
    fn passed_of(datagrams: &[(usize, u32)]) -> Vec<u64> {
        let mut rate = SharedRate::new(RATE);
        let mut shares: Vec<_> = datagrams.iter().map(|_| RateShare::default()).collect();
        let mut passed: Vec<_> = datagrams.iter().map(|_| 0).collect();
        for n in 0..1_000_u64 {
            let now = Instant::from_secs(1_000) + Duration::from_millis(10 * n);
            // The greedy ones are never late.
            for which in (0..datagrams.len()).rev() {
                let (net, count) = datagrams[which];
                let ours = (network(net), &mut shares[which]);
                passed[which] += u64::from(rate.take(now, ours, (DATAGRAM, count * DATAGRAM)));
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
    fn the_meetings_of_one_network_share_what_one_has() {
        let mut wanted = [(1, 200); 31];
        wanted[0] = (2, 200);
        let passed = passed_of(&wanted);
        let half = RATE * 15 / 16 / 2;
        assert!(passed[0] >= half * 98 / 100, "{} of {half}", passed[0]);
        let share = half / 30;
        assert!(passed[1..].iter().all(|bytes| *bytes >= share * 90 / 100), "{passed:?}");
        let all: u64 = passed.iter().sum();
        assert!((RATE * 95 / 100..=RATE * 105 / 100).contains(&all), "{all}");
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
            for (n, share) in shares[..count].iter_mut().enumerate() {
                let wanted = (DATAGRAM, 100 * DATAGRAM);
                passed += u64::from(rate.take(now, (network(n % 200), share), wanted));
            }
        }
        assert!(passed <= 30 * RATE + (RATE / BURST.0), "{passed} in thirty seconds");
    }
}
