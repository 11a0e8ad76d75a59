//! What the lab needs to know about a protocol.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use servent_core::queue::Dialect;
use servent_core::time::{Duration, Instant};
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Profile;
use servent_sim::lesson::Subject;
use servent_sim::{At, Keyframes, Timeline, Violation, World};

/// A protocol whose worlds can be inspected.
pub(crate) trait Watched:
    Subject<Scenario: Clone + Serialize + DeserializeOwned, Event: Serialize, Fault: DeserializeOwned>
{
    /// What is gathered from the records.
    type Survey: Survey<Self>;
    /// The name of its scenario in a file.
    const SCHEMA: &'static str;

    /// All presets.
    fn presets() -> Vec<Self::Scenario>;
    /// The description of a scenario: id, title, text.
    fn about(scenario: &Self::Scenario) -> [&str; 3];
    /// The horizon of a scenario.
    fn horizon(scenario: &Self::Scenario) -> Duration;
    /// The same scenario with other faults.
    fn with_faults(scenario: &Self::Scenario, faults: Vec<At<Self::Fault>>) -> Self::Scenario;
    /// The spacing of keyframes.
    fn keyframes(scenario: &Self::Scenario) -> Keyframes;
    /// All nodes, with these names.
    fn nodes(world: &World<Self>, names: &[String]) -> Vec<NodeInfo>;
    /// True for what was done to the world from outside.
    fn is_fault(event: &Self::Event) -> bool;
    /// The explanation of a record.
    fn why(record: &Record<Self::Event>) -> RecordReason;
    /// Which of several reasons holds for a record; `None` where there is one.
    fn case(_: &Timeline<Self>, _: u64) -> Option<&'static str> {
        None
    }
    /// The numbers that a decision in a record depends on; `None` if it needs
    /// none.
    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value>;
    /// A node's state; `null` while it is down.
    fn look(world: &World<Self>, node: NodeId) -> serde_json::Result<Value>;
}

/// Data gathered from the records of one branch, once, as they become known.
pub(crate) trait Survey<P: Watched> {
    /// The state before the first record.
    fn new(scenario: &P::Scenario) -> Self;
    /// Processes the next record.
    fn observe(&mut self, world: &World<P>, record: &Record<P::Event>);
    /// The violations that the oracles have found so far.
    fn violations(&self) -> &[Violation];
}

/// A node in a list.
#[derive(Serialize)]
pub(crate) struct NodeInfo {
    /// Its number.
    pub(crate) id: NodeId,
    /// Its name.
    pub(crate) name: String,
    /// Its role in this world, in one word.
    pub(crate) role: &'static str,
    /// Whether it runs.
    pub(crate) up: bool,
    /// Its queueing dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Dialect>,
    /// Its retransmission profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<Profile>,
}

impl NodeInfo {
    pub(crate) fn new(id: NodeId, name: &str, role: &'static str, up: bool) -> Self {
        Self { id, name: name.to_owned(), role, up, dialect: None, profile: None }
    }
}

/// A preset in a list.
#[derive(Serialize)]
pub(crate) struct Preset<S> {
    /// Its id.
    pub(crate) id: String,
    /// Its title.
    pub(crate) title: String,
    /// What there is to see.
    pub(crate) text: String,
    /// The whole scenario.
    pub(crate) scenario: S,
}

/// A mark on the timeline.
#[derive(Serialize)]
pub(crate) struct Pin {
    /// When.
    pub(crate) at: Instant,
    /// The record it belongs to.
    pub(crate) seq: u64,
    /// Its kind.
    pub(crate) kind: PinKind,
    /// The key of its sentence.
    pub(crate) key: String,
    /// The arguments of the sentence.
    pub(crate) args: Value,
}

/// The kind of a mark.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PinKind {
    /// A fault or an action.
    Fault,
    /// An oracle found a violation.
    Violation,
    /// Inputs are missing, or no checkpoint covers what follows.
    Gap,
}

/// A branch in a list.
#[derive(Serialize)]
pub(crate) struct BranchInfo<'a> {
    /// Its number.
    pub(crate) id: usize,
    /// The branch it forked from.
    pub(crate) parent: Option<usize>,
    /// When it forked.
    pub(crate) at: Instant,
    /// Its name.
    pub(crate) name: &'a str,
}

/// How far the checkpoints of a file have been verified.
#[derive(Default, Serialize)]
pub(crate) struct Verified {
    /// Checkpoints that were confirmed.
    pub(crate) checked: u64,
    /// Checkpoints in total.
    pub(crate) total: u64,
    /// The instant of the first one that is wrong.
    pub(crate) diverged_at: Option<Instant>,
    /// Where inputs are missing; nothing after it is run again.
    pub(crate) gap_at: Option<Instant>,
    /// Lines that could not be read.
    pub(crate) damaged: u64,
    /// Inputs that no checkpoint covers.
    pub(crate) unverified: u64,
    /// Of several recorded nodes: how many did all that is on their recordings again,
    /// and how many there are.
    pub(crate) nodes: Option<[u32; 2]>,
    /// The result as one sentence.
    pub(crate) text: String,
}
