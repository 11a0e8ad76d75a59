//! The connections of clients: they are dialed, carry a transfer, and break.

use core::net::SocketAddr;

use super::super::link::carry;
use super::super::scenario::Habit;
use super::{Due, KNOCK, Wire, World, right};
use crate::id::ConnId;
use crate::swarm::client::{self, Job, Request};
use crate::time::Duration;
use crate::wire::pdtp::{Method, Reason, Span, Text};

impl World {
    pub(super) fn download(&mut self, at: u32, job: Job, url: &Text, span: Span) {
        let id = alloc::format!("c{at}");
        if !self.manager.source_may_serve(&id, url, span) {
            let outcome = client::Outcome::Broken { reason: Reason::Data, bytes: 0 };
            self.plan(self.now, Due::Ended(at, job, outcome));
            return;
        }
        let wire = Wire {
            from: u32::MAX,
            to: at,
            began: (at, job),
            other: None,
            span,
            begun: Some(self.now),
        };
        let conn = self.enter(wire);
        let bytes = span.end.unwrap_or(0) - span.start;
        let (_, end) = carry(self.now, bytes, &mut self.source, &mut self.peers[at as usize].link);
        self.plan(end, Due::Left { conn });
    }

    fn enter(&mut self, wire: Wire) -> u64 {
        self.next_wire += 1;
        self.wires.insert(self.next_wire, wire);
        self.next_wire
    }

    /// Connects to a peer, if it can be connected to.
    pub(super) fn knock(
        &mut self,
        at: u32,
        job: Job,
        to: SocketAddr,
        (url, span): (Text, Span),
        method: Method,
    ) {
        let mut all = 0..self.peers.len() as u32;
        let target = all.find(|peer| {
            let found = &self.peers[*peer as usize];
            let group = self.group(*peer);
            found.ip == to.ip() && !group.passive && !group.firewalled && found.up
        });
        let Some(target) = target else {
            let outcome = client::Outcome::Broken { reason: Reason::Connect, bytes: 0 };
            self.plan(self.now + KNOCK, Due::Ended(at, job, outcome));
            return;
        };
        let (from, receiver) = if method == Method::Get { (target, at) } else { (at, target) };
        let wire = Wire { from, to: receiver, began: (at, job), other: None, span, begun: None };
        let conn = ConnId(self.enter(wire));
        let peer = self.peers[at as usize].ip;
        let request =
            Request { conn, peer, peer_id: alloc::format!("c{at}").into(), method, url, span };
        let due = self.now + self.group(at).latency;
        self.plan(due, Due::Incoming(target, request));
    }

    /// The one that was connected to lets it begin.
    pub(super) fn begin(&mut self, at: u32, job: Job, conn: u64) {
        let Some(wire) = self.wires.get_mut(&conn) else {
            let outcome = client::Outcome::Broken { reason: Reason::Data, bytes: 0 };
            self.plan(self.now, Due::Ended(at, job, outcome));
            return;
        };
        wire.other = Some((at, job));
        wire.begun = Some(self.now);
        let (from, to, span) = (wire.from, wire.to, wire.span);
        if self.group(from).habit == Habit::FreeRider {
            self.break_wire(conn, Reason::Data);
            return;
        }
        let bytes = span.end.unwrap_or(0) - span.start;
        let latency = self.group(from).latency;
        let mut sender = self.peers[from as usize].link.clone();
        let receiver = &mut self.peers[to as usize].link;
        let (_, end) = carry(self.now, bytes, &mut sender, receiver);
        self.peers[from as usize].link = sender;
        self.plan(end + latency, Due::Left { conn });
    }

    /// All bytes have arrived.
    pub(super) fn arrived(&mut self, conn: u64) {
        let Some(wire) = self.wires.remove(&conn) else { return };
        let wrong = wire.from != u32::MAX && self.group(wire.from).habit == Habit::Corrupt;
        let chunk = self.scenario.chunk;
        let piece = (wire.span.start / chunk) as u32;
        let whole = Span::new(u64::from(piece) * chunk, u64::from(piece + 1) * chunk);
        let content = self.peers[wire.to as usize].disk.or_default(piece);
        content.write(wire.span, wrong);
        let hash = content.digest(whole, right(piece));
        let took = self.now.since(wire.begun.unwrap_or(self.now));
        let took = took.max(Duration::from_micros(1));
        for (peer, job) in [Some(wire.began), wire.other].into_iter().flatten() {
            let receives = peer == wire.to;
            let outcome = if receives && self.group(peer).habit == Habit::Liar {
                client::Outcome::Broken { reason: Reason::Data, bytes: 0 }
            } else {
                client::Outcome::Whole { hash: receives.then_some(hash), took }
            };
            self.client(peer, client::Input::Ended { job, outcome });
        }
    }

    /// A connection breaks; what arrived of the bytes stays.
    pub(super) fn break_wire(&mut self, conn: u64, reason: Reason) {
        let Some(wire) = self.wires.remove(&conn) else { return };
        let bytes = wire.begun.map_or(0, |begun| {
            let rate = if wire.from == u32::MAX {
                self.scenario.source_up
            } else {
                self.group(wire.from).up
            };
            let moved =
                u128::from(self.now.since(begun).as_micros()) * u128::from(rate) / 1_000_000;
            (moved as u64).min(wire.span.end.unwrap_or(0) - wire.span.start - 1)
        });
        let sends = wire.from != u32::MAX && self.group(wire.from).habit != Habit::FreeRider;
        let bytes = if sends || wire.from == u32::MAX { bytes } else { 0 };
        if bytes > 0 {
            let wrong = wire.from != u32::MAX && self.group(wire.from).habit == Habit::Corrupt;
            let piece = (wire.span.start / self.scenario.chunk) as u32;
            let span = Span::new(wire.span.start, wire.span.start + bytes);
            self.peers[wire.to as usize].disk.or_default(piece).write(span, wrong);
        }
        for (peer, job) in [Some(wire.began), wire.other].into_iter().flatten() {
            if self.peers[peer as usize].up {
                let bytes = if peer == wire.to { bytes } else { 0 };
                let outcome = client::Outcome::Broken { reason, bytes };
                self.plan(self.now, Due::Ended(peer, job, outcome));
            }
        }
    }
}
