//! Which links are up: connecting, cutting, closing.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::event::MessageLoss;
use super::host::{address, agent};
use super::net::Net;
use super::scenario::Scenario;
use super::world::{Routing, RoutingPlan, RoutingWorld};
use crate::world::Protocol as _;
use servent_core::engine::Effect;
use servent_core::id::ConnId;
use servent_core::routing::{Input, Neighbour, Output};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::wire::gnutella::OverlayPayload;

/// Flags: the end `a` of a link is open, and the end `b`.
const OPEN: [u32; 2] = [1, 2];
/// Flag: the link is cut.
const SEVERED: u32 = 4;
/// Bits below the number of the connection.
const EPOCH: u32 = 3;

/// The state of every link: its ends, and how many connections it has had.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    states: Vec<u32>,
    changes: u64,
}

fn end(net: &Net, wire: u32, node: u32) -> u32 {
    OPEN[usize::from(net.wires()[wire as usize].a != node)]
}

impl Lines {
    /// All closed.
    pub(super) fn new(wires: usize) -> Self {
        Self { states: alloc::vec![0; wires], changes: 0 }
    }

    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Counts a change of a link or node.
    pub(super) const fn changed(&mut self) {
        self.changes += 1;
    }

    pub(super) fn is_open(&self, wire: u32) -> bool {
        self.states.get(wire as usize).is_some_and(|state| state & 3 == 3)
    }

    /// Every link, to be compared.
    pub(super) fn states(&self) -> &[u32] {
        &self.states
    }

    /// The number of the link's current connection.
    pub(super) fn epoch(&self, wire: u32) -> u32 {
        self.states[wire as usize] >> EPOCH
    }

    /// The connection's id at both ends.
    pub(super) fn conn(&self, wire: u32) -> ConnId {
        ConnId(u64::from(self.epoch(wire)) << 32 | u64::from(wire))
    }

    /// True when a node still has its end of that connection open.
    pub(super) fn takes(&self, net: &Net, wire: u32, node: u32, epoch: u32) -> bool {
        let state = self.states[wire as usize];
        state >> EPOCH == epoch && state & end(net, wire, node) != 0
    }

    fn close(&mut self, net: &Net, wire: u32, node: u32) {
        self.states[wire as usize] &= !end(net, wire, node);
        self.changes += 1;
    }

    fn open(&mut self, wire: u32) {
        let state = &mut self.states[wire as usize];
        *state = ((*state >> EPOCH) + 1) << EPOCH | OPEN[0] | OPEN[1];
        self.changes += 1;
    }
}

/// The link of a connection, and the connection's number on it.
pub(super) const fn wire_of(conn: ConnId) -> (u32, u32) {
    (conn.0 as u32, (conn.0 >> 32) as u32)
}

fn opened(plan: &Scenario, conn: ConnId, (node, peer): (u32, u32)) -> Input {
    let at = SocketAddr::V4(address(peer));
    let (relays, dynamic) = (!plan.is_leaf(peer), plan.config.dynamic);
    let neighbour = Neighbour {
        agent: agent(),
        relays,
        bye: true,
        keywords: dynamic && relays,
        probes: dynamic && relays && !plan.is_leaf(node),
        degree: Some(plan.degree),
        listen: Some(at),
        ..Neighbour::default()
    };
    Input::Opened { conn, peer: at, neighbour }
}

impl RoutingWorld {
    /// Starts all nodes and connects them; returns the first messages of their
    /// routers.
    pub(super) fn join_all(&mut self) -> Vec<(u32, u32, OverlayPayload)> {
        let stage = Arc::clone(&self.net.stage);
        for host in 0..stage.plan.nodes {
            let router = Routing::engine(self, host, 1);
            let slot = self.slot_mut(host);
            (slot.engine, slot.starts) = (Some(router), 1);
        }
        let mut said = Vec::new();
        let wires = stage.net.wires();
        (0..wires.len() as u32).for_each(|wire| Arc::make_mut(&mut self.net.lines).open(wire));
        for host in 0..stage.plan.nodes {
            for wire in stage.net.around(host) {
                let ends = (host, wires[*wire as usize].other(host));
                let input = opened(&stage.plan, self.net.lines.conn(*wire), ends);
                self.handle(host, input);
                for effect in self.fx.drain() {
                    if let Effect::Output(Output::Send { message, .. }) = effect {
                        said.push((host, *wire, message.to_bytes().into()));
                    }
                }
            }
            self.arm(host);
        }
        said
    }

