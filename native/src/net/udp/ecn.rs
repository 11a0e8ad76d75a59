//! Whose path may mark datagrams instead of dropping them (PA-7, RFC 3168).
//!
//! Few paths swallow what says that it may be marked. So the first datagrams to a peer
//! are a trial, as in RFC 9000 §13.4.2: retransmissions do not say so, and where half of
//! what does has to be sent again, nothing more does.

use std::net::SocketAddr;

use super::peer_memory::PeerMemory;

/// Datagrams of the trial: more than the first window, which a receiver discards as a
/// whole until the sender's address is proven.
const TRIAL: u64 = 32;

/// What is known of the path to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EcnPath {
    /// So many datagrams that may be marked were sent, and so many retransmissions.
    Tried { capable: u64, again: u64 },
    /// Those that may be marked arrive.
    Capable,
    /// They do not.
    Swallows,
}

/// The paths to all peers; one that is no longer remembered is tried again.
#[derive(Debug, Default)]
pub(super) struct EcnPeers(PeerMemory<EcnPath>);

impl EcnPeers {
    /// So many datagrams with messages are sent to a peer, with retransmissions or
    /// without: true when they may be marked. Retransmissions never may (RFC 3168
    /// §6.1.5).
    pub(super) fn may_be_marked(&mut self, peer: SocketAddr, datagrams: u64, again: bool) -> bool {
        let new = EcnPath::Tried { capable: 0, again: 0 };
        let path = self.0.entry(peer).or_insert(new);
        if let EcnPath::Tried { capable, again } = *path
            && capable >= TRIAL
        {
            *path = if 2 * again >= capable { EcnPath::Swallows } else { EcnPath::Capable };
        }
        if let EcnPath::Tried { capable, again: sent_again } = path {
            *(if again { sent_again } else { capable }) += datagrams;
        }
        !again && *path != EcnPath::Swallows
    }
}

#[cfg(test)]
mod tests {
    use super::super::peer_memory::PEERS;
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    /// Sends windows, each twice as large as the one before. Of each, so many of a
    /// hundred have to be sent again. Returns how many may be marked of the last.
    fn send(paths: &mut EcnPeers, lost: u64) -> u64 {
        let mut last = 0;
        for window in [10, 20, 40, 80] {
            let marked = |_: &u64| paths.may_be_marked(peer(1), 1, false);
            last = (0..window).filter(marked).count() as u64;
            for _ in 0..window * lost / 100 {
                assert!(!paths.may_be_marked(peer(1), 1, true), "a retransmission");
            }
        }
        last
    }

    #[test]
    fn a_path_that_carries_what_may_be_marked_is_sent_it_though_it_loses_some() {
        assert_eq!(send(&mut EcnPeers::default(), 0), 80);
        assert_eq!(send(&mut EcnPeers::default(), 20), 80);
        let mut paths = EcnPeers::default();
        assert!(paths.may_be_marked(peer(1), 10, false));
        assert!(!paths.may_be_marked(peer(1), 10, true), "until its address is proven");
        assert_eq!(send(&mut paths, 0), 80);
    }

    #[test]
    fn a_path_that_swallows_what_may_be_marked_is_sent_what_may_not() {
        let mut paths = EcnPeers::default();
        assert_eq!(send(&mut paths, 100), 0);
        assert!(!paths.may_be_marked(peer(1), 1, false));
        assert!(paths.may_be_marked(peer(2), 1, false), "another path");
    }

    #[test]
    fn no_more_peers_are_remembered_than_the_limit() {
        let mut paths = EcnPeers::default();
        for port in 0..2 * PEERS as u16 {
            paths.may_be_marked(peer(port), 1, false);
        }
        assert!(paths.0.len() <= PEERS);
    }
}
