//! Runs worlds of servents and their queues.

use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::Oracle as _;
use servent_sim::queue::check::Oracles;
use servent_sim::queue::{Role, Scenario, World};

use super::{End, Outcome, Run};

/// Runs a scenario to its end, checked by the oracles.
pub(super) fn play(scenario: Scenario, how: End) -> Run {
    let mut world: World = World::new(&scenario);
    let mut oracles = Oracles::new(&scenario);
    let end = Instant::ZERO + scenario.horizon;
    let last = Instant::ZERO + scenario.horizon.ratio(if how == End::Settled { 10 } else { 1 }, 1);
    world.watch(end, |_| false, |record| oracles.see(record));
    world.watch(last, everybody_done, |record| oracles.see(record));
    if how != End::Open {
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
        outcome: Outcome::Downloads { whole, failed },
        violations: oracles.violations().to_vec(),
    }
}

/// Complete and failed downloads of each client.
fn outcomes(world: &World) -> impl Iterator<Item = (u32, u32)> + '_ {
    let clients = world.profiles().iter().zip(0u32..).filter(|(p, _)| p.role == Role::Client);
    clients.map(|(_, id)| world.outcome(NodeId(id)))
}

fn everybody_done(world: &World) -> bool {
    outcomes(world).all(|(whole, failed)| whole + failed > 0)
}
