//! The world: nodes, the calendar, and everything between them.

use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::calendar::{Calendar, Due};
use super::fault::FaultAt;
use super::host::{Host, Plan, Profile};
use super::link::Links;
use super::scenario::Scenario;
use servent_core::engine::{Engine, Fx};
use servent_core::id::ConnId;
use servent_core::node::{self, Config, Input, Node, Output};
use servent_core::time::Instant;
use servent_core::trace::{Cause, Event, NodeId, Record, Recorder};

/// What a world can host: a node, or in tests something simpler behind the
/// same boundary.
pub trait Guest: Engine<Input = Input, Output = Output, Event = Event> + Clone {
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

/// A world of nodes. A clone is a keyframe: it shares with the original
/// whatever neither of them changes afterwards.
#[derive(Debug, Clone)]
pub struct World<N: Guest = Node> {
    pub(super) now: Instant,
    pub(super) calendar: Calendar,
    pub(super) hosts: Vec<Rc<Host<N>>>,
    pub(super) links: Links,
    pub(super) plan: Rc<Plan>,
    pub(crate) faults: Arc<Vec<FaultAt>>,
    pub(super) recorder: Recorder,
    pub(super) events: u64,
    pub(super) scratch: Scratch,
}

/// What is empty between two events and kept for its memory alone: there is
/// nothing to clone.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) fx: Fx<Output, Event>,
    pub(super) about: Vec<(ConnId, u64)>,
}

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl World<Node> {
    /// The world of a scenario, before anything has happened.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        Self::with(scenario)
    }

    /// A node, unless it has not arrived or is down.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.host(id).node.as_ref()
    }

    /// A node as it looks from outside.
    #[must_use]
    pub fn view(&self, id: NodeId, from: u32, count: u32) -> Option<node::NodeView> {
        self.node(id).map(|n| n.view(from, count))
    }
}

impl<N: Guest> World<N> {
    /// The world of a scenario, with guests of any kind.
    #[must_use]
    pub fn with(scenario: &Scenario) -> Self {
        let plan = Plan::new(scenario);
        let mut calendar = Calendar::default();
        for (i, fault) in scenario.faults.iter().enumerate() {
            calendar.plan(fault.at, Due::Fault(i as u32));
        }
        for (i, profile) in plan.profiles.iter().enumerate() {
            calendar.plan(profile.arrives, Due::Arrive { host: i as u32 });
        }
        Self {
            now: Instant::ZERO,
            calendar,
            hosts: plan.profiles.iter().map(|p| Rc::new(Host::new(p.firewalled))).collect(),
            links: Links::default(),
            plan: Rc::new(plan),
            faults: Arc::new(scenario.faults.clone()),
            recorder: Recorder::default(),
            events: 0,
            scratch: Scratch::default(),
        }
    }

