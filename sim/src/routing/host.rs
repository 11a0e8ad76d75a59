//! What a world keeps for each of its nodes, and their addresses.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use super::shown::tally::RoutingTally;

/// The port every node listens on.
const PORT: u16 = 6346;

/// What a world keeps for a node beside its router.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    pub(super) tally: RoutingTally,
    /// The neighbour that brought the last hit of a node.
    pub(super) brought: BTreeMap<u32, u32>,
}

/// The address of a node.
pub(super) fn address(node: u32) -> SocketAddrV4 {
    let [_, high, mid, low] = (node + 1).to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(10, high, mid, low), PORT)
}

/// The node with an address, if it can be one.
pub(super) const fn node_at(ip: IpAddr) -> Option<u32> {
    let IpAddr::V4(ip) = ip else { return None };
    (ip.to_bits() & 0x00ff_ffff).checked_sub(1)
}

/// The `User-Agent` of a node.
pub(super) const fn agent() -> String {
    String::new()
}
