//! Addresses of possible neighbours: named by the user, in pongs, in refusals,
//! or by the hosts themselves; remembered over restarts.

use alloc::vec::Vec;
use core::net::SocketAddr;

use crate::node::HostRow;
use crate::time::{Duration, Instant};

/// A host that is heard of again is saved again after this time.
const SAVE_EVERY: Duration = Duration::from_secs(3_600);
/// Failed attempts in a row after which a host is forgotten.
const FAILURES: u8 = 5;
/// Refusals in a row after which the pause does not grow any more.
const REFUSALS: u8 = 7;

/// Known hosts.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    /// Ordered by when they were last heard of, the latest at the end.
    list: Vec<CachedHost>,
}

#[derive(Debug, Clone)]
struct CachedHost {
    at: SocketAddr,
    /// The user named it: never forgotten, always tried first.
    named: bool,
    /// No attempt before.
    next: Instant,
    /// When it was last heard of, and when that was last saved.
    heard: Instant,
    saved: Option<Instant>,
    failures: u8,
    /// Refusals in a row.
    refusals: u8,
}

impl CachedHost {
    const fn new(at: SocketAddr, named: bool, heard: Instant) -> Self {
        let (next, saved) = (Instant::ZERO, None);
        Self { at, named, next, heard, saved, failures: 0, refusals: 0 }
    }
}

/// Changes to be saved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Changed {
    pub(super) put: Option<HostRow>,
    pub(super) gone: Option<SocketAddr>,
}

impl Hosts {
    /// How many hosts are known.
    pub(super) const fn len(&self) -> usize {
        self.list.len()
    }

    /// True when the user named it.
    pub(super) fn is_named(&self, at: SocketAddr) -> bool {
        self.list.iter().any(|host| host.named && host.at == at)
    }

    /// Learns of a host; the one not heard of for longest makes room.
    pub(super) fn learn(
        &mut self,
        now: Instant,
        at: SocketAddr,
        named: bool,
        most: u32,
    ) -> Changed {
        let mut changed = Changed::default();
        if at.port() == 0 || at.ip().is_unspecified() {
            return changed;
        }
        let known = self.list.iter().position(|host| host.at == at);
        let mut host = match known {
            Some(place) => self.list.remove(place),
            None => CachedHost::new(at, named, now),
        };
        (host.named, host.heard) = (host.named || named, now);
        // The user who names it wants it now, unless the host itself asked for a pause.
        if named && host.refusals == 0 {
            host.next = now;
        }
        if host.saved.is_none_or(|saved| now.since(saved) >= SAVE_EVERY) {
            host.saved = Some(now);
            changed.put = Some(HostRow { at, heard: now });
        }
        self.list.push(host);
        if self.list.len() > most as usize
            && let Some(place) = self.list.iter().position(|host| !host.named)
        {
            changed.gone = Some(self.list.remove(place).at);
        }
        changed
    }

    /// Restores hosts from the store, if they are not too old; returns what the
    /// store must change.
    pub(super) fn restore(
        &mut self,
        now: Instant,
        mut rows: Vec<HostRow>,
        (life, most): (Duration, u32),
    ) -> Vec<SocketAddr> {
        rows.sort_by_key(|row| row.heard);
        let room = rows.len().saturating_sub(most as usize);
        let mut gone = Vec::new();
        for (place, HostRow { at, heard }) in rows.into_iter().enumerate() {
            if place < room || now.since(heard) >= life {
                gone.push(at);
                continue;
            }
            self.list.push(CachedHost { saved: Some(heard), ..CachedHost::new(at, false, heard) });
        }
        gone
    }

    /// Forgets hosts that no other has named for `life`.
    pub(super) fn expire(&mut self, now: Instant, life: Duration) -> Vec<SocketAddr> {
        let old = |host: &&CachedHost| !host.named && now.since(host.heard) >= life;
        let gone: Vec<SocketAddr> = self.list.iter().filter(old).map(|host| host.at).collect();
        self.list.retain(|host| !gone.contains(&host.at));
        gone
    }

    /// An attempt succeeded or failed; true when it was one failure too many,
    /// and the host is forgotten.
    pub(super) fn tried(&mut self, at: SocketAddr, well: bool) -> bool {
        let Some(place) = self.list.iter().position(|host| host.at == at) else { return false };
        let host = &mut self.list[place];
        host.failures = if well { 0 } else { host.failures.saturating_add(1) };
        host.refusals = if well { 0 } else { host.refusals };
        let forgotten = !host.named && host.failures >= FAILURES;
        if forgotten {
            self.list.remove(place);
        }
        forgotten
    }

    /// A host refused us: it is not tried for `first`, and twice as long with
    /// each further refusal in a row (RT-20).
    pub(super) fn refused(&mut self, now: Instant, at: SocketAddr, first: Duration) {
        if let Some(host) = self.list.iter_mut().find(|host| host.at == at) {
            host.next = now + first.ratio(1 << host.refusals, 1);
            host.refusals = (host.refusals + 1).min(REFUSALS);
        }
    }

    /// What failed so far says nothing about any host, because we slept: each may
    /// be tried now that did not refuse us.
    pub(super) fn forgive(&mut self, now: Instant) {
        for host in self.list.iter_mut().filter(|host| host.refusals == 0) {
            (host.failures, host.next) = (0, host.next.min(now));
        }
    }

