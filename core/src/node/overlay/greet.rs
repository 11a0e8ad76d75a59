//! Handshakes, as caller and as callee, and the streams of messages after them.

use alloc::boxed::Box;
use alloc::string::String;
use core::mem;
use core::net::SocketAddr;

use super::OverlayService;
use super::wire::{HandshakeStage, OverlayWire, neighbour};
use crate::address::{may_dial, plausible};
use crate::id::ConnId;
use crate::node::connections::Timer;
use crate::node::cx::NodeCx;
use crate::node::service::RunsEngine as _;
use crate::node::{ConnEvent, NodeAnswer, NodeLimit, NodeOp, Output};
use crate::routing;
use crate::wire::gnutella::{HandshakeOffer, HandshakeReply, Hello, OverlayMessage, parse_tries};
use crate::wire::http::{HeadError, Headers};

/// Characters kept of the reason of a refusal.
const REASON: usize = 100;
/// Hosts named in one refusal.
const TRIES: usize = 10;

impl OverlayService {
    /// Our offer to the host at `peer`.
    fn offer(&self, cx: &NodeCx<'_>, peer: SocketAddr) -> HandshakeOffer {
        let config = &cx.config.overlay;
        let router = &config.router;
        // Announced only by a node that does it (RT-18).
        let leads = router.relay && router.dynamic;
        let deep = if router.dynamic { router.deep_ttl } else { u8::MAX };
        HandshakeOffer {
            agent: cx.config.agent.clone(),
            servent: Some(cx.us.servent),
            listen: self.reachable(cx).map(SocketAddr::V4),
            remote: Some(peer.ip().to_canonical()),
            ultrapeer: Some(router.relay),
            query_routing: true,
            last_hop: leads,
            dynamic: leads,
            probes: leads,
            pong_caching: true,
            ggep: true,
            bye: true,
            vendor: true,
            max_ttl: Some(router.max_ttl.min(deep)),
            degree: Some(config.degree),
            place: self.meeting.port,
            inflates: config.deflate,
            deflates: false,
        }
    }

    /// A dial to a neighbour succeeded.
    pub(super) fn dialed(&self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(peer) = cx.io.get(conn).map(|state| state.peer) else { return };
        let data = self.offer(cx, peer).connect();
        cx.io.write(conn, data, cx.fx);
        cx.io.wake(conn, cx.now + cx.config.limits.request_deadline, Timer::Head);
    }

    /// Reads the head of a host that connected, once it is complete.
    ///
    /// # Errors
    /// The limit it violates; it does not become a neighbour.
    fn hello(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) -> Result<(), NodeLimit> {
        let Some(state) = cx.io.open(conn) else { return Ok(()) };
        let bytes = mem::take(&mut state.unread);
        let parsed = Hello::parse(&bytes, &cx.config.limits.head());
        let (hello, used) = match parsed.map_err(limit)? {
            Some(whole) => whole,
            None => {
                state.keep_unread(bytes, 0);
                return Ok(());
            }
        };
        state.keep_unread(bytes, used);
        let (peer, local) = (state.peer, state.local);
        cx.tell(ConnEvent::Line { conn, line: "GNUTELLA".into() });
        if let Some(local) = local {
            self.seen_at(local.ip());
        }
        let leaf = match &hello {
            Hello::Old => false,
            Hello::New(headers) => HandshakeOffer::parse(headers).ultrapeer == Some(false),
        };
        let config = &cx.config.overlay;
        let most = if leaf { config.leaves } else { config.neighbours };
        if self.count(leaf) >= most as usize {
            let why = (503, "Enough neighbours");
            self.send_away(cx, conn, why, "there are enough neighbours");
            return Ok(());
        }
        match hello {
            Hello::Old => {
                self.wires.insert(conn, OverlayWire::old(peer));
                cx.io.write(conn, HandshakeOffer::accept_old(), cx.fx);
                let old = HandshakeOffer { agent: "0.4".into(), ..HandshakeOffer::default() };
                self.flow(cx, conn, &old, (false, false));
            }
            Hello::New(headers) => {
                let theirs = HandshakeOffer::parse(&headers);
                if theirs.servent == Some(cx.us.servent) {
                    let why = (403, "That is you");
                    self.send_away(cx, conn, why, "it is we ourselves");
                    return Ok(());
                }
                let deflates = theirs.inflates && cx.config.overlay.deflate;
                let wire = OverlayWire::answering(peer, Box::new(theirs), deflates);
                let at = wire.listens().filter(|at| wire.is_surely(*at));
                let twin = at.and_then(|at| self.twin(conn, at));
                if twin.is_some_and(OverlayWire::is_met) {
                    let why = (409, "Already connected");
                    self.send_away(cx, conn, why, "it is connected already");
                    return Ok(());
                }
                // A caller may help us when we know hardly any hosts, but must
                // not fill our list with its friends.
                if self.hosts.len() < cx.config.overlay.hosts as usize / 4 {
                    self.note_tries(cx, &headers, peer);
                }
                let data = HandshakeOffer { deflates, ..self.offer(cx, peer) }.accept();
                cx.io.write(conn, data, cx.fx);
                // The deadline of its handshake counts from when it connected.
                self.wires.insert(conn, wire);
            }
        }
        Ok(())
    }

