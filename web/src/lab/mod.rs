//! A world with its past and its possible futures, and the queries that are the
//! same for every protocol.

mod changes;
mod columns;
mod record;
mod room;
mod run;
mod types;
mod watched;
mod world;

use serde_json::Value;
use servent_core::time::{Duration, Instant};
use servent_core::trace::tape::Checkpoint;
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record, qlog};
use servent_sim::{At, RegisteredProtocol, ScenarioError, Timeline, Violation, World as SimWorld};
use wasm_bindgen::{JsError, JsValue};

use self::room::Room;
use crate::value::{QueryResult, give, refused};

pub(crate) use self::changes::changes;
pub(crate) use self::columns::Columns;
pub(crate) use self::record::{NamedRecord, fitting};
pub use self::run::Run;
pub(crate) use self::run::{Cast, Watching};
pub(crate) use self::watched::{BranchInfo, Pin, PinKind, Preset, Survey, Verified};
pub(crate) use self::world::Shared;
pub use self::world::World;

/// A world that can be inspected.
pub(crate) struct Lab<P: RegisteredProtocol> {
    pub(crate) scenario: P::Scenario,
    pub(crate) names: Vec<String>,
    pub(crate) timeline: Timeline<P>,
    /// The checkpoint that a file claims for this world.
    claim: Option<Checkpoint>,
    room: Room,
    branch: usize,
    columns: Columns,
    pins: Vec<Pin>,
    survey: Survey<P>,
}

impl<P: RegisteredProtocol> Lab<P> {
    pub(crate) fn new(
        scenario: P::Scenario,
        claim: Option<Checkpoint>,
    ) -> Result<Self, ScenarioError> {
        let timeline = Timeline::try_new(&scenario, P::keyframes(&scenario))?;
        let (names, survey) = (P::names(timeline.world()), Survey::new(&scenario));
        let columns = Columns::new(Instant::ZERO, Instant::ZERO + horizon::<P>(&scenario));
        let (room, pins) = (Room::default(), Vec::new());
        Ok(Self { scenario, names, timeline, claim, room, branch: 0, columns, pins, survey })
    }

    pub(crate) fn world(&self) -> &SimWorld<P> {
        self.timeline.world()
    }

    /// Checks that a node exists.
    pub(crate) fn known(&self, node: u32) -> Result<NodeId, JsError> {
        known(node, self.names.len())
    }

    pub(crate) fn name(&self, node: NodeId) -> &str {
        self.names.get(node.0 as usize).map_or("", String::as_str)
    }

    fn named(&self, i: u32) -> Option<NamedRecord<'_, &P::Event>> {
        let record = self.timeline.record(i.into())?;
        let earlier = |i| self.timeline.record(i).map(|record| (record.node, record.cause));
        let who = P::other(self.world(), &earlier, record).map(|node| self.name(node));
        let Record { seq, at, node, cause, ref event } = *record;
        Some(NamedRecord { seq, at, node, cause, event, node_name: self.name(node), who })
    }

    /// Everything gathered from the records known now.
    pub(crate) fn surveyed(&mut self) -> &Survey<P> {
        let branch = self.timeline.branches().1;
        let end = self.horizon().max(self.timeline.frontier());
        if self.branch != branch || !self.columns.serves(end) {
            self.branch = branch;
            self.columns = Columns::new(Instant::ZERO, end);
            self.pins.clear();
            self.survey = Survey::new(&self.scenario);
        }
        while let Some(record) = self.timeline.record(self.columns.seen()) {
            self.columns.count(record.at);
            let found = self.survey.violations().len();
            self.survey.observe(self.timeline.world(), record);
            self.pins.extend(self.survey.violations()[found..].iter().map(violated));
            if P::is_fault(&record.event) {
                self.pins.push(done(record.node, record.at, record.seq, P::why(record)));
            }
        }
        &self.survey
    }

    /// The same, as of the last update.
    pub(crate) const fn survey(&self) -> &Survey<P> {
        &self.survey
    }

    fn played(&self) -> P::Scenario {
        let mut scenario = self.scenario.clone();
        *P::parts(&mut scenario).faults = self.timeline.faults().to_vec();
        scenario
    }
}

