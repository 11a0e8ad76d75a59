//! The world: messengers, and the datagrams between them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::act::{Act, ActAt};
use super::event::{DatagramEvent, DatagramId, Event, Happening, Label, Loss};
use super::host::Host;
use super::scenario::Scenario;
use super::way::Way;
use crate::agenda::{Agenda, by_agenda};
use crate::course::Course;
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::node::messenger::{self, Input, Messenger, Output};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::trace::{Cause, NodeId, Record, Recorder};
use servent_core::unicast::{self, Conn, Payload, Why};
use servent_core::wire::unicast::Packet;

/// The port every node listens on.
const PORT: u16 = 7000;
/// Datagrams that may wait for a node that stands still.
const INBOX: usize = 1_024;

/// Where a node listens.
pub(super) fn address(node: NodeId) -> SocketAddr {
    let [_, high, mid, low] = (node.0 + 1).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, high, mid, low)), PORT)
}

/// Something that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Fault(u32),
    Script(u32),
    Boot { host: u32 },
    Timer { host: u32 },
    Arrive { serial: u64 },
    Messages { fault: bool, index: u32, left: u32 },
}

/// A datagram under way.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) id: DatagramId,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) due: Instant,
    /// The record of its sending.
    pub(super) seq: u64,
    pub(super) data: Payload,
}

/// A world of messengers. A clone is a keyframe.
#[derive(Debug, Clone)]
pub struct World {
    pub(super) agenda: Agenda<Due, Act>,
    pub(super) hosts: Vec<Host>,
    /// By sender and receiver.
    pub(super) ways: Vec<Way>,
    pub(super) flights: BTreeMap<u64, Flight>,
    /// Datagrams that set out, and copies of them.
    launched: u64,
    copies: i64,
    pub(super) plan: Arc<Scenario>,
    recorder: Recorder,
    /// Empty between two events: kept for its memory alone.
    pub(super) fx: Fx<Output, messenger::Event>,
}

