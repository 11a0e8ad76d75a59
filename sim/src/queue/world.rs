//! The world of the queue: nodes, planned events, and the links between the
//! nodes.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;
use core::net::IpAddr;

use super::datagrams::QueueFlight;
use super::fault::{Fault, FaultAt};
use super::host::{Machine, Plan, Profile, file_of, get_of};
use super::scenario::Scenario;
use super::site;
use crate::error::ScenarioError;
use crate::links::datagram::{DatagramLink, Direction};
use crate::links::stream::{LinkRef, Links, Side};
use crate::world::{self, Life, Protocol};
use servent_core::engine::Engine;
use servent_core::id::{ConnId, FetchId, Sha1};
use servent_core::node::{
    self, Config, ConnInput, DialError, FileInfo, Get, Input, Node, NodeAnswer, Output, WorldEvent,
};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, NodeId, RecordCause};

/// What a world can host: a node, or in tests something simpler with the same
/// interface.
pub trait Guest: Engine<Input = Input, Output = Output, Event = Event> + Clone + Debug {
    /// A guest that has not been started.
    fn born(config: Arc<Config>, seed: u64) -> Self;

    /// What waits on this connection until it is saved may be given up
    /// ([`ConnInput::Retracted`]).
    fn may_retract(&self, conn: ConnId) -> bool {
        let _ = conn;
        false
    }
}

impl Guest for Node {
    fn born(config: Arc<Config>, seed: u64) -> Self {
        Self::new(config, seed)
    }

    fn may_retract(&self, conn: ConnId) -> bool {
        Self::may_retract(self, conn)
    }
}

/// What a node is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeStanding {
    /// It has not arrived, or is down.
    Absent,
    /// It is running and receives nothing.
    Waiting,
    /// It is receiving a download.
    Receiving,
    /// Its download is complete.
    Done,
    /// Its download failed.
    Failed,
}

/// The links between servents, and the plan they follow.
#[derive(Debug, Clone)]
pub struct Queue<N: Guest = Node> {
    pub(super) links: Links,
    pub(super) plan: Arc<Plan>,
    /// What happens to datagrams, and the random numbers of each direction.
    pub(super) datagrams: DatagramLink,
    pub(super) directions: BTreeMap<(u32, u32), Direction>,
    pub(super) flights: BTreeMap<u64, QueueFlight>,
    /// The number of datagrams sent.
    pub(super) launched: u64,
    /// What the servers share when they are members of a site.
    pub(super) site: Option<site::State>,
    /// Empty between two events; kept only to reuse its memory.
    pub(super) about: Vec<(ConnId, u64)>,
    guest: PhantomData<N>,
}

impl<N: Guest> Queue<N> {
    /// True for a member of a site.
    pub(super) fn is_member(&self, node: u32) -> bool {
        self.site.as_ref().is_some_and(|site| site.has(node))
    }

    /// The member that answers at the address of its site.
    pub(super) fn member_for(&self, node: u32) -> Option<u32> {
        self.site.as_ref().filter(|site| site.has(node)).and_then(site::State::route)
    }
}

/// A world of servents.
pub type QueueWorld = world::World<Queue>;

/// A planned event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The fields of a variant are named by what they hold.
pub enum QueuePlan {
    /// A node arrives.
    Arrive { node: u32 },
    /// The next packet from one end arrives at the other.
    Deliver { link: LinkRef, from: Side },
    /// A transfer has reached its next progress report.
    Progress { link: LinkRef, from: Side, generation: u32 },
    /// A connection attempt reaches the listening node.
    Knock { link: LinkRef },
    /// The connecting node learns that it is connected.
    Opened { link: LinkRef },
    /// A connection attempt failed.
    DialFailed { host: u32, conn: ConnId, why: DialError, start: u32 },
    /// An end learns that its connection is gone.
    Gone { link: LinkRef, side: Side },
    /// Unsent bytes are reported.
    Backlog { link: LinkRef, side: Side },
    /// A datagram reaches its destination.
    Datagram { number: u64 },
    /// A finished download has been hashed.
    Hashed { host: u32, fetch: FetchId, start: u32 },
    /// Something between a member of a site and its store.
    Site(site::SitePlan),
}

