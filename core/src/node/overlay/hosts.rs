//! Others who may be there: named by the user, by pongs, by refusals.

use alloc::vec::Vec;
use core::net::SocketAddr;

use crate::time::{Duration, Instant};

/// Addresses of others.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    /// The one heard of last at the end.
    list: Vec<Host>,
}

#[derive(Debug, Clone)]
struct Host {
    at: SocketAddr,
    /// The user named it: never forgotten, always tried first.
    named: bool,
    /// Not before.
    next: Instant,
}

impl Hosts {
    /// Hears of somebody; the one heard of first makes room.
    pub(super) fn hear(&mut self, at: SocketAddr, named: bool, most: u32) {
        if at.port() == 0 {
            return;
        }
        let known = self.list.iter().position(|host| host.at == at);
        let old = known.map(|place| self.list.remove(place));
        let next = old.as_ref().map_or(Instant::ZERO, |host| host.next);
        let named = named || old.is_some_and(|host| host.named);
        self.list.push(Host { at, named, next });
        if self.list.len() > most as usize
            && let Some(place) = self.list.iter().position(|host| !host.named)
        {
            self.list.remove(place);
        }
    }

    /// Somebody to try now, who is not `known` already: whom the user named,
    /// then whom we heard of last.
    pub(super) fn take(
        &mut self,
        now: Instant,
        retry: Duration,
        known: impl Fn(SocketAddr) -> bool,
    ) -> Option<SocketAddr> {
        let free = |host: &&mut Host| host.next <= now && !known(host.at);
        let best = self.list.iter_mut().filter(free).max_by_key(|host| host.named)?;
        best.next = now + retry;
        Some(best.at)
    }

    /// When somebody can be tried next.
    pub(super) fn next(&self, known: impl Fn(SocketAddr) -> bool) -> Option<Instant> {
        self.list.iter().filter(|host| !known(host.at)).map(|host| host.next).min()
    }

    /// Those heard of last.
    pub(super) fn some(&self, count: usize) -> Vec<SocketAddr> {
        self.list.iter().rev().map(|host| host.at).take(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_the_user_named_comes_first_and_stays() {
        let at = |n: u16| SocketAddr::from(([80, 0, 0, 1], n));
        let mut hosts = Hosts::default();
        hosts.hear(at(1), true, 3);
        (2..9).for_each(|n| hosts.hear(at(n), false, 3));
        assert_eq!(hosts.some(9), [at(8), at(7), at(1)]);
        let retry = Duration::from_secs(30);
        let mut now = Instant::from_secs(1);
        let mut take = |now| hosts.take(now, retry, |_| false);
        assert_eq!((take(now), take(now), take(now)), (Some(at(1)), Some(at(8)), Some(at(7))));
        assert_eq!(take(now), None);
        now += retry;
        assert_eq!(take(now), Some(at(1)));
        assert_eq!(hosts.next(|_| false), Some(now));
    }
}
