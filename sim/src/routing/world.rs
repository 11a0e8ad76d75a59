//! The world of the overlay: routers, and the messages between them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::action::{RoutingAction, RoutingActionAt};
use super::event::{Event, MessageEvent, MessageLoss, RoutingIncident, SearchEvent};
use super::firewall::Firewalls;
use super::host::{Beside, address};
use super::links::Lines;
use super::net::Net;
use super::scenario::Scenario;
use super::shown::tally::{RoutingTally, TallyView};
use crate::error::ScenarioError;
use crate::world::{Life, Protocol};
use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Config, Input, Router};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::wire::gnutella::{
    HEADER, Keywords, MessageFrame, MessageHeader, MessageKind, OverlayMessage, OverlayPayload,
    QueryHit,
};

/// Bits of the index into a keyword table (QRP); few, because ten thousand nodes
/// store one table for each neighbour.
const KEYWORDS: u32 = 12;
/// Longer than any scenario.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A planned event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingPlan {
    Script(u32),
    /// The first messages of the routers, their links being up.
    Begin,
    Arrive {
        id: u64,
    },
    Hangup {
        wire: u32,
        to: u32,
        epoch: u32,
    },
    Flood {
        fault: bool,
        index: u32,
        left: u32,
    },
    Churn,
    Reply {
        number: u64,
    },
    Return {
        host: u32,
        boot: u32,
    },
}

/// A message in transit.
#[derive(Debug, Clone)]
pub(super) struct MessageFlight {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) wire: u32,
    /// The number of the connection on its link.
    pub(super) epoch: u32,
    /// The record of its sending.
    pub(super) seq: u64,
    pub(super) sent: Instant,
    pub(super) data: OverlayPayload,
}

/// A reply that is sent later.
#[derive(Debug, Clone)]
pub(super) struct DelayedReply {
    pub(super) host: u32,
    pub(super) boot: u32,
    pub(super) guid: Guid,
    pub(super) hops: u8,
    pub(super) hit: QueryHit,
    pub(super) cause: RecordCause,
}

/// What never changes: a scenario, and what follows from it.
#[derive(Debug)]
pub(super) struct RoutingStage {
    pub(super) plan: Scenario,
    pub(super) net: Net,
    pub(super) config: Config,
    pub(super) servents: Vec<Guid>,
    /// The first node with each servent id.
    pub(super) bearers: BTreeMap<Guid, u32>,
    /// The files of each node that has any, by their indices in the scenario.
    pub(super) shares: BTreeMap<u32, Vec<FileIndex>>,
}

/// The links between routers, and the messages on them.
#[derive(Debug, Clone)]
pub struct Routing {
    pub(super) lines: Arc<Lines>,
    pub(super) firewalls: Arc<Firewalls>,
    pub(super) flights: BTreeMap<u64, MessageFlight>,
    pub(super) replies: BTreeMap<u64, DelayedReply>,
    /// The number of messages sent.
    pub(super) launched: u64,
    /// The number of searches, pushes and flood queries so far.
    pub(super) asked: u64,
    pub(super) tally: RoutingTally,
    pub(super) dice: Rng,
    pub(super) stage: Arc<RoutingStage>,
    /// The first messages of the routers: sender, link, message.
    opening: Arc<Vec<(u32, u32, OverlayPayload)>>,
}

/// A world of routers. Keyframes share every node that neither changes.
pub type RoutingWorld = crate::World<Routing>;

impl RoutingStage {
    fn new(scenario: &Scenario) -> Self {
        let (net, plan) = (Net::new(scenario), scenario.clone());
        let config = Config {
            trace_messages: true,
            links: net.degree().max(1) as u32,
            window: u32::MAX,
            stall: NEVER,
            ping_every: if plan.pings { plan.config.ping_every } else { Duration::ZERO },
            ..plan.config.clone()
        };
        let dice = Rng::new(plan.seed);
        let id = |node: u32| {
            let mut id = dice.fork("servent", node.into()).bytes::<16>();
            (id[8], id[15]) = (0xff, 0x00);
            Guid(id)
        };
        let mut servents: Vec<Guid> = (0..plan.nodes).map(id).collect();
        for (first, second) in &plan.twins {
            servents[second.0 as usize] = servents[first.0 as usize];
        }
        let mut bearers = BTreeMap::new();
        for (node, servent) in (0..).zip(&servents) {
            bearers.entry(*servent).or_insert_with(|| node);
        }
        let mut shares: BTreeMap<u32, Vec<FileIndex>> = BTreeMap::new();
        for (index, file) in (0..).zip(&plan.files) {
            shares.entry(file.node.0).or_default().push(FileIndex(index));
        }
        Self { plan, net, config, servents, bearers, shares }
    }
}

impl RoutingWorld {
    /// The topology.
    #[must_use]
    #[doc(hidden)]
    pub fn net(&self) -> &Net {
        &self.net.stage.net
    }

