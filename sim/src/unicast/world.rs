//! The world of datagrams: nodes, and the datagrams between them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::action::{UnicastAction, UnicastActionAt};
use super::event::{DatagramEvent, DatagramId, Event, Label, UnicastIncident};
use super::host::Application;
use super::scenario::Scenario;
use crate::error::{ScenarioError, ScenarioMistake};
use crate::links::datagram::{DatagramLoss, Direction, LinkQueue};
use crate::world::{Life, Protocol};
use servent_core::engine::Effect;
use servent_core::node::{
    Config, Event as Said, Input, MessageInput, MessageOutput, Node, Output, RestoredNode,
};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::trace::{NodeId, RecordCause};
use servent_core::unicast::{self, RetransmitReason, UnicastConnId, UnicastPayload};
use servent_core::wire::unicast::Packet;

/// The port every node listens on.
const PORT: u16 = 7000;
/// The most datagrams that wait for a stalled node.
const INBOX: usize = 1_024;

/// The address of a node.
pub(super) fn address(node: NodeId) -> SocketAddr {
    let [_, high, mid, low] = (node.0 + 1).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, high, mid, low)), PORT)
}

/// A planned event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnicastPlan {
    Script(u32),
    Boot { node: u32 },
    Arrive { serial: u64 },
    Messages { fault: bool, index: u32, left: u32 },
}

/// A datagram in transit.
#[derive(Debug, Clone)]
pub(super) struct DatagramFlight {
    pub(super) id: DatagramId,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) due: Instant,
    /// The record of its sending.
    pub(super) seq: u64,
    pub(super) data: UnicastPayload,
}

/// Datagrams, and the links between nodes that carry them.
#[derive(Debug, Clone)]
pub struct Unicast {
    /// By sender and receiver.
    pub(super) ways: Vec<Direction>,
    /// By receiver, where the directions to it share its link.
    queues: Vec<LinkQueue>,
    pub(super) flights: BTreeMap<u64, DatagramFlight>,
    /// The number of datagrams sent, including duplicates.
    launched: u64,
    copies: i64,
    pub(super) scenario: Arc<Scenario>,
}

/// A world of nodes that send each other messages.
pub type UnicastWorld = crate::World<Unicast>;

impl UnicastWorld {
    /// The address of a node.
    #[must_use]
    pub fn address(node: NodeId) -> SocketAddr {
        address(node)
    }

    /// The node with an address.
    #[must_use]
    pub fn node_at(&self, at: SocketAddr) -> Option<NodeId> {
        let IpAddr::V4(ip) = at.ip() else { return None };
        let index = (ip.to_bits() & 0x00ff_ffff).checked_sub(1)?;
        ((index as usize) < self.nodes.len()).then_some(NodeId(index))
    }

    /// True when a fault can still affect a datagram of a direction: it has not
    /// been sent, or is in transit.
    fn can_rule(&self, from: NodeId, to: NodeId, n: u32) -> bool {
        let way = self.net.ways.get(from.0 as usize * self.nodes.len() + to.0 as usize);
        let id = DatagramId::new(from, to, n);
        way.is_some_and(|way| n > way.count) || self.net.flights.values().any(|it| it.id == id)
    }

    /// Carries out effects in order. The cause of an event is the input, or the
    /// last event about the same two nodes; the cause of a datagram is the last
    /// event about it. Returns the last of all these records.
    pub(super) fn carry(&mut self, host: u32, cause: RecordCause) -> RecordCause {
        let mut fx = core::mem::take(&mut self.fx);
        let mut latest = cause;
        let mut resent: Vec<(UnicastConnId, u64, u64, RetransmitReason)> = Vec::new();
        for effect in fx.drain() {
            match effect {
                Effect::Event(Said::Conn(event)) => {
                    latest = Some(self.note(host, cause, Event::Conn(event)));
                }
                Effect::Event(Said::Unicast(event)) => {
                    if let unicast::Event::Resent { conn, from, to, why, .. } = event {
                        resent.push((conn, from, to, why));
                    }
                    latest = Some(self.said(host, event, cause));
                }
                Effect::Output(Output::Messages(wanted)) => {
                    self.carry_messages(host, wanted, &resent, latest);
                }
                // Its other services are off and have no events of interest.
                Effect::Event(_) | Effect::Output(_) => {}
            }
        }
        self.fx = fx;
        latest
    }

