//! Whole scenarios drawn by [`Choose`], judged by all oracles.

use servent_core::choose::Choose;
use servent_core::time::Instant;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::unicast::check::UnicastOracles;
use servent_sim::unicast::{Scenario, UnicastWorld, random};

/// What the oracles find in a run.
pub(crate) fn violations(s: &Scenario) -> Vec<Violation> {
    let (mut world, mut oracles) =
        (UnicastWorld::new(s), UnicastOracles::new(s).quiet_for(random::QUIET));
    let end = Instant::ZERO + s.horizon;
    world.watch(end, |_| false, |record| oracles.observe(record));
    oracles.finish(end);
    oracles.violations().to_vec()
}

/// The end of a lab's address that shows a scenario.
fn link(s: &Scenario) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let text = serde_json::to_string(s).expect("a scenario prints");
    let packed = miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 9);
    let mut link = String::from("#1/ladder?s=");
    for part in packed.chunks(3) {
        let bits = part.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - part.len()));
        let digit = |i: usize| char::from(DIGITS[(bits >> (18 - 6 * i)) as usize & 63]);
        link.extend((0..=part.len()).map(digit));
    }
    link
}

#[test]
fn a_link_to_a_drawn_scenario_fits_an_address() {
    let link = link(&random::draw(&mut Choose::random(7), 7));
    assert!(link.len() < 2_000 && link.is_ascii(), "{link}");
}

pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The seeds of one part of four, so that they run side by side.
fn judge(part: u64) {
    let from = number("SWARM_FROM", 1);
    let count = number("SWARM", 10_000);
    let mut failed = Vec::new();
    for seed in (from..from + count).filter(|seed| seed % 4 == part) {
        let s = random::draw(&mut Choose::random(seed), seed);
        s.check().expect("a drawn scenario makes sense");
        if let Some(first) = violations(&s).first() {
            println!("servent sim random-unicast --seed {seed}    # first {first:?}");
            println!("in the lab: {}", link(&s));
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "seeds that break a rule");
}

#[test]
fn first_quarter_of_random_scenarios() {
    judge(0);
}

#[test]
fn second_quarter_of_random_scenarios() {
    judge(1);
}

#[test]
fn third_quarter_of_random_scenarios() {
    judge(2);
}

#[test]
fn last_quarter_of_random_scenarios() {
    judge(3);
}

/// A reader that crashes loses what it has not acknowledged: sending that again
/// is no waste.
#[test]
fn what_a_crash_lost_may_be_sent_again() {
    let seed = 32_721;
    assert_eq!(violations(&random::draw(&mut Choose::random(seed), seed)), []);
}

#[test]
fn any_bytes_of_a_fuzzer_draw_a_scenario_that_makes_sense() {
    for len in 0..60u8 {
        let bytes: Vec<u8> = (0..len).map(|i| i.wrapping_mul(89) ^ len).collect();
        let s = random::draw(&mut Choose::from_bytes(bytes), u64::from(len));
        assert_eq!(s.check(), Ok(()));
    }
}
