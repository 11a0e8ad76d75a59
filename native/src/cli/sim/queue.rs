//! Runs worlds of servents and their queues.

use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::Oracle as _;
use servent_sim::queue::check::QueueOracles;
use servent_sim::queue::{QueueWorld, Role, Scenario};

use super::{Run, RunEnd, RunOutcome};

/// Runs a scenario to its end, checked by the oracles.
pub(super) fn play(scenario: Scenario, how: RunEnd) -> Run {
    let mut world: QueueWorld = QueueWorld::new(&scenario);
    let mut oracles = QueueOracles::new(&scenario);
    let end = Instant::ZERO + scenario.horizon;
    let last =
        Instant::ZERO + scenario.horizon.ratio(if how == RunEnd::Settled { 10 } else { 1 }, 1);
    world.watch(end, |_| false, |record| oracles.observe(record));
    world.watch(last, everybody_done, |record| oracles.observe(record));
    if how != RunEnd::Open {
        oracles.finish(world.now().max(end));
    }
    let (whole, failed) = outcomes(&world).fold((0, 0), |(w, f), (a, b)| (w + a, f + b));
    Run {
        scenario: scenario.id,
        seed: scenario.seed,
        seconds: world.now().max(end).since(Instant::ZERO).as_secs(),
        events: world.events(),
        records: world.records(),
        digest: format!("{:016x}", world.digest()),
        outcome: RunOutcome::Downloads { whole, failed },
        violations: oracles.violations().to_vec(),
    }
}

/// Complete and failed downloads of each client.
fn outcomes(world: &QueueWorld) -> impl Iterator<Item = (u32, u32)> + '_ {
    let clients = world.profiles().iter().zip(0u32..).filter(|(p, _)| p.role == Role::Client);
    clients.map(|(_, id)| world.outcome(NodeId(id)))
}

fn everybody_done(world: &QueueWorld) -> bool {
    outcomes(world).all(|(whole, failed)| whole + failed > 0)
}
