//! The digest of every preset under both policies, pinned: a person who changes
//! what the coordinator decides sees it here, and every target must agree.

use servent_core::time::Instant;
use servent_sim::swarm::{Scenario, SwarmWorld, presets};

const PINNED: &str = include_str!("digests.txt");

/// How far the crowd is run: all of it takes long without optimization.
const CROWD: Instant = Instant::from_secs(12);

fn digest(scenario: &Scenario) -> u64 {
    let mut world = SwarmWorld::new(scenario);
    let end = Instant::ZERO + scenario.horizon;
    let end = if scenario.count() > 500 { CROWD } else { end };
    let mut scratch = Vec::new();
    while world.next_at().is_some_and(|at| at <= end) {
        world.step(&mut scratch);
        scratch.clear();
    }
    world.digest()
}

#[test]
fn every_preset_has_the_digest_it_had() {
    let mut now = String::new();
    for preset in presets::all() {
        for variant in &preset.variants {
            let s = preset.variant(&variant.name).expect("a variant of its own");
            now += &format!("{} {} {:016x}\n", s.id, variant.name, digest(&s));
        }
    }
    if std::env::var_os("PIN").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/swarm/digests.txt");
        return std::fs::write(file, now).expect("the file can be written");
    }
    let pin = "PIN=1 cargo test -p servent-sim --test swarm digest";
    assert_eq!(now, PINNED, "if this change is meant: {pin}");
}
