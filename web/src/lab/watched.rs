//! What the lab has to know of a protocol.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use servent_core::queue::Dialect;
use servent_core::time::{Duration, Instant};
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Profile;
use servent_sim::{At, Keyframes, Protocol, Timeline, Violation, World};

/// A protocol whose worlds can be looked at.
pub(crate) trait Watched:
    Protocol<Scenario: Clone + Serialize + DeserializeOwned, Event: Serialize, Fault: DeserializeOwned>
{
    /// What is gathered from the records.
    type Survey: Survey<Self>;
    /// What its scenario is called in a file.
    const SCHEMA: &'static str;

    /// Every story there is.
    fn presets() -> Vec<Self::Scenario>;
    /// What is said of a scenario: id, title, text.
    fn about(scenario: &Self::Scenario) -> [&str; 3];
    /// How long it is worth watching.
    fn horizon(scenario: &Self::Scenario) -> Duration;
    /// The same scenario with other faults.
    fn with_faults(scenario: &Self::Scenario, faults: Vec<At<Self::Fault>>) -> Self::Scenario;
    /// How closely keyframes stand.
    fn keyframes(scenario: &Self::Scenario) -> Keyframes;
    /// What the nodes are called.
    fn names(world: &World<Self>) -> Vec<String>;
    /// Every node, by these names.
    fn nodes(world: &World<Self>, names: &[String]) -> Vec<NodeInfo>;
    /// The other node a record is about.
    fn other(timeline: &Timeline<Self>, record: &Record<Self::Event>) -> Option<NodeId>;
    /// True for what somebody did to the world.
    fn is_fault(event: &Self::Event) -> bool;
    /// Why a record is there.
    fn why(record: &Record<Self::Event>) -> Why;
    /// The numbers a record rests on; `None` for one that needs none.
    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value>;
    /// A node's state; `null` while it is down.
    fn look(world: &World<Self>, node: NodeId) -> serde_json::Result<Value>;
}

/// What is gathered from the records of one branch, once, as they become
/// known.
pub(crate) trait Survey<P: Watched> {
    /// Before the first record.
    fn new(scenario: &P::Scenario) -> Self;
    /// Takes the next record.
    fn see(&mut self, world: &World<P>, record: &Record<P::Event>);
    /// What the oracles found so far.
    fn violations(&self) -> &[Violation];
}

/// A node in a list.
#[derive(Serialize)]
pub(crate) struct NodeInfo {
    /// Its number.
    pub(crate) id: NodeId,
    /// What it is called.
    pub(crate) name: String,
    /// What it does in this world, in a word.
    pub(crate) role: &'static str,
    /// Whether it runs.
    pub(crate) up: bool,
    /// Which queueing it speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Dialect>,
    /// Which retransmission it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<Profile>,
}

impl NodeInfo {
    pub(crate) fn new(id: NodeId, name: &str, role: &'static str, up: bool) -> Self {
        Self { id, name: name.to_owned(), role, up, dialect: None, profile: None }
    }
}

/// A story in a list.
#[derive(Serialize)]
pub(crate) struct Preset<S> {
    /// Its short name.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) title: String,
    /// What there is to see.
    pub(crate) text: String,
    /// All of it.
    pub(crate) scenario: S,
}

/// A mark on the timeline.
#[derive(Serialize)]
pub(crate) struct Pin {
    /// When.
    pub(crate) at: Instant,
    /// The record it stands at.
    pub(crate) seq: u64,
    /// What it is.
    pub(crate) kind: PinKind,
    /// The sentence for it.
    pub(crate) key: String,
    /// What is put into the sentence.
    pub(crate) args: Value,
}

/// What a mark is.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PinKind {
    /// Something was done to the world.
    Fault,
    /// An oracle found a rule broken.
    Violation,
}

/// A branch in a list.
#[derive(Serialize)]
pub(crate) struct BranchInfo<'a> {
    /// Its number.
    pub(crate) id: usize,
    /// The branch it left.
    pub(crate) parent: Option<usize>,
    /// When it left it.
    pub(crate) at: Instant,
    /// What it is called.
    pub(crate) name: &'a str,
}

/// How far a file's claims have been verified.
#[derive(Default, Serialize)]
pub(crate) struct Verified {
    /// Claims that were found true.
    pub(crate) checked: u64,
    /// Claims there are.
    pub(crate) total: u64,
    /// Where the first false one stands.
    pub(crate) diverged_at: Option<Instant>,
    /// The whole finding as one sentence.
    pub(crate) text: String,
}
