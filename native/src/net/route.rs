//! Routes to servents that no address reaches: they have met us through a place, and
//! what has met them opens connections. For a download such a servent has an address
//! that no host of the world has.

use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use servent_core::meet::MeetingId;
use tokio::net::TcpStream;

/// Opens connections to one servent.
pub trait SourceRoute: Send + Sync {
    /// Opens one more.
    fn open(&self) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// A route that is known.
#[derive(Clone)]
pub(crate) struct KnownRoute(pub(crate) Arc<dyn SourceRoute>);

impl fmt::Debug for KnownRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownRoute")
    }
}

/// What the address of a servent behind a route begins with: unique local ones (RFC
/// 4193).
const PREFIX: u128 = 0xfd73_6577;
/// Its port, as an address must have one.
const PORT: u16 = 6346;

/// The address of the servent of a meeting: always the same, so that a download that
/// is stopped finds its source again.
#[must_use]
pub fn route_address(meeting: MeetingId) -> SocketAddr {
    let name = u128::from_be_bytes(meeting.0) >> 32;
    SocketAddr::new(Ipv6Addr::from_bits(PREFIX << 96 | name).into(), PORT)
}

/// True for the address of a servent that a route leads to.
#[must_use]
pub fn is_route(at: SocketAddr) -> bool {
    let SocketAddr::V6(at) = at else { return false };
    at.ip().to_bits() >> 96 == PREFIX && at.port() == PORT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_meeting_has_an_address_of_its_own() {
        let [one, other] = [[7; 16], [8; 16]].map(|name| route_address(MeetingId(name)));
        assert_ne!(one, other);
        assert!(one.to_string().starts_with("[fd73:6577:707:"), "{one}");
        assert!(is_route(one) && !is_route("[fd00::1]:6346".parse().unwrap()));
    }
}
