//! Whose path may mark datagrams instead of dropping them (PA-7, RFC 3168).
//!
//! Few paths swallow what says that it may be marked. So the first datagrams to a peer
//! are a trial, as in RFC 9000 §13.4.2: retransmissions do not say so, and where half of
//! what does has to be sent again, nothing more does. Behind the trial a few trains leave
//! with a mark of our own (RFC 9002 §8.3): if the peer counts none of them, the path
//! clears marks, or the peer's system does not tell of them.

use std::net::SocketAddr;

use quinn_udp::EcnCodepoint;

use super::peer_memory::PeerMemory;
use super::{Train, UdpEndpoint};

/// Datagrams of the trial: more than the first window, which a receiver discards as a
/// whole until the sender's address is proven.
const TRIAL: u64 = 32;
/// Trains that leave with a mark of our own: one may be lost.
const TESTS: u8 = 3;
/// As many datagrams later it is seen whether there must be another trial.
const LATER: u64 = 512;

/// What is known of the path to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EcnPath {
    /// So many datagrams that may be marked were sent, and so many retransmissions.
    Tried { capable: u64, again: u64 },
    /// Those that may be marked arrive; so many tests are still to be sent, and the
    /// same was sent since the last look.
    Capable { tests: u8, capable: u64, again: u64 },
    /// They do not arrive.
    Swallows,
}

/// Half of what may be marked had to be sent again.
const fn is_swallowed(capable: u64, again: u64) -> bool {
    2 * again >= capable
}

impl EcnPath {
    const NEW: Self = Self::Tried { capable: 0, again: 0 };

    /// What is known after so much was sent.
    const fn judged(self) -> Self {
        match self {
            Self::Tried { capable, again } if capable >= TRIAL => {
                if is_swallowed(capable, again) {
                    Self::Swallows
                } else {
                    Self::Capable { tests: TESTS, capable: 0, again: 0 }
                }
            }
            Self::Capable { tests, capable, again } if capable >= LATER => {
                // Another path behind the same address, or a dark one.
                if is_swallowed(capable, again) {
                    Self::NEW
                } else {
                    Self::Capable { tests, capable: 0, again: 0 }
                }
            }
            other => other,
        }
    }
}

/// The paths to all peers; one that is no longer remembered is tried again.
#[derive(Debug, Default)]
pub(super) struct EcnPeers {
    paths: PeerMemory<EcnPath>,
    /// Datagrams that left with a mark of our own, and that the node was not told of.
    tested: Vec<(SocketAddr, u64)>,
}

impl EcnPeers {
    /// So many datagrams with messages are sent to a peer, with retransmissions or
    /// without: what they say. Retransmissions never may be marked (RFC 3168 §6.1.5).
    pub(super) fn say(
        &mut self,
        peer: SocketAddr,
        datagrams: u64,
        again: bool,
    ) -> Option<EcnCodepoint> {
        let path = self.paths.entry(peer).or_insert(EcnPath::NEW);
        *path = path.judged();
        match path {
            EcnPath::Tried { capable, again: sent_again }
            | EcnPath::Capable { capable, again: sent_again, .. } => {
                *(if again { sent_again } else { capable }) += datagrams;
            }
            EcnPath::Swallows => return None,
        }
        if again {
            return None;
        }
        if let EcnPath::Capable { tests, .. } = path
            && *tests > 0
        {
            *tests -= 1;
            self.tested.push((peer, datagrams));
            return Some(EcnCodepoint::Ce);
        }
        Some(EcnCodepoint::Ect0)
    }
}

impl UdpEndpoint {
    /// Says of datagrams that they may be marked, if they may: those that could fill a
    /// queue, of a sender that heeds marks.
    pub(super) fn let_mark(
        &mut self,
        peer: SocketAddr,
        train: &mut Train,
        heeds: impl FnOnce() -> bool,
    ) {
        if let Some(ecn) = self.ecn.as_mut().filter(|_| train.may_fill_a_queue() && heeds()) {
            train.ecn = ecn.say(peer, train.count() as u64, train.is_sent_again());
        }
    }

    /// The datagrams that have left with a mark of our own since the last call.
    pub(crate) fn take_tested(&mut self) -> Vec<(SocketAddr, u64)> {
        self.ecn.as_mut().map(|ecn| std::mem::take(&mut ecn.tested)).unwrap_or_default()
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
            let capable = |_: &u64| paths.say(peer(1), 1, false).is_some();
            last = (0..window).filter(capable).count() as u64;
            for _ in 0..window * lost / 100 {
                assert_eq!(paths.say(peer(1), 1, true), None, "a retransmission");
            }
        }
        last
    }

    #[test]
    fn a_path_that_carries_what_may_be_marked_is_sent_it_though_it_loses_some() {
        assert_eq!(send(&mut EcnPeers::default(), 0), 80);
        assert_eq!(send(&mut EcnPeers::default(), 20), 80);
        let mut paths = EcnPeers::default();
        assert_eq!(paths.say(peer(1), 10, false), Some(EcnCodepoint::Ect0));
        assert_eq!(paths.say(peer(1), 10, true), None, "until its address is proven");
        assert_eq!(send(&mut paths, 0), 80);
    }

    #[test]
    fn a_path_that_swallows_what_may_be_marked_is_sent_what_may_not() {
        let mut paths = EcnPeers::default();
        assert_eq!(send(&mut paths, 100), 0);
        assert_eq!(paths.say(peer(1), 1, false), None);
        assert!(paths.say(peer(2), 1, false).is_some(), "another path");
    }

    #[test]
    fn marks_of_our_own_follow_the_trial() {
        let mut paths = EcnPeers::default();
        let mut said = |datagrams| paths.say(peer(1), datagrams, false).unwrap();
        assert_eq!(said(TRIAL), EcnCodepoint::Ect0);
        assert_eq!([said(5), said(1), said(1)], [EcnCodepoint::Ce; TESTS as usize]);
        assert_eq!(said(1), EcnCodepoint::Ect0);
        assert_eq!(paths.tested, [(peer(1), 5), (peer(1), 1), (peer(1), 1)]);
    }

    #[test]
    fn a_path_that_begins_to_swallow_is_tried_again() {
        let mut paths = EcnPeers::default();
        assert_eq!(send(&mut paths, 0), 80);
        let (mut swallowed, most) = (0, 2 * LATER + TRIAL);
        while paths.say(peer(1), 1, false).is_some() {
            paths.say(peer(1), 1, true);
            swallowed += 1;
            assert!(swallowed <= most);
        }
    }

    #[test]
    fn no_more_peers_are_remembered_than_the_limit() {
        let mut paths = EcnPeers::default();
        for port in 0..2 * PEERS as u16 {
            paths.say(peer(port), 1, false);
        }
        assert!(paths.paths.len() <= PEERS);
    }
}
