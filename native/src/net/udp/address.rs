//! Addresses of peers, in the forms that sockets want.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Any address and port of the family of a peer.
#[must_use]
pub fn any_address(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// Turns an IPv4-mapped address of a dual-stack socket into the IPv4 address.
pub(crate) fn canonical(peer: SocketAddr) -> SocketAddr {
    match (peer.ip().to_canonical(), peer) {
        (IpAddr::V4(ip), _) => SocketAddr::new(ip.into(), peer.port()),
        (IpAddr::V6(ip), SocketAddr::V6(v6)) => {
            SocketAddrV6::new(ip, v6.port(), 0, v6.scope_id()).into()
        }
        (IpAddr::V6(_), SocketAddr::V4(_)) => peer,
    }
}