    /// Another connection to the servent that listens at `at`.
    fn twin(&self, conn: ConnId, at: SocketAddr) -> Option<&OverlayWire> {
        let is = |wire: &OverlayWire| wire.is_surely(at);
        let mut twins = self.wires.iter().filter(|(other, wire)| **other != conn && is(wire));
        twins.next().map(|(_, wire)| wire)
    }

    /// Refuses a host, and names others instead.
    fn send_away(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        (status, reason): (u16, &str),
        why: &str,
    ) {
        let Some(peer) = cx.io.get(conn).map(|state| state.peer) else { return };
        let data = self.offer(cx, peer).refuse(status, reason, &self.hosts.some(TRIES));
        cx.io.write(conn, data, cx.fx);
        self.close(cx, conn, true, why);
    }

    /// Processes the unread bytes.
    pub(super) fn read_neighbour(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        if !self.wires.contains_key(&conn)
            && let Err(limit) = self.hello(cx, conn)
        {
            return self.refuse(cx, conn, limit);
        }
        let wire = self.wires.get(&conn);
        if wire.is_some_and(|wire| !matches!(wire.stage, HandshakeStage::Open(_))) {
            self.reply(cx, conn);
        }
        let Some(state) = cx.io.open(conn) else { return };
        let Some(wire) = self.wires.get_mut(&conn) else { return };
        if !matches!(wire.stage, HandshakeStage::Open(_)) || state.unread.is_empty() {
            return;
        }
        let data = core::mem::take(&mut state.unread);
        if let Err(why) = wire.push(cx.now, data) {
            return self.route(cx, routing::Input::Broken { conn, why });
        }
        while let Some(wire) = self.wires.get_mut(&conn) {
            let input = match wire.next() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let kind = frame.kind;
                    match OverlayMessage::parse(frame) {
                        Ok(message) => routing::Input::Message { conn, message },
                        Err(why) => routing::Input::Improper { conn, kind, why },
                    }
                }
                Err(why) => routing::Input::Broken { conn, why },
            };
            self.feed(cx, input);
        }
        self.settle(cx);
    }

    /// Reads the head that answers ours, or the last head of a host we
    /// accepted.
    fn reply(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let limits = cx.config.limits.head();
        let Some(state) = cx.io.open(conn) else { return };
        let peer = state.peer;
        let (reply, used) = match HandshakeReply::parse(&state.unread, &limits) {
            Ok(None) => return,
            Ok(Some(reply)) => reply,
            Err(error) => return self.refuse(cx, conn, limit(error)),
        };
        state.unread.drain(..used);
        let theirs = HandshakeOffer::parse(&reply.headers);
        // Of the two, only the host we dialed is asked for others.
        if matches!(self.wires.get(&conn).map(|wire| &wire.stage), Some(HandshakeStage::Calling)) {
            self.note_tries(cx, &reply.headers, peer);
        }
        if !reply.is_ok() {
            return self.not_wanted(cx, conn, &reply);
        }
        let Some(wire) = self.wires.get(&conn) else { return };
        match &wire.stage {
            HandshakeStage::Answering { offer, deflates } => {
                let (offer, deflates) = (offer.clone(), *deflates);
                self.flow(cx, conn, &offer, (theirs.deflates, deflates));
            }
            HandshakeStage::Calling if self.crossed(cx, conn) => {
                let why = (409, "Already connected");
                self.send_away(cx, conn, why, "it has connected meanwhile");
            }
            HandshakeStage::Calling => {
                let deflates = theirs.inflates && cx.config.overlay.deflate;
                let data = HandshakeOffer { deflates, ..HandshakeOffer::default() }.confirm();
                cx.io.write(conn, data, cx.fx);
                if let Some(remote) = theirs.remote.filter(|ip| plausible(*ip, peer.ip())) {
                    self.seen_at(remote);
                }
                self.flow(cx, conn, &theirs, (theirs.deflates, deflates));
            }
            HandshakeStage::Refused | HandshakeStage::Open(_) => {}
        }
    }

    /// True when the host we dialed has connected to us meanwhile, and that
    /// connection is the one to keep: it is open, or it came from the smaller
    /// address, a rule by which both ends decide alike.
    fn crossed(&self, cx: &NodeCx<'_>, conn: ConnId) -> bool {
        let Some(at) = self.wires.get(&conn).and_then(OverlayWire::called) else { return false };
        let Some(twin) = self.twin(conn, at) else { return false };
        match twin.stage {
            HandshakeStage::Open(_) => true,
            HandshakeStage::Answering { .. } => {
                self.place(cx).is_some_and(|place| at < SocketAddr::V4(place))
            }
            HandshakeStage::Calling | HandshakeStage::Refused => false,
        }
    }

    /// The host we dialed, or had accepted, refuses us. Its reason is reported;
    /// when the reason is about us, it is not dialed for a while.
    fn not_wanted(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, reply: &HandshakeReply) {
        let HandshakeReply { status, reason, .. } = reply;
        let reason: String = reason.chars().take(REASON).collect();
        if let Some(at) = self.wires.get(&conn).and_then(OverlayWire::called) {
            if (400..500).contains(status) {
                self.hosts.refused(cx.now, at, cx.config.overlay.refused);
                if let Some(wire) = self.wires.get_mut(&conn) {
                    wire.stage = HandshakeStage::Refused;
                }
            }
            if *status == 409 {
                let _ = self.wires.values_mut().any(|wire| wire.may_listen(at));
            }
            let reason = reason.clone();
            cx.fx.output(Output::Answer(NodeAnswer::Refused { at, status: *status, reason }));
        }
        let why = alloc::format!("it does not want us: {status} {reason}");
        self.close(cx, conn, false, why.trim_end());
    }

    /// The handshake is complete: messages follow.
    fn flow(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        offer: &HandshakeOffer,
        (inflates, deflates): (bool, bool),
    ) {
        cx.io.rest(conn);
        let Some(peer) = cx.io.get(conn).map(|state| state.peer) else { return };
        let ours = self.offer(cx, peer);
        let Some(wire) = self.wires.get_mut(&conn) else { return };
        let called = matches!(wire.stage, HandshakeStage::Calling).then_some(peer);
        wire.leaf = offer.ultrapeer == Some(false);
        wire.open(&cx.config.overlay, inflates, deflates);
        if let Some(at) = called {
            self.hosts.tried(at, true);
            cx.io.answered(conn);
        }
        let mut neighbour = neighbour(offer, &ours);
        neighbour.listen = neighbour.listen.filter(|at| may_dial(*at, peer.ip()));
        if let Some(at) = neighbour.listen {
            self.hear_of(cx, at, false);
        }
        self.introduce(cx);
        self.route(cx, routing::Input::Opened { conn, peer, neighbour });
        self.note_place(cx, conn, offer.place);
    }

    /// Remembers the hosts that a head names.
    fn note_tries(&mut self, cx: &mut NodeCx<'_>, headers: &Headers, peer: SocketAddr) {
        for at in parse_tries(headers) {
            if may_dial(at, peer.ip()) {
                self.hear_of(cx, at, false);
            }
        }
    }

    /// A handshake violates a limit, or takes too long.
    pub(super) fn refuse(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, limit: NodeLimit) {
        cx.tell(ConnEvent::Limit { conn, limit });
        self.close(cx, conn, false, "a limit was reached");
    }

    /// Closes a connection. The router is told at once, not only when the host
    /// reports it gone.
    pub(super) fn close(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, flush: bool, why: &str) {
        if cx.close(conn, flush, why) {
            self.left(cx, conn);
        }
    }

    /// A neighbour's connection is lost or closed.
    pub(super) fn left(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        if self.proxy_left(cx, conn) || self.dialed_back.remove(&conn) {
            return;
        }
        let Some(wire) = self.wires.remove(&conn) else { return };
        if let Some(at) = wire.called().filter(|at| self.hosts.tried(*at, false)) {
            cx.fx.output(Output::Persist(NodeOp::HostGone(at)));
        }
        self.route(cx, routing::Input::Closed { conn });
        self.tell_place(cx);
        self.look_around(cx);
    }

    /// The host reports how many bytes for a neighbour are unsent.
    pub(super) fn backlog(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: u64) {
        if let Some(wire) = self.wires.get_mut(&conn) {
            wire.behind = bytes;
            self.route(cx, routing::Input::Backlog { conn, bytes });
        }
    }
}

const fn limit(error: HeadError) -> NodeLimit {
    match error {
        HeadError::TooLong => NodeLimit::HeadBytes,
        HeadError::TooManyLines => NodeLimit::HeadLines,
        HeadError::FirstLine | HeadError::Version | HeadError::Fields => NodeLimit::Garbage,
    }
}