    fn carry_messages(
        &mut self,
        host: u32,
        wanted: MessageOutput,
        resent: &[(UnicastConnId, u64, u64, RetransmitReason)],
        latest: RecordCause,
    ) {
        match wanted {
            MessageOutput::Datagrams { to, segment, data } => {
                for datagram in data.chunks(segment as usize) {
                    // In transit it keeps only its own bytes alive, not the
                    // whole batch.
                    let datagram = UnicastPayload::copy_from_slice(datagram);
                    self.launch(host, (to, datagram), resent, latest);
                }
            }
            MessageOutput::Deliver { from, conn, messages } => {
                let Some(from) = self.node_at(from) else { return };
                for message in messages {
                    self.read(host, (from.0, conn, message), latest);
                }
            }
            // The application keeps a copy of what it could not send.
            MessageOutput::Refused { .. } => {}
            MessageOutput::Writable { to } => {
                if let Some(to) = self.node_at(to) {
                    self.own_mut(host).talks[to.0 as usize].waits = false;
                }
            }
        }
    }

    fn said(&mut self, host: u32, event: unicast::Event, cause: RecordCause) -> u64 {
        let peer = self.node_at(event.peer());
        let last = peer.and_then(|p| self.own_mut(host).talks[p.0 as usize].last);
        let seq = self.note(host, cause.or(last), Event::Unicast(event));
        if let Some(peer) = peer {
            self.own_mut(host).talks[peer.0 as usize].last = Some(seq);
        }
        seq
    }

    /// Sends a datagram.
    fn launch(
        &mut self,
        host: u32,
        (at, data): (SocketAddr, UnicastPayload),
        resent: &[(UnicastConnId, u64, u64, RetransmitReason)],
        cause: RecordCause,
    ) {
        let Some(to) = self.node_at(at) else { return };
        let (from, bytes) = (NodeId(host), data.len() as u32);
        let plan = Arc::clone(&self.net.scenario);
        let now = self.now();
        let Unicast { ways, queues, .. } = &mut self.net;
        let way = &mut ways[host as usize * self.nodes.len() + to.0 as usize];
        let queue = &mut queues[to.0 as usize];
        if plan.shared {
            core::mem::swap(&mut way.queue, queue);
        }
        let fate = way.send(plan.link(from, to), now, bytes);
        if plan.shared {
            core::mem::swap(&mut way.queue, queue);
        }
        let (n, id) = (way.count, DatagramId::new(from, to, way.count));
        let why = |conn, seq| {
            let mut fits =
                resent.iter().filter(|(c, a, b, _)| *c == conn && (*a..=*b).contains(&seq));
            fits.next().map(|(.., why)| *why)
        };
        let packet = Packet::parse(&data, &plan.config.seal).unwrap_or_default();
        let blocks = packet.blocks.iter().map(|block| Label::describe(block, why)).collect();
        let due = fate.due;
        let sent = DatagramEvent::Sent { id, to, n, bytes, due, blocks };
        let seq = self.note(host, cause, Event::Datagram(sent));
        self.own_mut(host).talks[to.0 as usize].last = Some(seq);
        if let Some(why) = fate.loss {
            let lost = DatagramEvent::Lost { id, to, why };
            self.note(host, Some(seq), Event::Datagram(lost));
            return;
        }
        if fate.delayed {
            let delayed = DatagramEvent::Delayed { id, to, due };
            self.note(host, Some(seq), Event::Datagram(delayed));
        }
        let flight = DatagramFlight { id, from: host, to: to.0, due, seq, data };
        if let Some(due) = fate.copy {
            self.copy(flight.clone(), due);
        }
        self.fly(flight);
    }

    fn fly(&mut self, flight: DatagramFlight) {
        let serial = self.net.launched;
        self.net.launched += 1;
        self.plan(flight.due, UnicastPlan::Arrive { serial });
        self.net.flights.insert(serial, flight);
    }

    /// Adds a duplicate of a datagram in transit.
    pub(super) fn copy(&mut self, flight: DatagramFlight, due: Instant) {
        self.net.copies -= 1;
        let (copy, to) = (DatagramId(self.net.copies), NodeId(flight.to));
        let event = DatagramEvent::Duplicated { id: flight.id, to, copy, due };
        let seq = self.note(flight.from, Some(flight.seq), Event::Datagram(event));
        self.fly(DatagramFlight { id: copy, due, seq, ..flight });
    }

    pub(super) fn arrive(&mut self, serial: u64) {
        if self.net.flights.get(&serial).is_none_or(|flight| flight.due != self.now()) {
            return; // It was dropped, or is delayed.
        }
        let Some(DatagramFlight { id, from, to, seq, data, .. }) = self.net.flights.remove(&serial)
        else {
            return;
        };
        let slot = self.slot(to);
        let full = slot.stalled.is_some() && slot.inbox.len() >= INBOX;
        if slot.engine.is_none() || full {
            let why = if full { DatagramLoss::Queue } else { DatagramLoss::Down };
            let lost = DatagramEvent::Lost { id, to: NodeId(to), why };
            self.note(from, Some(seq), Event::Datagram(lost));
            return;
        }
        let arrived = DatagramEvent::Arrived { id, from: NodeId(from) };
        let seq = self.note(to, Some(seq), Event::Datagram(arrived));
        self.own_mut(to).talks[from as usize].last = Some(seq);
        let (from, segment) = (address(NodeId(from)), data.len() as u32);
        self.give(to, Input::Messages(MessageInput::Datagrams { from, segment, data }), Some(seq));
    }
}