    /// True while both ends of a link can use it.
    #[must_use]
    #[doc(hidden)]
    pub fn is_joined(&self, wire: u32) -> bool {
        self.net.lines.is_open(wire)
    }

    /// How often links and nodes went up or down.
    #[must_use]
    #[doc(hidden)]
    pub fn changes(&self) -> u64 {
        self.net.lines.changes()
    }

    /// The message counts of a node so far; without a node, of all.
    #[must_use]
    #[doc(hidden)]
    pub fn tally(&self, node: Option<NodeId>) -> Option<TallyView> {
        match node {
            None => Some(self.net.tally.view(self.net.flights.len() as u64)),
            Some(node) => self.nodes.get(node.0 as usize).map(|slot| slot.own.tally.view(0)),
        }
    }

    /// How many messages are in transit.
    #[must_use]
    #[doc(hidden)]
    pub fn flying(&self) -> usize {
        self.net.flights.len()
    }

    /// Sends a message; returns its record.
    pub(super) fn launch(
        &mut self,
        host: u32,
        wire: u32,
        data: OverlayPayload,
        cause: RecordCause,
    ) {
        let link = self.net.stage.net.wires()[wire as usize];
        let Some((header, kind)) = read_header(&data) else { return };
        let (id, to, due) = (self.net.launched, link.other(host), self.now() + link.latency);
        let (of, set) = self.about(kind, &data);
        let MessageHeader { guid, ttl, hops, .. } = header;
        let bytes = data.len() as u32;
        let sent =
            MessageEvent::Sent { id, to: NodeId(to), kind, guid, ttl, hops, bytes, due, of, set };
        let seq = self.note(host, cause, Event::Message(sent));
        self.net.launched += 1;
        self.net.tally.sent(kind);
        self.own_mut(host).tally.sent(kind);
        let epoch = self.net.lines.epoch(wire);
        let sent = self.now();
        self.net.flights.insert(id, MessageFlight { from: host, to, wire, epoch, seq, sent, data });
        self.plan(due, RoutingPlan::Arrive { id });
    }

    /// Sends the first messages of the routers.
    pub(super) fn say_first(&mut self) {
        let opening = Arc::clone(&self.net.opening);
        for (from, wire, data) in opening.iter() {
            self.launch(*from, *wire, data.clone(), None);
        }
    }

    pub(super) fn arrive(&mut self, id: u64) {
        let Some(flight) = self.net.flights.remove(&id) else { return };
        let MessageFlight { from, to, wire, epoch, seq, .. } = flight;
        if !self.net.lines.takes(&self.net.stage.net, wire, to, epoch) {
            return self.lose(id, flight, MessageLoss::Closed);
        }
        let Some((header, kind)) = read_header(&flight.data) else { return };
        let conn = self.net.lines.conn(wire);
        let frame = MessageFrame { header, kind, payload: flight.data.slice(HEADER..) };
        let input = match OverlayMessage::parse(frame) {
            Ok(message) => Input::Message { conn, message },
            Err(why) => Input::Improper { conn, kind, why },
        };
        self.handle(to, input);
        let seq = self.judged(to, (id, from, &flight.data), seq);
        self.settle(to, Some(seq));
    }

    /// A message is lost.
    pub(super) fn lose(&mut self, id: u64, flight: MessageFlight, why: MessageLoss) {
        let Some((MessageHeader { guid, .. }, kind)) = read_header(&flight.data) else { return };
        let lost = MessageEvent::Lost { id, to: NodeId(flight.to), kind, guid, why };
        self.note(flight.from, Some(flight.seq), Event::Message(lost));
        self.net.tally.lost();
        self.own_mut(flight.from).tally.lost();
    }

    /// A GUID that is not in use.
    pub(super) fn fresh_guid(&mut self) -> Guid {
        let mut id = Rng::new(self.net.stage.plan.seed).fork("guid", self.net.asked).bytes::<16>();
        (id[8], id[15]) = (0xff, 0x00);
        self.net.asked += 1;
        Guid(id)
    }

    /// The first node with a servent id.
    pub(super) fn bearer(&self, servent: Guid) -> Option<NodeId> {
        self.net.stage.bearers.get(&servent).map(|node| NodeId(*node))
    }

    pub(super) fn said(&mut self, host: u32, event: SearchEvent, cause: RecordCause) -> u64 {
        self.note(host, cause, Event::App(event))
    }
}

/// The header of a message's bytes. The world encodes all messages, so it is
/// always valid.
pub(super) fn read_header(data: &OverlayPayload) -> Option<(MessageHeader, MessageKind)> {
    let header = MessageHeader::parse(data.first_chunk()?);
    Some((header, header.kind?))
}

impl Protocol for Routing {
    type Scenario = Scenario;
    type Fault = RoutingAction;
    type Event = Event;
    type Host = Router;
    type Node = Beside;
    type Due = RoutingPlan;

