//! Peers that sent wrong pieces: one that did so too often is not asked any
//! more, whatever the coordinator orders.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use crate::wire::pdtp::{Text, TransferKey};

/// Wrong pieces of one peer after which it is not asked again.
const WRONG: u32 = 3;
/// Maximum number of peers remembered; only reached if a client invents peers.
const REMEMBERED: usize = 1_024;

/// The sender of a piece, by address and id, so that no peer is blamed for another
/// peer behind the same address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PieceGiver(IpAddr, Text);

impl PieceGiver {
    /// The other side of a transfer; `None` for a source, for which the
    /// coordinator is responsible.
    pub(super) fn from_transfer(about: &TransferKey) -> Option<Self> {
        (!about.peer_id.is_empty()).then(|| Self(about.peer, about.peer_id.clone()))
    }
}

/// Wrong pieces, counted by sender.
#[derive(Debug, Clone, Default)]
pub(super) struct Liars(BTreeMap<PieceGiver, u32>);

impl Liars {
    /// Without entries.
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// A piece was wrong.
    pub(super) fn blame(&mut self, giver: PieceGiver) {
        if self.0.len() < REMEMBERED || self.0.contains_key(&giver) {
            *self.0.entry(giver).or_default() += 1;
        }
    }

    /// True for a peer that is not asked any more.
    pub(super) fn has(&self, about: &TransferKey) -> bool {
        PieceGiver::from_transfer(about)
            .and_then(|giver| self.0.get(&giver))
            .is_some_and(|wrong| *wrong >= WRONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::pdtp::Span;

    fn about(n: usize) -> TransferKey {
        let peer = IpAddr::from([80, 0, (n / 256) as u8, n as u8]);
        TransferKey { peer, url: "f".into(), span: Span::ALL, peer_id: "c".into() }
    }

    #[test]
    fn inventing_peers_makes_no_client_forget_a_liar_or_remember_more() {
        let (mut liars, of) = (Liars::new(), |n| PieceGiver::from_transfer(&about(n)).unwrap());
        (0..REMEMBERED + 5).for_each(|n| liars.blame(of(n)));
        assert_eq!(liars.0.len(), REMEMBERED);
        for _ in 0..2 {
            assert!(!liars.has(&about(0)));
            liars.blame(of(0));
            liars.blame(of(REMEMBERED));
        }
        assert!(liars.has(&about(0)) && !liars.has(&about(REMEMBERED)));
    }
}
