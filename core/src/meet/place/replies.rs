//! How often a place replies to one network: a flood costs it what its own datagrams cost,
//! and not as many of the place's.

use alloc::vec::Vec;
use core::hash::{BuildHasher as _, Hasher as _};
use core::net::{IpAddr, SocketAddr};

use crate::address::hash_ip;
use crate::keyed::Key;
use crate::meet::door::{is_door, visitor_owner};
use crate::meet::holdings::neighbourhood;
use crate::time::{Duration, Instant};

/// The time over which replies are counted.
const WINDOW: Duration = Duration::from_millis(250);
/// Replies to one network, or one address, in that time: a class behind one router that
/// joins at once has them all.
const MOST: u16 = 64;
/// Of these an address has so many whatever its network was given: one that forges the
/// addresses beside it does not keep it out.
const OWN: u16 = 4;
/// Over how many counters the networks are spread, anew in each window: two that share one
/// share its replies, and only there.
const COUNTERS: u64 = 16_384;

/// Replies of the present window, by network.
#[derive(Debug, Clone)]
pub(super) struct ReplyLimit {
    key: Key,
    /// Empty until the first reply.
    counts: Vec<u16>,
    until: Instant,
    refused: u64,
}

impl ReplyLimit {
    /// What a counter is for.
    const NETWORK: u8 = 0;
    const OWNER: u8 = 1;
    const STRANGER: u8 = 2;

    /// No reply yet. The key hides from strangers which networks share a counter.
    pub(super) const fn new(key: Key) -> Self {
        Self { key, counts: Vec::new(), until: Instant::ZERO, refused: 0 }
    }

    /// How many replies were too many.
    pub(super) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Counts a reply to the network of an address that has returned no cookie: a stranger
    /// that forges one address can forge those beside it. Of one that comes through the door
    /// TCP has shown that it is there.
    pub(super) fn admits_network(&mut self, now: Instant, at: SocketAddr) -> bool {
        if is_door(at.ip()) {
            return self.admits_owner(now, at);
        }
        let network = neighbourhood(visitor_owner(at.ip()));
        let fits = self.takes(now, (Self::NETWORK, network), MOST)
            || self.takes(now, (Self::STRANGER, visitor_owner(at.ip())), OWN);
        self.refused += u64::from(!fits);
        fits
    }

    /// Counts a reply to the owner of an address that has returned its cookie.
    pub(super) fn admits_owner(&mut self, now: Instant, at: SocketAddr) -> bool {
        let fits = self.takes(now, (Self::OWNER, visitor_owner(at.ip())), MOST);
        self.refused += u64::from(!fits);
        fits
    }

    /// False when there were too many.
    fn takes(&mut self, now: Instant, (kind, to): (u8, IpAddr), most: u16) -> bool {
        if now >= self.until {
            self.until = now + WINDOW;
            self.counts.clear();
            self.counts.resize(COUNTERS as usize, 0);
        }
        let mut hasher = self.key.build_hasher();
        hasher.write_u8(kind);
        hasher.write(&self.until.as_micros().to_be_bytes());
        hash_ip(to, &mut hasher);
        let Some(count) = self.counts.get_mut((hasher.finish() % COUNTERS) as usize) else {
            return true;
        };
        *count = count.saturating_add(1);
        *count <= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// How many replies an address has in ten windows of 1 000 questions each.
    fn replies(limit: &mut ReplyLimit, at: impl Fn(u64) -> SocketAddr) -> u64 {
        let admitted = |n: &u64| {
            let now = Instant::from_secs(1_000) + WINDOW.ratio(*n, 1_000);
            limit.admits_network(now, at(*n))
        };
        (0..10_000).filter(admitted).count() as u64
    }

    #[test]
    fn a_network_has_so_many_replies_and_takes_none_from_others() {
        let mut limit = ReplyLimit::new(Key::new(&mut Rng::new(1)));
        let flood = |n: u64| SocketAddr::from(([192, 0, 2, (n % 8) as u8], n as u16));
        assert_eq!(replies(&mut limit, flood), 10 * u64::from(MOST + 8 * OWN));
        let now = Instant::from_secs(1_000) + WINDOW.ratio(19, 2);
        assert!(!limit.admits_network(now, flood(1)));
        assert!(limit.admits_network(now, ([192, 0, 2, 99], 1).into()), "one beside them");
        assert!(limit.admits_network(now, ([192, 0, 3, 1], 1).into()));
    }

    #[test]
    fn a_customer_of_ipv6_is_one_network() {
        let mut limit = ReplyLimit::new(Key::new(&mut Rng::new(1)));
        let host = |n: u64| SocketAddr::from(([0x2001, 0xdb8, 1, n as u16 % 8, 0, 0, 0, 1], 4_000));
        assert_eq!(replies(&mut limit, host), 10 * u64::from(MOST + 8 * OWN));
    }

    #[test]
    fn one_that_comes_through_the_door_is_not_counted_with_its_network() {
        let mut limit = ReplyLimit::new(Key::new(&mut Rng::new(1)));
        let forged = |n: u64| SocketAddr::from(([192, 0, 2, 7], n as u16));
        replies(&mut limit, forged);
        let now = Instant::from_secs(1_000) + WINDOW.ratio(19, 2);
        assert!(!limit.admits_network(now, forged(1)));
        assert!(limit.admits_network(now, crate::meet::door_address(forged(1))));
    }

    #[test]
    fn those_who_have_proved_their_address_are_counted_one_by_one() {
        let mut limit = ReplyLimit::new(Key::new(&mut Rng::new(1)));
        let now = Instant::from_secs(1);
        let admitted = |n: &u32| limit.admits_owner(now, ([192, 0, 2, (n % 2) as u8], 1).into());
        assert_eq!((0..1_000).filter(admitted).count(), 2 * usize::from(MOST));
    }
}
