//! The world: nodes, the calendar, and everything between them.

use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;
use core::net::IpAddr;

use super::fault::{Fault, FaultAt};
use super::host::{Machine, Plan, Profile};
use super::scenario::Scenario;
use crate::links::stream::{LinkRef, Links, Side};
use crate::world::{Life, Protocol};
use servent_core::engine::Engine;
use servent_core::id::{ConnId, FetchId};
use servent_core::node::{self, Config, DialError, Input, Node, Output, WorldEvent};
use servent_core::time::Instant;
use servent_core::trace::{Cause, Event, NodeId};

/// What a world can host: a node, or in tests something simpler behind the
/// same boundary.
pub trait Guest: Engine<Input = Input, Output = Output, Event = Event> + Clone + Debug {
    /// A guest that has not been started.
    fn born(config: Arc<Config>, seed: u64) -> Self;
}

impl Guest for Node {
    fn born(config: Arc<Config>, seed: u64) -> Self {
        Self::new(config, seed)
    }
}

/// What a node is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It has not arrived, or is down.
    Absent,
    /// It is there and nothing comes in.
    Waiting,
    /// Bytes are coming in.
    Receiving,
    /// Its download is whole.
    Done,
    /// Its download ended without its file.
    Failed,
}

/// What lies between servents: links, and the plan they follow.
#[derive(Debug, Clone)]
pub struct Queue<N: Guest = Node> {
    pub(super) links: Links,
    pub(super) plan: Rc<Plan>,
    /// Empty between two events: kept for its memory alone.
    pub(super) about: Vec<(ConnId, u64)>,
    guest: PhantomData<N>,
}

/// A world of servents.
pub type World<N = Node> = crate::World<Queue<N>>;

/// Something that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The fields of a variant are named by what they hold.
pub enum Due {
    /// A node comes into the world.
    Arrive { node: u32 },
    /// The next thing on the wire reaches the end that did not send it.
    Deliver { link: LinkRef, from: Side },
    /// A transfer has come to a point worth reporting.
    Progress { link: LinkRef, from: Side, generation: u32 },
    /// A dial reaches the node that listens.
    Knock { link: LinkRef },
    /// The dialer hears that it is connected.
    Opened { link: LinkRef },
    /// A dial failed.
    DialFailed { host: u32, conn: ConnId, why: DialError, start: u32 },
    /// An end learns that it is gone.
    Gone { link: LinkRef, side: Side },
    /// Unsent bytes are reported.
    Backlog { link: LinkRef, side: Side },
    /// A finished download has been hashed.
    Hashed { host: u32, fetch: FetchId, start: u32 },
}

impl World<Node> {
    /// A node as it looks from outside; `None` while it is not there.
    #[must_use]
    pub fn view(&self, id: NodeId, from: u32, count: u32) -> Option<node::NodeView> {
        self.node(id).map(|n| n.view(from, count))
    }
}

impl<N: Guest> World<N> {
    /// What never changes about the nodes, in order of their numbers.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.net.plan.profiles
    }

    /// How many downloads of a node are whole, and how many failed.
    #[must_use]
    pub fn outcome(&self, id: NodeId) -> (u32, u32) {
        let machine = self.own(id.0);
        (machine.finished, machine.failed)
    }

    /// What a node is at: for the counters beside the queue.
    #[must_use]
    pub fn standing(&self, id: NodeId) -> Standing {
        let machine = self.own(id.0);
        match (self.node(id), machine.finished, machine.failed) {
            (_, 1.., _) => Standing::Done,
            (_, _, 1..) => Standing::Failed,
            (None, ..) => Standing::Absent,
            _ if !machine.receiving.is_empty() => Standing::Receiving,
            _ => Standing::Waiting,
        }
    }

    /// The node that an address belongs to.
    #[must_use]
    pub fn node_at(&self, ip: IpAddr) -> Option<NodeId> {
        self.net.plan.addresses.get(&ip).map(|host| NodeId(*host))
    }
}

impl<N: Guest> Protocol for Queue<N> {
    type Scenario = Scenario;
    type Fault = Fault;
    type Event = Event;
    type Host = N;
    type Node = Machine;
    type Due = Due;

    fn new(scenario: &Scenario) -> (Self, Vec<Machine>) {
        let plan = Rc::new(Plan::new(scenario));
        let machines = plan.profiles.iter().map(|p| Machine::new(p.firewalled)).collect();
        let (links, about, guest) = (Links::default(), Vec::new(), PhantomData);
        (Self { links, plan, about, guest }, machines)
    }

    fn scenario(&self) -> &Scenario {
        &self.plan.scenario
    }

    fn faults(scenario: &Scenario) -> &[FaultAt] {
        &scenario.faults
    }

    fn concerns(fault: &Fault) -> [Option<u32>; 2] {
        let mut nodes = fault.nodes().map(|node| node.0);
        [nodes.next(), nodes.next()]
    }

    fn begin(world: &mut World<N>) {
        let plan = Rc::clone(&world.net.plan);
        for (node, profile) in (0..).zip(&plan.profiles) {
            world.plan(profile.arrives, Due::Arrive { node });
        }
    }

    fn engine(world: &World<N>, node: u32, start: u32) -> N {
        let plan = &world.net.plan;
        let dice = plan.dice.fork("node", u64::from(node));
        // Odd numbers: between two starts lies an end.
        let seed = dice.fork("boot", u64::from(2 * start - 1)).next_u64();
        N::born(Arc::clone(&plan.profile(node).config), seed)
    }

    /// A node starts from its disk.
    fn started(world: &mut World<N>, node: u32, _: Cause) {
        let profile = world.net.plan.profile(node);
        let (listen, get) = (Some(profile.at), profile.get.clone());
        let shared = if get.is_none() { world.net.plan.files.clone() } else { Vec::new() };
        let machine = world.own(node);
        let wanted = machine.finished + machine.failed == 0;
        let restored = node::Restored { listen, shared, ..machine.disk.restored() };
        world.give(node, Input::Start(restored), None);
        if let (Some(get), true) = (get, wanted) {
            world.give(node, Input::Command(node::Command::Get(get)), None);
        }
    }

    fn happen(world: &mut World<N>, due: Due) {
        match due {
            Due::Arrive { node } => world.boot(node, None),
            Due::Deliver { link, from } => world.deliver(link, from),
            Due::Progress { link, from, generation } => world.progress(link, from, generation),
            Due::Knock { link } => world.knock(link),
            Due::Opened { link } => world.opened(link),
            Due::DialFailed { host, conn, why, start } => {
                if world.slot(host).starts == start {
                    world.give(host, Input::DialFailed { conn, why }, None);
                }
            }
            Due::Gone { link, side } => world.gone(link, side, None),
            Due::Backlog { link, side } => world.backlog(link, side),
            Due::Hashed { host, fetch, start } => world.hashed(host, fetch, start),
        }
    }

    fn strike(world: &mut World<N>, fault: u32) {
        let fault = world.faults()[fault as usize].act;
        world.perform(fault);
    }

    fn carry_out(world: &mut World<N>, node: u32, cause: Cause) {
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

    fn crashed(world: &mut World<N>, node: u32, _: Cause) {
        world.disconnect(node);
    }

    fn stalled(world: &mut World<N>, node: u32, _: Cause) {
        world.share_around(node);
    }

    fn resumed(world: &mut World<N>, node: u32, _: Instant, _: Cause) {
        world.release(node);
    }
}
