//! Addresses of visitors that come through the door of a place, where UDP is blocked.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::address::owner;

/// What such an address begins with, for a visitor with an IPv4 address and for one
/// with an IPv6 address: unique local addresses (RFC 4193), which no host of the world
/// has.
const PREFIXES: [u128; 2] = [0xfd73_6572, 0xfd73_6576];

/// The address under which a place knows the visitor whose connection comes from `at`.
/// It has the same owner as others of that host, and is never that of a datagram.
#[must_use]
pub const fn door_address(at: SocketAddr) -> SocketAddr {
    let (prefix, network, host) = match at.ip().to_canonical() {
        IpAddr::V4(ip) => (PREFIXES[0], ip.to_bits(), 1),
        IpAddr::V6(ip) => {
            let network = (ip.to_bits() >> 64) as u64;
            (PREFIXES[1], (network >> 32) as u32 ^ network as u32, ip.to_bits() as u64)
        }
    };
    let bits = prefix << 96 | (network as u128) << 64 | host as u128;
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

/// The owner of the address of a visitor, whatever way it came: through the door an IPv4
/// address is the one that its datagrams have.
pub(super) const fn visitor_owner(ip: IpAddr) -> IpAddr {
    if let IpAddr::V6(door) = ip
        && door.to_bits() >> 96 == PREFIXES[0]
    {
        return IpAddr::V4(Ipv4Addr::from_bits((door.to_bits() >> 64) as u32));
    }
    owner(ip)
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
        assert_eq!(owner("[2001:db8::7]:1"), owner("[2001:db8::8]:1"));
        assert_ne!(owner("[2001:db8::7]:1"), owner("[2001:db8:1::7]:1"));
        let visitor = |text: &str| visitor_owner(door(text).ip());
        assert_eq!(visitor("192.0.2.7:1"), visitor_owner("192.0.2.7".parse().unwrap()));
        assert_ne!(visitor("192.0.2.7:1"), visitor("192.0.2.8:1"));
        assert_ne!(visitor("[2001:db8::7]:1"), visitor("[2001:db8:1::7]:1"));
        assert!(!is_door("192.0.2.7".parse().unwrap()) && !is_door("fd00::1".parse().unwrap()));
    }
}