impl World {
    /// What it was made of.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.plan
    }

    /// A node, unless it is down.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Messenger> {
        self.hosts.get(id.0 as usize)?.messenger.as_ref()
    }

    /// Where a node listens.
    #[must_use]
    pub fn address(node: NodeId) -> SocketAddr {
        address(node)
    }

    /// The node an address belongs to.
    #[must_use]
    pub fn node_at(&self, at: SocketAddr) -> Option<NodeId> {
        let IpAddr::V4(ip) = at.ip() else { return None };
        let index = (ip.to_bits() & 0x00ff_ffff).checked_sub(1)?;
        ((index as usize) < self.hosts.len()).then_some(NodeId(index))
    }

    /// True when a datagram of a direction can still be stopped: it has not
    /// set out, or is under way.
    #[must_use]
    pub fn can_rule(&self, from: NodeId, to: NodeId, n: u32) -> bool {
        let way = self.ways.get(from.0 as usize * self.hosts.len() + to.0 as usize);
        let id = DatagramId::new(from, to, n);
        way.is_some_and(|way| n > way.count) || self.flights.values().any(|it| it.id == id)
    }

    pub(super) fn plan(&mut self, at: Instant, due: Due) {
        self.agenda.plan(at, due);
    }

    /// Records something about a node.
    pub(super) fn note(
        &mut self,
        host: u32,
        cause: Cause,
        event: Event,
        out: &mut Vec<Record<Event>>,
    ) -> u64 {
        self.recorder.record(self.agenda.now(), NodeId(host), cause, event, out)
    }

    fn happen(&mut self, due: Due, out: &mut Vec<Record<Event>>) {
        match due {
            Due::Fault(index) => self.act(true, index, out),
            Due::Script(index) => self.act(false, index, out),
            Due::Messages { fault, index, left } => self.messages(fault, index, left, out),
            Due::Boot { host } => self.boot(host, out),
            Due::Timer { host } => self.timer(host, out),
            Due::Arrive { serial } => self.arrive(serial, out),
        }
    }

    /// Starts a node that knows nothing.
    pub(super) fn boot(&mut self, host: u32, out: &mut Vec<Record<Event>>) {
        let dice = Rng::new(self.plan.seed).fork("node", u64::from(host));
        let config = unicast::Config {
            profile: self.plan.profile,
            trace_messages: true,
            ..self.plan.config.clone()
        };
        let h = &mut self.hosts[host as usize];
        h.boot += 1;
        let seed = dice.fork("boot", u64::from(h.boot)).next_u64();
        h.messenger = Some(Messenger::new(config, seed));
        let cause =
            (h.boot > 1).then(|| self.note(host, None, Event::World(Happening::Restarted), out));
        self.give(host, Input::Start, cause, out);
    }

    /// Hands an input to a node, or keeps it while the node stands still.
    pub(super) fn give(
        &mut self,
        host: u32,
        input: Input,
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) {
        let now = self.agenda.now();
        let h = &mut self.hosts[host as usize];
        if h.stalled {
            h.inbox.push_back((input, cause));
            return;
        }
        if let Some(messenger) = &mut h.messenger {
            messenger.handle(now, input, &mut self.fx);
        }
        self.settle(host, cause, out);
    }

    fn timer(&mut self, host: u32, out: &mut Vec<Record<Event>>) {
        let now = self.agenda.now();
        let h = &mut self.hosts[host as usize];
        if h.armed != Some(now) {
            return; // An earlier one took its place.
        }
        h.armed = None;
        if !h.stalled
            && let Some(messenger) = &mut h.messenger
            && messenger.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            messenger.handle_timeout(now, &mut self.fx);
        }
        self.settle(host, None, out);
    }

    /// Carries out what a node asked for, lets its application do its part,
    /// and plans the next timer.
    pub(super) fn settle(&mut self, host: u32, cause: Cause, out: &mut Vec<Record<Event>>) {
        let cause = self.carry(host, cause, out);
        self.application(host, cause, out);
        let now = self.agenda.now();
        let h = &mut self.hosts[host as usize];
        let Some((at, _)) = h.messenger.as_ref().and_then(Messenger::poll_timeout) else { return };
        let at = at.max(now);
        if !h.stalled && h.armed.is_none_or(|armed| at < armed) {
            h.armed = Some(at);
            self.plan(at, Due::Timer { host });
        }
    }

    /// Carries out effects in their order. What a node says has as its cause
    /// what it was given, or what was said last about the same two nodes; what
    /// it sends, what it said of it. Gives back the last of it all.
    pub(super) fn carry(&mut self, host: u32, cause: Cause, out: &mut Vec<Record<Event>>) -> Cause {
        let mut fx = core::mem::take(&mut self.fx);
        let mut latest = cause;
        let mut resent: Vec<(Conn, u64, u64, Why)> = Vec::new();
        for effect in fx.drain() {
            match effect {
                Effect::Event(messenger::Event::Node(event)) => {
                    latest = Some(self.note(host, cause, Event::Node(event), out));
                }
                Effect::Event(messenger::Event::Unicast(event)) => {
                    if let unicast::Event::Resent { conn, from, to, why, .. } = event {
                        resent.push((conn, from, to, why));
                    }
                    latest = Some(self.said(host, event, cause, out));
                }
                Effect::Output(Output::Datagram { to, data }) => {
                    self.launch(host, (to, data), &resent, latest, out);
                }
                Effect::Output(Output::Deliver { from, conn, order, data }) => {
                    if let Some(from) = self.node_at(from) {
                        self.read(host, (from.0, conn, order, data), latest, out);
                    }
                }
                // The application keeps a copy of what it could not send.
                Effect::Output(Output::Refused { .. }) => {}
                Effect::Output(Output::Writable { to }) => {
                    if let Some(to) = self.node_at(to) {
                        self.hosts[host as usize].talks[to.0 as usize].waits = false;
                    }
                }
            }
        }
        self.fx = fx;
        latest
    }

    fn said(
        &mut self,
        host: u32,
        event: unicast::Event,
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) -> u64 {
        let peer = self.node_at(event.peer());
        let last = peer.and_then(|p| self.hosts[host as usize].talks[p.0 as usize].last);
        let seq = self.note(host, cause.or(last), Event::Unicast(event), out);
        if let Some(peer) = peer {
            self.hosts[host as usize].talks[peer.0 as usize].last = Some(seq);
        }
        seq
    }

    /// A datagram sets out.
    fn launch(
        &mut self,
        host: u32,
        (at, data): (SocketAddr, Payload),
        resent: &[(Conn, u64, u64, Why)],
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) {
        let Some(to) = self.node_at(at) else { return };
        let (from, bytes) = (NodeId(host), data.len() as u32);
        let plan = Arc::clone(&self.plan);
        let way = &mut self.ways[host as usize * self.hosts.len() + to.0 as usize];
        let fate = way.send(plan.link(from, to), self.agenda.now(), bytes);
        let (n, id) = (way.count, DatagramId::new(from, to, way.count));
        let why = |conn, seq| {
            let mut fits =
                resent.iter().filter(|(c, a, b, _)| *c == conn && (*a..=*b).contains(&seq));
            fits.next().map(|(.., why)| *why)
        };
        let packet = Packet::parse(&data, &plan.config.seal).unwrap_or_default();
        let blocks = packet.blocks.iter().map(|block| Label::of(block, why)).collect();
        let due = fate.due;
        let sent = DatagramEvent::Sent { id, to, n, bytes, due, blocks };
        let seq = self.note(host, cause, Event::Datagram(sent), out);
        self.hosts[host as usize].talks[to.0 as usize].last = Some(seq);
        if let Some(why) = fate.loss {
            let lost = DatagramEvent::Lost { id, to, why };
            self.note(host, Some(seq), Event::Datagram(lost), out);
            return;
        }
        if fate.delayed {
            let delayed = DatagramEvent::Delayed { id, to, due };
            self.note(host, Some(seq), Event::Datagram(delayed), out);
        }
        let flight = Flight { id, from: host, to: to.0, due, seq, data };
        if let Some(due) = fate.copy {
            self.copy(flight.clone(), due, out);
        }
        self.fly(flight);
    }

    fn fly(&mut self, flight: Flight) {
        let serial = self.launched;
        self.launched += 1;
        self.plan(flight.due, Due::Arrive { serial });
        self.flights.insert(serial, flight);
    }

    /// A second datagram like one under way.
    pub(super) fn copy(&mut self, flight: Flight, due: Instant, out: &mut Vec<Record<Event>>) {
        self.copies -= 1;
        let (copy, to) = (DatagramId(self.copies), NodeId(flight.to));
        let event = DatagramEvent::Duplicated { id: flight.id, to, copy, due };
        let seq = self.note(flight.from, Some(flight.seq), Event::Datagram(event), out);
        self.fly(Flight { id: copy, due, seq, ..flight });
    }

    fn arrive(&mut self, serial: u64, out: &mut Vec<Record<Event>>) {
        if self.flights.get(&serial).is_none_or(|flight| flight.due != self.agenda.now()) {
            return; // It was dropped, or will arrive later.
        }
        let Some(Flight { id, from, to, seq, data, .. }) = self.flights.remove(&serial) else {
            return;
        };
        let host = &self.hosts[to as usize];
        let full = host.stalled && host.inbox.len() >= INBOX;
        if host.messenger.is_none() || full {
            let why = if full { Loss::Queue } else { Loss::Down };
            let lost = DatagramEvent::Lost { id, to: NodeId(to), why };
            self.note(from, Some(seq), Event::Datagram(lost), out);
            return;
        }
        let arrived = DatagramEvent::Arrived { id, from: NodeId(from) };
        let seq = self.note(to, Some(seq), Event::Datagram(arrived), out);
        self.hosts[to as usize].talks[from as usize].last = Some(seq);
        self.give(to, Input::Datagram { from: address(NodeId(from)), data }, Some(seq), out);
    }
}

impl Course for World {
    type Scenario = Scenario;
    type Fault = ActAt;
    type Event = Event;

    fn begin(scenario: &Scenario) -> Self {
        let nodes = scenario.nodes.len();
        let dice = Rng::new(scenario.seed);
        let way = |i: usize| Way::new(dice.fork("way", i as u64));
        let mut world = Self {
            agenda: Agenda::new(&scenario.faults, Due::Fault),
            hosts: (0..nodes).map(|_| Host::new(nodes)).collect(),
            ways: (0..nodes * nodes).map(way).collect(),
            flights: BTreeMap::new(),
            launched: 0,
            copies: 0,
            plan: Arc::new(scenario.clone()),
            recorder: Recorder::default(),
            fx: Fx::new(),
        };
        for host in 0..nodes as u32 {
            world.plan(Instant::ZERO, Due::Boot { host });
        }
        for (i, act) in scenario.script.iter().enumerate() {
            world.plan(act.at, Due::Script(i as u32));
        }
        world
    }

    by_agenda!();

    fn step(&mut self, out: &mut Vec<Record<Event>>) -> bool {
        let Some(due) = self.agenda.pop() else { return false };
        self.happen(due, out);
        true
    }
}
