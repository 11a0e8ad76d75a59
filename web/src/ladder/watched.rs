//! What the page's frame has to know of a world of messengers.

use servent_core::time::Duration;
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record};
use servent_sim::Keyframes;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::unicast::check::Oracles;
use servent_sim::unicast::{Act, ActAt, Diagram, Event, Scenario, Unicast, World, why};

use crate::common::json;
use crate::common::watch::{Survey, Watched};

/// The picture, and what the oracles find.
pub(crate) struct Drawn {
    pub(crate) diagram: Diagram,
    oracles: Oracles,
}

impl Survey<Unicast> for Drawn {
    fn new(scenario: &Scenario) -> Self {
        Self { diagram: Diagram::default(), oracles: Oracles::new(scenario) }
    }

    fn see(&mut self, world: &World, record: &Record<Event>) {
        self.diagram.see(world, record);
        self.oracles.see(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for Unicast {
    type Survey = Drawn;
    const SCHEMA: &'static str = "servent:ladder";

    fn horizon(scenario: &Scenario) -> Duration {
        scenario.horizon
    }

    fn title(scenario: &Scenario) -> &str {
        &scenario.title
    }

    fn names(scenario: &Scenario) -> Vec<String> {
        scenario.nodes.iter().map(|party| party.name.clone()).collect()
    }

    fn with_faults(scenario: &Scenario, faults: Vec<ActAt>) -> Scenario {
        Scenario { faults, ..scenario.clone() }
    }

    fn keyframes(_: &Scenario) -> Keyframes {
        Keyframes { every: 512, ..Keyframes::default() }
    }

    fn admit(world: &World, text: &str) -> Result<Act, String> {
        let act = ActAt::parse(text)?;
        world.scenario().admits(&act.act)?;
        if let Act::Drop { from, to, n }
        | Act::Delay { from, to, n, .. }
        | Act::Duplicate { from, to, n, .. } = &act.act
            && !world.can_rule(*from, *to, *n)
        {
            return Err(String::from("that datagram has arrived, or is lost already"));
        }
        Ok(act.act)
    }

    fn other(world: &World, record: &Record<Event>) -> Option<NodeId> {
        world.other(&record.event)
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> Why {
        why::of(record)
    }

    fn look(world: &World, node: NodeId) -> String {
        json(&world.margins(node))
    }
}
