//! Which peer is reached through the meeting place's relay, and not directly.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The address of the relay that carries the latest meeting's bytes, until they
/// move to a direct path. A meeting place gives one meeting at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct RelayedPeer(Arc<Mutex<Option<SocketAddr>>>);

impl RelayedPeer {
    /// Notes how the bytes of the latest meeting go.
    pub(crate) fn note(&self, peer: SocketAddr, relayed: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = relayed.then_some(peer);
    }

    /// Notes that the bytes go directly from now on.
    pub(crate) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// True when what goes to this address, as it was at the start, is relayed.
    pub(crate) fn is(&self, peer: SocketAddr) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) == Some(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_relayed_until_its_path_is_direct() {
        let (relay, other) = ([192, 0, 2, 1], [192, 0, 2, 2]);
        let [relay, other] = [relay, other].map(|ip| SocketAddr::from((ip, 6349)));
        let (relayed, elsewhere) = (RelayedPeer::default(), RelayedPeer::default());
        assert!(!relayed.is(relay));
        let seen = relayed.clone();
        relayed.note(relay, true);
        assert!(seen.is(relay) && !seen.is(other) && !elsewhere.is(relay));
        relayed.forget();
        assert!(!seen.is(relay));
        relayed.note(relay, true);
        relayed.note(other, false);
        assert!(!seen.is(relay) && !seen.is(other));
    }
}