/// What a bench does with a running world.
impl QueueWorld {
    /// Adds a node to a running world and starts it.
    pub(crate) fn add(&mut self, name: &str, config: Config) -> NodeId {
        let plan = Arc::make_mut(&mut self.net.plan);
        let profile = Profile::new(name, plan.profiles.len(), config, self.now());
        let node = self.append(Machine::new(false));
        let plan = Arc::make_mut(&mut self.net.plan);
        plan.addresses.insert(profile.at.ip(), node);
        plan.profiles.push(profile);
        self.boot(node, None);
        NodeId(node)
    }

    pub(crate) fn profile_mut(&mut self, node: NodeId) -> &mut Profile {
        &mut Arc::make_mut(&mut self.net.plan).profiles[node.0 as usize]
    }

    /// Adds a file that a node shares.
    pub(crate) fn add_file(&mut self, node: NodeId, name: &str, size: u64, sha1: Sha1) -> FileInfo {
        let plan = Arc::make_mut(&mut self.net.plan);
        let index = plan.files.len() as u32;
        let file = file_of(index, name.into(), size, sha1);
        plan.files.push(file.clone());
        plan.profiles[node.0 as usize].shares.push(index);
        file
    }

    /// All files in the world.
    pub(crate) fn files(&self) -> &[FileInfo] {
        &self.net.plan.files
    }

    /// The request for a file.
    pub(crate) fn get_of(&self, file: &FileInfo, from: NodeId) -> Get {
        let at = self.net.plan.profile(from.0).at;
        get_of(file, &[at])
    }

    /// A node's answers to its user so far.
    pub(crate) fn answers(&self, node: NodeId) -> &[NodeAnswer] {
        &self.own(node.0).answers
    }

    /// A node's view; `None` while it is down.
    ///
    /// # Panics
    /// When the world has no such node.
    #[must_use]
    #[doc(hidden)]
    pub fn view(&self, id: NodeId, from: u32, count: u32) -> Option<node::NodeView> {
        self.node(id).map(|n| n.view(from, count))
    }
}

impl<N: Guest> world::World<Queue<N>> {
    /// The constant properties of all nodes, in order of their numbers.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.net.plan.profiles
    }

    /// The files that a node shares.
    pub(crate) fn shared_by(&self, node: NodeId) -> impl Iterator<Item = &FileInfo> {
        let plan = &self.net.plan;
        plan.profile(node.0).shares.iter().map(|file| &plan.files[*file as usize])
    }

    /// How many downloads of a node are complete, and how many failed.
    ///
    /// # Panics
    /// When the world has no such node.
    #[must_use]
    pub fn outcome(&self, id: NodeId) -> (u32, u32) {
        let machine = &self.known(id).own;
        (machine.finished, machine.failed)
    }

    /// What a node is doing, for the counters beside the queue.
    ///
    /// # Panics
    /// When the world has no such node.
    #[must_use]
    pub fn standing(&self, id: NodeId) -> NodeStanding {
        let machine = &self.known(id).own;
        match (self.node(id), machine.finished, machine.failed) {
            (_, 1.., _) => NodeStanding::Done,
            (_, _, 1..) => NodeStanding::Failed,
            (None, ..) => NodeStanding::Absent,
            _ if !machine.receiving.is_empty() => NodeStanding::Receiving,
            _ => NodeStanding::Waiting,
        }
    }

    /// The node with an address.
    #[must_use]
    pub fn node_at(&self, ip: IpAddr) -> Option<NodeId> {
        let host = *self.net.plan.addresses.get(&ip)?;
        Some(NodeId(self.net.member_for(host).unwrap_or(host)))
    }
}

impl<N: Guest> Protocol for Queue<N> {
    type Scenario = Scenario;
    type Fault = Fault;
    type Event = Event;
    type Host = N;
    type Node = Machine;
    type Due = QueuePlan;

    fn new(scenario: &Scenario) -> (Self, Vec<Machine>) {
        let plan = Arc::new(Plan::new(scenario));
        let machines = plan.profiles.iter().map(|p| Machine::new(p.firewalled)).collect();
        let members = scenario.servers.len();
        let site = scenario.site.as_ref().map(|s| site::State::new(s, members, &plan.dice));
        let net = Self {
            links: Links::default(),
            plan,
            datagrams: DatagramLink { latency: Duration::ZERO, ..DatagramLink::default() },
            directions: BTreeMap::new(),
            flights: BTreeMap::new(),
            launched: 0,
            site,
            about: Vec::new(),
            guest: PhantomData,
        };
        (net, machines)
    }

