//! Limits the connections that strangers make us open: to a client of the
//! queue, to a client that wants a push, to a proxy, a neighbour, another
//! source of a file, a peer of a swarm.
//!
//! A dial whose target turns out to be what it was said to be costs nothing.
//! Failed dials are counted per target, per address over all its targets, and
//! in total; a target or address with too many of them is not dialed for a
//! while, and longer each time. So no stranger can make us dial the same victim
//! again and again, or scan for victims one after the other.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, SocketAddr};

use super::NodeLimits;
use crate::address::{canonical, owner};
use crate::time::{Duration, Instant};

/// The first pause of a target; each further dial doubles it.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause, and how long failed dials are remembered.
const LONGEST: Duration = Duration::from_secs(300);
/// Maximum number of targets remembered, and of addresses.
const TABLE: usize = 4_096;
/// The window over which the total of dials is counted.
const WINDOW: Duration = Duration::from_secs(10);

/// Failed dials to one target or address. A dial counts as failed until it is
/// answered.
#[derive(Debug, Clone, Copy, Default)]
struct Attempts {
    count: u32,
    last: Instant,
    /// No dial is allowed before.
    until: Instant,
}

impl Attempts {
    fn refuses(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Counts one more dial.
    fn count(&mut self, now: Instant, most: u32) {
        if now.since(self.last) >= LONGEST {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = now;
        if let Some(over) = self.count.checked_sub(most) {
            let pause = PAUSE.ratio(1 << over.min(16), 1).min(LONGEST);
            self.until = now + pause;
        }
    }
}

/// Dials to targets that strangers named, as far as they have not been
/// answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate {
    targets: BTreeMap<SocketAddr, Attempts>,
    owners: BTreeMap<IpAddr, Attempts>,
    /// Dials in the current window, and when the window began.
    all: (Instant, u32),
    /// When old entries were last removed.
    forgot: Instant,
}

impl Gate {
    /// Counts a dial, unless it refuses it: then it returns false.
    pub(super) fn admit(&mut self, now: Instant, to: SocketAddr, limits: &NodeLimits) -> bool {
        let (to, owner) = (canonical(to), owner(to.ip()));
        if now.since(self.all.0) >= WINDOW {
            self.all = (now, 0);
        }
        self.forget(now);
        let full = self.all.1 >= limits.stranger_dials || self.is_full();
        let refuses =
            |attempts: Option<&Attempts>| attempts.is_some_and(|attempts| attempts.refuses(now));
        if full || refuses(self.targets.get(&to)) || refuses(self.owners.get(&owner)) {
            return false;
        }
        self.all.1 += 1;
        self.targets.entry(to).or_default().count(now, limits.stranger_dials_per_target);
        self.owners.entry(owner).or_default().count(now, limits.stranger_dials_per_ip);
        true
    }

    /// The peer is what it was said to be, a servent, client or peer: its dials
    /// are no longer counted.
    pub(super) fn answered(&mut self, from: SocketAddr) {
        let from = canonical(from);
        if let Some(attempts) = self.targets.remove(&from) {
            let owner = owner(from.ip());
            if let Some(all) = self.owners.get_mut(&owner) {
                all.count = all.count.saturating_sub(attempts.count);
                all.until = Instant::ZERO;
                if all.count == 0 {
                    self.owners.remove(&owner);
                }
            }
            self.all.1 = self.all.1.saturating_sub(attempts.count);
        }
    }

    fn is_full(&self) -> bool {
        self.targets.len().max(self.owners.len()) >= TABLE
    }

    /// Removes entries that are too old to matter. It walks the tables, so it is
    /// rarely done.
    fn forget(&mut self, now: Instant) {
        let pause = if self.is_full() { PAUSE } else { LONGEST };
        if now.since(self.forgot) < pause {
            return;
        }
        self.forgot = now;
        self.targets.retain(|_, attempts| now.since(attempts.last) < LONGEST);
        self.owners.retain(|_, attempts| now.since(attempts.last) < LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many dials are allowed in `length` when one is tried every `pause`.
    fn dials(
        gate: &mut Gate,
        (length, pause): (Duration, Duration),
        mut to: impl FnMut(u64) -> SocketAddr,
    ) -> usize {
        let steps = length.as_micros() / pause.as_micros();
        let at = |n: u64| Instant::from_secs(1_000) + pause.ratio(n, 1);
        (0..steps).filter(|n| gate.admit(at(*n), to(*n), &NodeLimits::default())).count()
    }

    const MINUTE: Duration = Duration::from_secs(60);
    const OFTEN: Duration = Duration::from_millis(20);

    #[test]
    fn one_target_is_left_alone_longer_each_time() {
        let limits = NodeLimits::default();
        let once = dials(&mut Gate::default(), (MINUTE, OFTEN), |_| ([81, 1, 2, 3], 6346).into());
        let most = limits.stranger_dials_per_target as usize + 6;
        assert!(
            (limits.stranger_dials_per_target as usize..=most).contains(&once),
            "{once} in a minute"
        );
        let many = dials(&mut Gate::default(), (MINUTE, OFTEN), |n| {
            ([81, 1, 2, 3], 1_024 + n as u16).into()
        });
        let most = limits.stranger_dials_per_ip as usize + 6;
        assert!(many <= most, "{many} at one address in a minute");
        let network = |n: u64| ([0x2001, 0xdb8, 0, 0, 0, 0, 0, n as u16], 6346).into();
        let many = dials(&mut Gate::default(), (MINUTE, OFTEN), network);
        assert!(many <= most, "{many} in one network in a minute");
    }

    #[test]
    fn all_together_are_few() {
        let anybody =
            |n: u64| (core::net::Ipv4Addr::from_bits(0x5000_0000 + n as u32), 6346).into();
        let ten = Duration::from_secs(10);
        let all = dials(&mut Gate::default(), (ten, Duration::from_millis(1)), anybody);
        assert_eq!(all, NodeLimits::default().stranger_dials as usize);
    }

    #[test]
    fn a_host_that_answers_may_be_called_without_limit() {
        let (mut gate, to) = (Gate::default(), ([81, 1, 2, 3], 6346).into());
        for n in 0..10_000 {
            assert!(gate.admit(Instant::from_micros(n), to, &NodeLimits::default()));
            gate.answered(to);
        }
        assert!(gate.targets.is_empty() && gate.owners.is_empty());
    }

    #[test]
    fn a_target_that_is_not_named_any_more_is_forgotten() {
        let mut gate = Gate::default();
        let anybody =
            |n: u64| (core::net::Ipv4Addr::from_bits(0x5000_0000 + n as u32), 6346).into();
        let most = |gate: &Gate| gate.targets.len().max(gate.owners.len());
        // As many as may be, then a trickle.
        dials(&mut gate, (MINUTE.ratio(4, 1), OFTEN), anybody);
        assert_eq!(most(&gate), TABLE);
        let later = Instant::from_secs(1_000) + LONGEST.ratio(2, 1);
        for n in 0..100 {
            assert!(gate.admit(later + MINUTE.ratio(n, 1), anybody(n), &NodeLimits::default()));
        }
        assert!(most(&gate) <= 12, "{}", most(&gate));
    }
}
