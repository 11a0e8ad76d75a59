//! The world of a swarm: planned events, links, and the engines.

mod acts;
mod explored;
mod peers;
mod server;
mod wires;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::action::{SwarmAction, SwarmActionAt};
use super::event::{Event, SwarmIncident};
use super::host::SwarmHost;
use super::scenario::{Habit, Scenario};
use crate::check::Oracle as _;
use crate::error::ScenarioError;
use crate::links::piece::{AccessLink, PieceContent};
use crate::world::{Life, Protocol};
use servent_core::rng::Rng;
use servent_core::swarm::bits::PieceSet;
use servent_core::swarm::client::{self, PeerRequest, SwarmClient, TransferJob};
use servent_core::swarm::{LedgerRow, Manager};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::wire::pdtp::{Hash, PdtpMessage, Reason, Span, Text};

/// The address of the source.
const SOURCE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9)), 80);
/// How long a connection attempt waits for an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The port a client listens on when it is told to.
const PORT: u16 = 6_346;

/// A planned event.
#[derive(Debug, Clone)]
pub enum SwarmPlan {
    Open,
    OpenAgain,
    Arrive(u32),
    Vanish { client: u32, life: u16 },
    ToServer { client: u32, life: u16, message: PdtpMessage, cause: RecordCause },
    ToClient { client: u32, life: u16, message: PdtpMessage, cause: RecordCause },
    Incoming { client: u32, request: PeerRequest },
    Ended { client: u32, start: u32, job: TransferJob, outcome: client::JobOutcome },
    Left { wire: u64 },
}

/// A client's machine.
#[derive(Debug, Clone)]
pub struct SwarmMachine {
    pub(super) link: AccessLink,
    /// What is on its disk of incomplete pieces.
    disk: BTreeMap<u32, PieceContent>,
    pub(super) kept: PieceSet,
    pub(super) held: u32,
    /// Counts its sessions with the coordinator; messages of an earlier one are
    /// lost.
    pub(super) life: u16,
    online: bool,
    pub(super) came: bool,
    pub(super) done: Option<Instant>,
    pub(super) habit: Habit,
    /// No peer can connect to it, and it knows that.
    pub(super) passive: bool,
    /// No client can connect to it, and it does not know.
    pub(super) firewalled: bool,
    /// The last record about it.
    last: RecordCause,
}

/// A transfer between two peers: the one that connected, and both jobs.
#[derive(Debug, Clone)]
pub(super) struct SwarmTransfer {
    /// `None` for the source.
    from: Option<u32>,
    to: u32,
    began: (u32, TransferJob),
    other: Option<(u32, TransferJob)>,
    span: Span,
    /// When the bytes begin to flow, and when the last one arrives.
    flows: Option<(Instant, Instant)>,
    /// Since when one of its ends is stalled.
    held: Option<Instant>,
}

/// A transfer as the coordinator sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignedTransfer {
    /// The record of its assignment.
    pub id: u64,
    /// The uploader; the source when `None`.
    pub giver: Option<u32>,
    /// The uploader connects.
    pub put: bool,
    /// When it was assigned.
    pub at: Instant,
    /// When its bytes begin to flow, and when the last one arrives.
    pub flows: Option<(Instant, Instant)>,
    /// The piece has arrived; only the uploader's report is missing.
    pub arrived: bool,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwarmOutcome {
    /// When the last client that could finish did.
    pub makespan: Duration,
    /// The lower bound of that.
    pub bound: Duration,
    /// Clients that must have the whole file in the end.
    pub wanting: u32,
    /// Clients that have the whole file.
    pub whole: u32,
    /// Pieces the source sent, in thousandths of the file.
    pub source_copies: u64,
    /// Messages to and from the coordinator per thousand pieces.
    pub messages: u64,
    /// The same in frames; the messages of one turn share a frame.
    pub frames: u64,
}

/// What connects a coordinator, its source and its clients.
#[derive(Debug, Clone)]
pub struct Swarm {
    pub(super) scenario: Arc<Scenario>,
    /// The group of each client.
    groups: Arc<[u32]>,
    source: AccessLink,
    store: BTreeMap<IpAddr, LedgerRow>,
    wires: BTreeMap<u64, SwarmTransfer>,
    next_wire: u64,
    /// By downloader and piece.
    pub(super) running: BTreeMap<(u32, u32), AssignedTransfer>,
    /// Pairs of clients that cannot reach each other.
    cuts: BTreeSet<(u32, u32)>,
    frames: u64,
    /// The instant of the coordinator's turn, and the clients it has sent
    /// something in it.
    turn: Instant,
    told: PieceSet,
    /// Clients that have the whole file, of those that must.
    served: u32,
    wanting: u32,
}

/// A coordinator and its clients; the coordinator is the last node.
pub type SwarmWorld = crate::World<Swarm>;

/// The digest of a correct piece.
fn right(piece: u32) -> Hash {
    let mut hash = [7; 32];
    hash[..4].copy_from_slice(&piece.to_be_bytes());
    Hash(hash)
}

