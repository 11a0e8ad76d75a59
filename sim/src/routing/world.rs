//! The world: routers, and the messages between them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::act::{Act, ActAt};
use super::event::{AppEvent, Event, Loss, MessageEvent};
use super::host::{Host, address};
use super::links::Lines;
use super::net::Net;
use super::scenario::Scenario;
use super::tally::{Tally, TallyView};
use crate::agenda::{Agenda, by_agenda};
use crate::course::Course;
use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{self, Config, Input, Output, Router};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Cause, NodeId, Record, Recorder};
use servent_core::wire::gnutella::{Frame, HEADER, Header, Hit, Kind, Message, Payload};

/// Longer than any scenario.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Something that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Fault(u32),
    Script(u32),
    /// What the routers say first, the links being joined.
    Begin,
    Timer {
        host: u32,
    },
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

/// A message under way.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) wire: u32,
    /// Which of the link's connections it is on.
    pub(super) epoch: u32,
    /// The record of its sending.
    pub(super) seq: u64,
    pub(super) data: Payload,
}

/// An answer that is given later.
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
    /// The first bearer of each servent id.
    pub(super) bearers: BTreeMap<Guid, u32>,
    /// The files of each node that has any, by their places in the scenario.
    pub(super) shares: BTreeMap<u32, Vec<FileIndex>>,
}

/// A world of routers. A clone is a keyframe; it shares every node that
/// neither of the two changes.
#[derive(Debug, Clone)]
pub struct World {
    pub(super) agenda: Agenda<Due, Act>,
    pub(super) hosts: Vec<Arc<Host>>,
    pub(super) lines: Arc<Lines>,
    pub(super) flights: BTreeMap<u64, Flight>,
    pub(super) replies: BTreeMap<u64, Reply>,
    /// Messages that set out.
    pub(super) launched: u64,
    /// Searches, pushes and made-up queries so far.
    pub(super) asked: u64,
    pub(super) tally: Tally,
    pub(super) dice: Rng,
    pub(super) stage: Arc<Stage>,
    /// What the routers say when the world begins: sender, link, message.
    opening: Arc<Vec<(u32, u32, Payload)>>,
    recorder: Recorder,
    /// Empty between two events: kept for its memory alone.
    pub(super) fx: Fx<Output, routing::Event>,
}

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
    /// What it was made of.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.stage.plan
    }

    /// Who is joined with whom.
    #[must_use]
    pub fn net(&self) -> &Net {
        &self.stage.net
    }

    /// True while a link can be used by both ends.
    #[must_use]
    pub fn is_up(&self, wire: u32) -> bool {
        self.lines.is_open(wire)
    }

    /// How often links and nodes went up or down.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.lines.changes()
    }

    /// A node, unless it is down.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Router> {
        self.hosts.get(id.0 as usize)?.router.as_ref()
    }

    /// Messages of a node so far; of all without one.
    #[must_use]
    pub fn tally(&self, node: Option<NodeId>) -> Option<TallyView> {
        match node {
            None => Some(self.tally.view(self.flights.len() as u64)),
            Some(node) => self.hosts.get(node.0 as usize).map(|host| host.tally.view(0)),
        }
    }

    /// How many messages are under way.
    #[must_use]
    pub fn flying(&self) -> usize {
        self.flights.len()
    }

    pub(super) fn host(&mut self, host: u32) -> &mut Host {
        Arc::make_mut(&mut self.hosts[host as usize])
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
            Due::Flood { fault, index, left } => self.flood(fault, index, left, out),
            Due::Begin => {
                let opening = Arc::clone(&self.opening);
                for (from, wire, data) in opening.iter() {
                    self.launch(*from, *wire, data.clone(), None, out);
                }
            }
            Due::Timer { host } => self.timer(host, out),
            Due::Arrive { id } => self.arrive(id, out),
            Due::Hangup { wire, to, epoch } => self.hung_up(wire, to, epoch, out),
            Due::Churn => self.churn(out),
            Due::Reply { number } => self.reply(number, out),
            Due::Return { host, boot } => {
                if self.hosts[host as usize].boot == boot {
                    self.restart(host, out);
                }
            }
        }
    }

    /// A router that knows nothing but who it is.
    pub(super) fn boot(&mut self, host: u32) {
        let stage = Arc::clone(&self.stage);
        let now = self.agenda.now();
        let h = self.host(host);
        h.boot += 1;
        let dice = Rng::new(stage.plan.seed).fork("node", host.into());
        let mut router = Router::new(stage.config.clone(), dice.fork("boot", h.boot.into()));
        let files = stage.shares.get(&host).map_or(0, |files| files.len() as u32);
        let input = Input::Ourselves {
            servent: stage.servents[host as usize],
            listen: Some(address(host)),
            files,
            kilobytes: files * 4,
        };
        let mut fx = Fx::new();
        router.handle(now, input, &mut fx);
        h.router = Some(router);
    }

    /// Hands an input to a node.
    pub(super) fn give(
        &mut self,
        host: u32,
        input: Input,
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) {
        let (now, mut fx) = (self.agenda.now(), core::mem::take(&mut self.fx));
        if let Some(router) = &mut self.host(host).router {
            router.handle(now, input, &mut fx);
        }
        self.fx = fx;
        self.settle(host, cause, out);
    }

    fn timer(&mut self, host: u32, out: &mut Vec<Record<Event>>) {
        let now = self.agenda.now();
        if self.hosts[host as usize].armed != Some(now) {
            return; // An earlier one took its place.
        }
        let mut fx = core::mem::take(&mut self.fx);
        let h = self.host(host);
        h.armed = None;
        if let Some(router) = &mut h.router
            && router.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            router.handle_timeout(now, &mut fx);
        }
        self.fx = fx;
        self.settle(host, None, out);
    }

    /// Carries out what a node asked for, and plans the next timer.
    pub(super) fn settle(&mut self, host: u32, cause: Cause, out: &mut Vec<Record<Event>>) {
        self.carry(host, cause, out);
        let h = &self.hosts[host as usize];
        let due = h
            .router
            .as_ref()
            .and_then(Router::poll_timeout)
            .map(|(at, _)| at.max(self.agenda.now()));
        let Some(at) = due.filter(|at| h.armed.is_none_or(|armed| *at < armed)) else { return };
        self.host(host).armed = Some(at);
        self.plan(at, Due::Timer { host });
    }

    /// A message sets out; its record.
    pub(super) fn launch(
        &mut self,
        host: u32,
        wire: u32,
        data: Payload,
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) {
        let link = self.stage.net.wires()[wire as usize];
        let Some((header, kind)) = read_header(&data) else { return };
        let (id, to, due) = (self.launched, link.other(host), self.agenda.now() + link.latency);
        let (of, set) = self.about(kind, &data);
        let Header { guid, ttl, hops, .. } = header;
        let bytes = data.len() as u32;
        let sent =
            MessageEvent::Sent { id, to: NodeId(to), kind, guid, ttl, hops, bytes, due, of, set };
        let seq = self.note(host, cause, Event::Message(sent), out);
        self.launched += 1;
        self.tally.sent(kind);
        self.host(host).tally.sent(kind);
        let epoch = self.lines.epoch(wire);
        self.flights.insert(id, Flight { from: host, to, wire, epoch, seq, data });
        self.plan(due, Due::Arrive { id });
    }

    fn arrive(&mut self, id: u64, out: &mut Vec<Record<Event>>) {
        let Some(flight) = self.flights.remove(&id) else { return };
        let Flight { from, to, wire, epoch, seq, .. } = flight;
        if !self.lines.takes(&self.stage.net, wire, to, epoch) {
            return self.lose(id, flight, Loss::Closed, out);
        }
        let Some((header, kind)) = read_header(&flight.data) else { return };
        let conn = self.lines.conn(wire);
        let frame = Frame { header, kind, payload: flight.data.slice(HEADER..) };
        let input = match Message::parse(frame) {
            Ok(message) => Input::Message { conn, message },
            Err(why) => Input::Improper { conn, kind, why },
        };
        let (now, mut fx) = (self.agenda.now(), core::mem::take(&mut self.fx));
        if let Some(router) = &mut self.host(to).router {
            router.handle(now, input, &mut fx);
        }
        self.fx = fx;
        let seq = self.judged(to, (id, from, &flight.data), seq, out);
        self.settle(to, Some(seq), out);
    }

    /// A message will never arrive.
    pub(super) fn lose(
        &mut self,
        id: u64,
        flight: Flight,
        why: Loss,
        out: &mut Vec<Record<Event>>,
    ) {
        let Some((Header { guid, .. }, kind)) = read_header(&flight.data) else { return };
        let lost = MessageEvent::Lost { id, to: NodeId(flight.to), kind, guid, why };
        self.note(flight.from, Some(flight.seq), Event::Message(lost), out);
        self.tally.lost();
        self.host(flight.from).tally.lost();
    }

    /// A GUID nobody has.
    pub(super) fn fresh_guid(&mut self) -> Guid {
        let mut id = Rng::new(self.stage.plan.seed).fork("guid", self.asked).bytes::<16>();
        (id[8], id[15]) = (0xff, 0x00);
        self.asked += 1;
        Guid(id)
    }

    /// The first node with a servent id.
    pub(super) fn bearer(&self, servent: Guid) -> Option<NodeId> {
        self.stage.bearers.get(&servent).map(|node| NodeId(*node))
    }

    pub(super) fn said(
        &mut self,
        host: u32,
        event: AppEvent,
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) -> u64 {
        self.note(host, cause, Event::App(event), out)
    }
}

