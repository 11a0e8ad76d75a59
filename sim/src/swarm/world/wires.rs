//! The connections of clients: set up, transfer, and break.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::super::scenario::Habit;
use super::{CONNECT_TIMEOUT, SwarmPlan, SwarmTransfer, SwarmWorld, right};
use crate::links::piece::carry;
use servent_core::id::ConnId;
use servent_core::swarm::client::{Input, JobOutcome, PeerRequest, TransferJob};
use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::{Reason, Span, Text, TransferMethod};

impl SwarmTransfer {
    pub(super) fn touches(&self, client: u32) -> bool {
        self.from == Some(client) || self.to == client
    }

    const fn bytes(&self) -> u64 {
        match self.span.end {
            Some(end) => end.saturating_sub(self.span.start),
            None => 0,
        }
    }
}

impl SwarmWorld {
    /// A job ends after a delay.
    fn ends(&mut self, client: u32, job: TransferJob, after: Duration, outcome: JobOutcome) {
        let start = self.slot(client).starts;
        self.plan(self.now() + after, SwarmPlan::Ended { client, start, job, outcome });
    }

    /// A client downloads from the source.
    pub(super) fn download(&mut self, at: u32, job: TransferJob, url: &Text, span: Span) {
        let id = alloc::format!("c{at}");
        if !self.manager().source_may_serve(&id, url, span) {
            let outcome = JobOutcome::Broken { reason: Reason::Data, bytes: 0 };
            self.ends(at, job, Duration::ZERO, outcome);
            return;
        }
        let began = (at, job);
        let wire =
            SwarmTransfer { from: None, to: at, began, other: None, span, flows: None, held: None };
        let bytes = wire.bytes();
        let number = self.enter(wire);
        let (now, mut source) = (self.now(), self.net.source.clone());
        let flows = carry(now, bytes, &mut source, &mut self.peer_mut(at).link);
        self.net.source = source;
        self.flow(number, flows);
        self.plan(flows.1, SwarmPlan::Left { wire: number });
    }

    fn enter(&mut self, wire: SwarmTransfer) -> u64 {
        self.net.next_wire += 1;
        self.net.wires.insert(self.net.next_wire, wire);
        self.net.next_wire
    }

    /// Sets when the bytes of a transfer flow.
    pub(super) fn flow(&mut self, number: u64, flows: (Instant, Instant)) {
        let chunk = self.net.scenario.chunk;
        let Some(wire) = self.net.wires.get_mut(&number) else { return };
        wire.flows = Some(flows);
        let key = (wire.to, (wire.span.start / chunk) as u32);
        if let Some(running) = self.net.running.get_mut(&key) {
            running.flows = Some(flows);
        }
    }

    /// Connects to a peer, if that is possible.
    pub(super) fn connect(
        &mut self,
        at: u32,
        job: TransferJob,
        to: SocketAddr,
        (url, span): (Text, Span),
        method: TransferMethod,
    ) {
        let target = self.listens_at(to.ip()).filter(|target| !self.is_cut(at, *target));
        let Some(target) = target else {
            let outcome = JobOutcome::Broken { reason: Reason::Connect, bytes: 0 };
            self.ends(at, job, CONNECT_TIMEOUT, outcome);
            return;
        };
        let (from, to) = if method == TransferMethod::Get { (target, at) } else { (at, target) };
        let began = (at, job);
        let wire = SwarmTransfer {
            from: Some(from),
            to,
            began,
            other: None,
            span,
            flows: None,
            held: None,
        };
        let conn = ConnId(self.enter(wire));
        let (peer, peer_id) = (self.address(at), alloc::format!("c{at}").into());
        let request = PeerRequest { conn, peer, peer_id, method, url, span };
        let due = self.now() + self.group(at).latency;
        self.plan(due, SwarmPlan::Incoming { client: target, request });
    }

