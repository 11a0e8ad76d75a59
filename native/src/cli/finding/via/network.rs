//! Whether this machine has changed networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use tokio::time::sleep;

use super::ViaPlace;

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);

impl ViaPlace {
    /// Waits until this machine would send to the place from another address than now.
    pub(crate) async fn has_another_network(&self) -> IpAddr {
        let now = || self.at.iter().find_map(|at| source(*at));
        let before = now();
        loop {
            sleep(LOOK).await;
            match now() {
                // Without any it may have the same one in a moment.
                Some(address) if before.is_none_or(|before| before != address) => return address,
                _ => {}
            }
        }
    }
}

/// From which address what leaves this socket for another goes. A socket of all addresses has
/// that of the network to which it sends.
pub(crate) fn source_for(to: SocketAddr, from: SocketAddr) -> Option<SocketAddr> {
    let to = SocketAddr::new(to.ip().to_canonical(), to.port());
    let ip = if from.ip().is_unspecified() { source(to)? } else { from.ip().to_canonical() };
    Some(SocketAddr::new(ip, from.port()))
}

/// From which address the system would send there; nothing is sent.
fn source(to: SocketAddr) -> Option<IpAddr> {
    let from: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((from, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_one_that_the_system_would_send_from() {
        assert_eq!(source("127.0.0.1:6349".parse().unwrap()), Some(Ipv4Addr::LOCALHOST.into()));
        let from = |to: &str, from: &str| source_for(to.parse().unwrap(), from.parse().unwrap());
        for to in ["127.0.0.1:6349", "[::ffff:127.0.0.1]:6349"] {
            assert_eq!(from(to, "[::]:7000"), Some((Ipv4Addr::LOCALHOST, 7_000).into()));
        }
        let named = "127.0.0.2:7000";
        assert_eq!(from("127.0.0.1:6349", named), Some(named.parse().unwrap()));
    }
}