impl Protocol for Unicast {
    type Scenario = Scenario;
    type Fault = UnicastAction;
    type Event = Event;
    type Host = Node;
    type Node = Application;
    type Due = UnicastPlan;

    fn new(scenario: &Scenario) -> (Self, Vec<Application>) {
        let nodes = scenario.nodes.len();
        let dice = Rng::new(scenario.seed);
        let way = |i: usize| Direction::new(dice.fork("way", i as u64));
        let net = Self {
            ways: (0..nodes * nodes).map(way).collect(),
            queues: alloc::vec![LinkQueue::EMPTY; nodes],
            flights: BTreeMap::new(),
            launched: 0,
            copies: 0,
            scenario: Arc::new(scenario.clone()),
        };
        (net, (0..nodes).map(|_| Application::new(nodes)).collect())
    }

    fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn faults(scenario: &Scenario) -> &[UnicastActionAt] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(world: &UnicastWorld, act: &UnicastAction) -> Result<(), ScenarioError> {
        world.scenario().admits(act)
    }

    /// A fault can affect a datagram before it is sent and while it is in
    /// transit.
    fn is_possible(world: &UnicastWorld, act: &UnicastAction) -> Result<(), ScenarioError> {
        match *act {
            UnicastAction::Drop { from, to, n }
            | UnicastAction::Delay { from, to, n, .. }
            | UnicastAction::Duplicate { from, to, n, .. }
                if !world.can_rule(from, to, n) =>
            {
                Err(ScenarioMistake::TooLate.into())
            }
            _ => Ok(()),
        }
    }

    fn begin(world: &mut UnicastWorld) {
        for node in 0..world.count() {
            world.plan(Instant::ZERO, UnicastPlan::Boot { node });
        }
        let scenario = Arc::clone(&world.net.scenario);
        for (i, act) in scenario.script.iter().enumerate() {
            world.plan(act.at, UnicastPlan::Script(i as u32));
        }
    }

    fn engine(world: &UnicastWorld, node: u32, start: u32) -> Node {
        let scenario = &world.net.scenario;
        let dice = Rng::new(scenario.seed).fork("node", u64::from(node));
        let own = scenario.nodes[node as usize].congestion;
        let unicast = unicast::Config {
            profile: scenario.profile,
            trace_messages: true,
            congestion: own.unwrap_or(scenario.config.congestion),
            ..scenario.config.clone()
        };
        let datagrams = Some(unicast);
        let config = Config { http: false, datagrams, ..Config::default() };
        Node::new(config, dice.fork("boot", u64::from(start)).next_u64())
    }

    fn started(world: &mut UnicastWorld, node: u32, cause: RecordCause) {
        world.give(node, Input::Start(RestoredNode::default()), cause);
    }

    fn happen(world: &mut UnicastWorld, due: UnicastPlan) {
        match due {
            UnicastPlan::Script(index) => world.act(false, index),
            UnicastPlan::Messages { fault, index, left } => world.messages(fault, index, left),
            // Unless it was started meanwhile.
            UnicastPlan::Boot { node } if world.slot(node).starts == 0 => world.boot(node, None),
            UnicastPlan::Boot { .. } => {}
            UnicastPlan::Arrive { serial } => world.arrive(serial),
        }
    }

    fn strike(world: &mut UnicastWorld, fault: u32) {
        world.act(true, fault);
    }

    /// After the node's outputs its application acts.
    fn carry_out(world: &mut UnicastWorld, node: u32, cause: RecordCause) {
        let cause = world.carry(node, cause);
        world.application(node, cause);
    }

    fn told(life: Life) -> Event {
        Event::World(match life {
            Life::Crashed => UnicastIncident::Crashed,
            Life::Restarted => UnicastIncident::Restarted,
            Life::Stalled => UnicastIncident::Stalled,
            Life::Resumed => UnicastIncident::Resumed,
        })
    }

    fn crashed(world: &mut UnicastWorld, node: u32, _: RecordCause) {
        world.own_mut(node).crash();
    }

    fn stalled(_: &mut UnicastWorld, _: u32, _: RecordCause) {}

    fn resumed(_: &mut UnicastWorld, _: u32, _: Instant, _: RecordCause) {}
}
