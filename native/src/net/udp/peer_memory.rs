//! What is remembered of peers, which strangers can be: a bounded number of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;

/// Peers that are remembered. When there are more, all are learnt anew.
pub(super) const PEERS: usize = 4_096;

/// A value of each peer.
#[derive(Debug)]
pub(super) struct PeerMemory<V>(BTreeMap<SocketAddr, V>);

impl<V> Default for PeerMemory<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V> PeerMemory<V> {
    /// What is remembered of a peer.
    pub(super) fn get(&self, peer: SocketAddr) -> Option<&V> {
        self.0.get(&peer)
    }

    /// The place of a peer, of which something is remembered from now on.
    pub(super) fn entry(&mut self, peer: SocketAddr) -> Entry<'_, SocketAddr, V> {
        if self.0.len() >= PEERS && !self.0.contains_key(&peer) {
            self.0.clear();
        }
        self.0.entry(peer)
    }

    /// Nothing is remembered of a peer any more.
    pub(super) fn forget(&mut self, peer: SocketAddr) {
        self.0.remove(&peer);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
