//! The world of the overlay: routers, and the messages between them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::act::{Act, ActAt};
use super::event::{AppEvent, Event, Happening, Loss, MessageEvent};
use super::firewall::Firewalls;
use super::host::{Beside, address};
use super::links::Lines;
use super::net::Net;
use super::scenario::Scenario;
use super::tally::{Tally, TallyView};
use crate::error::ScenarioError;
use crate::world::{Life, Protocol};
use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Config, Input, Router};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Cause, NodeId};
use servent_core::wire::gnutella::{Frame, HEADER, Header, Hit, Keywords, Kind, Message, Payload};

/// Bits of the index into a keyword table (QRP); few, because ten thousand nodes
/// store one table for each neighbour.
const KEYWORDS: u32 = 12;
/// Longer than any scenario.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A planned event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
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
pub(super) struct Flight {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) wire: u32,
    /// The number of the connection on its link.
    pub(super) epoch: u32,
    /// The record of its sending.
    pub(super) seq: u64,
    pub(super) data: Payload,
}

/// A reply that is sent later.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) host: u32,
    pub(super) boot: u32,
    pub(super) guid: Guid,
    pub(super) hops: u8,
    pub(super) hit: Hit,
    pub(super) cause: Cause,
}

/// What never changes: a scenario, and what follows from it.
#[derive(Debug)]
pub(super) struct Stage {
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
    pub(super) flights: BTreeMap<u64, Flight>,
    pub(super) replies: BTreeMap<u64, Reply>,
    /// The number of messages sent.
    pub(super) launched: u64,
    /// The number of searches, pushes and flood queries so far.
    pub(super) asked: u64,
    pub(super) tally: Tally,
    pub(super) dice: Rng,
    pub(super) stage: Arc<Stage>,
    /// The first messages of the routers: sender, link, message.
    opening: Arc<Vec<(u32, u32, Payload)>>,
}

/// A world of routers. Keyframes share every node that neither changes.
pub type World = crate::World<Routing>;

impl Stage {
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

impl World {
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
    pub(super) fn launch(&mut self, host: u32, wire: u32, data: Payload, cause: Cause) {
        let link = self.net.stage.net.wires()[wire as usize];
        let Some((header, kind)) = read_header(&data) else { return };
        let (id, to, due) = (self.net.launched, link.other(host), self.now() + link.latency);
        let (of, set) = self.about(kind, &data);
        let Header { guid, ttl, hops, .. } = header;
        let bytes = data.len() as u32;
        let sent =
            MessageEvent::Sent { id, to: NodeId(to), kind, guid, ttl, hops, bytes, due, of, set };
        let seq = self.note(host, cause, Event::Message(sent));
        self.net.launched += 1;
        self.net.tally.sent(kind);
        self.own_mut(host).tally.sent(kind);
        let epoch = self.net.lines.epoch(wire);
        self.net.flights.insert(id, Flight { from: host, to, wire, epoch, seq, data });
        self.plan(due, Due::Arrive { id });
    }

    fn arrive(&mut self, id: u64) {
        let Some(flight) = self.net.flights.remove(&id) else { return };
        let Flight { from, to, wire, epoch, seq, .. } = flight;
        if !self.net.lines.takes(&self.net.stage.net, wire, to, epoch) {
            return self.lose(id, flight, Loss::Closed);
        }
        let Some((header, kind)) = read_header(&flight.data) else { return };
        let conn = self.net.lines.conn(wire);
        let frame = Frame { header, kind, payload: flight.data.slice(HEADER..) };
        let input = match Message::parse(frame) {
            Ok(message) => Input::Message { conn, message },
            Err(why) => Input::Improper { conn, kind, why },
        };
        self.handle(to, input);
        let seq = self.judged(to, (id, from, &flight.data), seq);
        self.settle(to, Some(seq));
    }