    /// The accepting peer lets the transfer begin.
    pub(super) fn transmit(&mut self, at: u32, job: TransferJob, number: u64) {
        let Some(wire) = self.net.wires.get_mut(&number) else {
            let outcome = JobOutcome::Broken { reason: Reason::Data, bytes: 0 };
            self.ends(at, job, Duration::ZERO, outcome);
            return;
        };
        wire.other = Some((at, job));
        let (from, to, bytes) = (wire.from.unwrap_or(at), wire.to, wire.bytes());
        if self.peer(from).habit == Habit::FreeRider {
            self.break_wire(number, Reason::Data);
            return;
        }
        let latency = self.group(from).latency;
        let mut sender = self.peer(from).link.clone();
        let (begin, end) = carry(self.now(), bytes, &mut sender, &mut self.peer_mut(to).link);
        self.peer_mut(from).link = sender;
        let flows = (begin + latency, end + latency);
        self.flow(number, flows);
        self.plan(flows.1, SwarmPlan::Left { wire: number });
        // The other end may have been stalled meanwhile.
        let still = [from, to].into_iter().any(|end| self.still(end));
        let now = self.now();
        if still && let Some(wire) = self.net.wires.get_mut(&number) {
            wire.held = Some(now);
        }
    }

    fn is_wrong(&self, from: Option<u32>) -> bool {
        from.is_some_and(|from| self.peer(from).habit == Habit::Corrupt)
    }

    /// All bytes have arrived.
    pub(super) fn arrived(&mut self, number: u64) {
        let due = |wire: &SwarmTransfer| {
            wire.held.is_none() && wire.flows.is_some_and(|f| f.1 <= self.now())
        };
        if !self.net.wires.get(&number).is_some_and(due) {
            return; // It broke, or waits.
        }
        let Some(wire) = self.net.wires.remove(&number) else { return };
        let wrong = self.is_wrong(wire.from);
        let chunk = self.net.scenario.chunk;
        let piece = (wire.span.start / chunk) as u32;
        let whole = Span::new(u64::from(piece) * chunk, u64::from(piece + 1) * chunk);
        let content = self.peer_mut(wire.to).disk.entry(piece).or_default();
        content.write(wire.span, wrong);
        let hash = content.digest(whole, right(piece));
        let begun = wire.flows.map_or(self.now(), |flows| flows.0);
        let took = self.now().since(begun).max(Duration::from_micros(1));
        for (client, job) in [Some(wire.began), wire.other].into_iter().flatten() {
            let receives = client == wire.to;
            let lies = receives && self.peer(client).habit == Habit::Liar;
            let outcome = if lies {
                JobOutcome::Broken { reason: Reason::Data, bytes: 0 }
            } else {
                JobOutcome::Whole { hash: receives.then_some(hash), took }
            };
            let cause = self.net.running.get(&(wire.to, piece)).map(|running| running.id);
            self.client(client, Input::Ended { job, outcome }, cause);
        }
    }

    /// Breaks all connections for which `fits` holds.
    pub(super) fn break_wires(&mut self, fits: impl Fn(&SwarmTransfer) -> bool) {
        let found = self.net.wires.iter().filter(|(_, wire)| fits(wire));
        let found: Vec<u64> = found.map(|(number, _)| *number).collect();
        found.into_iter().for_each(|number| self.break_wire(number, Reason::Data));
    }

    /// A connection breaks; the bytes that arrived are kept.
    pub(super) fn break_wire(&mut self, number: u64, reason: Reason) {
        let Some(wire) = self.net.wires.remove(&number) else { return };
        let until = wire.held.unwrap_or(self.now());
        let bytes = wire.flows.map_or(0, |(begin, end)| {
            let (passed, all) = (until.since(begin).as_micros(), end.since(begin).as_micros());
            let moved = u128::from(wire.bytes()) * u128::from(passed) / u128::from(all.max(1));
            (moved as u64).min(wire.bytes().saturating_sub(1))
        });
        let piece = (wire.span.start / self.net.scenario.chunk) as u32;
        if bytes > 0 {
            let wrong = self.is_wrong(wire.from);
            let span = Span::new(wire.span.start, wire.span.start + bytes);
            self.peer_mut(wire.to).disk.entry(piece).or_default().write(span, wrong);
        }
        if let Some(running) = self.net.running.get_mut(&(wire.to, piece)) {
            running.flows = None;
        }
        for (client, job) in [Some(wire.began), wire.other].into_iter().flatten() {
            if self.up(client) {
                let bytes = if client == wire.to { bytes } else { 0 };
                self.ends(client, job, Duration::ZERO, JobOutcome::Broken { reason, bytes });
            }
        }
    }
}
