//! The presets with the real node, judged by all oracles.

use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::queue::check::QueueOracles;
use servent_sim::queue::{QueueWorld, Role, Scenario, presets};

pub(crate) fn run(s: &Scenario) -> (QueueWorld, Vec<Record>) {
    let mut world = QueueWorld::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    (world, records)
}

/// Runs a scenario and panics with the first violations, and a command that
/// shows them.
pub(crate) fn judge(s: &Scenario) -> (QueueWorld, Vec<Record>) {
    let (world, records) = run(s);
    let mut oracles = QueueOracles::new(s);
    records.iter().for_each(|r| oracles.observe(r));
    oracles.finish(records.last().expect("something happened").at);
    let found = oracles.violations();
    let few = &found[..found.len().min(3)];
    assert!(found.is_empty(), "{} violations in {}: {few:#?}", found.len(), s.id);
    (world, records)
}

#[test]
fn every_preset_holds_every_oracle_and_serves_every_client() {
    let variants = |s: Scenario| {
        let others: Vec<_> = s.variants.iter().filter_map(|v| s.variant(&v.name)).collect();
        std::iter::once(s).chain(others)
    };
    for s in presets::all().flat_map(variants) {
        let (world, _) = judge(&s);
        for (i, profile) in world.profiles().iter().enumerate() {
            if profile.role == Role::Client {
                assert_eq!(world.outcome(NodeId(i as u32)), (1, 0), "{} in {}", profile.name, s.id);
            }
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_digest() {
    let s = presets::find("cut-the-wire").expect("a preset");
    assert_eq!(run(&s).0.digest(), run(&s).0.digest());
    let other = Scenario { seed: s.seed + 1, ..s.clone() };
    assert_ne!(run(&s).0.digest(), run(&other).0.digest());
}
