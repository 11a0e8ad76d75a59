//! From which address of this machine a peer is answered.
//!
//! A socket that listens on all addresses has the system choose one for each datagram,
//! by the way out. A machine with several addresses is asked at one and answers from
//! another: a router in between drops that, and so does a socket that is connected. What
//! a peer has reached is what answers it.

use std::net::{IpAddr, SocketAddr};

use if_addrs::get_if_addrs;

use super::peer_memory::PeerMemory;

/// Addresses that are no host's, such as those of broadcasts, before the list of ours is
/// no longer asked for again.
const STRANGE: usize = 64;

/// The address of ours that each peer has reached, where there are several.
#[derive(Debug, Default)]
pub(super) struct ReplySources {
    /// The addresses of this machine.
    ours: Vec<IpAddr>,
    /// What datagrams came to that is no address of this machine.
    strange: Vec<IpAddr>,
    reached: PeerMemory<IpAddr>,
}

impl ReplySources {
    /// A datagram of a peer has come to an address.
    pub(super) fn came(&mut self, peer: SocketAddr, at: IpAddr) {
        let at = at.to_canonical();
        if self.reached.get(peer) == Some(&at) {
            return;
        }
        if !self.is_ours(at) || self.is_only(at) {
            self.reached.forget(peer);
            return;
        }
        self.reached.entry(peer).insert_entry(at);
    }

    /// The address that a peer is answered from; `None`: the system chooses.
    pub(super) fn to(&self, peer: SocketAddr) -> Option<IpAddr> {
        self.reached.get(peer).copied()
    }

    /// The system does not send to a peer from its address any more, as a machine that
    /// has another one.
    pub(super) fn forget(&mut self, peer: SocketAddr) {
        self.reached.forget(peer);
        self.ours.clear();
    }

    /// True for an address of this machine; all of 127.0.0.0/8 is.
    fn is_ours(&mut self, at: IpAddr) -> bool {
        if at.is_loopback() || self.ours.contains(&at) {
            return true;
        }
        if self.strange.contains(&at) || self.strange.len() >= STRANGE {
            return false;
        }
        let interfaces = get_if_addrs().unwrap_or_default();
        self.ours = interfaces.iter().map(|interface| interface.ip()).collect();
        let found = self.ours.contains(&at);
        if !found {
            self.strange.push(at);
        }
        found
    }

    /// True when the system has no other to choose: the usual one of the loopback, or
    /// the only one of its family.
    fn is_only(&self, at: IpAddr) -> bool {
        if at.is_loopback() {
            return at.is_ipv6() || at == IpAddr::from([127, 0, 0, 1]);
        }
        let family = |ip: &&IpAddr| ip.is_ipv4() == at.is_ipv4() && !ip.is_loopback();
        self.ours.iter().filter(family).all(|ip| *ip == at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::peer_memory::PEERS;
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn peer(port: u16) -> SocketAddr {
        ([192, 0, 2, 9], port).into()
    }

    fn with(ours: &[&str]) -> ReplySources {
        let ours = ours.iter().map(|text| ip(text)).collect();
        ReplySources { ours, ..ReplySources::default() }
    }

    #[test]
    fn a_machine_of_one_address_leaves_the_choice_to_the_system() {
        let mut sources = with(&["127.0.0.1", "192.0.2.1", "2001:db8::1"]);
        sources.came(peer(1), ip("192.0.2.1"));
        sources.came(peer(2), ip("127.0.0.1"));
        sources.came(peer(3), ip("::ffff:192.0.2.1"));
        assert_eq!(sources.reached.len(), 0);
    }

    #[test]
    fn a_peer_is_answered_from_the_address_that_it_has_reached_last() {
        let mut sources = with(&["192.0.2.1", "198.51.100.1"]);
        sources.came(peer(1), ip("198.51.100.1"));
        sources.came(peer(2), ip("192.0.2.1"));
        assert_eq!(sources.to(peer(1)), Some(ip("198.51.100.1")));
        assert_eq!(sources.to(peer(2)), Some(ip("192.0.2.1")));
        assert_eq!(sources.to(peer(3)), None);
        sources.came(peer(1), ip("192.0.2.1"));
        assert_eq!(sources.to(peer(1)), Some(ip("192.0.2.1")));
        sources.forget(peer(1));
        assert_eq!(sources.to(peer(1)), None);
    }

    #[test]
    fn broadcasts_are_answered_by_the_choice_of_the_system() {
        let mut sources = with(&["192.0.2.1", "198.51.100.1"]);
        for last in 0..=255 {
            sources.came(peer(1), [203, 0, 113, last].into());
        }
        assert!(sources.to(peer(1)).is_none() && sources.strange.len() == STRANGE);
    }

    #[test]
    fn more_peers_than_are_remembered_are_learnt_anew() {
        let mut sources = with(&["192.0.2.1", "198.51.100.1"]);
        (0..=PEERS as u16).for_each(|port| sources.came(peer(port), ip("192.0.2.1")));
        assert_eq!(sources.reached.len(), 1);
    }
}
