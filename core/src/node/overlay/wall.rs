//! Whether others can connect to us: found out, where the user did not say that they
//! cannot.
//!
//! A client asks for a push when it could not connect. When a push comes although our
//! hits say that we can be reached, and no host as far away as our address has ever
//! connected to us, there is a firewall in between: from then on our hits say so, and
//! clients do not lose time by trying. A host that connects after all proves the
//! contrary. After a while it is tried anew.

use core::net::{IpAddr, SocketAddrV4};

use super::OverlayService;
use crate::address::{Reach, reach};
use crate::node::ConnEvent;
use crate::node::cx::NodeCx;
use crate::time::{Duration, Instant};

/// How long we count as being behind a firewall after that was found out.
const STANDS: Duration = Duration::from_secs(3_600);

/// What is known of a firewall in front of us.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoundFirewall {
    /// From how far away hosts have connected to us.
    reached: Option<Reach>,
    until: Option<Instant>,
}

impl FoundFirewall {
    /// True while we count as being behind one.
    pub(super) fn stands(self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }
}

impl OverlayService {
    /// A host has connected to us.
    pub(in crate::node) fn reached_from(&mut self, cx: &mut NodeCx<'_>, ip: IpAddr) {
        let from = reach(ip);
        self.firewall.reached = self.firewall.reached.max(Some(from));
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
            self.firewall.until = Some(cx.now + STANDS);
            cx.tell(ConnEvent::Firewall { closed: true });
            self.introduce(cx);
        }
    }

    /// True when a host as far away as this address of ours has connected to us.
    fn was_reached(&self, at: SocketAddrV4) -> bool {
        self.firewall.reached >= Some(reach(IpAddr::V4(*at.ip())))
    }
}
