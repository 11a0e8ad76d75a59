//! What the page's frame has to know of a world of messengers.

use servent_core::time::Duration;
use servent_core::trace::why::Why;
use servent_core::trace::{NodeId, Record};
use servent_sim::Keyframes;
use servent_sim::Violation;
use servent_sim::unicast::check::Oracles;
use servent_sim::unicast::{Act, ActAt, Event, Scenario, Sheet, World, why};

use crate::common::json;
use crate::common::watch::{Survey, Watched};

/// The picture, and what the oracles find.
pub(crate) struct Drawn {
    pub(crate) sheet: Sheet,
    oracles: Oracles,
}

impl Survey<World> for Drawn {
    fn new(scenario: &Scenario) -> Self {
        Self { sheet: Sheet::default(), oracles: Oracles::new(scenario) }
    }

    fn see(&mut self, world: &World, record: &Record<Event>) {
        self.sheet.see(world, record);
        self.oracles.see(record);
    }

    fn violations(&self) -> &[Violation] {
        self.oracles.violations()
    }
}

impl Watched for World {
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

    fn admit(&self, text: &str) -> Result<ActAt, String> {
        let act = ActAt::parse(text)?;
        self.scenario().admits(&act.act)?;
        if let Act::Drop { from, to, n }
        | Act::Delay { from, to, n, .. }
        | Act::Duplicate { from, to, n, .. } = &act.act
            && !self.can_rule(*from, *to, *n)
        {
            return Err(String::from("that datagram has arrived, or is lost already"));
        }
        Ok(act)
    }

    fn other(&self, record: &Record<Event>) -> Option<NodeId> {
        self.other(&record.event)
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> Why {
        why::of(record)
    }

    fn look(&self, node: NodeId) -> String {
        json(&self.margins(node))
    }
}
