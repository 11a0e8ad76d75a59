//! The context that every service gets in a call.

use alloc::collections::VecDeque;
use core::net::SocketAddr;

use super::connections::{ConnPhase, Connections};
use super::{Config, ConnEvent, NodeEffects, tell};
use crate::id::{ConnId, Guid};
use crate::queue::server;
use crate::time::Instant;

/// The current time, what all services share, and the list of effects.
pub(super) struct NodeCx<'a> {
    pub(super) now: Instant,
    pub(super) config: &'a Config,
    pub(super) us: &'a Ourselves,
    pub(super) io: &'a mut Connections,
    pub(super) fx: &'a mut NodeEffects,
    /// What the effects of the queue that are being carried out make known to
    /// it; `None` while none are.
    pub(super) follow_ups: Option<VecDeque<server::Input>>,
}

/// Who we are to others.
#[derive(Debug, Clone, Default)]
pub(super) struct Ourselves {
    /// Our servent id; all zeros before the start.
    pub(super) servent: Guid,
    /// Where we listen, once the host does.
    pub(super) listen: Option<SocketAddr>,
}

impl<'a> NodeCx<'a> {
    pub(super) const fn new(
        now: Instant,
        config: &'a Config,
        us: &'a Ourselves,
        io: &'a mut Connections,
        fx: &'a mut NodeEffects,
    ) -> Self {
        Self { now, config, us, io, fx, follow_ups: None }
    }

    /// Adds an event of the node itself.
    pub(super) fn tell(&mut self, event: ConnEvent) {
        tell(self.fx, event);
    }

    /// Closes a connection; returns what it was used for, for its owner.
    pub(super) fn close(&mut self, conn: ConnId, flush: bool, why: &str) -> Option<ConnPhase> {
        self.io.close(conn, flush, why, self.fx)
    }
}

impl Ourselves {
    /// The address at which others reach us, as far as known: the port we
    /// listen on, with the local address of this connection if we listen on all
    /// addresses.
    pub(super) fn reached_at(&self, local: SocketAddr) -> SocketAddr {
        match self.listen {
            Some(at) if !at.ip().is_unspecified() => at,
            Some(at) => SocketAddr::new(local.ip().to_canonical(), at.port()),
            None => local,
        }
    }
}
