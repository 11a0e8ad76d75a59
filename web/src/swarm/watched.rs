//! What the lab needs to know about swarms.

use serde_json::Value;
use servent_core::time::Duration;
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::swarm::check::Oracles;
use servent_sim::swarm::{ActAt, Event, Scenario, Swarm, Tally, World, presets, why};
use servent_sim::{Keyframes, Timeline, Violation};

use super::picture;
use crate::lab::{NodeInfo, Survey, Watched};

/// With this many clients a keyframe is large, so fewer are kept.
const CROWD: u32 = 200;

/// The totals of the records, and the violations.
pub(crate) struct Counted {
    pub(crate) tally: Tally,
    oracles: Oracles,
}

impl Survey<Swarm> for Counted {
    fn new(scenario: &Scenario) -> Self {
        Self { tally: Tally::new(scenario), oracles: Oracles::new(scenario) }
    }

    fn see(&mut self, _: &World, record: &Record<Event>) {
        self.tally.see(record);
        self.oracles.see(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Swarm {
    type Survey = Counted;
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

    fn with_faults(scenario: &Scenario, faults: Vec<ActAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    fn keyframes(scenario: &Scenario) -> Keyframes {
        if scenario.count() > CROWD {
            Keyframes { every: 16_384, most: 24 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        }
    }

    fn nodes(world: &World, names: &[String]) -> Vec<NodeInfo> {
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

    fn why(record: &Record<Event>) -> Why {
        why::of(record)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        super::numbers::of(timeline, i)
    }

    fn look(world: &World, node: NodeId) -> serde_json::Result<Value> {
        if node == world.coordinator() {
            return serde_json::to_value(world.coordinator_view());
        }
        serde_json::to_value(world.client_view(node.0))
    }
}
