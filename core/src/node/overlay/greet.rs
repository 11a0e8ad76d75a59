//! Handshakes, from both ends, and the streams behind them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::wire::{Stage, Wire, neighbour};
use crate::address::plausible;
use crate::id::ConnId;
use crate::node::conn::{Phase, Timer};
use crate::node::{ConnEvent, Effects, Limit, Node, Op, Output, tell};
use crate::routing;
use crate::time::Instant;
use crate::wire::gnutella::{Hello, Message, Offer, Reply, parse_tries};
use crate::wire::http::{HeadError, Headers};

/// Others that one refusal names.
const TRIES: usize = 10;

impl Node {
    /// What we say of ourselves to whoever is at `peer`.
    fn offer(&self, peer: SocketAddr) -> Offer {
        let config = &self.config.overlay;
        Offer {
            agent: self.config.agent.clone(),
            listen: self.reachable().map(SocketAddr::V4),
            remote: Some(peer.ip().to_canonical()),
            ultrapeer: Some(config.router.relay),
            query_routing: true,
            pong_caching: true,
            ggep: true,
            bye: true,
            vendor: true,
            max_ttl: Some(config.router.max_ttl),
            degree: Some(config.degree),
            inflates: config.deflate,
            deflates: false,
        }
    }

    /// A dial for a neighbour is through.
    pub(in crate::node) fn overlay_dialed(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        state.phase = Phase::Overlay;
        let peer = state.peer;
        let data = self.offer(peer).connect();
        fx.output(Output::Write { conn, data });
        self.conns.wake(conn, now + self.config.limits.request_deadline, Timer::Head);
    }

    /// A first line said `GNUTELLA`: the head of whoever connected, and how
    /// many bytes it had; `None` when more must come first.
    pub(in crate::node) fn overlay_hello(
        &mut self,
        now: Instant,
        conn: ConnId,
        bytes: &[u8],
        fx: &mut Effects,
    ) -> Option<usize> {
        if !self.overlay.is_on() {
            self.refuse(now, conn, Limit::Garbage, None, fx);
            return None;
        }
        let (hello, used) = match Hello::parse(bytes, &self.head_limits()) {
            Ok(None) => return None,
            Ok(Some(hello)) => hello,
            Err(error) => {
                self.refuse(now, conn, limit(error), None, fx);
                return None;
            }
        };
        let state = self.conns.open(conn)?;
        state.phase = Phase::Overlay;
        let peer = state.peer;
        tell(fx, ConnEvent::Line { conn, line: "GNUTELLA".into() });
        let wires = &self.overlay.wires;
        if wires.len() >= self.config.overlay.neighbours as usize {
            let tries = self.overlay.hosts.some(TRIES);
            let data = self.offer(peer).refuse(503, "Enough neighbours", &tries);
            fx.output(Output::Write { conn, data });
            self.close(now, conn, true, "there are enough neighbours", fx);
            return Some(used);
        }
        match hello {
            Hello::Old => {
                self.overlay.wires.insert(conn, Wire::old(peer));
                fx.output(Output::Write { conn, data: Offer::accept_old() });
                let old = Offer { agent: "0.4".into(), ..Offer::default() };
                self.flow(now, conn, &old, (false, false), fx);
            }
            Hello::New(headers) => {
                let theirs = Offer::of(&headers);
                // Who calls us may help when we know hardly anybody, and must
                // not fill what we know with its friends.
                if self.overlay.hosts.len() < self.config.overlay.hosts as usize / 4 {
                    self.note_tries(now, &headers, peer, fx);
                }
                let deflates = theirs.inflates && self.config.overlay.deflate;
                let data = Offer { deflates, ..self.offer(peer) }.accept();
                fx.output(Output::Write { conn, data });
                let at = theirs.listen.unwrap_or(peer);
                // Its time for the whole handshake runs since it connected.
                self.overlay.wires.insert(conn, Wire::answering(at, Box::new(theirs), deflates));
            }
        }
        Some(used)
    }

    /// Bytes came in from a neighbour, or who may become one.
    pub(in crate::node) fn overlay_bytes(
        &mut self,
        now: Instant,
        conn: ConnId,
        data: Vec<u8>,
        fx: &mut Effects,
    ) {
        let Some(state) = self.conns.open(conn) else { return };
        state.push(data);
        self.overlay_unread(now, conn, fx);
    }

