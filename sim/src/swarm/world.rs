//! The world: calendar, links, and the engines in it.

mod acts;
mod peers;
mod server;
mod wires;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::act::{Act, ActAt};
use super::event::{Event, Happening};
use super::link::{Content, Link};
use super::scenario::{Habit, Scenario};
use crate::agenda::{Agenda, by_agenda};
use crate::course::Course;
use servent_core::engine::Fx;
use servent_core::rng::Rng;
use servent_core::swarm::bits::Bits;
use servent_core::swarm::client::{self, Client, Job, Request};
use servent_core::swarm::{Manager, Row};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Cause, NodeId, Record, Recorder};
use servent_core::wire::pdtp::{Hash, Message, Span, Text};

/// Where the source is.
const SOURCE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9)), 80);
/// A connect that nobody answers is given up after this long.
const KNOCK: Duration = Duration::from_secs(3);

/// Something that will happen.
#[derive(Debug, Clone)]
pub(super) enum Due {
    Fault(u32),
    Open { again: bool },
    Arrive(u32),
    Vanish { client: u32, life: u16 },
    ToServer { client: u32, life: u16, message: Message, cause: Cause },
    ToClient { client: u32, life: u16, message: Message, cause: Cause },
    Incoming { client: u32, request: Request },
    Ended { client: u32, boot: u32, job: Job, outcome: client::Outcome },
    Left { wire: u64 },
    Timer { client: u32 },
    ServerTimer,
}

/// A client and its machine.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) engine: Client,
    pub(super) link: Link,
    /// What of a piece is on its disk while it is not whole.
    disk: BTreeMap<u32, Content>,
    pub(super) kept: Bits,
    pub(super) held: u32,
    /// Counts its connections to the coordinator; what belongs to an earlier
    /// one is lost.
    pub(super) life: u16,
    /// Counts its starts.
    boot: u32,
    pub(super) up: bool,
    online: bool,
    pub(super) came: bool,
    pub(super) done: Option<Instant>,
    /// When a timer is planned for it.
    armed: Option<Instant>,
    pub(super) habit: Habit,
    /// It knows that nobody can connect to it.
    pub(super) passive: bool,
    /// While it stands still: what came in, and since when.
    pub(super) stalled: Option<(Instant, Vec<(client::Input, Cause)>)>,
    /// The last record about it.
    last: Cause,
}

/// A transfer between two peers: who began it, and then both jobs.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    /// `None` for the source.
    from: Option<u32>,
    to: u32,
    began: (u32, Job),
    other: Option<(u32, Job)>,
    span: Span,
    /// When the bytes begin to flow, and when the last one is there.
    flows: Option<(Instant, Instant)>,
    /// One of its ends stands still since then.
    held: Option<Instant>,
}

/// A transfer as the coordinator sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The record of its assignment.
    pub id: u64,
    /// Who gives; the source when `None`.
    pub giver: Option<u32>,
    /// The giver connects.
    pub put: bool,
    /// When it was assigned.
    pub at: Instant,
    /// When its bytes begin to flow, and when the last one is there.
    pub flows: Option<(Instant, Instant)>,
    /// The piece is there; only the giver's word is missing.
    pub arrived: bool,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// When the last one that could finish did.
    pub makespan: Duration,
    /// The least that takes.
    pub bound: Duration,
    /// Clients that should have everything in the end, and those that have.
    pub wanting: u32,
    /// Clients that have everything.
    pub whole: u32,
    /// Pieces the source sent, in thousandths of the file.
    pub source_copies: u64,
    /// Messages to and from the coordinator for each thousand pieces.
    pub messages: u64,
    /// The same in frames, those of one turn sharing one.
    pub frames: u64,
}

/// A coordinator, its source and its clients. A clone is a keyframe.
#[derive(Debug, Clone)]
pub struct World {
    pub(super) plan: Arc<Scenario>,
    pub(super) manager: Manager,
    pub(super) peers: Vec<Peer>,
    /// The group of each client.
    groups: Arc<[u32]>,
    source: Link,
    store: BTreeMap<IpAddr, Row>,
    pub(super) agenda: Agenda<Due, Act>,
    wires: BTreeMap<u64, Wire>,
    next_wire: u64,
    /// By taker and piece.
    pub(super) running: BTreeMap<(u32, u32), Running>,
    /// Pairs of clients that are cut off from each other.
    cuts: BTreeSet<(u32, u32)>,
    armed: Option<Instant>,
    /// How often the coordinator was started.
    starts: u64,
    frames: u64,
    /// The coordinator's turn, and whom it has told something in it.
    turn: Instant,
    told: Bits,
    /// Clients that have everything, of those that should.
    served: u32,
    wanting: u32,
    recorder: Recorder,
    /// Records of the event that is happening; empty between two.
    log: Vec<Record<Event>>,
}

/// The digest of a piece that is right.
fn right(piece: u32) -> Hash {
    let mut hash = [7; 32];
    hash[..4].copy_from_slice(&piece.to_be_bytes());
    Hash(hash)
}

/// What everybody calls the file.
fn url() -> Text {
    "http://9.9.9.9/file".into()
}

