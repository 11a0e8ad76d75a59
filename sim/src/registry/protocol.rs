//! What a protocol registers: its scenarios, its oracles, how a run of it is
//! judged, and what is shown of it.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use servent_core::choose::Choose;
use servent_core::queue::Dialect;
use servent_core::time::{Duration, Instant};
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record, RecordCause};
use servent_core::unicast::Profile;

use super::limits::Limits;
use super::played::{PlayedRun, RunEnd};
use super::walk::WorldWalk;
use crate::{At, Keyframes, Oracle, Protocol, ScenarioError, Timeline, World};

/// A protocol in the registry.
pub trait RegisteredProtocol:
    Protocol<
        Scenario: Serialize + DeserializeOwned,
        Event: Serialize + DeserializeOwned,
        Fault: Serialize + DeserializeOwned,
    > + 'static
{
    /// Its name: in files, on the command line, in the page.
    const NAME: &'static str;
    /// An example is found by its name, and is in no list.
    const EXAMPLE: bool = false;
    /// The generators of random worlds.
    const DRAWN: &'static [DrawnWorlds<Self::Scenario>];
    /// All its rules.
    type Oracles: Oracle<Event = Self::Event> + Clone + Debug;
    /// What its view needs of the records so far.
    type Drawing: Drawing<Self>;

    // Scenarios.

    /// The scenarios that come with it.
    fn presets() -> Vec<Self::Scenario>;
    /// The description of a scenario.
    fn about(scenario: &Self::Scenario) -> About<'_>;
    /// What every scenario has, to be changed.
    fn parts(scenario: &mut Self::Scenario) -> Parts<'_, Self::Fault>;
    /// Small worlds that are explored completely, with their limits.
    fn small_worlds() -> Vec<SmallWorld<Self::Scenario>> {
        Vec::new()
    }
    /// A walk over every order of events of a scenario; `None` while worlds of
    /// this protocol cannot be explored.
    fn walk(_: &Self::Scenario, _: Limits) -> Option<BegunWalk> {
        None
    }
    /// True when running some thousand events of it takes no second: what
    /// strangers send is tried only then.
    fn is_small(_: &Self::Scenario) -> bool {
        true
    }

    // Runs.

    /// The oracles for a run that ends so.
    fn oracles(scenario: &Self::Scenario, end: RunEnd) -> Self::Oracles;
    /// Runs a scenario to its end, watched by the oracles.
    fn play(scenario: &Self::Scenario, end: RunEnd) -> PlayedRun;
    /// What the whole run comes to.
    fn totals(world: &World<Self>, records: &[Record<Self::Event>]) -> Map<String, Value>;

    // What is shown.

    /// The spacing of keyframes.
    fn keyframes(_: &Self::Scenario) -> Keyframes {
        Keyframes::default()
    }
    /// What the nodes are called, by their numbers.
    fn names(world: &World<Self>) -> Vec<String>;
    /// All nodes, with these names.
    fn nodes(world: &World<Self>, names: &[String]) -> Vec<NodeInfo>;
    /// The other node a record is about; of an earlier record its node and its
    /// cause are found by number.
    fn other(
        world: &World<Self>,
        earlier: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Self::Event>,
    ) -> Option<NodeId>;
    /// Completes which nodes the facts are about, where one alone does not tell.
    fn relate(_: &mut [Fact]) {}
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
    fn numbers(_: &Timeline<Self>, _: u64) -> Option<Value> {
        None
    }
    /// A node's state; `null` while it is down.
    ///
    /// # Errors
    /// When the state cannot be written as JSON.
    fn look(world: &World<Self>, node: NodeId) -> serde_json::Result<Value>;
}

/// A generator of random worlds.
#[derive(Debug, Clone, Copy)]
pub struct DrawnWorlds<S> {
    /// Its name; `servent sim random-NAME` runs one.
    pub name: &'static str,
    /// Generates the scenario of a seed.
    pub draw: fn(&mut Choose, u64) -> S,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Fact {
    /// When.
    pub at: Instant,
    /// Whose record it is.
    pub node: u32,
    /// The other node it is about.
    pub other: Option<u32>,
    /// The area and what, as `queue.lost`.
    pub kind: String,
    /// All that was recorded of it.
    pub fields: Map<String, Value>,
}

/// A walk that begins, or what is wrong with its scenario.
pub type BegunWalk = Result<Box<dyn WorldWalk>, ScenarioError>;

/// A world that is small enough to be explored completely.
#[derive(Debug, Clone)]
pub struct SmallWorld<S> {
    /// Its scenario; only the order of its actions counts, not their instants.
    pub scenario: S,
    /// What may go wrong in it.
    pub limits: Limits,
}

/// The description of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct About<'a> {
    /// A short name for links and commands.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// What there is to see.
    pub text: &'a str,
}

/// What every scenario has, whatever its protocol.
#[derive(Debug)]
pub struct Parts<'a, F> {
    /// Every draw follows from it.
    pub seed: &'a mut u64,
    /// How long it is worth watching.
    pub horizon: &'a mut Duration,
    /// What is done to it.
    pub faults: &'a mut Vec<At<F>>,
}

/// What a view needs, gathered from the records once, as they become known.
pub trait Drawing<P: Protocol>: Debug {
    /// The state before the first record.
    fn new(scenario: &P::Scenario) -> Self;
    /// Processes the next record.
    fn observe(&mut self, world: &World<P>, record: &Record<P::Event>);
}

/// A view that needs nothing but the world.
impl<P: Protocol> Drawing<P> for () {
    fn new(_: &P::Scenario) -> Self {}

    fn observe(&mut self, _: &World<P>, _: &Record<P::Event>) {}
}

/// A node in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeInfo {
    /// Its number.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// Its role in this world, in one word.
    pub role: &'static str,
    /// Whether it runs.
    pub up: bool,
    /// Its queueing dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Its retransmission profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

impl NodeInfo {
    /// A node without a dialect or a profile.
    #[must_use]
    pub fn new(id: NodeId, name: &str, role: &'static str, up: bool) -> Self {
        Self { id, name: name.to_owned(), role, up, dialect: None, profile: None }
    }
}

/// The fields of some totals, by their names. Times are microseconds.
#[must_use]
pub fn fields(totals: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(totals) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