    fn scenario(&self) -> &Scenario {
        &self.plan.scenario
    }

    fn faults(scenario: &Scenario) -> &[FaultAt] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(world: &world::World<Self>, fault: &Fault) -> Result<(), ScenarioError> {
        Ok(fault.check(world.count().into())?)
    }

    fn begin(world: &mut world::World<Self>) {
        let plan = Arc::clone(&world.net.plan);
        for (node, profile) in (0..).zip(&plan.profiles) {
            world.plan(profile.arrives, QueuePlan::Arrive { node });
        }
    }

    fn engine(world: &world::World<Self>, node: u32, start: u32) -> N {
        let plan = &world.net.plan;
        let dice = plan.dice.fork("node", u64::from(node));
        // Odd numbers, because there is an end between two starts.
        let seed = dice.fork("boot", u64::from(2 * start - 1)).next_u64();
        N::born(Arc::clone(&plan.profile(node).config), seed)
    }

    /// A node starts from its disk.
    fn started(world: &mut world::World<Self>, node: u32, _: RecordCause) {
        let profile = world.net.plan.profile(node);
        let (listen, get) = (Some(profile.at), profile.get.clone());
        let shared = world.described_by(node);
        let machine = world.own(node);
        let wanted = machine.finished + machine.failed == 0;
        let site = world.net.site.as_ref().filter(|site| site.has(node));
        let saved = site.map_or_else(|| machine.disk.restored(), site::State::restored);
        let restored = node::RestoredNode { listen, shared, ..saved };
        world.give(node, Input::Start(restored), None);
        if let (Some(get), true) = (get, wanted) {
            world.give(
                node,
                Input::Command(node::NodeCommand::Fetch(node::FetchCommand::Get(get))),
                None,
            );
        }
    }

    fn happen(world: &mut world::World<Self>, due: QueuePlan) {
        match due {
            QueuePlan::Arrive { node } if world.net.is_member(node) => world.rise(node),
            QueuePlan::Arrive { node } => world.boot(node, None),
            QueuePlan::Deliver { link, from } => world.deliver(link, from),
            QueuePlan::Progress { link, from, generation } => {
                world.progress(link, from, generation)
            }
            QueuePlan::Knock { link } => world.connect(link),
            QueuePlan::Opened { link } => world.opened(link),
            QueuePlan::DialFailed { host, conn, why, start } => {
                if world.slot(host).starts == start {
                    world.give(host, Input::Connection(conn, ConnInput::DialFailed { why }), None);
                }
            }
            QueuePlan::Gone { link, side } => world.gone(link, side, None),
            QueuePlan::Backlog { link, side } => world.backlog(link, side),
            QueuePlan::Datagram { number } => world.land(number),
            QueuePlan::Hashed { host, fetch, start } => world.hashed(host, fetch, start),
            QueuePlan::Site(due) => world.site_due(due),
        }
    }

    fn strike(world: &mut world::World<Self>, fault: u32) {
        let fault = world.faults()[fault as usize].act;
        world.perform(fault);
    }

    fn carry_out(world: &mut world::World<Self>, node: u32, cause: RecordCause) {
        world.carry(node, cause);
    }

    fn told(life: Life) -> Event {
        Event::World(match life {
            Life::Crashed => WorldEvent::Crashed,
            Life::Restarted => WorldEvent::Restarted,
            Life::Stalled => WorldEvent::Stalled,
            Life::Resumed => WorldEvent::Resumed,
        })
    }

    fn crashed(world: &mut world::World<Self>, node: u32, _: RecordCause) {
        world.disconnect(node);
        world.member_ended(node);
    }

    fn stalled(world: &mut world::World<Self>, node: u32, _: RecordCause) {
        world.share_around(node);
    }

    fn resumed(world: &mut world::World<Self>, node: u32, _: Instant, _: RecordCause) {
        world.release(node);
        world.member_wakes(node);
    }
}