    /// A host to try now that is not `known` already: first those the user
    /// named, then the one heard of last.
    pub(super) fn take(
        &mut self,
        now: Instant,
        retry: Duration,
        known: impl Fn(SocketAddr) -> bool,
    ) -> Option<SocketAddr> {
        let free = |host: &&mut CachedHost| host.next <= now && !known(host.at);
        let best = self.list.iter_mut().filter(free).max_by_key(|host| host.named)?;
        best.next = now + retry;
        Some(best.at)
    }

    /// When a host can be tried next.
    pub(super) fn next(&self, known: impl Fn(SocketAddr) -> bool) -> Option<Instant> {
        self.list.iter().filter(|host| !known(host.at)).map(|host| host.next).min()
    }

    /// The hosts heard of last.
    pub(super) fn some(&self, count: usize) -> Vec<SocketAddr> {
        self.list.iter().rev().map(|host| host.at).take(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u16) -> SocketAddr {
        SocketAddr::from(([80, 0, 0, 1], n))
    }

    #[test]
    fn a_node_that_slept_tries_unreached_hosts_at_once_but_not_those_that_refused() {
        let (mut hosts, retry) = (Hosts::default(), Duration::from_secs(30));
        let now = Instant::from_secs(1_000);
        for n in [1, 2] {
            hosts.learn(now, at(n), false, 9);
            assert!(hosts.take(now, retry, |host| host != at(n)).is_some());
            hosts.tried(at(n), false);
        }
        hosts.refused(now, at(2), retry);
        assert_eq!(hosts.take(now, retry, |_| false), None);
        hosts.forgive(now);
        assert_eq!(hosts.take(now, retry, |_| false), Some(at(1)));
        assert_eq!(hosts.take(now, retry, |_| false), None);
    }

    #[test]
    fn a_host_the_user_named_comes_first_and_stays() {
        let mut hosts = Hosts::default();
        hosts.learn(Instant::ZERO, at(1), true, 3);
        (2..9).for_each(|n| _ = hosts.learn(Instant::ZERO, at(n), false, 3));
        assert_eq!(hosts.some(9), [at(8), at(7), at(1)]);
        let retry = Duration::from_secs(30);
        let mut now = Instant::from_secs(1);
        let mut take = |now| hosts.take(now, retry, |_| false);
        assert_eq!((take(now), take(now), take(now)), (Some(at(1)), Some(at(8)), Some(at(7))));
        assert_eq!(take(now), None);
        now += retry;
        assert_eq!(take(now), Some(at(1)));
        assert_eq!(hosts.take(now, retry, |host| host != at(1)), None);
        hosts.learn(now, at(1), true, 3);
        assert_eq!(hosts.take(now, retry, |_| false), Some(at(1)), "named again: at once");
        hosts.refused(now, at(1), retry);
        hosts.learn(now, at(1), true, 3);
        assert_eq!(hosts.take(now, retry, |host| host != at(1)), None, "it asked for a pause");
        assert_eq!(hosts.next(|_| false), Some(now));
    }

    #[test]
    fn the_store_is_told_of_the_new_now_and_then_of_the_known_and_of_the_gone() {
        let (mut hosts, now) = (Hosts::default(), Instant::from_secs(9));
        let put = |n, heard| Some(HostRow { at: at(n), heard });
        let new = hosts.learn(now, at(1), false, 2);
        assert_eq!(new, Changed { put: put(1, now), gone: None });
        assert_eq!(hosts.learn(now + Duration::from_secs(9), at(1), false, 2), Changed::default());
        let later = now + SAVE_EVERY;
        assert_eq!(hosts.learn(later, at(1), false, 2).put, put(1, later));
        hosts.learn(later, at(2), false, 2);
        let full = hosts.learn(later, at(3), false, 2);
        assert_eq!(full, Changed { put: put(3, later), gone: Some(at(1)) });
        assert_eq!(hosts.learn(later, at(0), false, 2), Changed::default(), "no port");
    }

    #[test]
    fn the_old_and_the_unreachable_are_forgotten() {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let (week, now) = (days(7), Instant::from_secs(10 * 86_400));
        let row = |n, day: u64| HostRow { at: at(n), heard: Instant::from_secs(86_400 * day) };
        let mut hosts = Hosts::default();
        let gone = hosts.restore(now, alloc::vec![row(1, 9), row(2, 1), row(3, 8)], (week, 9));
        assert_eq!((gone, hosts.some(9)), (alloc::vec![at(2)], alloc::vec![at(1), at(3)]));
        assert_eq!(hosts.expire(now + days(5), week), [at(3)]);
        let mut few = Hosts::default();
        assert_eq!(few.restore(now, alloc::vec![row(1, 9), row(3, 8)], (week, 1)), [at(3)]);
        for n in 1..=FAILURES {
            assert_eq!(hosts.tried(at(1), false), n == FAILURES);
        }
        assert_eq!(hosts.len(), 0);
        hosts.learn(now, at(4), true, 9);
        (0..20).for_each(|_| assert!(!hosts.tried(at(4), false), "named by the user"));
    }
}
