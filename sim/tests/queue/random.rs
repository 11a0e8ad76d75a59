//! Whole scenarios drawn by [`Choose`], judged by all oracles.

use servent_core::choose::Choose;
use servent_sim::Oracle as _;
use servent_sim::Violation;
use servent_sim::queue::check::QueueOracles;
use servent_sim::queue::{Scenario, random};

use crate::presets::run;

fn violations(s: &Scenario) -> Vec<Violation> {
    let (_, records) = run(s);
    let mut oracles = QueueOracles::new(s);
    records.iter().for_each(|r| oracles.observe(r));
    oracles.finish(records.last().expect("something happened").at);
    oracles.violations().to_vec()
}

#[test]
fn whatever_goes_wrong_no_rule_is_broken_and_everything_finishes() {
    let from: u64 = std::env::var("SWARM_FROM").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SWARM").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let mut failed = Vec::new();
    for seed in from..from + count {
        let s = random::draw(&mut Choose::random(seed), seed);
        s.check().expect("a drawn scenario makes sense");
        let found = violations(&s);
        if let Some(first) = found.first() {
            println!(
                "servent sim random-queue --seed {seed}    # {} violations, first {first:?}",
                found.len()
            );
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "seeds that break a rule");
}

/// Servers restart while clients that they know are gone: no slot waits longer
/// for those than a moment.
#[test]
fn no_slot_waits_after_a_restart_for_clients_that_are_gone() {
    let from: u64 = std::env::var("SWARM_FROM").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SWARM").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let mut failed = Vec::new();
    // A client that was absent before a restart was waited for after it.
    for seed in (from..from + count).chain([4_077, 5_554, 6_251, 6_478]) {
        let s = random::draw_restarts(&mut Choose::random(seed), seed);
        s.check().expect("a drawn scenario makes sense");
        if let Some(first) = violations(&s).first() {
            println!("servent sim random-restarts --seed {seed}    # {first:?}");
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "seeds that break a rule");
}

/// Files become others while they are downloaded, whatever their servers say of the
/// version: what is whole is never made of two.
#[test]
fn whatever_changes_a_whole_download_is_one_version() {
    let from: u64 = std::env::var("SWARM_FROM").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SWARM").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let mut failed = Vec::new();
    // What was there of one source was too short to be compared, and nothing was
    // missing that could make it longer (1055, 2168, 2375, 3626); the source that lied
    // was not looked for again after bytes of unknown sources were dropped (3136, 3790);
    // one that had given nothing was not asked when all of another was wrong (4561).
    let known = [1_055, 2_168, 2_375, 3_136, 3_626, 3_790, 4_561];
    for seed in (from..from + count).chain(known) {
        let s = random::draw_versions(&mut Choose::random(seed), seed);
        s.check().expect("a drawn scenario makes sense");
        if let Some(first) = violations(&s).first() {
            println!("servent sim random-versions --seed {seed}    # {first:?}");
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "seeds that break a rule");
}

/// Several places end at one instant: what the queue decides because of the
/// first is told after what it decided with it.
#[test]
fn what_ends_at_one_instant_is_told_in_the_order_it_was_decided() {
    let seed = 6_555;
    assert_eq!(violations(&random::draw(&mut Choose::random(seed), seed)), []);
}

/// An impatient user asks again and again while the server cannot be reached:
/// the download does not end sooner.
#[test]
fn a_user_who_asks_again_does_not_make_a_download_end() {
    for seed in [39_777, 49_900] {
        assert_eq!(violations(&random::draw(&mut Choose::random(seed), seed)), []);
    }
}

#[test]
fn any_bytes_of_a_fuzzer_draw_a_scenario_that_makes_sense() {
    for len in 0..40u8 {
        let bytes: Vec<u8> = (0..len).map(|i| i.wrapping_mul(89) ^ len).collect();
        let s = random::draw(&mut Choose::from_bytes(bytes), u64::from(len));
        assert_eq!(s.check(), Ok(()));
    }
}
