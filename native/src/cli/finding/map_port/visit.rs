//! The port of a socket that looks for another through a meeting place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use servent::unicast::Endpoint;
use servent_core::time;
use tokio::sync::Mutex;

use super::{PortLease, PortProtocol, PortWish, reachable};
use crate::progress::Reporter;

/// A port that is asked for when a visit begins, if it is wished.
#[derive(Clone, Default)]
pub(crate) struct VisitPort {
    /// For how long, each time; `None`: it is not wished.
    lease: Option<time::Duration>,
    kept: Arc<Mutex<Option<(u16, PortLease)>>>,
    /// It was said that no router can forward one.
    said: Arc<AtomicBool>,
}

impl VisitPort {
    pub(crate) fn new(lease: Option<time::Duration>) -> Self {
        Self { lease, ..Self::default() }
    }

    /// Asks for the port of this socket, and waits for the answer of the router: the
    /// other side is told of it at once or not at all.
    pub(crate) async fn ask(&self, endpoint: &Endpoint, reporter: Reporter) {
        let Some(lease) = self.lease else { return };
        let at = endpoint.local_addr();
        let port = at.port();
        if reachable(&[at]).is_none() {
            if !self.said.swap(true, Ordering::Relaxed) {
                PortWish { protocol: PortProtocol::Udp, port, lease }.say_loopback(&reporter);
            }
            return;
        }
        let mut kept = self.kept.lock().await;
        // An attempt after a failed one has a socket of its own.
        if let Some((_, old)) = kept.take_if(|(of, _)| *of != port) {
            PortLease::give_back(Some(old)).await;
        }
        let wish = PortWish { protocol: PortProtocol::Udp, port, lease };
        let (_, held) = kept.get_or_insert_with(|| (port, PortLease::begin(wish, reporter)));
        endpoint.set_outside(held.outside().await);
    }

    /// Gives it back.
    pub(crate) async fn give_back(&self) {
        let kept = self.kept.lock().await.take();
        PortLease::give_back(kept.map(|(_, lease)| lease)).await;
    }
}

impl std::fmt::Debug for VisitPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VisitPort").field("lease", &self.lease).finish_non_exhaustive()
    }
}
