//! Whether others can connect to us: found out, where the user did not say that they
//! cannot.
//!
//! A client asks for a push when it could not connect. When a push comes although our
//! hits say that we can be reached, and no host as far away as our address has ever
//! connected to us, there is a firewall in between: from then on our hits say so, and
//! clients do not lose time by trying. A host that connects after all proves the
//! contrary. After a while it is tried anew.
//!
//! A neighbour that offers it is asked to connect to us (`BEAR/7`), so that the first
//! client need not lose time either: if no host has come for a while after that, there is
//! a firewall. We do the same for neighbours, at the address they are connected from, and
//! at no other.

use core::net::{IpAddr, SocketAddr, SocketAddrV4};

use super::OverlayService;
use crate::address::{Reach, may_dial, reach};
use crate::id::ConnId;
use crate::node::ConnEvent;
use crate::node::connections::Owner;
use crate::node::cx::NodeCx;
use crate::routing;
use crate::time::{Duration, Instant};

/// How long we count as being behind a firewall after that was found out.
const STANDS: Duration = Duration::from_secs(3_600);
/// How long a neighbour may take to connect that was asked to: its system tries three
/// times until then.
const TEST: Duration = Duration::from_secs(5);
/// Neighbours that we connect to at a time because they asked.
const DIAL_BACKS: usize = 16;

/// What is known of a firewall in front of us.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoundFirewall {
    /// From how far away hosts have connected to us.
    reached: Option<Reach>,
    until: Option<Instant>,
    /// When a neighbour that was asked to connect should have.
    tested: Option<Instant>,
}

impl FoundFirewall {
    /// True while we count as being behind one.
    pub(super) fn stands(self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// When a test ends that is under way.
    pub(super) const fn tested(self) -> Option<Instant> {
        self.tested
    }
}

impl OverlayService {
    /// A host has connected to us.
    pub(in crate::node) fn reached_from(&mut self, cx: &mut NodeCx<'_>, ip: IpAddr) {
        let from = reach(ip);
        self.firewall.reached = self.firewall.reached.max(Some(from));
        if self.place(cx).is_some_and(|at| self.was_reached(at)) {
            self.firewall.tested = None;
        }
        let stands = self.firewall.stands(cx.now);
        if stands && self.place(cx).is_some_and(|at| self.was_reached(at)) {
            self.firewall.until = None;
            cx.tell(ConnEvent::Firewall { closed: false });
            self.introduce(cx);
        }
    }

    /// A client wants a push, which it would not if it had reached us.
    pub(super) fn push_came(&mut self, cx: &mut NodeCx<'_>) {
        if self.reachable(cx).is_some_and(|at| !self.was_reached(at)) {
            self.wall_found(cx);
        }
    }

    fn wall_found(&mut self, cx: &mut NodeCx<'_>) {
        self.firewall.until = Some(cx.now + STANDS);
        cx.tell(ConnEvent::Firewall { closed: true });
        self.introduce(cx);
        self.tell_place(cx);
    }

    /// A neighbour would connect to us: asks it, if no host has that could not have come
    /// from this machine alone.
    pub(super) fn test(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(at) = self.place(cx).filter(|at| !self.was_reached(*at)) else { return };
        let config = &cx.config.overlay;
        let here = reach(IpAddr::V4(*at.ip())) <= Reach::Machine;
        // A leaf is soon gone, and what it shares is found through others.
        if config.firewalled || here || !config.router.relay {
            return;
        }
        let tested = cx.now + TEST.scaled(cx.config.overlay.router.time_scale);
        self.firewall.tested.get_or_insert(tested);
        self.route(cx, routing::Input::AskDialBack { conn, port: at.port() });
    }

    /// A neighbour that was asked should have connected by now.
    pub(super) fn end_test(&mut self, cx: &mut NodeCx<'_>) {
        self.firewall.tested = None;
        // Without neighbours it is our own network that is gone.
        if self.router.links() > 0 && self.reachable(cx).is_some_and(|at| !self.was_reached(at)) {
            self.wall_found(cx);
        }
    }

    /// A neighbour asks whether others can connect to it.
    pub(super) fn dial_back(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, port: u16) {
        let Some(peer) = cx.io.get(conn).map(|state| state.peer) else { return };
        let at = SocketAddr::new(peer.ip().to_canonical(), port);
        if self.dialed_back.len() < DIAL_BACKS
            && may_dial(at, peer.ip())
            && let Some(conn) = cx.dial_for_stranger(at, Owner::Overlay)
        {
            self.dialed_back.insert(conn);
        }
    }

    /// It can: that is all it wanted to know.
    pub(super) fn dialed_back(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.dialed_back.remove(&conn);
        cx.io.write(conn, b"\n\n".to_vec(), cx.fx);
        cx.close(conn, true, "it wanted to know whether others can connect to it");
    }

    /// True when a host as far away as this address of ours has connected to us.
    fn was_reached(&self, at: SocketAddrV4) -> bool {
        self.firewall.reached >= Some(reach(IpAddr::V4(*at.ip())))
    }
}