    fn new(scenario: &Scenario) -> (Self, Vec<Beside>) {
        let stage = Arc::new(RoutingStage::new(scenario));
        let net = Self {
            lines: Arc::new(Lines::new(stage.net.wires().len())),
            firewalls: Arc::default(),
            flights: BTreeMap::new(),
            replies: BTreeMap::new(),
            launched: 0,
            asked: 0,
            tally: RoutingTally::default(),
            dice: Rng::new(scenario.seed).fork("world", 0),
            stage,
            opening: Arc::new(Vec::new()),
        };
        (net, (0..scenario.nodes).map(|_| Beside::default()).collect())
    }

    fn scenario(&self) -> &Scenario {
        &self.stage.plan
    }

    fn faults(scenario: &Scenario) -> &[RoutingActionAt] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(world: &RoutingWorld, act: &RoutingAction) -> Result<(), ScenarioError> {
        world.scenario().admits(act)
    }

    fn is_possible(world: &RoutingWorld, act: &RoutingAction) -> Result<(), ScenarioError> {
        world.is_possible(act)
    }

    fn begin(world: &mut RoutingWorld) {
        world.net.opening = Arc::new(world.join_all());
        if !world.net.opening.is_empty() {
            world.plan(Instant::ZERO, RoutingPlan::Begin);
        }
        let stage = Arc::clone(&world.net.stage);
        for (i, act) in stage.plan.script.iter().enumerate() {
            world.plan(act.at, RoutingPlan::Script(i as u32));
        }
        if let Some(churn) = &stage.plan.churn {
            world.plan(Instant::ZERO + churn.every, RoutingPlan::Churn);
        }
    }

    /// A new router that knows only its own identity.
    fn engine(world: &RoutingWorld, node: u32, start: u32) -> Router {
        let stage = &world.net.stage;
        let dice = Rng::new(stage.plan.seed).fork("node", node.into());
        let leaf = stage.plan.is_leaf(node);
        let config = Config { relay: stage.config.relay && !leaf, ..stage.config.clone() };
        let mut router = Router::new(config, dice.fork("boot", start.into()));
        let files = stage.shares.get(&node).map_or(0, |files| files.len() as u32);
        let input = Input::Ourselves {
            servent: stage.servents[node as usize],
            listen: Some(address(node)),
            files,
            kilobytes: files * 4,
        };
        router.handle(world.now(), input, &mut Fx::new());
        if stage.config.dynamic {
            let mut table = Keywords::new(KEYWORDS);
            let names = stage.shares.get(&node).into_iter().flatten();
            names.for_each(|file| table.add(&stage.plan.files[file.0 as usize].name));
            router.handle(world.now(), Input::Keywords { table }, &mut Fx::new());
        }
        router
    }

    /// Its neighbours connect to it again.
    fn started(world: &mut RoutingWorld, node: u32, cause: RecordCause) {
        Arc::make_mut(&mut world.net.lines).changed();
        let stage = Arc::clone(&world.net.stage);
        for wire in stage.net.around(node) {
            world.join(*wire, cause);
        }
    }

    fn happen(world: &mut RoutingWorld, due: RoutingPlan) {
        match due {
            RoutingPlan::Script(index) => world.act(false, index),
            RoutingPlan::Flood { fault, index, left } => world.flood(fault, index, left),
            RoutingPlan::Begin => world.say_first(),
            RoutingPlan::Arrive { id } => world.arrive(id),
            RoutingPlan::Hangup { wire, to, epoch } => world.hung_up(wire, to, epoch),
            RoutingPlan::Churn => world.churn(),
            RoutingPlan::Reply { number } => world.reply(number),
            RoutingPlan::Return { host, boot } => {
                if world.slot(host).starts == boot {
                    world.restart(host);
                }
            }
        }
    }

    fn strike(world: &mut RoutingWorld, fault: u32) {
        world.act(true, fault);
    }

    fn carry_out(world: &mut RoutingWorld, node: u32, cause: RecordCause) {
        world.carry(node, cause);
    }

    fn told(life: Life) -> Event {
        Event::World(match life {
            Life::Crashed => RoutingIncident::Killed,
            Life::Restarted => RoutingIncident::Restarted,
            Life::Stalled | Life::Resumed => unreachable!("no router stands still"),
        })
    }

    /// Its links break.
    fn crashed(world: &mut RoutingWorld, node: u32, cause: RecordCause) {
        world.own_mut(node).brought.clear();
        Arc::make_mut(&mut world.net.lines).changed();
        let stage = Arc::clone(&world.net.stage);
        for wire in stage.net.around(node) {
            world.sever(*wire, MessageLoss::Down, cause);
        }
    }

    fn stalled(_: &mut RoutingWorld, _: u32, _: RecordCause) {}

    fn resumed(_: &mut RoutingWorld, _: u32, _: Instant, _: RecordCause) {}
}