    /// Deals with what is unread.
    pub(in crate::node) fn overlay_unread(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let wire = self.overlay.wires.get(&conn);
        if wire.is_some_and(|wire| !matches!(wire.stage, Stage::Open(_))) {
            self.reply(now, conn, fx);
        }
        let Some(state) = self.conns.open(conn) else { return };
        let Some(wire) = self.overlay.wires.get_mut(&conn) else { return };
        if !matches!(wire.stage, Stage::Open(_)) || state.unread.is_empty() {
            return;
        }
        let data = core::mem::take(&mut state.unread);
        if let Err(why) = wire.push(now, data) {
            return self.route(now, routing::Input::Broken { conn, why }, fx);
        }
        let mut written = Vec::new();
        while let Some(wire) = self.overlay.wires.get_mut(&conn) {
            let input = match wire.next() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    let kind = frame.kind;
                    match Message::parse(frame) {
                        Ok(message) => routing::Input::Message { conn, message },
                        Err(why) => routing::Input::Improper { conn, kind, why },
                    }
                }
                Err(why) => routing::Input::Broken { conn, why },
            };
            self.route_one(now, input, &mut written, fx);
        }
        self.settle(now, &written, fx);
    }

    /// The head that answers ours, or the last word of whom we let in.
    fn reply(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let limits = self.head_limits();
        let Some(state) = self.conns.open(conn) else { return };
        let peer = state.peer;
        let (reply, used) = match Reply::parse(&state.unread, &limits) {
            Ok(None) => return,
            Ok(Some(reply)) => reply,
            Err(error) => return self.refuse(now, conn, limit(error), None, fx),
        };
        state.unread.drain(..used);
        let theirs = Offer::of(&reply.headers);
        // Of the two only whom we called ourselves is asked for others.
        if matches!(self.overlay.wires.get(&conn).map(|wire| &wire.stage), Some(Stage::Calling)) {
            self.note_tries(now, &reply.headers, peer, fx);
        }
        if !reply.is_ok() {
            return self.close(now, conn, false, "it does not want us", fx);
        }
        let Some(wire) = self.overlay.wires.get(&conn) else { return };
        match &wire.stage {
            Stage::Answering { offer, deflates } => {
                let (offer, deflates) = (offer.clone(), *deflates);
                self.flow(now, conn, &offer, (theirs.deflates, deflates), fx);
            }
            Stage::Calling => {
                let deflates = theirs.inflates && self.config.overlay.deflate;
                let data = Offer { deflates, ..Offer::default() }.confirm();
                fx.output(Output::Write { conn, data });
                if let Some(remote) = theirs.remote.filter(|ip| plausible(*ip, peer.ip()))
                    && self.overlay.seen.is_none()
                {
                    self.overlay.seen = Some(remote);
                }
                self.flow(now, conn, &theirs, (theirs.deflates, deflates), fx);
            }
            Stage::Open(_) => {}
        }
    }

    /// The handshake is done: messages from here on.
    fn flow(
        &mut self,
        now: Instant,
        conn: ConnId,
        offer: &Offer,
        (inflates, deflates): (bool, bool),
        fx: &mut Effects,
    ) {
        self.conns.rest(conn);
        let Some(peer) = self.conns.get(conn).map(|state| state.peer) else { return };
        let Some(wire) = self.overlay.wires.get_mut(&conn) else { return };
        let called = matches!(wire.stage, Stage::Calling).then_some(peer);
        wire.open(&self.config.overlay, inflates, deflates);
        if let Some(at) = called {
            self.overlay.hosts.tried(at, true);
        }
        let mut neighbour = neighbour(offer);
        neighbour.listen = neighbour.listen.filter(|at| plausible(at.ip(), peer.ip()));
        if let Some(at) = neighbour.listen {
            self.hear_of(now, at, false, fx);
        }
        self.overlay_ourselves(now, fx);
        self.route(now, routing::Input::Opened { conn, peer, neighbour }, fx);
    }

    /// Others whom a head names.
    fn note_tries(&mut self, now: Instant, headers: &Headers, peer: SocketAddr, fx: &mut Effects) {
        for at in parse_tries(headers) {
            if plausible(at.ip(), peer.ip()) {
                self.hear_of(now, at, false, fx);
            }
        }
    }

    /// A neighbour's connection is of no use any more.
    pub(in crate::node) fn overlay_gone(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let gone = if self.overlay.is_on() { self.overlay.wires.remove(&conn) } else { None };
        if let Some(wire) = gone {
            if let Some(at) = wire.called().filter(|at| self.overlay.hosts.tried(*at, false)) {
                fx.output(Output::Persist(Op::HostGone(at)));
            }
            self.route(now, routing::Input::Closed { conn }, fx);
            self.look_around(now, fx);
        }
    }

    /// The host says what it still has for a neighbour.
    pub(in crate::node) fn overlay_backlog(
        &mut self,
        now: Instant,
        conn: ConnId,
        bytes: u64,
        fx: &mut Effects,
    ) {
        if let Some(wire) = self.overlay.wires.get_mut(&conn) {
            wire.behind = bytes;
            self.route(now, routing::Input::Backlog { conn, bytes }, fx);
        }
    }
}

const fn limit(error: HeadError) -> Limit {
    match error {
        HeadError::TooLong => Limit::HeadBytes,
        HeadError::TooManyLines => Limit::HeadLines,
        HeadError::FirstLine | HeadError::Version | HeadError::Fields => Limit::Garbage,
    }
}
