//! Where a peer is, which may change.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::driver::datagrams::SharedEndpoint;

/// Where the peer of one connection is, from now on.
#[derive(Debug, Clone)]
pub struct PeerWhereabouts {
    pub(super) shared: Arc<SharedEndpoint>,
    pub(super) name: SocketAddr,
}

impl PeerWhereabouts {
    /// Its address now; through a meeting place that relays, that of the place (PA-13).
    #[must_use]
    pub fn now(&self) -> SocketAddr {
        self.shared.place_of(self.name)
    }
}