    /// A message is lost.
    pub(super) fn lose(&mut self, id: u64, flight: Flight, why: Loss) {
        let Some((Header { guid, .. }, kind)) = read_header(&flight.data) else { return };
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

    pub(super) fn said(&mut self, host: u32, event: AppEvent, cause: Cause) -> u64 {
        self.note(host, cause, Event::App(event))
    }
}

/// The header of a message's bytes. The world encodes all messages, so it is
/// always valid.
pub(super) fn read_header(data: &Payload) -> Option<(Header, Kind)> {
    let header = Header::parse(data.first_chunk()?);
    Some((header, header.kind?))
}

impl Protocol for Routing {
    type Scenario = Scenario;
    type Fault = Act;
    type Event = Event;
    type Host = Router;
    type Node = Beside;
    type Due = Due;

    fn new(scenario: &Scenario) -> (Self, Vec<Beside>) {
        let stage = Arc::new(Stage::new(scenario));
        let net = Self {
            lines: Arc::new(Lines::new(stage.net.wires().len())),
            firewalls: Arc::default(),
            flights: BTreeMap::new(),
            replies: BTreeMap::new(),
            launched: 0,
            asked: 0,
            tally: Tally::default(),
            dice: Rng::new(scenario.seed).fork("world", 0),
            stage,
            opening: Arc::new(Vec::new()),
        };
        (net, (0..scenario.nodes).map(|_| Beside::default()).collect())
    }

    fn scenario(&self) -> &Scenario {
        &self.stage.plan
    }

    fn faults(scenario: &Scenario) -> &[ActAt] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(world: &World, act: &Act) -> Result<(), ScenarioError> {
        world.scenario().admits(act)
    }

    fn is_possible(world: &World, act: &Act) -> Result<(), ScenarioError> {
        world.is_possible(act)
    }

    fn begin(world: &mut World) {
        world.net.opening = Arc::new(world.join_all());
        if !world.net.opening.is_empty() {
            world.plan(Instant::ZERO, Due::Begin);
        }
        let stage = Arc::clone(&world.net.stage);
        for (i, act) in stage.plan.script.iter().enumerate() {
            world.plan(act.at, Due::Script(i as u32));
        }
        if let Some(churn) = &stage.plan.churn {
            world.plan(Instant::ZERO + churn.every, Due::Churn);
        }
    }

    /// A new router that knows only its own identity.
    fn engine(world: &World, node: u32, start: u32) -> Router {
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
    fn started(world: &mut World, node: u32, cause: Cause) {
        Arc::make_mut(&mut world.net.lines).changed();
        let stage = Arc::clone(&world.net.stage);
        for wire in stage.net.around(node) {
            world.join(*wire, cause);
        }
    }

    fn happen(world: &mut World, due: Due) {
        match due {
            Due::Script(index) => world.act(false, index),
            Due::Flood { fault, index, left } => world.flood(fault, index, left),
            Due::Begin => {
                let opening = Arc::clone(&world.net.opening);
                for (from, wire, data) in opening.iter() {
                    world.launch(*from, *wire, data.clone(), None);
                }
            }
            Due::Arrive { id } => world.arrive(id),
            Due::Hangup { wire, to, epoch } => world.hung_up(wire, to, epoch),
            Due::Churn => world.churn(),
            Due::Reply { number } => world.reply(number),
            Due::Return { host, boot } => {
                if world.slot(host).starts == boot {
                    world.restart(host);
                }
            }
        }
    }

    fn strike(world: &mut World, fault: u32) {
        world.act(true, fault);
    }

    fn carry_out(world: &mut World, node: u32, cause: Cause) {
        world.carry(node, cause);
    }

    fn told(life: Life) -> Event {
        Event::World(match life {
            Life::Crashed => Happening::Killed,
            Life::Restarted => Happening::Restarted,
            Life::Stalled | Life::Resumed => unreachable!("no router stands still"),
        })
    }

    /// Its links break.
    fn crashed(world: &mut World, node: u32, cause: Cause) {
        world.own_mut(node).brought.clear();
        Arc::make_mut(&mut world.net.lines).changed();
        let stage = Arc::clone(&world.net.stage);
        for wire in stage.net.around(node) {
            world.sever(*wire, Loss::Down, cause);
        }
    }

    fn stalled(_: &mut World, _: u32, _: Cause) {}

    fn resumed(_: &mut World, _: u32, _: Instant, _: Cause) {}
}