impl World {
    /// What it was made of.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.plan
    }

    /// The coordinator.
    #[must_use]
    pub const fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Tells from now on with each choice how it was made: the same run, with
    /// more to say.
    pub const fn explain(&mut self) {
        self.manager.explain(true);
    }

    /// Transfers that run: their taker and piece, and the rest.
    pub fn running(&self) -> impl Iterator<Item = (u32, u32, &Running)> {
        self.running.iter().map(|((taker, piece), running)| (*taker, *piece, running))
    }

    /// The node number of the coordinator: the one behind all clients.
    #[must_use]
    pub fn coordinator(&self) -> NodeId {
        NodeId(self.peers.len() as u32)
    }

    fn plan(&mut self, at: Instant, due: Due) {
        self.agenda.plan(at, due);
    }

    /// Records something about a client.
    fn note(&mut self, client: u32, cause: Cause, event: Event) -> u64 {
        let seq =
            self.recorder.record(self.agenda.now(), NodeId(client), cause, event, &mut self.log);
        if let Some(peer) = self.peers.get_mut(client as usize) {
            peer.last = Some(seq);
        }
        seq
    }

    fn happened(&mut self, client: u32, event: Happening) -> u64 {
        self.note(client, None, Event::World(event))
    }

    pub(super) fn group(&self, client: u32) -> &super::Group {
        &self.plan.clients[self.groups[client as usize] as usize]
    }

    /// Who does what it should and stays, or comes again, must get all.
    pub(super) fn expected(&self, client: u32) -> bool {
        self.group(client).expects()
    }

    /// True when everybody that must get everything has it.
    #[must_use]
    pub const fn finished(&self) -> bool {
        self.served >= self.wanting
    }

    /// How it went so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let all = (0..).zip(&self.peers).filter(|(client, _)| self.expected(*client));
        let last = all.filter_map(|(_, peer)| peer.done).max();
        let last = if self.finished() { last.unwrap_or(Instant::ZERO) } else { self.agenda.now() };
        let counters = self.manager.counters();
        let per = |n: u64| n * 1_000 / counters.arrived.max(1);
        Outcome {
            makespan: last.since(Instant::ZERO),
            bound: self.plan.bound(),
            wanting: self.wanting,
            whole: self.served,
            source_copies: counters.arrived_from_source * 1_000 / u64::from(self.plan.pieces),
            messages: per(counters.sent + counters.heard),
            frames: per(self.frames),
        }
    }

    /// Runs until everybody is served or nothing more comes of it, the oracles
    /// watching; true when everybody is.
    pub fn run(&mut self, oracles: &mut super::check::Oracles) -> bool {
        let end = Instant::ZERO + self.plan.horizon;
        let mut fresh = Vec::new();
        while !self.finished() && self.next_at().is_some_and(|at| at <= end) {
            self.step(&mut fresh);
            fresh.drain(..).for_each(|record| oracles.see(&record));
        }
        self.finished()
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Fault(index) => self.act(index),
            Due::Open { again } => self.open(again),
            Due::Arrive(client) => self.arrive(client),
            Due::Vanish { client, life } => {
                let peer = &self.peers[client as usize];
                if peer.up && peer.life == life {
                    self.happened(client, Happening::Gone);
                    self.vanish(client);
                    self.comes_again(client);
                }
            }
            Due::ToServer { client, life, message, cause } => {
                self.deliver(client, life, message, cause);
            }
            Due::ToClient { client, life, message, cause } => {
                if self.alive(client, life) {
                    self.client(client, client::Input::Message(message), cause);
                }
            }
            Due::Incoming { client, request } => {
                if self.peers[client as usize].up {
                    self.client(client, client::Input::Incoming(request), None);
                } else {
                    self.break_wire(request.conn.0, servent_core::wire::pdtp::Reason::Connect);
                }
            }
            Due::Ended { client, boot, job, outcome } => {
                if self.peers[client as usize].boot == boot {
                    self.client(client, client::Input::Ended { job, outcome }, None);
                }
            }
            Due::Left { wire } => self.arrived(wire),
            Due::Timer { client } => self.timer(client),
            Due::ServerTimer => self.server_timer(),
        }
    }
}

impl Course for World {
    type Scenario = Scenario;
    type Fault = ActAt;
    type Event = Event;

    fn begin(scenario: &Scenario) -> Self {
        let groups = (0..).zip(&scenario.clients);
        let groups = groups.flat_map(|(n, group)| (0..group.count).map(move |_| n)).collect();
        let rng = Rng::new(scenario.seed).fork("pieces", 0);
        let mut world = Self {
            manager: Manager::new(scenario.swarm.clone(), &rng),
            peers: Vec::new(),
            groups,
            source: Link::new(scenario.source_up, u64::MAX / 4),
            store: BTreeMap::new(),
            agenda: Agenda::new(&scenario.faults, Due::Fault),
            wires: BTreeMap::new(),
            next_wire: 0,
            running: BTreeMap::new(),
            cuts: BTreeSet::new(),
            armed: None,
            starts: 0,
            frames: 0,
            turn: Instant::MAX,
            told: Bits::default(),
            served: 0,
            wanting: scenario.wanting(),
            recorder: Recorder::default(),
            log: Vec::new(),
            plan: Arc::new(scenario.clone()),
        };
        world.plan(Instant::ZERO, Due::Open { again: false });
        for group in &scenario.clients {
            for index in 0..group.count {
                let client = world.peers.len() as u32;
                world.peers.push(world.machine(client));
                let at = Instant::ZERO + Scenario::comes(group, index);
                world.plan(at, Due::Arrive(client));
            }
        }
        if let Some(after) = scenario.restart {
            world.plan(Instant::ZERO + after, Due::Open { again: true });
        }
        world
    }

    by_agenda!();

    fn step(&mut self, out: &mut Vec<Record<Event>>) -> bool {
        let Some(due) = self.agenda.pop() else { return false };
        core::mem::swap(out, &mut self.log);
        self.happen(due);
        core::mem::swap(out, &mut self.log);
        true
    }
}

/// An engine's effects, in a list that is used again.
type Effects<O, E> = Fx<O, E>;
