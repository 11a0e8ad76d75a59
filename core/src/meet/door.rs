//! Addresses of visitors that come through the door of a place, where UDP is blocked.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::address::owner;

/// What such an address begins with, for a visitor with an IPv4 address and for one
/// with an IPv6 address: unique local addresses (RFC 4193), which no host of the world
/// has.
const PREFIXES: [u128; 2] = [0xfd73_6572, 0xfd73_6576];

/// The address under which a place knows the visitor whose connection comes from `at`.
/// It tells the owner of that address, and is never that of a datagram. Two hosts of one
/// IPv6 /64 network have the same in rare cases, if their ports are the same too.
#[must_use]
pub const fn door_address(at: SocketAddr) -> SocketAddr {
    let bits = match at.ip().to_canonical() {
        IpAddr::V4(ip) => PREFIXES[0] << 96 | (ip.to_bits() as u128) << 64 | 1,
        IpAddr::V6(ip) => {
            let (network, host) = (ip.to_bits() >> 64, ip.to_bits() as u64);
            let host = (host >> 32) as u32 ^ host as u32;
            PREFIXES[1] << 96 | network << 32 | host as u128
        }
    };
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from_bits(bits)), at.port())
}

/// True for an address of a visitor that comes through a door.
#[must_use]
pub const fn is_door(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => {
            let prefix = ip.to_bits() >> 96;
            prefix == PREFIXES[0] || prefix == PREFIXES[1]
        }
    }
}

/// The owner of the address of a visitor, whatever way it came: through the door it is
/// that of the address from which its connection comes.
#[must_use]
pub const fn visitor_owner(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(door) = ip else { return owner(ip) };
    let bits = door.to_bits();
    if bits >> 96 == PREFIXES[0] {
        IpAddr::V4(Ipv4Addr::from_bits((bits >> 64) as u32))
    } else if bits >> 96 == PREFIXES[1] {
        IpAddr::V6(Ipv6Addr::from_bits((bits >> 32 & u64::MAX as u128) << 64))
    } else {
        owner(ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Reach, owner, reach};

    #[test]
    fn a_visitor_keeps_its_owner_and_its_port() {
        let door = |text: &str| door_address(text.parse().unwrap());
        for at in ["192.0.2.7:4000", "[2001:db8::7]:4000"] {
            assert!(is_door(door(at).ip()) && door(at).port() == 4000, "{at}");
            assert_eq!(reach(door(at).ip()), Reach::Site, "{at}");
        }
        let owner = |text| owner(door(text).ip());
        assert_eq!(owner("192.0.2.7:1"), owner("192.0.2.7:2"));
        assert_ne!(owner("192.0.2.7:1"), owner("192.0.2.8:1"));
        let visitor = |text: &str| visitor_owner(door(text).ip());
        let straight = |text: &str| visitor_owner(text.parse().unwrap());
        assert_eq!(visitor("192.0.2.7:1"), straight("192.0.2.7"));
        assert_ne!(visitor("192.0.2.7:1"), visitor("192.0.2.8:1"));
        for host in ["2001:db8::7", "2001:db8::a:0:0:8"] {
            assert_eq!(visitor("[2001:db8::7]:1"), straight(host), "one of a /64");
        }
        for host in ["2001:db8:1::7", "2001:db8:0:1::7"] {
            assert_ne!(visitor("[2001:db8::7]:1"), straight(host), "{host}");
        }
        let [one, other] = ["[2001:db8::7]:1", "[2001:db8::8]:1"].map(door);
        assert_ne!(one, other, "each host has its own");
        assert!(!is_door("192.0.2.7".parse().unwrap()) && !is_door("fd00::1".parse().unwrap()));
    }
}
