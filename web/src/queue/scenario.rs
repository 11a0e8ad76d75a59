//! A lab over a simulated world.

use core::net::{IpAddr, SocketAddr};

use servent_core::node::NodeView;
use servent_core::time::Instant;
use servent_core::trace::tape::Checkpoint;
use servent_core::trace::{NodeId, Record, qlog};
use servent_sim::queue::check::Oracles;
use servent_sim::queue::{FaultAt, Queue, Role, Scenario, Standing, World, presets};
use servent_sim::{Keyframes, Timeline};

use super::survey::Survey;
use crate::board::{Board, Client, Named, NodeInfo, Part, Tally, look};
use crate::common::lists::{list, preset};
use crate::common::room::{self, Room};
use crate::common::{BranchInfo, NamedRecord, Pin, Verified, diff, json};

/// How many finished clients a board names.
const DONE: usize = 24;
/// How many links of a chain of causes are followed to find out who it was.
const CHAIN: usize = 12;

pub(crate) struct ScenarioLab {
    /// With the faults of the current branch.
    scenario: Scenario,
    timeline: Timeline<Queue>,
    survey: Survey,
    /// What a trace file said this world must look like.
    claim: Option<Checkpoint>,
    room: Room,
}

impl ScenarioLab {
    pub(crate) const KIND: &str = "scenario";

    pub(crate) fn new(scenario: Scenario, claim: Option<Checkpoint>) -> Self {
        let timeline = Timeline::new(&scenario, Keyframes::default());
        Self { scenario, timeline, survey: Survey::default(), claim, room: Room::default() }
    }

    /// The presets as the page lists them.
    pub(crate) fn presets() -> String {
        list(presets::all().map(|s| preset([&s.id, &s.title, &s.text], &s)))
    }

    /// Runs the frontier on; true when the horizon is reached.
    pub(crate) fn explore(&mut self, max_events: u64) -> bool {
        let mut left = max_events;
        while left > 0 {
            let some = left.min(room::STEP);
            self.room.look();
            if self.timeline.explore(self.horizon(), some) {
                return true;
            }
            left -= some;
        }
        false
    }

    pub(crate) fn scenario(&self) -> String {
        json(&self.scenario)
    }

    pub(crate) fn frontier(&self) -> Instant {
        self.timeline.frontier()
    }

    pub(crate) fn now(&self) -> Instant {
        self.timeline.now()
    }

    pub(crate) fn index(&self) -> u32 {
        self.timeline.index() as u32
    }

    pub(crate) fn count(&self) -> u32 {
        self.timeline.count() as u32
    }

    pub(crate) fn advance(&mut self, to: Instant, max_events: u64) -> Instant {
        self.timeline.advance(to, max_events)
    }

    pub(crate) fn seek(&mut self, to: Instant) {
        self.timeline.seek(to);
    }

    pub(crate) fn seek_record(&mut self, i: u32) -> bool {
        let horizon = self.horizon();
        self.timeline.seek_record(i.into(), horizon)
    }

    pub(crate) fn step(&mut self, forward: bool) -> bool {
        let horizon = self.horizon();
        self.timeline.step(forward, horizon)
    }

    pub(crate) fn step_node(&mut self, node: u32, forward: bool) -> bool {
        let horizon = self.horizon();
        self.timeline.step_node(NodeId(node), forward, horizon)
    }

    pub(crate) fn horizon(&self) -> Instant {
        Instant::ZERO + self.scenario.horizon
    }

    fn world(&self) -> &World {
        self.timeline.world()
    }

    fn name(&self, node: NodeId) -> &str {
        self.world().profiles().get(node.0 as usize).map_or("", |p| &p.name)
    }

    pub(crate) fn nodes(&self) -> String {
        let world = self.world();
        let info = |(i, p): (usize, &'_ servent_sim::queue::Profile)| {
            let id = i as u32;
            let up = world.is_up(NodeId(id));
            json(&NodeInfo { id, name: &p.name, role: p.role, dialect: p.dialect, up })
        };
        list(world.profiles().iter().enumerate().map(info))
    }

    pub(crate) fn board(&self, node: u32, part: Part) -> Board {
        let world = self.world();
        let (view, lanes) = world.node(NodeId(node)).map(|n| look(n, part)).unwrap_or_default();
        let peers = view.queue.uploads.iter().map(|u| &u.peer);
        let peers = peers.chain(view.queue.cards.iter().map(|c| &c.peer));
        let peers: Vec<&String> = peers.chain(view.queue.kept.iter().map(|k| &k.peer)).collect();
        let clients = peers.into_iter().filter_map(|peer| self.client(peer)).collect();
        let (mut tally, mut done) = (Tally::default(), Vec::new());
        for (i, profile) in world.profiles().iter().enumerate() {
            if profile.role == Role::Server {
                continue;
            }
            let node = i as u32;
            match world.standing(NodeId(node)) {
                Standing::Absent => tally.absent += 1,
                Standing::Waiting => tally.waiting += 1,
                Standing::Receiving => tally.receiving += 1,
                Standing::Failed => tally.failed += 1,
                Standing::Done => {
                    tally.done += 1;
                    done.push(Named { node, name: profile.name.clone() });
                }
            }
        }
        tally.queued = view.queue.length.min(tally.waiting);
        tally.waiting -= tally.queued;
        done.drain(..done.len().saturating_sub(DONE));
        Board { at: self.timeline.now(), queue: view.queue, clients, tally, done, lanes }
    }

