//! What each owner of addresses holds of something that is scarce, and which of them gives
//! way when there is none left.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks over which IPv6 addresses are counted, the widest first: what a customer
/// is given at most, what many are given, and what one host can take. An IPv4 address is
/// counted alone.
const NETS: [u32; 3] = [48, 56, 64];
/// What holds all networks.
const WORLD: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// The last of all addresses.
const LAST: IpAddr = IpAddr::V6(Ipv6Addr::from_bits(u128::MAX));

/// The network of an owner at one of these levels.
const fn net(owner: IpAddr, level: usize) -> IpAddr {
    match owner {
        IpAddr::V6(ip) => {
            let mask = u128::MAX << (128 - NETS[level]);
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The widest network that is one customer's: an IPv6 /48, or an IPv4 address.
pub(super) const fn customer(owner: IpAddr) -> IpAddr {
    net(owner, 0)
}

/// The network whose addresses one stranger may have or forge: an IPv6 /48, or an IPv4 /24.
pub(super) const fn neighbourhood(owner: IpAddr) -> IpAddr {
    match owner {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & 0xffff_ff00)),
        v6 @ IpAddr::V6(_) => customer(v6),
    }
}

/// One network within another, by how much it holds.
type NetCrowd = (usize, IpAddr, u32, IpAddr);

/// What owners of addresses hold, and which of them holds the most. An owner is an IPv4
/// address or an IPv6 /64 network.
#[derive(Debug, Clone)]
pub struct OwnerHoldings<K, V> {
    held: BTreeMap<IpAddr, BTreeMap<K, V>>,
    /// How much each network holds.
    nets: BTreeMap<(usize, IpAddr), u32>,
    crowds: BTreeSet<NetCrowd>,
}

impl<K: Copy + Ord, V: Copy> OwnerHoldings<K, V> {
    /// No owner holds anything yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { held: BTreeMap::new(), nets: BTreeMap::new(), crowds: BTreeSet::new() }
    }

    /// True when no owner holds anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// How much one has.
    #[must_use]
    pub fn count(&self, owner: IpAddr) -> u32 {
        self.held.get(&owner).map_or(0, |held| u32::try_from(held.len()).unwrap_or(u32::MAX))
    }

    /// One thing that an owner holds.
    #[must_use]
    pub fn get(&self, owner: IpAddr, key: K) -> Option<V> {
        self.held.get(&owner)?.get(&key).copied()
    }

    /// What one has, in the order of the keys.
    pub fn iter(&self, owner: IpAddr) -> impl Iterator<Item = (K, V)> + '_ {
        let held = self.held.get(&owner);
        held.into_iter().flatten().map(|(key, value)| (*key, *value))
    }

    /// An owner holds one more, or another in the place of that with the same key.
    pub fn add(&mut self, owner: IpAddr, key: K, value: V) {
        if self.held.entry(owner).or_default().insert(key, value).is_none() {
            self.recount(owner, |count| count + 1);
        }
    }

    /// An owner holds that no longer.
    pub fn remove(&mut self, owner: IpAddr, key: K) {
        let Some(held) = self.held.get_mut(&owner) else { return };
        let removed = held.remove(&key).is_some();
        if held.is_empty() {
            self.held.remove(&owner);
        }
        if removed {
            self.recount(owner, |count| count.saturating_sub(1));
        }
    }

    fn recount(&mut self, owner: IpAddr, change: impl Fn(u32) -> u32) {
        let mut within = WORLD;
        for level in 0..NETS.len() {
            let net = net(owner, level);
            let before = self.nets.remove(&(level, net)).unwrap_or(0);
            self.crowds.remove(&(level, within, before, net));
            let count = change(before);
            if count > 0 {
                self.nets.insert((level, net), count);
                self.crowds.insert((level, within, count, net));
            }
            within = net;
        }
    }

    /// The owner that gives way to a newcomer: that which holds the most in the network
    /// that holds the most. `None` when that is no more than the newcomer, or its
    /// network, would have with one more: they would take turns.
    #[must_use]
    pub fn crowd(&self, newcomer: IpAddr) -> Option<IpAddr> {
        let (mut within, mut inside) = (WORLD, true);
        for level in 0..NETS.len() {
            let its_own = net(newcomer, level);
            let own = self.nets.get(&(level, its_own)).copied().unwrap_or(0);
            let all = (level, within, 0, WORLD)..=(level, within, u32::MAX, LAST);
            let (_, _, most, net) = *self.crowds.range(all).next_back()?;
            // Among those of its own network it may still be one that has little.
            let within_its_own = inside && most <= own + 1;
            if within_its_own && own == 0 {
                return None;
            }
            within = if within_its_own { its_own } else { net };
            inside = within_its_own;
        }
        (!inside).then_some(within)
    }
}

impl<K: Copy + Ord, V: Copy> Default for OwnerHoldings<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn holding(all: &[(&str, u32)]) -> OwnerHoldings<u32, ()> {
        let mut holdings = OwnerHoldings::new();
        for (owner, count) in all {
            (0..*count).for_each(|key| holdings.add(ip(owner), key, ()));
        }
        holdings
    }

    #[test]
    fn the_one_that_holds_the_most_gives_way() {
        let held = holding(&[("192.0.2.1", 3), ("192.0.2.2", 2), ("2001:db8::", 1)]);
        assert_eq!(held.crowd(ip("192.0.2.9")), Some(ip("192.0.2.1")));
        assert_eq!(held.crowd(ip("2001:db8::")), Some(ip("192.0.2.1")));
        assert_eq!(held.crowd(ip("192.0.2.2")), None, "they would take turns");
        assert_eq!(held.crowd(ip("192.0.2.1")), None);
        assert_eq!(holding(&[("192.0.2.1", 1)]).crowd(ip("192.0.2.2")), None);
        assert_eq!(OwnerHoldings::<u32, ()>::new().crowd(ip("192.0.2.2")), None);
    }

    #[test]
    fn many_networks_of_one_customer_are_a_crowd() {
        let mut held = OwnerHoldings::new();
        // One each for 256 networks of a /56, and for two of another.
        for n in 0..258_u16 {
            let owner = Ipv6Addr::new(0x2001, 0xdb8, 2, n, 0, 0, 0, 0);
            held.add(owner.into(), 1, ());
        }
        (1..=9).for_each(|key| held.add(ip("192.0.2.1"), key, ()));
        let crowd = held.crowd(ip("192.0.2.9")).unwrap();
        assert_eq!(net(crowd, 1), ip("2001:db8:2::"), "{crowd}");
        assert_eq!(held.crowd(ip("2001:db8:3::")), Some(crowd), "another customer");
        // Among those of that customer too the network that holds the most gives way.
        let beside = held.crowd(ip("2001:db8:2:200::")).unwrap();
        assert_eq!(net(beside, 1), ip("2001:db8:2::"), "{beside}");
        for n in 0..258_u16 {
            held.remove(Ipv6Addr::new(0x2001, 0xdb8, 2, n, 0, 0, 0, 0).into(), 1);
        }
        assert_eq!(held.crowd(ip("192.0.2.9")), Some(ip("192.0.2.1")));
        (1..=9).for_each(|key| held.remove(ip("192.0.2.1"), key));
        assert!(held.is_empty() && held.nets.is_empty() && held.crowds.is_empty());
    }
}