    /// The world's clock.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The fingerprint of everything recorded so far.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.recorder.digest().value()
    }

    /// How many records there were so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.recorder.next()
    }

    /// How many things on the calendar have happened so far.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// When the next thing happens; `None` when nothing ever will.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.calendar.next()
    }

    /// How much is planned.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.calendar.len()
    }

    /// What never changes about the nodes, in order of their numbers.
    #[must_use]
    pub fn profiles(&self) -> &[Profile] {
        &self.plan.profiles
    }

    /// True when a node has arrived and runs.
    #[must_use]
    pub fn is_up(&self, id: NodeId) -> bool {
        self.host(id).node.is_some()
    }

    /// How many downloads of a node are whole, and how many failed.
    #[must_use]
    pub fn outcome(&self, id: NodeId) -> (u32, u32) {
        let host = self.host(id);
        (host.finished, host.failed)
    }

    /// What a node is at: for the counters beside a board.
    #[must_use]
    pub fn standing(&self, id: NodeId) -> Standing {
        let host = self.host(id);
        match (&host.node, host.finished, host.failed) {
            (_, 1.., _) => Standing::Done,
            (_, _, 1..) => Standing::Failed,
            (None, ..) => Standing::Absent,
            _ if !host.receiving.is_empty() => Standing::Receiving,
            _ => Standing::Waiting,
        }
    }

    /// The node that an address belongs to.
    #[must_use]
    pub fn node_at(&self, ip: IpAddr) -> Option<NodeId> {
        self.plan.addresses.get(&ip.to_canonical()).map(|host| NodeId(*host))
    }

    /// Lets the next thing happen, adding what was recorded to `out`; false
    /// when nothing ever will.
    pub fn step(&mut self, out: &mut Vec<Record>) -> bool {
        let Some((at, due)) = self.calendar.pop() else { return false };
        debug_assert!(at >= self.now);
        self.now = at;
        self.events += 1;
        self.happen(due, out);
        true
    }

    /// Lets everything happen that is due until `until`, that instant
    /// included, and moves the clock there.
    pub fn run_until(&mut self, until: Instant, out: &mut Vec<Record>) {
        while self.calendar.next().is_some_and(|at| at <= until) {
            self.step(out);
        }
        self.now = self.now.max(until);
    }

    /// Plans a fault. One for the past, or for now, happens within the next
    /// microsecond. Gives back the instant at which it happens: in a scenario
    /// with this fault at that instant everything goes the same way.
    pub fn inject(&mut self, mut fault: FaultAt) -> FaultAt {
        fault.at = fault.at.max(Instant::from_micros(self.now.as_micros() + 1));
        let index = self.faults.len() as u32;
        Arc::make_mut(&mut self.faults).push(fault);
        self.calendar.plan(fault.at, Due::Fault(index));
        fault
    }

    /// Learns of faults that were injected after this world was kept; all of
    /// them are still to come for it.
    pub(crate) fn adopt(&mut self, faults: &Arc<Vec<FaultAt>>) {
        for (i, fault) in faults.iter().enumerate().skip(self.faults.len()) {
            debug_assert!(fault.at > self.now);
            self.calendar.plan(fault.at, Due::Fault(i as u32));
        }
        self.faults = Arc::clone(faults);
    }

    fn happen(&mut self, due: Due, out: &mut Vec<Record>) {
        match due {
            Due::Fault(index) => self.fault(index, out),
            Due::Arrive { host } => self.boot(host, out),
            Due::Timer { host } => self.timer(host, out),
            Due::Deliver { link, from } => self.deliver(link, from, out),
            Due::Progress { link, from, generation } => {
                self.progress(link, from, generation, out);
            }
            Due::Knock { link } => self.knock(link, out),
            Due::Opened { link } => self.opened(link, out),
            Due::DialFailed { host, conn, why, boot } => {
                if self.hosts[host as usize].boot == boot {
                    self.give(host, Input::DialFailed { conn, why }, None, out);
                }
            }
            Due::Gone { link, side } => self.gone(link, side, None, out),
            Due::Backlog { link, side } => self.backlog(link, side, out),
            Due::Hashed { host, fetch, boot } => self.hashed(host, fetch, boot, out),
        }
    }

    pub(super) fn host(&self, id: NodeId) -> &Host<N> {
        &self.hosts[id.0 as usize]
    }

    pub(super) fn host_mut(&mut self, host: u32) -> &mut Host<N> {
        Rc::make_mut(&mut self.hosts[host as usize])
    }

    /// Starts a node from its disk.
    pub(super) fn boot(&mut self, host: u32, out: &mut Vec<Record>) {
        let profile = self.plan.profile(host);
        let (at, config, get) = (profile.at, profile.config.clone(), profile.get.clone());
        let shares = profile.get.is_none();
        let shared = if shares { self.plan.files.clone() } else { Vec::new() };
        let dice = self.plan.dice.fork("node", u64::from(host));
        let h = self.host_mut(host);
        h.boot += 1;
        h.node = Some(N::born(config, dice.fork("boot", u64::from(h.boot)).next_u64()));
        let restored = node::Restored { listen: Some(at), shared, ..h.disk.restored() };
        let wanted = h.finished + h.failed == 0;
        self.give(host, Input::Start(restored), None, out);
        if let (Some(get), true) = (get, wanted) {
            self.give(host, Input::Command(node::Command::Get(get)), None, out);
        }
    }

    /// Hands an input to a node, or keeps it while the node stands still.
    pub(super) fn give(&mut self, host: u32, input: Input, cause: Cause, out: &mut Vec<Record>) {
        let now = self.now;
        let mut fx = core::mem::take(&mut self.scratch.fx);
        let h = self.host_mut(host);
        if h.stalled {
            h.inbox.push((input, cause));
        } else {
            let local = h.read_clock(now);
            if let Some(node) = &mut h.node {
                node.handle(local, input, &mut fx);
            }
        }
        self.scratch.fx = fx;
        self.settle(host, cause, out);
    }

    fn timer(&mut self, host: u32, out: &mut Vec<Record>) {
        let now = self.now;
        if self.hosts[host as usize].armed != Some(now) {
            return; // An earlier one took its place.
        }
        let mut fx = core::mem::take(&mut self.scratch.fx);
        let h = self.host_mut(host);
        h.armed = None;
        let local = h.read_clock(now);
        if !h.stalled
            && let Some(node) = &mut h.node
            && node.poll_timeout().is_some_and(|(at, _)| at <= local)
        {
            node.handle_timeout(local, &mut fx);
        }
        self.scratch.fx = fx;
        self.settle(host, None, out);
    }

    /// Carries out what a node asked for, then plans its next timer.
    fn settle(&mut self, host: u32, cause: Cause, out: &mut Vec<Record>) {
        self.carry(host, cause, out);
        let now = self.now;
        let h = &self.hosts[host as usize];
        if h.stalled {
            return;
        }
        let Some((at, _)) = h.node.as_ref().and_then(Engine::poll_timeout) else { return };
        let at = h.in_world(at, now);
        if h.armed.is_none_or(|armed| at < armed) {
            self.host_mut(host).armed = Some(at);
            self.calendar.plan(at, Due::Timer { host });
        }
    }
}