    /// The client behind an address on a card.
    fn client(&self, peer: &str) -> Option<Client> {
        let ip = peer.parse::<SocketAddr>().map(|a| a.ip()).or_else(|_| peer.parse::<IpAddr>());
        let world = self.world();
        let node = world.node_at(ip.ok()?)?;
        let profile = &world.profiles()[node.0 as usize];
        let fetch = world.view(node, 1, 0).and_then(|v| v.fetches.into_iter().next());
        Some(Client {
            node: node.0,
            name: profile.name.clone(),
            dialect: profile.dialect,
            peer: peer.to_owned(),
            fetch,
        })
    }

    pub(crate) fn inspect(&self, node: u32) -> String {
        json(&self.view(self.world(), NodeId(node)))
    }

    fn view(&self, world: &World, node: NodeId) -> Option<NodeView> {
        if (node.0 as usize) < world.profiles().len() { world.view(node, 1, 50) } else { None }
    }

    pub(crate) fn diff(&self, node: u32) -> String {
        let node = NodeId(node);
        let Some(last) = self.timeline.index().checked_sub(1) else { return String::from("[]") };
        let before = self.timeline.world_at(last.checked_sub(1));
        json(&diff(&self.view(&before, node), &self.view(self.world(), node)))
    }

    pub(crate) fn named(&self, i: u32) -> Option<NamedRecord<'_>> {
        let record = self.timeline.record(i.into())?;
        let who = self.who(record).map(|n| self.name(n));
        let Record { seq, at, node, cause, .. } = *record;
        let event = json(&record.event).into();
        Some(NamedRecord { seq, at, node, cause, event, node_name: self.name(node), who })
    }

    /// The client a server's record is about: whoever caused it.
    fn who(&self, record: &Record) -> Option<NodeId> {
        let role = |n: NodeId| self.world().profiles().get(n.0 as usize).map(|p| p.role);
        if role(record.node) == Some(Role::Client) {
            return Some(record.node);
        }
        let mut cause = record.cause;
        for _ in 0..CHAIN {
            let earlier = self.timeline.record(cause?)?;
            if role(earlier.node) == Some(Role::Client) {
                return Some(earlier.node);
            }
            cause = earlier.cause;
        }
        None
    }

    /// Everything gathered from the records known by now.
    fn survey(&mut self) -> &Survey {
        let branch = self.timeline.branches().1;
        let end = self.horizon().max(self.timeline.frontier());
        if !self.survey.serves(branch, end) {
            self.survey = Survey::new(branch, Instant::ZERO, end, Oracles::new(&self.scenario));
        }
        while let Some(record) = self.timeline.record(self.survey.seen()) {
            self.survey.see(record);
        }
        &self.survey
    }

    pub(crate) fn density(&mut self, bins: u32) -> Vec<u32> {
        self.survey().density(bins)
    }

    pub(crate) fn pins(&mut self) -> &[Pin] {
        &self.survey().pins
    }

    /// A fault now; the branch it is in.
    pub(crate) fn fault(&mut self, json: &str) -> Result<u32, String> {
        let fault: FaultAt = serde_json::from_str(json).map_err(|why| why.to_string())?;
        let nodes = self.world().profiles().len();
        if fault.act.nodes().any(|n| n.0 as usize >= nodes) {
            return Err(String::from("there is no node of that number"));
        }
        let Some(branch) = self.timeline.inject(fault.act) else {
            return Err(format!("there are {} branches already", Timeline::<Queue>::BRANCHES));
        };
        self.take_over_faults();
        Ok(branch as u32)
    }

    pub(crate) fn use_branch(&mut self, id: u32) -> bool {
        let there = self.timeline.use_branch(id as usize);
        self.take_over_faults();
        there
    }

    fn take_over_faults(&mut self) {
        self.scenario.faults = self.timeline.faults().to_vec();
    }

    pub(crate) fn divergence(&self, a: u32, b: u32) -> Option<u32> {
        self.timeline.divergence(a as usize, b as usize).map(|i| i as u32)
    }

    pub(crate) fn digest(&self) -> u64 {
        self.world().digest()
    }

    pub(crate) fn branches(&self) -> String {
        let (branches, _) = self.timeline.branches();
        let info = |(id, b): (usize, &'_ servent_sim::Branch<Queue>)| {
            let (parent, at) = b.parent.map_or((None, Instant::ZERO), |(p, _, at)| (Some(p), at));
            json(&BranchInfo { id, parent, at, name: &b.name })
        };
        list(branches.iter().enumerate().map(info))
    }

    pub(crate) fn verified(&self) -> Verified {
        let Some(claim) = &self.claim else { return Verified::default() };
        let (branches, _) = self.timeline.branches();
        let known = branches[0].known();
        if known.1 < claim.records {
            return Verified {
                total: 1,
                text: String::from("not run so far"),
                ..Verified::default()
            };
        }
        let sound = (branches[0].digest(), known.1) == (claim.digest, claim.records);
        let text = if sound { "verified 1/1" } else { "this run differs from the file's" };
        Verified {
            checked: u64::from(sound),
            total: 1,
            diverged_at: (!sound).then_some(claim.at),
            text: text.to_owned(),
        }
    }

    /// The branch as a file: its scenario, every record known, what it comes to.
    pub(crate) fn sqlog(&self) -> String {
        let scenario = &self.scenario;
        let zero = Instant::ZERO;
        let mut out = qlog::frame(&qlog::header(&scenario.title, zero));
        out += &qlog::frame(&qlog::line(zero, zero, "servent:world", scenario));
        let mut i = 0;
        while let Some(record) = self.timeline.record(i) {
            out += &qlog::frame(&qlog::record(record, zero));
            i += 1;
        }
        let (branches, branch) = self.timeline.branches();
        let (at, records) = branches[branch].known();
        let digest = branches[branch].digest();
        let claim = Checkpoint { at, inputs: branches[branch].events(), records, digest };
        out += &qlog::frame(&qlog::line(at, zero, "servent:checkpoint", &claim));
        out
    }
}
