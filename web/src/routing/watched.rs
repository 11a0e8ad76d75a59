//! What the lab needs to know about overlays.

use serde_json::Value;
use servent_core::routing::Router;
use servent_core::time::Duration;
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::routing::check::RoutingOracles;
use servent_sim::routing::{
    Chart, Event, Routing, RoutingActionAt, RoutingWorld, Scenario, presets, why,
};
use servent_sim::{Keyframes, Timeline, Violation};

use super::searches::roles;
use crate::lab::{NodeInfo, Survey, Watched};

/// With this many nodes a keyframe is large, so fewer are kept.
const CROWD: u32 = 1_000;

/// The drawing data, and the violations.
pub(crate) struct RoutingDrawing {
    pub(crate) chart: Chart,
    oracles: RoutingOracles,
}

impl Survey<Routing> for RoutingDrawing {
    fn new(scenario: &Scenario) -> Self {
        Self { chart: Chart::default(), oracles: RoutingOracles::new(scenario) }
    }

    fn observe(&mut self, world: &RoutingWorld, record: &Record<Event>) {
        self.chart.observe(world.net(), record);
        self.oracles.observe(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Routing {
    type Survey = RoutingDrawing;
    const SCHEMA: &'static str = "servent:routing";

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> [&str; 3] {
        [&scenario.id, &scenario.title, &scenario.text]
    }

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn with_faults(scenario: &Scenario, faults: Vec<RoutingActionAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    /// A keyframe of a large overlay costs memory for every node that changed
    /// since the last one, and running on from it costs time for every message.
    fn keyframes(scenario: &Scenario) -> Keyframes {
        if scenario.nodes > CROWD {
            Keyframes { every: 2_048, most: 64 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        }
    }

    fn nodes(world: &RoutingWorld, names: &[String]) -> Vec<NodeInfo> {
        let roles = roles(world.scenario());
        let info = |((id, name), role): ((NodeId, &String), &'static str)| {
            NodeInfo::new(id, name, role, world.node(id).is_some())
        };
        (0..).map(NodeId).zip(names).zip(roles).map(info).collect()
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> RecordReason {
        why(record)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        super::numbers::list_numbers(timeline, i)
    }

    fn look(world: &RoutingWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.node(node).map(Router::view))
    }
}
