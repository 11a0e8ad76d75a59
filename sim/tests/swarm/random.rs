//! Whole swarms: the presets, the scenarios of the reference, and swarms drawn
//! at random, all watched by the oracle.

use servent_core::choose::Choose;
use servent_core::swarm::SwarmPolicy;
use servent_core::time::Duration;
use servent_sim::Oracle as _;
use servent_sim::swarm::check::SwarmOracles;
use servent_sim::swarm::{Habit, PeerGroup, Scenario, SwarmOutcome, SwarmWorld, presets, random};

/// Runs a swarm; true when every client that should has everything.
fn run(scenario: &Scenario) -> (bool, SwarmOutcome) {
    let mut oracles = SwarmOracles::new(scenario);
    let mut world = SwarmWorld::new(scenario);
    let finished = world.run(&mut oracles);
    assert_eq!(oracles.violations(), [], "{}", scenario.id);
    (finished, world.outcome())
}

fn swarm(pieces: u32, clients: Vec<PeerGroup>) -> Scenario {
    Scenario { pieces, clients, ..Scenario::default() }
}

fn honest(count: u32) -> PeerGroup {
    PeerGroup { count, ..PeerGroup::default() }
}

fn finishes(what: &str, scenario: &Scenario) -> SwarmOutcome {
    let (finished, outcome) = run(scenario);
    assert!(finished, "{what}: {outcome:?}");
    outcome
}

#[test]
fn the_rules_of_2004_deadlock_and_the_adaptive_ones_do_not() {
    let deadlock = presets::find("deadlock").expect("a preset");
    assert_eq!((deadlock.seed, deadlock.swarm.policy), (1, SwarmPolicy::Seed2004));
    let (finished, outcome) = run(&deadlock);
    assert!(!finished, "{outcome:?}");
    assert!(outcome.whole < outcome.wanting);
    let adaptive = deadlock.variant("adaptive").expect("its other half");
    finishes("adaptive", &adaptive);
}

#[test]
fn every_other_preset_finishes() {
    for preset in presets::all() {
        let large = preset.count() > 500;
        if preset.swarm.policy == SwarmPolicy::Adaptive && !large {
            finishes(&preset.id, &preset);
        }
    }
}

#[test]
fn rarest_first_needs_as_few_rounds_as_can_be() {
    let outcome = finishes("rarest first", &presets::find("rarest-first").expect("a preset"));
    let (makespan, bound) = (outcome.makespan.as_micros(), outcome.bound.as_micros());
    assert!(makespan * 100 <= bound * 103, "{outcome:?}");
    assert!(outcome.source_copies <= 1_100, "{outcome:?}");
    assert!(outcome.frames <= 4_000, "{outcome:?}");
}

#[test]
fn four_control_messages_a_piece_are_enough() {
    // No client in step with another: rates, ways and arrivals differ.
    let group = |up, latency, first| PeerGroup {
        up,
        latency: Duration::from_millis(latency),
        first: Duration::from_millis(first),
        spacing: Duration::from_millis(137),
        ..honest(8)
    };
    let clients = vec![group(90_000, 20, 0), group(130_000, 45, 300), group(210_000, 8, 900)];
    let outcome = finishes("out of step", &swarm(96, clients));
    assert!(outcome.frames <= 4_000, "{outcome:?}");
}