    /// Connects two running nodes, unless their link is cut or both are behind
    /// firewalls.
    pub(super) fn join(&mut self, wire: u32, cause: RecordCause) {
        let stage = Arc::clone(&self.net.stage);
        let link = stage.net.wires()[wire as usize];
        let runs = |node: u32| self.is_up(NodeId(node));
        let severed = self.net.lines.states[wire as usize] & SEVERED != 0;
        if severed || !runs(link.a) || !runs(link.b) {
            return;
        }
        self.sever(wire, MessageLoss::Closed, cause);
        if !self.is_let_in(wire, cause) {
            return;
        }
        Arc::make_mut(&mut self.net.lines).open(wire);
        let conn = self.net.lines.conn(wire);
        for ends in [(link.a, link.b), (link.b, link.a)] {
            self.give(ends.0, opened(&stage.plan, conn, ends), cause);
        }
    }

    /// Marks a link as cut or restored; true if that is a change.
    pub(super) fn mark_severed(&mut self, wire: u32, cut: bool) -> bool {
        let state = &mut Arc::make_mut(&mut self.net.lines).states[wire as usize];
        let before = core::mem::replace(state, *state & !SEVERED | if cut { SEVERED } else { 0 });
        before != *state
    }

    /// Ends a connection at once, with everything in transit on it.
    pub(super) fn sever(&mut self, wire: u32, why: MessageLoss, cause: RecordCause) {
        let stage = Arc::clone(&self.net.stage);
        let link = stage.net.wires()[wire as usize];
        let (conn, epoch) = (self.net.lines.conn(wire), self.net.lines.epoch(wire));
        let ends = [link.a, link.b].map(|node| self.net.lines.takes(&stage.net, wire, node, epoch));
        if ends == [false, false] {
            return;
        }
        let flying: Vec<u64> =
            self.net.flights.iter().filter(|(_, f)| f.wire == wire).map(|(id, _)| *id).collect();
        for id in flying {
            if let Some(flight) = self.net.flights.remove(&id) {
                self.lose(id, flight, why);
            }
        }
        for (node, open) in [link.a, link.b].into_iter().zip(ends) {
            if open {
                Arc::make_mut(&mut self.net.lines).close(&stage.net, wire, node);
                if self.is_up(NodeId(node)) {
                    self.give(node, Input::Closed { conn }, cause);
                }
            }
        }
    }

    /// A router closes a connection: the other end learns it after what was
    /// sent before.
    pub(super) fn hang_up(&mut self, host: u32, conn: ConnId) {
        let (wire, epoch) = wire_of(conn);
        let stage = Arc::clone(&self.net.stage);
        if !self.net.lines.takes(&stage.net, wire, host, epoch) {
            return;
        }
        Arc::make_mut(&mut self.net.lines).close(&stage.net, wire, host);
        let link = stage.net.wires()[wire as usize];
        let to = link.other(host);
        if self.net.lines.takes(&stage.net, wire, to, epoch) {
            self.plan(self.now() + link.latency, RoutingPlan::Hangup { wire, to, epoch });
        }
    }

    pub(super) fn hung_up(&mut self, wire: u32, to: u32, epoch: u32) {
        let stage = Arc::clone(&self.net.stage);
        if self.net.lines.takes(&stage.net, wire, to, epoch) {
            let conn = self.net.lines.conn(wire);
            Arc::make_mut(&mut self.net.lines).close(&stage.net, wire, to);
            self.give(to, Input::Closed { conn }, None);
        }
    }

    /// The node at the other end of a connection.
    #[must_use]
    pub fn peer(&self, host: u32, conn: ConnId) -> Option<u32> {
        let (wire, _) = wire_of(conn);
        self.net.stage.net.wires().get(wire as usize).map(|link| link.other(host))
    }
}
