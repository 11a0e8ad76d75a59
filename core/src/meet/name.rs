//! What the other side of a meeting is called: one name for each meeting. All that a place
//! relays to comes from one address, that of the place, so the address cannot be the name.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::is_door;

/// What such a name begins with: a unique local address (RFC 4193), which no host of the
/// world has, beside those of visitors that come through a door.
const PREFIX: u128 = 0xfd73_6578;
/// Its port, as an address must have one.
const PORT: u16 = 6349;

/// The name for a meeting for which `number` was drawn.
pub(crate) const fn meeting_peer(number: u64) -> SocketAddr {
    let bits = PREFIX << 96 | number as u128;
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from_bits(bits)), PORT)
}

/// True for the name of the other side of a meeting, which is no address of a host.
#[must_use]
pub const fn is_meeting_peer(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.to_bits() >> 96 == PREFIX,
    }
}

/// True for what stands for a peer and is no address of a host, so that no datagram comes
/// from there and none is sent there: a visitor that comes through a door, or the other side
/// of a meeting.
#[must_use]
pub const fn is_no_host(ip: IpAddr) -> bool {
    is_door(ip) || is_meeting_peer(ip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meet::door_address;

    #[test]
    fn each_meeting_has_a_name_that_is_no_address_of_a_host_or_a_door() {
        let [one, other] = [1, u64::MAX].map(meeting_peer);
        assert_ne!(one, other);
        assert!(is_meeting_peer(one.ip()) && is_meeting_peer(other.ip()));
        assert!(!is_door(one.ip()) && !is_door(other.ip()));
        assert!(is_no_host(one.ip()) && is_no_host(other.ip()));
        let door = door_address("192.0.2.1:4000".parse().unwrap());
        for host in [door.ip(), "192.0.2.1".parse().unwrap(), "fd00::1".parse().unwrap()] {
            assert!(!is_meeting_peer(host), "{host}");
            assert_eq!(is_no_host(host), host == door.ip(), "{host}");
        }
    }
}
