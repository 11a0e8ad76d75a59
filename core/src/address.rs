//! What an address says about its owner: from how far away it can be reached,
//! and which addresses one owner can have.

use core::hash::Hasher;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Writes the octets of an address to a hasher: the same on every machine, which the
/// standard library's own hash of an address is not.
pub(crate) fn hash_ip(ip: IpAddr, hasher: &mut impl Hasher) {
    match ip {
        IpAddr::V4(ip) => hasher.write(&ip.octets()),
        IpAddr::V6(ip) => hasher.write(&ip.octets()),
    }
}

/// From how far away an address can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// From nowhere: unspecified, reserved or multicast.
    Nowhere,
    /// From the same machine.
    Machine,
    /// From the same private network, of a house or of a provider.
    Site,
    /// From anywhere.
    World,
}

/// From how far away an address can be reached. An IPv4-mapped IPv6 address
/// counts as the IPv4 address in it.
pub const fn reach(ip: IpAddr) -> Reach {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let carrier = first == 100 && second >= 64 && second < 128;
            if first == 0 || first >= 224 {
                Reach::Nowhere
            } else if ip.is_loopback() {
                Reach::Machine
            } else if ip.is_private() || ip.is_link_local() || carrier {
                Reach::Site
            } else {
                Reach::World
            }
        }
        IpAddr::V6(ip) => {
            if ip.is_unspecified() || ip.is_multicast() {
                Reach::Nowhere
            } else if ip.is_loopback() {
                Reach::Machine
            } else if ip.is_unique_local() || ip.is_unicast_link_local() {
                Reach::Site
            } else {
                Reach::World
            }
        }
    }
}

/// The same address, with an IPv4-mapped IPv6 address turned into the IPv4
/// address in it, so that one servent has only one address.
pub(crate) const fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}

/// True when a peer at `teller` can plausibly know the address `at`. An address
/// that cannot be reached is never plausible, nor is one of narrower reach than
/// the teller's own: a stranger must not make us, or others, dial into our
/// private network.
pub(crate) fn plausible(at: IpAddr, teller: IpAddr) -> bool {
    let there = reach(at);
    there != Reach::Nowhere && there >= reach(teller)
}

/// True when the address can only be reached from the same network or machine.
pub(crate) fn is_nearby(ip: IpAddr) -> bool {
    matches!(reach(ip), Reach::Machine | Reach::Site)
}

/// True when we may connect to `at` because a peer at `teller` named it: in a
/// push, a pong or a list of hosts, as an alternate source of a file, or as the
/// callback address of a place in the queue.
#[must_use]
pub fn may_dial(at: SocketAddr, teller: IpAddr) -> bool {
    at.port() >= LOWEST_PORT && plausible(at.ip(), teller)
}

/// The lowest port that a stranger can make us dial: below it are system
/// services, and no servent listens there.
pub(crate) const LOWEST_PORT: u16 = 1_024;

/// The owner that limits per address are counted for: an IPv4 address, or the
/// /64 network from which one IPv6 host can take addresses.
pub const fn owner(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !(u64::MAX as u128))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearby_is_believed_only_from_nearby() {
        let told = |at: &str, by: &str| plausible(at.parse().unwrap(), by.parse().unwrap());
        for at in ["10.0.0.1", "127.0.0.1", "169.254.0.1", "100.64.0.1", "::1", "fc00::1"] {
            assert!(!told(at, "80.1.2.3") && !told(at, "2001:db8::1"), "{at}");
        }
        for at in ["0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "ff02::1"] {
            assert!(!told(at, "80.1.2.3") && !told(at, "10.0.0.1"), "{at}");
        }
        assert!(told("10.0.0.2", "192.168.0.1") && told("127.0.0.1", "127.0.0.1"));
        assert!(told("81.1.2.3", "10.0.0.1") && told("81.1.2.3", "::1"));
        assert!(!told("127.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn no_peer_makes_us_knock_at_a_service() {
        let told = |at: &str| may_dial(at.parse().unwrap(), "80.1.2.3".parse().unwrap());
        for at in ["81.1.2.3:0", "81.1.2.3:22", "81.1.2.3:25", "[2001:db8::1]:1023"] {
            assert!(!told(at), "{at}");
        }
        assert!(told("81.1.2.3:1024") && !told("10.0.0.1:6346"));
    }

    #[test]
    fn ipv6_clothes_change_nothing() {
        for (plain, dressed) in [
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("10.0.0.1", "::ffff:10.0.0.1"),
            ("224.0.0.1", "::ffff:224.0.0.1"),
            ("81.1.2.3", "::ffff:81.1.2.3"),
        ] {
            let (plain, dressed) = (plain.parse().unwrap(), dressed.parse().unwrap());
            assert_eq!(reach(plain), reach(dressed));
            assert_eq!(owner(plain), owner(dressed));
        }
    }

    #[test]
    fn one_network_of_ipv6_is_one_owner() {
        let of = |ip: &str| owner(ip.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("1.1.1.1"), of("1.1.1.2"));
    }
}