/// The URL of the file.
fn url() -> Text {
    "http://9.9.9.9/file".into()
}

impl SwarmWorld {
    /// The coordinator.
    #[must_use]
    #[doc(hidden)]
    pub fn manager(&self) -> &Manager {
        match self.node(self.coordinator()) {
            Some(SwarmHost::Coordinator(manager)) => manager,
            _ => panic!("the last node of a swarm is its coordinator, and always runs"),
        }
    }

    /// From now on each choice is recorded with its reason: the same run, with
    /// more events.
    #[doc(hidden)]
    pub fn explain(&mut self) {
        let coordinator = self.coordinator().0;
        if let Some(SwarmHost::Coordinator(manager)) = &mut self.slot_mut(coordinator).engine {
            manager.explain(true);
        }
    }

    /// Active transfers: downloader, piece, and the details.
    #[doc(hidden)]
    pub fn running(&self) -> impl Iterator<Item = (u32, u32, &AssignedTransfer)> {
        self.net.running.iter().map(|((taker, piece), running)| (*taker, *piece, running))
    }

    /// The node number of the coordinator: it follows those of the clients.
    #[must_use]
    pub const fn coordinator(&self) -> NodeId {
        NodeId(self.count() - 1)
    }

    /// The machines of all clients, in order of their numbers.
    pub(super) fn peers(&self) -> impl Iterator<Item = &SwarmMachine> {
        self.nodes.iter().filter_map(|slot| slot.own.as_ref())
    }

    /// A client's machine.
    pub(super) fn peer(&self, client: u32) -> &SwarmMachine {
        self.own(client).as_ref().expect("this node is a client")
    }

    pub(super) fn peer_mut(&mut self, client: u32) -> &mut SwarmMachine {
        self.own_mut(client).as_mut().expect("this node is a client")
    }

    /// True while a client runs.
    pub(super) fn up(&self, client: u32) -> bool {
        self.slot(client).engine.is_some()
    }

    /// True while a client is stalled.
    pub(super) fn still(&self, client: u32) -> bool {
        self.slot(client).stalled.is_some()
    }

    /// Records an event about a client, or about the coordinator.
    fn tell(&mut self, node: u32, cause: RecordCause, event: Event) -> u64 {
        let seq = self.note(node, cause, event);
        if let Some(peer) = self.own_mut(node) {
            peer.last = Some(seq);
        }
        seq
    }

    fn happened(&mut self, client: u32, event: SwarmIncident) -> u64 {
        self.tell(client, None, Event::World(event))
    }

    pub(super) fn group(&self, client: u32) -> &super::PeerGroup {
        &self.net.scenario.clients[self.net.groups[client as usize] as usize]
    }

    /// A client that behaves well and stays, or comes back, must get the whole
    /// file.
    pub(super) fn expected(&self, client: u32) -> bool {
        self.group(client).expects()
    }

    /// True when all clients that must have the file have it.
    #[must_use]
    pub const fn finished(&self) -> bool {
        self.net.served >= self.net.wanting
    }

    /// The result so far.
    #[must_use]
    pub fn outcome(&self) -> SwarmOutcome {
        let all = (0..).zip(self.peers()).filter(|(client, _)| self.expected(*client));
        let last = all.filter_map(|(_, peer)| peer.done).max();
        let last = if self.finished() { last.unwrap_or(Instant::ZERO) } else { self.now() };
        let counters = self.manager().counters();
        let per = |n: u64| n * 1_000 / counters.arrived.max(1);
        SwarmOutcome {
            makespan: last.since(Instant::ZERO),
            bound: self.net.scenario.bound(),
            wanting: self.net.wanting,
            whole: self.net.served,
            source_copies: counters.arrived_from_source * 1_000
                / u64::from(self.net.scenario.pieces),
            messages: per(counters.sent + counters.heard),
            frames: per(self.net.frames),
        }
    }

    /// Runs until all clients are complete or there is no more progress,
    /// checked by the oracles; true when all are complete.
    pub fn run(&mut self, oracles: &mut super::check::SwarmOracles) -> bool {
        let end = Instant::ZERO + self.net.scenario.horizon;
        self.watch(end, Self::finished, |record| oracles.observe(record));
        self.finished()
    }
}

impl Protocol for Swarm {
    type Scenario = Scenario;
    type Fault = SwarmAction;
    type Event = Event;
    type Host = SwarmHost;
    /// The coordinator needs nothing beside its engine.
    type Node = Option<SwarmMachine>;
    type Due = SwarmPlan;

    fn new(scenario: &Scenario) -> (Self, Vec<Option<SwarmMachine>>) {
        let groups = (0..).zip(&scenario.clients);
        let groups = groups.flat_map(|(n, group)| (0..group.count).map(move |_| n)).collect();
        let net = Self {
            groups,
            source: AccessLink::new(scenario.source_up, u64::MAX / 4),
            store: BTreeMap::new(),
            wires: BTreeMap::new(),
            next_wire: 0,
            running: BTreeMap::new(),
            cuts: BTreeSet::new(),
            frames: 0,
            turn: Instant::MAX,
            told: PieceSet::default(),
            served: 0,
            wanting: scenario.wanting(),
            scenario: Arc::new(scenario.clone()),
        };
        let clients = scenario.clients.iter();
        let clients = clients.flat_map(|group| (0..group.count).map(move |_| group));
        let machines = clients.map(|group| Some(SwarmMachine::new(group, scenario.pieces)));
        (net, machines.chain([None]).collect())
    }

    fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn faults(scenario: &Scenario) -> &[SwarmActionAt] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(world: &SwarmWorld, act: &SwarmAction) -> Result<(), ScenarioError> {
        world.scenario().admits(act)
    }

    fn begin(world: &mut SwarmWorld) {
        // The coordinator can be inspected before anything has happened.
        let coordinator = world.coordinator().0;
        let engine = Self::engine(world, coordinator, 1);
        let slot = world.slot_mut(coordinator);
        (slot.engine, slot.starts) = (Some(engine), 1);
        world.plan(Instant::ZERO, SwarmPlan::Open);
        let scenario = Arc::clone(&world.net.scenario);
        let mut client = 0;
        for group in &scenario.clients {
            for index in 0..group.count {
                let at = Instant::ZERO + Scenario::comes(group, index);
                world.plan(at, SwarmPlan::Arrive(client));
                client += 1;
            }
        }
        if let Some(after) = scenario.restart {
            world.plan(Instant::ZERO + after, SwarmPlan::OpenAgain);
        }
    }

    fn engine(world: &SwarmWorld, node: u32, start: u32) -> SwarmHost {
        if node == world.coordinator().0 {
            let dice = Rng::new(world.net.scenario.seed);
            let dice = match start {
                1 => dice.fork("pieces", 0),
                again => dice.fork("coordinator", u64::from(again - 1)),
            };
            let manager = Manager::new(world.net.scenario.swarm.clone(), &dice);
            return SwarmHost::Coordinator(Box::new(manager));
        }
        let most = world.group(node).most;
        SwarmHost::Client(Box::new(SwarmClient::new(client::Config {
            id: alloc::format!("c{node}").into(),
            listen_port: Some(PORT).filter(|_| !world.peer(node).passive),
            max_download: most.map(|(down, _)| down),
            max_upload: most.map(|(_, up)| up),
            ..client::Config::default()
        })))
    }

    fn started(world: &mut SwarmWorld, node: u32, cause: RecordCause) {
        if node == world.coordinator().0 {
            world.opened(cause);
        } else {
            world.came(node);
        }
    }

    fn happen(world: &mut SwarmWorld, due: SwarmPlan) {
        match due {
            SwarmPlan::Open => world.opened(None),
            SwarmPlan::OpenAgain => world.open_again(),
            SwarmPlan::Arrive(client) => world.arrive(client),
            SwarmPlan::Vanish { client, life } => {
                if world.up(client) && world.peer(client).life == life {
                    let gone = world.happened(client, SwarmIncident::Gone);
                    world.end(client, Some(gone));
                    world.comes_again(client);
                }
            }
            SwarmPlan::ToServer { client, life, message, cause } => {
                world.deliver(client, life, message, cause);
            }
            SwarmPlan::ToClient { client, life, message, cause } => {
                if world.alive(client, life) {
                    world.client(client, client::Input::Message(message), cause);
                }
            }
            SwarmPlan::Incoming { client, request } => {
                if world.up(client) {
                    world.client(client, client::Input::Incoming(request), None);
                } else {
                    world.break_wire(request.conn.0, Reason::Connect);
                }
            }
            SwarmPlan::Ended { client, start, job, outcome } => {
                if world.slot(client).starts == start {
                    world.client(client, client::Input::Ended { job, outcome }, None);
                }
            }
            SwarmPlan::Left { wire } => world.arrived(wire),
        }
    }

    fn strike(world: &mut SwarmWorld, fault: u32) {
        world.act(fault);
    }

    fn carry_out(world: &mut SwarmWorld, node: u32, cause: RecordCause) {
        if node == world.coordinator().0 {
            world.follow_server(cause);
        } else {
            world.follow(node, cause);
        }
    }

    fn told(life: Life) -> Event {
        Event::World(match life {
            Life::Crashed => SwarmIncident::Killed,
            Life::Restarted => SwarmIncident::Restarted,
            Life::Stalled => SwarmIncident::Stalled,
            Life::Resumed => SwarmIncident::Resumed,
        })
    }

    fn crashed(world: &mut SwarmWorld, node: u32, cause: RecordCause) {
        if node == world.coordinator().0 {
            world.net.running.clear();
        } else {
            world.vanished(node, cause);
        }
    }

    fn stalled(world: &mut SwarmWorld, node: u32, cause: RecordCause) {
        world.peer_mut(node).last = cause;
        world.hold_wires(node);
    }

    fn resumed(world: &mut SwarmWorld, node: u32, since: Instant, cause: RecordCause) {
        let by = world.now().since(since);
        let peer = world.peer_mut(node);
        peer.last = cause;
        peer.link.delay(by);
        world.release_wires(node);
    }
}