#[test]
fn scenarios_of_the_reference_finish() {
    let secs = Duration::from_secs;
    let late = PeerGroup { first: secs(20), spacing: secs(3), ..honest(6) };
    finishes("a wave and late joiners", &swarm(16, vec![honest(8), late]));
    let leaving = PeerGroup { stays: Some(secs(0)), spacing: secs(1), ..honest(12) };
    finishes("leave when done", &swarm(12, vec![leaving]));
    let churn = PeerGroup { vanishes: Some(secs(5)), returns: Some(secs(10)), ..honest(6) };
    finishes("churn", &swarm(16, vec![honest(6), churn]));
    for passive in [2, 4, 6] {
        let hidden = PeerGroup { passive: true, ..honest(passive) };
        finishes("passive share", &swarm(12, vec![honest(8 - passive), hidden]));
    }
    finishes(
        "firewalled",
        &swarm(12, vec![honest(3), PeerGroup { firewalled: true, ..honest(5) }]),
    );
    for habit in [Habit::Corrupt, Habit::FreeRider, Habit::Liar, Habit::Silent] {
        let bad = PeerGroup { habit, ..honest(2) };
        finishes("bad habits", &swarm(12, vec![honest(8), bad]));
    }
    let nat = PeerGroup { passive: true, nat: true, ..honest(4) };
    finishes("several behind one address", &swarm(8, vec![honest(4), nat]));
    let away = PeerGroup { vanishes: Some(secs(4)), returns: Some(secs(1_900)), ..honest(1) };
    finishes("away for longer than the ledger", &swarm(16, vec![honest(3), away]));
    for most in [(1, 1), (16, 16), (17, 17)] {
        let told = PeerGroup { most: Some(most), ..honest(6) };
        finishes("concurrency limits", &swarm(12, vec![told]));
    }
    let slow = PeerGroup { up: 20_000, ..honest(6) };
    let fast = PeerGroup { up: 900_000, down: 900_000, ..honest(3) };
    finishes("rates", &swarm(12, vec![slow, fast]));
    let slots = Scenario { source_slots: 5, ..swarm(12, vec![honest(6)]) };
    finishes("source slots", &slots);
    let restart = Scenario { restart: Some(secs(9)), ..swarm(24, vec![honest(8)]) };
    finishes("the coordinator is killed and comes back", &restart);
    let far = PeerGroup { latency: Duration::from_millis(500), ..honest(8) };
    finishes("far away", &swarm(16, vec![far]));
}

#[test]
fn the_same_swarm_runs_the_same_twice() {
    let scenario = random::draw(&mut Choose::random(7), 7);
    let records = |_| {
        let (mut world, mut all) = (SwarmWorld::new(&scenario), Vec::new());
        while !world.finished() && world.step(&mut all) {}
        (world.digest(), all)
    };
    assert_eq!(records(1), records(2));
}

/// Lets a swarm run and compares, after everything that happens, the credit
/// the records add up to with the one the coordinator goes by.
fn credit_agrees(scenario: &Scenario, most: u32) {
    let (mut oracles, mut world) = (SwarmOracles::new(scenario), SwarmWorld::new(scenario));
    let mut fresh = Vec::new();
    for _ in 0..most {
        if world.finished() || !world.step(&mut fresh) {
            break;
        }
        fresh.iter().for_each(|record| oracles.observe(record));
        for client in 0..scenario.count() {
            if let Some(standing) = world.standing(client) {
                let told = (client, Some(standing.credit));
                let last = fresh.last();
                assert_eq!((client, oracles.credit(client)), told, "{} {last:?}", scenario.id);
            }
        }
        fresh.clear();
    }
}

#[test]
fn credit_counted_from_the_records_is_the_coordinators() {
    credit_agrees(&presets::find("rarest-first").expect("a preset"), u32::MAX);
    for seed in 1..40 {
        credit_agrees(&random::draw(&mut Choose::random(seed), seed), 20_000);
    }
}

#[test]
fn whatever_is_drawn_nothing_is_lost() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (from, count) = (number("PIECES_FROM").unwrap_or(1), number("PIECES").unwrap_or(150));
    let mut failed = Vec::new();
    for seed in from..from + count {
        let scenario = random::draw(&mut Choose::random(seed), seed);
        let ran = std::panic::catch_unwind(|| run(&scenario));
        if !ran.as_ref().is_ok_and(|(finished, _)| *finished) {
            println!(
                "PIECES_FROM={seed} PIECES=1 cargo test -p servent-sim --test swarm drawn -- --nocapture    # {ran:?}"
            );
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "seeds that fail");
}

/// Four clients behind one address, which a liar fails: they share one account,
/// and what failed for one of them counts for all (SW-27).
#[test]
fn clients_behind_one_address_wait_together_for_what_failed() {
    let scenario = random::draw(&mut Choose::random(165), 165);
    assert!(scenario.clients.iter().any(|group| group.nat && group.count > 1));
    let (finished, outcome) = run(&scenario);
    assert!(finished, "{outcome:?}");
}

/// One of an address uses up the credit of both, and what one of them settles
/// when it leaves lets the others have pieces again (SW-25, SW-27).
#[test]
fn clients_behind_one_address_share_what_is_earned_and_what_is_owed() {
    for seed in [23_048, 24_792] {
        let (finished, outcome) = run(&random::draw(&mut Choose::random(seed), seed));
        assert!(finished, "seed {seed}: {outcome:?}");
    }
}
