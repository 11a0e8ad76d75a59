//! What the lab needs to know about swarms.

use serde_json::Value;
use servent_core::time::Duration;
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::swarm::check::SwarmOracles;
use servent_sim::swarm::{
    Event, Scenario, Swarm, SwarmActionAt, SwarmTally, SwarmWorld, presets, why,
};
use servent_sim::{Keyframes, Timeline, Violation};

use super::picture;
use crate::lab::{NodeInfo, Survey, Watched};

/// With this many clients a keyframe is large, so fewer are kept.
const CROWD: u32 = 200;

/// The totals of the records, and the violations.
pub(crate) struct SwarmCounts {
    pub(crate) tally: SwarmTally,
    oracles: SwarmOracles,
}

impl Survey<Swarm> for SwarmCounts {
    fn new(scenario: &Scenario) -> Self {
        Self { tally: SwarmTally::new(scenario), oracles: SwarmOracles::new(scenario) }
    }

    fn observe(&mut self, _: &SwarmWorld, record: &Record<Event>) {
        self.tally.observe(record);
        self.oracles.observe(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Swarm {
    type Survey = SwarmCounts;
    const SCHEMA: &'static str = "servent:swarm";

    fn presets() -> Vec<Scenario> {
        presets::all().into_iter().collect()
    }

    fn about(scenario: &Scenario) -> [&str; 3] {
        [&scenario.id, &scenario.title, &scenario.text]
    }

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn with_faults(scenario: &Scenario, faults: Vec<SwarmActionAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    fn keyframes(scenario: &Scenario) -> Keyframes {
        if scenario.count() > CROWD {
            Keyframes { every: 16_384, most: 24 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        }
    }

    fn nodes(world: &SwarmWorld, names: &[String]) -> Vec<NodeInfo> {
        let info = |(id, name): (NodeId, &String)| {
            let (role, up) = match world.summary(id.0) {
                Some(glance) => (picture::role(glance.habit), glance.up),
                None => ("coordinator", true),
            };
            NodeInfo::new(id, name, role, up)
        };
        (0..).map(NodeId).zip(names).map(info).collect()
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> RecordReason {
        why::explain(record)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        super::numbers::list_numbers(timeline, i)
    }

    fn look(world: &SwarmWorld, node: NodeId) -> serde_json::Result<Value> {
        if node == world.coordinator() {
            return serde_json::to_value(world.coordinator_view());
        }
        serde_json::to_value(world.client_view(node.0))
    }
}
