//! What the page's frame has to know of a swarm.

use servent_core::time::Duration;
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record};
use servent_sim::Keyframes;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::swarm::check::Oracles;
use servent_sim::swarm::{Act, ActAt, Event, Scenario, Swarm, Tally, World, name, why};

use crate::common::json;
use crate::common::watch::{Survey, Watched};

/// Clients from which on a keyframe is large, so that fewer are kept.
const CROWD: u32 = 200;

/// What the records add up to, and what the oracles find.
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
    const SCHEMA: &'static str = "servent:pieces";

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn title(scenario: &Scenario) -> &str {
        &scenario.title
    }

    fn names(scenario: &Scenario) -> Vec<String> {
        (0..scenario.count()).map(name).chain([String::from("coordinator")]).collect()
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

    fn admit(world: &World, text: &str) -> Result<Act, String> {
        let act = ActAt::parse(text)?;
        world.scenario().admits(&act.act)?;
        Ok(act.act)
    }

    fn other(world: &World, record: &Record<Event>) -> Option<NodeId> {
        let giver = record.event.clients().1.map(NodeId);
        giver.or_else(|| record.event.is_from_source().then(|| world.coordinator()))
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> Why {
        why::of(record)
    }

    fn look(world: &World, node: NodeId) -> String {
        if node == world.coordinator() {
            return json(&world.coordinator_view());
        }
        json(&world.client_view(node.0))
    }
}
