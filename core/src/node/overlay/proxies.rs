//! Push proxies, from both ends (RT-25): servents whose pushes we pass on
//! that are requested over HTTP, and proxies that we ask for a push ourselves.

use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4};

use super::OverlayService;
use crate::address::canonical;
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::ConnEvent;
use crate::node::connections::{Owner, Timer};
use crate::node::cx::{NodeCx, Passed, PushWish};
use crate::routing::{self, DropReason};
use crate::wire::gnutella::{OverlayPayload, Push};
use crate::wire::http::{HeadWriter, ResponseHead, Target};

/// Pushes that are requested through proxies at a time.
const ASKS: usize = 16;

/// A servent that shall connect to us, and the proxies to ask for that.
#[derive(Debug, Clone)]
pub(super) struct ProxyRequest {
    servent: Guid,
    index: FileIndex,
    /// A neighbour said to have a route, in case no proxy helps.
    via: Option<SocketAddr>,
    /// Proxies not asked yet, the next one last.
    left: Vec<SocketAddr>,
}

impl OverlayService {
    /// Passes a push on to a servent whose proxy we are. It only ever leads to
    /// the address that the request came from.
    pub(in crate::node) fn pass_push(&mut self, cx: &mut NodeCx<'_>, wish: &PushWish) -> Passed {
        let &PushWish { servent, index, at, .. } = wish;
        let push = Push { servent, index, at, ggep: OverlayPayload::new() };
        match self.router.passes(cx.now, &push) {
            Ok(()) => {
                let guid = self.draw();
                self.route(cx, routing::Input::Proxied { guid, push });
                Passed::On
            }
            Err(DropReason::NoRoute) => Passed::Unknown,
            Err(DropReason::PushLimit) => Passed::TooOften,
            Err(_) => Passed::BadAddress,
        }
    }

    /// Asks a servent that cannot be reached to connect to us: through its
    /// proxies if any are known, otherwise along the route its hit came by.
    pub(super) fn ask_push(
        &mut self,
        cx: &mut NodeCx<'_>,
        (servent, index): (Guid, FileIndex),
        (via, mut proxies): (Option<SocketAddr>, Vec<SocketAddr>),
    ) {
        if self.asks.values().any(|ask| ask.servent == servent) {
            return;
        }
        proxies.reverse();
        let full = self.asks.len() >= ASKS;
        let left = if full { Vec::new() } else { proxies };
        self.ask_next(cx, ProxyRequest { servent, index, via, left });
    }

    /// Asks the next proxy, and after the last one the overlay.
    fn ask_next(&mut self, cx: &mut NodeCx<'_>, mut ask: ProxyRequest) {
        while let Some(proxy) = ask.left.pop() {
            if let Some(conn) = cx.dial_for_stranger(canonical(proxy), Owner::Overlay) {
                self.asks.insert(conn, ask);
                return;
            }
        }
        let Some(at) = self.reachable(cx) else { return };
        let ProxyRequest { servent, index, via, .. } = ask;
        let guid = self.draw();
        let push = Push { servent, index, at, ggep: OverlayPayload::new() };
        let mut wires = self.wires.iter();
        let via = wires.find(|(_, wire)| via.is_some_and(|at| wire.is(at))).map(|(conn, _)| *conn);
        self.route(cx, routing::Input::Push { guid, push, via });
    }

    /// A dial to a proxy succeeded: sends the request.
    pub(super) fn proxy_dialed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, local: SocketAddr) {
        let (Some(ask), Some(state)) = (self.asks.get(&conn), cx.io.get(conn)) else { return };
        let proxy = state.peer;
        let Some(at) = self.seen_from(cx, local) else {
            return self.close(cx, conn, false, "nobody can connect to us");
        };
        let target = Target::Push { servent: Some(ask.servent), index: ask.index };
        let mut head = HeadWriter::request("GET", &target.to_string());
        head.header("Host", proxy)
            .header("User-Agent", &cx.config.agent)
            .header("X-Node", at)
            .header("Connection", "close");
        cx.io.write(conn, head.finish(), cx.fx);
        cx.io.wake(conn, cx.now + cx.config.limits.request_deadline, Timer::Head);
    }

    /// The address a servent can connect to when it is told by a proxy that we
    /// reached from `local`.
    fn seen_from(&self, cx: &NodeCx<'_>, local: SocketAddr) -> Option<SocketAddrV4> {
        let known = self.reachable(cx);
        known.or_else(|| match canonical(cx.us.reached_at(local)) {
            SocketAddr::V4(at) if cx.us.listen.is_some() && !self.is_walled(cx) => Some(at),
            _ => None,
        })
    }

    /// True for a connection to a proxy.
    pub(super) fn asks_on(&self, conn: ConnId) -> bool {
        self.asks.contains_key(&conn)
    }

    /// A proxy answered.
    pub(super) fn read_proxy(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let limits = cx.config.limits.head();
        let Some(state) = cx.io.open(conn) else { return };
        let status = match ResponseHead::parse(&state.unread, &limits) {
            Ok(None) => return,
            Ok(Some((head, _))) => Some(head.status),
            Err(_) => None,
        };
        if let Some(status) = status {
            cx.tell(ConnEvent::Response { conn, status });
        }
        if status.is_some_and(|status| (200..300).contains(&status)) {
            self.asks.remove(&conn);
            cx.io.answered(conn);
            cx.close(conn, false, "the proxy passes the push on");
        } else {
            self.close(cx, conn, false, "the proxy does not know the servent");
        }
    }

    /// A connection to a proxy was lost: asks the next one.
    pub(super) fn proxy_left(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) -> bool {
        match self.asks.remove(&conn) {
            Some(ask) => {
                self.ask_next(cx, ask);
                true
            }
            None => false,
        }
    }
}
