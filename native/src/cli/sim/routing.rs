//! Runs worlds of routers.

use servent_core::time::Instant;
use servent_core::trace::Record;
use servent_sim::Oracle as _;
use servent_sim::routing::check::RoutingOracles;
use servent_sim::routing::{Event, RoutingWorld, Scenario, SearchEvent};

use super::{Run, RunOutcome};

/// Runs a scenario to its end, checked by the oracles.
pub(super) fn play(scenario: Scenario) -> Run {
    let (mut world, mut oracles) = (RoutingWorld::new(&scenario), RoutingOracles::new(&scenario));
    let end = Instant::ZERO + scenario.horizon;
    let (mut searches, mut answers) = (0, 0);
    let see = |record: &Record<Event>| {
        oracles.observe(record);
        match record.event {
            Event::App(SearchEvent::Searched { .. }) => searches += 1,
            Event::App(SearchEvent::Found { .. }) => answers += 1,
            _ => {}
        }
    };
    world.watch(end, |_| false, see);
    oracles.finish(end);
    let tally = world.tally(None).map(Box::new);
    Run {
        scenario: scenario.id,
        seed: scenario.seed,
        seconds: scenario.horizon.as_secs(),
        events: world.events(),
        records: world.records(),
        digest: format!("{:016x}", world.digest()),
        outcome: RunOutcome::Overlay { nodes: scenario.nodes, searches, answers, tally },
        violations: oracles.violations().to_vec(),
    }
}
