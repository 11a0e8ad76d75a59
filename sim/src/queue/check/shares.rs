//! Places and slots by address: each address has a share of them.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::IpAddr;

use servent_core::id::Guid;

/// The addresses of queued requests and uploads. A request that came back after
/// a restart or a broken transfer counts on its own, until it is called and the
/// record gives its address.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares {
    peers: BTreeMap<Guid, IpAddr>,
    counts: BTreeMap<IpAddr, u32>,
}

impl Shares {
    /// A request got a place, or a slot.
    pub(super) fn come(&mut self, ticket: Guid, peer: IpAddr) {
        self.go(ticket);
        self.peers.insert(ticket, peer);
        *self.counts.entry(peer).or_default() += 1;
    }

    /// The address of a request that came back after a restart.
    pub(super) fn learn(&mut self, ticket: Guid, peer: IpAddr) {
        if !self.peers.contains_key(&ticket) {
            self.come(ticket, peer);
        }
    }

    /// It no longer has one.
    pub(super) fn go(&mut self, ticket: Guid) {
        let Some(peer) = self.peers.remove(&ticket) else { return };
        match self.counts.get_mut(&peer) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.counts.remove(&peer)),
        }
    }

    /// Places and slots of the address of this request.
    pub(super) fn count_places(&self, ticket: Guid) -> u32 {
        self.peers.get(&ticket).map_or(1, |peer| self.counts[peer])
    }

    /// How many of the uploads count against the slots: of one address no more
    /// than its share.
    pub(super) fn counted(&self, uploads: &BTreeSet<Guid>, share: u32) -> u32 {
        let mut held: BTreeMap<IpAddr, u32> = BTreeMap::new();
        let mut counted = 0;
        for ticket in uploads {
            let Some(peer) = self.peers.get(ticket) else {
                counted += 1;
                continue;
            };
            let one = held.entry(*peer).or_default();
            *one += 1;
            counted += u32::from(*one <= share);
        }
        counted
    }
}
