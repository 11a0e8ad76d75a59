//! Whole overlays drawn by [`Choose`], judged by all oracles.

use servent_core::choose::Choose;
use servent_core::time::Instant;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::routing::check::RoutingOracles;
use servent_sim::routing::{RoutingWorld, Scenario, random};

/// What the oracles find in a run.
pub(crate) fn violations(s: &Scenario) -> Vec<Violation> {
    let (mut world, mut oracles) = (RoutingWorld::new(s), RoutingOracles::new(s));
    let end = Instant::ZERO + s.horizon;
    world.watch(end, |_| false, |record| oracles.observe(record));
    oracles.finish(end);
    oracles.violations().to_vec()
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// `OVERLAYS=10000` for many, `OVERLAYS_FROM` for others.
#[test]
fn whatever_is_drawn_no_rule_is_broken() {
    let (from, count) = (number("OVERLAYS_FROM", 1), number("OVERLAYS", 150));
    let mut failed = Vec::new();
    for seed in from..from + count {
        let s = random::draw(&mut Choose::random(seed), seed);
        s.check().expect("a drawn scenario makes sense");
        if let Some(first) = violations(&s).first() {
            println!("servent sim random-routing --seed {seed}    # first {first:?}");
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "seeds that break a rule");
}

/// A query that comes again after its life, one whose first neighbour is gone,
/// a leaf's search that outlives its entry, and a way of pushes that lives for
/// its second life.
#[test]
fn queries_that_come_again_and_ways_that_end_keep_the_rules() {
    for seed in [12_185, 19_485, 13_000, 2_561, 24_696, 30_612] {
        let found = violations(&random::draw(&mut Choose::random(seed), seed));
        assert_eq!(found, [], "seed {seed}");
    }
}

#[test]
fn any_bytes_of_a_fuzzer_draw_a_scenario_that_makes_sense() {
    for len in 0..60u8 {
        let bytes: Vec<u8> = (0..len).map(|i| i.wrapping_mul(89) ^ len).collect();
        let s = random::draw(&mut Choose::from_bytes(bytes), u64::from(len));
        assert_eq!(s.check(), Ok(()));
    }
}
