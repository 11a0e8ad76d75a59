//! What the page's frame has to know of an overlay.

use servent_core::time::Duration;
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record};
use servent_sim::Keyframes;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::routing::check::Oracles;
use servent_sim::routing::{Act, ActAt, Chart, Event, Routing, Scenario, World, why};

use crate::common::json;
use crate::common::watch::{Survey, Watched};

/// The picture, and what the oracles find.
pub(crate) struct Drawn {
    pub(crate) chart: Chart,
    oracles: Oracles,
}

impl Survey<Routing> for Drawn {
    fn new(scenario: &Scenario) -> Self {
        Self { chart: Chart::default(), oracles: Oracles::new(scenario) }
    }

    fn see(&mut self, world: &World, record: &Record<Event>) {
        self.chart.see(world.net(), record);
        self.oracles.see(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Routing {
    type Survey = Drawn;
    const SCHEMA: &'static str = "servent:overlay";

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn title(scenario: &Scenario) -> &str {
        &scenario.title
    }

    fn names(scenario: &Scenario) -> Vec<String> {
        (0..scenario.nodes).map(|node| scenario.name(NodeId(node))).collect()
    }

    fn with_faults(scenario: &Scenario, faults: Vec<ActAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    /// What lies between two keyframes of a large overlay costs memory for
    /// every node it touches, and time for every message.
    fn keyframes(scenario: &Scenario) -> Keyframes {
        if scenario.nodes > 1_000 {
            Keyframes { every: 2_048, most: 64 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        }
    }

    fn admit(world: &World, text: &str) -> Result<Act, String> {
        let act = ActAt::parse(text)?;
        world.scenario().admits(&act.act)?;
        world.possible(&act.act)?;
        Ok(act.act)
    }

    fn other(world: &World, record: &Record<Event>) -> Option<NodeId> {
        world.other(record)
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> Why {
        why(record)
    }

    fn look(world: &World, node: NodeId) -> String {
        json(&world.node(node).map(servent_core::routing::Router::view))
    }
}
