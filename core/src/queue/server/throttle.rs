//! Limits addresses that ask too often, or are called too often.
//!
//! Each address has a debt of time: each request adds its share of a minute,
//! and time pays it off. An address that owes more than a minute is refused for
//! a pause. Two generations of a table limit what is remembered; when one is
//! full the generation changes early, so strangers cannot make it grow. They
//! are hash maps because dropping an ordered map of sixty thousand addresses
//! takes nearly two milliseconds, in which no client is answered.

use core::net::IpAddr;

use crate::keyed::{Key, Map};
use crate::time::{Duration, Instant};

/// Debts, by address.
#[derive(Debug, Clone)]
pub(super) struct Throttle {
    window: Duration,
    share: Duration,
    pause: Duration,
    most: usize,
    young: Map<IpAddr, Debt>,
    old: Map<IpAddr, Debt>,
    turn: Instant,
}

#[derive(Debug, Clone, Copy, Default)]
struct Debt {
    paid_off: Instant,
    refused_until: Instant,
}

impl Throttle {
    /// Allows `requests` in each `window`; remembers at most twice `most`
    /// addresses.
    pub(super) fn new(
        requests: u32,
        window: Duration,
        pause: Duration,
        most: u32,
        key: Key,
    ) -> Self {
        Self {
            window,
            share: window.ratio(1, u64::from(requests.max(1))),
            pause,
            most: most.max(1) as usize,
            young: Map::with_hasher(key.clone()),
            old: Map::with_hasher(key),
            turn: Instant::ZERO,
        }
    }

    /// `Some(t)` when the address is refused for `t` more.
    pub(super) fn refused(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let peer = peer.to_canonical();
        let debt = self.young.get(&peer).or_else(|| self.old.get(&peer))?;
        (now < debt.refused_until).then(|| debt.refused_until.since(now))
    }

    /// Takes a request back that should not count.
    pub(super) fn forgive(&mut self, peer: IpAddr) {
        if let Some(debt) = self.young.get_mut(&peer.to_canonical()) {
            debt.paid_off = debt.paid_off - self.share;
        }
    }

    /// Counts a request; `Some(t)` when the address is refused for `t` more.
    pub(super) fn count(&mut self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let peer = peer.to_canonical();
        if now >= self.turn || self.young.len() >= self.most {
            core::mem::swap(&mut self.old, &mut self.young);
            self.young.clear();
            // Reserved while it is empty: growing later would have to move
            // everything.
            self.young.reserve(self.old.len());
            self.turn = now + self.window + self.pause;
        }
        let old = &self.old;
        let debt =
            self.young.entry(peer).or_insert_with(|| old.get(&peer).copied().unwrap_or_default());
        if now < debt.refused_until {
            return Some(debt.refused_until.since(now));
        }
        debt.paid_off = debt.paid_off.max(now) + self.share;
        if debt.paid_off.since(now) > self.window {
            *debt = Debt { paid_off: now, refused_until: now + self.pause };
            return Some(self.pause);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    fn key() -> Key {
        Key::new(&mut crate::rng::Rng::new(1))
    }

    fn peer(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(n))
    }

    #[test]
    fn sixty_a_minute_pass_the_next_is_refused_and_the_pause_ends() {
        let minute = Duration::from_secs(60);
        let mut throttle = Throttle::new(60, minute, minute, 100, key());
        let now = Instant::from_secs(1_000);
        for _ in 0..60 {
            assert_eq!(throttle.count(peer(1), now), None);
        }
        assert_eq!(throttle.refused(peer(1), now), None);
        assert_eq!(throttle.count(peer(1), now), Some(minute));
        assert_eq!(throttle.refused(peer(1), now), Some(minute));
        assert_eq!(throttle.refused(peer(1), now + minute), None);
        assert_eq!((throttle.refused(peer(2), now), throttle.count(peer(2), now)), (None, None));
        let later = now + Duration::from_secs(59);
        assert_eq!(throttle.count(peer(1), later), Some(Duration::from_secs(1)));
        assert_eq!(throttle.count(peer(1), now + minute), None);
    }

    #[test]
    fn what_is_taken_back_does_not_count() {
        let minute = Duration::from_secs(60);
        let mut throttle = Throttle::new(60, minute, minute, 100, key());
        let now = Instant::from_secs(1_000);
        for _ in 0..1_000 {
            assert_eq!(throttle.count(peer(1), now), None);
            throttle.forgive(peer(1));
        }
        throttle.forgive(peer(2));
        assert_eq!(throttle.count(peer(2), now), None);
    }

    #[test]
    fn strangers_cannot_make_it_grow() {
        let minute = Duration::from_secs(60);
        let mut throttle = Throttle::new(60, minute, minute, 100, key());
        for n in 0..10_000 {
            throttle.count(peer(n), Instant::from_secs(1));
        }
        assert!(throttle.young.len() + throttle.old.len() <= 200);
    }
}
