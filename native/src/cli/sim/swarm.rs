//! Runs swarms of clients that share a file.

use servent_core::swarm::SwarmPolicy;
use servent_core::time::Instant;
use servent_core::trace::Record;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::swarm::check::SwarmOracles;
use servent_sim::swarm::{Event, Result, Scenario, SwarmTally, SwarmWorld};

use super::{Run, RunEnd, RunOutcome};

/// Runs a scenario to its end, checked by the oracles. Unless the
/// end is open, every client that must get everything has to have it by then.
pub(super) fn play(scenario: &Scenario, how: RunEnd) -> Run {
    let (mut world, mut oracles) = (SwarmWorld::new(scenario), SwarmOracles::new(scenario));
    let mut tally = SwarmTally::new(scenario);
    let end = Instant::ZERO + scenario.horizon;
    let see = |record: &Record<Event>| {
        oracles.observe(record);
        tally.observe(record);
    };
    world.watch(end, SwarmWorld::finished, see);
    if !world.finished() {
        world.run_until(end, &mut Vec::new());
    }
    let result = tally.result(&world);
    let mut violations = oracles.violations().to_vec();
    if how != RunEnd::Open && !result.finished {
        violations.push(unfinished(&world, &result));
    }
    Run {
        scenario: scenario.id.clone(),
        seed: scenario.seed,
        seconds: world.now().since(Instant::ZERO).as_secs(),
        events: world.events(),
        records: world.records(),
        digest: format!("{:016x}", world.digest()),
        outcome: RunOutcome::Swarm { policy: scenario.swarm.policy, result },
        violations,
    }
}

fn unfinished(world: &SwarmWorld, result: &Result) -> Violation {
    Violation {
        seq: world.records(),
        at: world.now(),
        node: world.coordinator(),
        oracle: "swarm",
        key: "check.unfinished",
        args: vec![("whole", result.whole.to_string()), ("wanting", result.wanting.to_string())],
    }
}

/// The result as a sentence.
pub(super) fn told(policy: SwarmPolicy, result: &Result) -> String {
    let seconds = |micros: u64| format!("{}.{:01}", micros / 1_000_000, micros / 100_000 % 10);
    let thousandths = |n: u64| format!("{}.{:03}", n / 1_000, n % 1_000);
    let bound = result.bound.as_micros();
    let how = match (result.at, result.deadlocked) {
        (Some(at), _) => format!(
            "all {} served after {} s, {} × the bound of {} s",
            result.wanting,
            seconds(at.as_micros()),
            thousandths(result.ratio),
            seconds(bound),
        ),
        (None, Some(since)) => format!(
            "DEADLOCK: nothing moves since {} s and {} of {} are not served; the bound is {} s",
            seconds(since.as_micros()),
            result.wanting - result.whole,
            result.wanting,
            seconds(bound),
        ),
        (None, None) => format!(
            "{} of {} served so far; the bound is {} s",
            result.whole,
            result.wanting,
            seconds(bound),
        ),
    };
    let policy = match policy {
        SwarmPolicy::Seed2004 => "seed2004",
        SwarmPolicy::Adaptive => "adaptive",
    };
    format!(
        "{policy}: {how}, source sent {} copies, {} control messages a piece,",
        thousandths(result.source_copies),
        thousandths(result.messages),
    )
}
