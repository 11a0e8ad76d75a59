//! What the lab needs to know about worlds of servents.

use serde_json::Value;
use servent_core::node::WorldEvent;
use servent_core::time::Duration;
use servent_core::trace::why::{self, RecordReason};
use servent_core::trace::{Event, NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::queue::check::QueueOracles;
use servent_sim::queue::{
    FaultAt, Profile, Queue, QueueTally, QueueWorld, Role, Scenario, presets,
};
use servent_sim::{Keyframes, Timeline, Violation};

use crate::lab::{NodeInfo, Survey, Watched};

/// How many queue entries are shown in a node's state.
const CARDS: u32 = 50;

/// The totals of each server's queue, and the violations.
pub(crate) struct QueueCounts {
    tallies: Vec<QueueTally>,
    oracles: QueueOracles,
}

impl QueueCounts {
    /// The totals of a server's queue; `None` for a client.
    pub(crate) fn tally(&self, server: NodeId) -> Option<&QueueTally> {
        self.tallies.get(server.0 as usize)
    }
}

impl Survey<Queue> for QueueCounts {
    fn new(scenario: &Scenario) -> Self {
        let tallies = scenario.servers.iter().map(|server| QueueTally::new(server.queue.slots));
        Self { tallies: tallies.collect(), oracles: QueueOracles::new(scenario) }
    }

    fn observe(&mut self, _: &QueueWorld, record: &Record) {
        if let Some(tally) = self.tallies.get_mut(record.node.0 as usize) {
            tally.observe(record.at, &record.event);
        }
        self.oracles.observe(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Queue {
    type Survey = QueueCounts;
    const SCHEMA: &'static str = "servent:queue";

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> [&str; 3] {
        [&scenario.id, &scenario.title, &scenario.text]
    }

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn with_faults(scenario: &Scenario, faults: Vec<FaultAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    fn keyframes(_: &Scenario) -> Keyframes {
        Keyframes::default()
    }

    fn nodes(world: &QueueWorld, names: &[String]) -> Vec<NodeInfo> {
        let info = |((id, profile), name): ((NodeId, &Profile), &String)| {
            let role = match profile.role {
                Role::Server => "server",
                Role::Client => "client",
            };
            let info = NodeInfo::new(id, name, role, world.is_up(id));
            NodeInfo { dialect: Some(profile.dialect), ..info }
        };
        (0..).map(NodeId).zip(world.profiles()).zip(names).map(info).collect()
    }

    fn is_fault(event: &Event) -> bool {
        use WorldEvent::{Leads, Replaced, Saved, StandsBy, StoreAway};
        let follows = |event: &WorldEvent| {
            matches!(event, Leads { .. } | Replaced | Saved { .. } | StandsBy | StoreAway { .. })
        };
        matches!(event, Event::World(event) if !follows(event))
    }

    fn why(record: &Record) -> RecordReason {
        why::explain(record)
    }

    fn case(timeline: &Timeline<Self>, i: u64) -> Option<&'static str> {
        let record = timeline.record(i)?;
        let told = |event: &Event| serde_json::to_value(event).unwrap_or_default();
        let earlier = (0..i).rev().filter_map(|j| timeline.record(j));
        let site = timeline.world().scenario().site.is_some();
        let queue = matches!(record.event, Event::Queue(_));
        let earlier = earlier.filter(|old| (site && queue) || old.node == record.node);
        let earlier = earlier.map(|old| (old.at, told(&old.event)));
        super::cases::case_of(record.at, &told(&record.event), earlier)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        let record = timeline.record(i)?;
        let Event::Queue(event) = &record.event else { return None };
        let earlier = (0..i).rev().filter_map(|j| timeline.record(j));
        // Members of a site have one queue: any of them may have told it.
        let site = timeline.world().scenario().site.is_some();
        let earlier = earlier.filter(|old| site || old.node == record.node);
        let told = earlier.filter_map(|old| match &old.event {
            Event::Queue(event) => Some((old.at, event.clone())),
            _ => None,
        });
        super::numbers::list_numbers(record.at, event, told)
    }

    fn look(world: &QueueWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.view(node, 1, CARDS))
    }
}