/// The header of a message's bytes. The world writes all of them, so there is
/// always one.
pub(super) fn read_header(data: &Payload) -> Option<(Header, Kind)> {
    let header = Header::parse(data.first_chunk()?);
    Some((header, header.kind?))
}

impl Course for World {
    type Scenario = Scenario;
    type Fault = ActAt;
    type Event = Event;

    fn begin(scenario: &Scenario) -> Self {
        let stage = Arc::new(Stage::new(scenario));
        let wires = stage.net.wires().len();
        let nodes = scenario.nodes;
        let mut world = Self {
            agenda: Agenda::new(&scenario.faults, Due::Fault),
            hosts: (0..nodes).map(|_| Arc::new(Host::default())).collect(),
            lines: Arc::new(Lines::new(wires)),
            flights: BTreeMap::new(),
            replies: BTreeMap::new(),
            launched: 0,
            asked: 0,
            tally: Tally::default(),
            dice: Rng::new(scenario.seed).fork("world", 0),
            stage,
            opening: Arc::new(Vec::new()),
            recorder: Recorder::default(),
            fx: Fx::new(),
        };
        world.opening = Arc::new(world.join_all());
        if !world.opening.is_empty() {
            world.plan(Instant::ZERO, Due::Begin);
        }
        for (i, act) in scenario.script.iter().enumerate() {
            world.plan(act.at, Due::Script(i as u32));
        }
        if let Some(churn) = &scenario.churn {
            world.plan(Instant::ZERO + churn.every, Due::Churn);
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