impl<P: RegisteredProtocol> Watching for Lab<P> {
    fn kind(&self) -> &'static str {
        "scenario"
    }

    fn scenario(&self) -> QueryResult {
        give(&self.played())
    }

    fn horizon(&self) -> Instant {
        Instant::ZERO + horizon::<P>(&self.scenario)
    }

    fn frontier(&self) -> Instant {
        self.timeline.frontier()
    }

    fn now(&self) -> Instant {
        self.timeline.now()
    }

    fn index(&self) -> u32 {
        self.timeline.index() as u32
    }

    fn count(&self) -> u32 {
        self.timeline.count() as u32
    }

    fn explore(&mut self, most: u64) -> bool {
        self.room.look();
        self.timeline.explore(self.horizon(), most)
    }

    fn advance(&mut self, to: Instant, most: u64) -> Instant {
        self.timeline.advance(to, most)
    }

    fn seek(&mut self, to: Instant) {
        self.timeline.seek(to);
    }

    fn seek_record(&mut self, i: u32) -> bool {
        let end = self.horizon();
        self.timeline.seek_record(i.into(), end)
    }

    fn step(&mut self, forward: bool) -> bool {
        let end = self.horizon();
        self.timeline.step(forward, end)
    }

    fn step_node(&mut self, node: NodeId, forward: bool) -> bool {
        let end = self.horizon();
        self.timeline.step_node(node, forward, end)
    }

    fn size(&self, _: Cast) -> usize {
        self.names.len()
    }

    fn nodes(&self, _: Cast) -> QueryResult {
        give(&P::nodes(self.world(), &self.names))
    }

    fn inspect(&self, node: NodeId, _: Cast) -> QueryResult {
        give(&P::look(self.world(), node)?)
    }

    fn diff(&self, node: NodeId, _: Cast) -> QueryResult {
        let Some(last) = self.timeline.index().checked_sub(1) else { return give(&[(); 0]) };
        // The changes made by an input belong to every record that resulted
        // from it.
        let before = P::look(&self.timeline.world_before(last), node)?;
        let after = P::look(&self.timeline.world_at(Some(last)), node)?;
        give(&changes(before, after))
    }

    fn record(&self, i: u32, _: Cast) -> QueryResult {
        self.named(i).map_or(Ok(JsValue::UNDEFINED), |named| give(&named))
    }

    fn records(&self, from: u32, count: u32, filter: &str, _: Cast) -> QueryResult {
        fitting(filter, count, from, |i| self.named(i))
    }

    fn why(&self, i: u32) -> QueryResult {
        let record = self.timeline.record(i.into());
        record.map_or(Ok(JsValue::UNDEFINED), |record| {
            give(&within(P::why(record), P::case(&self.timeline, i.into())))
        })
    }

    fn numbers(&self, i: u32) -> Option<Value> {
        P::numbers(&self.timeline, i.into())
    }

    fn density(&mut self, bins: u32) -> Vec<u32> {
        self.surveyed();
        self.columns.density(bins)
    }

    fn pins(&mut self) -> QueryResult {
        self.surveyed();
        give(&self.pins)
    }

    fn fault(&mut self, fault: Value) -> Result<u32, JsError> {
        let At { act, .. } = serde_json::from_value::<At<P::Fault>>(fault)?;
        self.world().possible(&act)?;
        let branch = self.timeline.inject(act).ok_or_else(|| {
            refused(format!("there are {} branches already", Timeline::<P>::BRANCHES))
        })?;
        Ok(branch as u32)
    }

    fn branches(&self) -> QueryResult {
        let (branches, _) = self.timeline.branches();
        let info = branches.iter().enumerate().map(|(id, branch)| {
            let parent = branch.parent.map(|(parent, ..)| parent);
            let at = branch.parent.map_or(Instant::ZERO, |(.., at)| at);
            BranchInfo { id, parent, at, name: &branch.name }
        });
        give(&info.collect::<Vec<_>>())
    }

    fn use_branch(&mut self, id: u32) -> bool {
        self.timeline.use_branch(id as usize)
    }

    fn divergence(&self, a: u32, b: u32) -> Option<u32> {
        self.timeline.divergence(a as usize, b as usize).map(|i| i as u32)
    }

    fn digest(&self) -> u64 {
        self.world().digest()
    }

    fn verified(&self) -> Verified {
        let Some(claim) = &self.claim else { return Verified::default() };
        let (branches, _) = self.timeline.branches();
        let (_, records) = branches[0].known();
        if records < claim.records {
            let text = String::from("not run so far");
            return Verified { total: 1, text, ..Verified::default() };
        }
        let sound = (branches[0].digest(), records) == (claim.digest, claim.records);
        let text = if sound { "verified 1/1" } else { "this run differs from the file's" };
        Verified {
            checked: u64::from(sound),
            total: 1,
            diverged_at: (!sound).then_some(claim.at),
            text: text.to_owned(),
            ..Verified::default()
        }
    }

    /// The branch as a file: its scenario, all known records, and a checkpoint.
    fn sqlog(&self) -> String {
        let (scenario, zero) = (self.played(), Instant::ZERO);
        let schema = ["servent:", P::NAME].concat();
        let mut out = qlog::frame(&qlog::header(P::about(&scenario).title, zero));
        out += &qlog::frame(&qlog::line(zero, zero, &schema, &scenario));
        for i in 0..self.timeline.count() {
            if let Some(record) = self.timeline.record(i) {
                out += &qlog::frame(&qlog::record(record, zero));
            }
        }
        let (branches, branch) = self.timeline.branches();
        let branch = &branches[branch];
        let ((at, records), digest) = (branch.known(), branch.digest());
        let claim = Checkpoint { at, inputs: branch.events(), records, digest };
        out + &qlog::frame(&qlog::line(at, zero, "servent:checkpoint", &claim))
    }
}

/// How long a scenario is worth watching.
fn horizon<P: RegisteredProtocol>(scenario: &P::Scenario) -> Duration {
    *P::parts(&mut scenario.clone()).horizon
}

/// An explanation with the case that its sentence is about.
pub(crate) fn within(mut why: RecordReason, case: Option<&'static str>) -> RecordReason {
    if let (Value::Object(fields), Some(case)) = (&mut why.args, case) {
        fields.insert(String::from("case"), case.into());
    }
    why
}

/// A node number, if it is less than `nodes`.
pub(crate) fn known(node: u32, nodes: usize) -> Result<NodeId, JsError> {
    if (node as usize) < nodes {
        return Ok(NodeId(node));
    }
    Err(refused(format!("there is no node {node}: there are {nodes}, numbered from 0")))
}

fn violated(v: &Violation) -> Pin {
    let args = v.args.iter().map(|(k, v)| (*k, v.as_str())).collect();
    Pin { at: v.at, seq: v.seq, kind: PinKind::Violation, key: v.key.to_owned(), args }
}

fn done(node: NodeId, at: Instant, seq: u64, why: RecordReason) -> Pin {
    let mut args = why.args;
    if let Value::Object(fields) = &mut args {
        fields.insert(String::from("node"), node.0.into());
    }
    Pin { at, seq, kind: PinKind::Fault, key: why.key, args }
}
