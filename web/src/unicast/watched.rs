//! What the lab needs to know about worlds of datagrams.

use serde_json::Value;
use servent_core::time::Duration;
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::unicast::check::UnicastOracles;
use servent_sim::unicast::{
    Diagram, Event, Scenario, Unicast, UnicastAction, UnicastActionAt, UnicastWorld, presets, why,
};
use servent_sim::{Keyframes, Timeline, Violation};

use crate::lab::{NodeInfo, Survey, Watched};

/// The drawing data, and the violations.
pub(crate) struct UnicastDrawing {
    pub(crate) diagram: Diagram,
    oracles: UnicastOracles,
}

impl Survey<Unicast> for UnicastDrawing {
    fn new(scenario: &Scenario) -> Self {
        Self { diagram: Diagram::default(), oracles: UnicastOracles::new(scenario) }
    }

    fn observe(&mut self, world: &UnicastWorld, record: &Record<Event>) {
        self.diagram.observe(world, record);
        self.oracles.observe(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Unicast {
    type Survey = UnicastDrawing;
    const SCHEMA: &'static str = "servent:unicast";

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> [&str; 3] {
        [&scenario.id, &scenario.title, &scenario.text]
    }

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn with_faults(scenario: &Scenario, faults: Vec<UnicastActionAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    fn keyframes(_: &Scenario) -> Keyframes {
        Keyframes { every: 512, ..Keyframes::default() }
    }

    fn nodes(world: &UnicastWorld, names: &[String]) -> Vec<NodeInfo> {
        let scenario = world.scenario();
        let info = |(id, name): (NodeId, &String)| {
            let info = NodeInfo::new(id, name, role(scenario, id), world.node(id).is_some());
            NodeInfo { profile: Some(scenario.profile), ..info }
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

    fn look(world: &UnicastWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.margins(node))
    }
}

/// A node's role in the script.
fn role(scenario: &Scenario, node: NodeId) -> &'static str {
    let (mut sends, mut receives) = (false, false);
    for step in scenario.script.iter().chain(&scenario.faults) {
        if let UnicastAction::Send(send) = &step.act {
            sends |= send.from == node;
            receives |= send.to == node;
        }
    }
    match (sends, receives) {
        (true, true) => "both",
        (true, false) => "sender",
        _ => "receiver",
    }
}
