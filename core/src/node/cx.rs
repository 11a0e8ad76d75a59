//! The context that every service gets in a call.

use alloc::collections::VecDeque;
use core::net::{SocketAddr, SocketAddrV4};

use super::connections::{Connections, NewDial, Owner};
use super::shelf::Shelf;
use super::{Config, ConnEvent, NodeEffects, tell};
use crate::id::{ConnId, FileIndex, Guid};
use crate::time::{Instant, WallClock};

/// The current time, what all services share, and the list of effects.
pub(super) struct NodeCx<'a> {
    pub(super) now: Instant,
    pub(super) config: &'a Config,
    pub(super) us: &'a Ourselves,
    pub(super) io: &'a mut Connections,
    pub(super) shelf: &'a mut Shelf,
    pub(super) fx: &'a mut NodeEffects,
    /// What one service wants of another, taken at the end of each call.
    pub(super) wishes: VecDeque<CrossWish>,
}

/// A request that a servent connect to the client that asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct PushWish {
    /// The connection on which it was requested.
    pub(super) conn: ConnId,
    pub(super) servent: Guid,
    pub(super) index: FileIndex,
    /// Where to connect: always the address the request came from.
    pub(super) at: SocketAddrV4,
}

/// What became of a push request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// It was passed on.
    On,
    /// We are not the proxy of that servent.
    Unknown,
    /// Its target was named too often.
    TooOften,
    /// Its target is not a plausible address.
    BadAddress,
}

/// What one service wants of another.
#[derive(Debug, Clone)]
pub(super) enum CrossWish {
    /// Of the overlay: to pass on a push that a client has requested over HTTP.
    Push(PushWish),
    /// Of the service that serves files: to offer a file to a client that cannot
    /// reach us (`GIV`).
    Giv { to: SocketAddr, index: FileIndex },
    /// Of the reliable messages: to send what is for a peer to this address.
    Route { peer: SocketAddr, to: SocketAddr },
}

/// Who we are to others.
#[derive(Debug, Clone, Default)]
pub(super) struct Ourselves {
    /// Our servent id; all zeros before the start.
    pub(super) servent: Guid,
    /// Where we listen, once the host does.
    pub(super) listen: Option<SocketAddr>,
    pub(super) wall: WallClock,
}

impl NodeCx<'_> {
    /// Adds an event of the node itself.
    pub(super) fn tell(&mut self, event: ConnEvent) {
        tell(self.fx, event);
    }

    /// Closes a connection. False when it was not open; otherwise its owner must
    /// let it go now.
    pub(super) fn close(&mut self, conn: ConnId, flush: bool, why: &str) -> bool {
        self.io.close(conn, flush, why, self.fx)
    }

    /// Connects to an address that a stranger named, unless a limit forbids it.
    pub(super) fn dial_for_stranger(&mut self, to: SocketAddr, owner: Owner) -> Option<ConnId> {
        let conn = self.io.number();
        let dial = NewDial { conn, to, owner };
        self.io.dial_for_stranger(self.now, dial, self.fx).then_some(conn)
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
