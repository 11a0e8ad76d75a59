//! Runs worlds of servents and their queues.

use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::Oracle as _;
use servent_sim::queue::check::Oracles;
use servent_sim::queue::{Role, Scenario, World};

use super::{Outcome, Run};

/// Runs a scenario to its end, checked by the oracles.
pub(super) fn play(scenario: Scenario, settle: bool) -> Run {
    let mut world: World = World::new(&scenario);
    let mut oracles = Oracles::new(&scenario);
    let end = Instant::ZERO + scenario.horizon;
    let last = Instant::ZERO + scenario.horizon.ratio(if settle { 10 } else { 1 }, 1);
    let mut fresh = Vec::new();
    while let Some(at) = world.next_at().filter(|at| *at <= last) {
        if at > end && everybody_done(&world) {
            break;
        }
        world.step(&mut fresh);
        fresh.iter().for_each(|record| oracles.see(record));
        fresh.clear();
    }
    if settle {
        oracles.finish(world.now());
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
