//! Every record says why it is there, and every choice how it was made.

use servent_core::swarm::{self, Pick};
use servent_core::time::Instant;
use servent_core::trace::Record;
use servent_sim::swarm::{Event, SwarmWorld, presets, why};

fn records(id: &str, policy: &str) -> Vec<Record<Event>> {
    let scenario = presets::find(id).and_then(|s| s.variant(policy)).expect("a preset");
    let (mut world, mut records) = (SwarmWorld::new(&scenario), Vec::new());
    world.run_until(Instant::ZERO + scenario.horizon, &mut records);
    records
}

#[test]
fn causes_come_before_their_consequences_and_lead_somewhere() {
    let records = records("liar", "adaptive");
    let mut caused = 0;
    for record in &records {
        if let Some(cause) = record.cause {
            assert!(cause < record.seq, "{record:?}");
            caused += 1;
        }
    }
    assert!(caused * 10 > records.len() * 9, "{caused} of {}", records.len());
    let choice =
        |r: &&Record<Event>| matches!(r.event, Event::Swarm(swarm::Event::Assigned { .. }));
    let mut choices = records.iter().filter(choice);
    assert!(choices.all(|record| record.cause.is_some()), "a choice has a reason");
}

#[test]
fn what_the_coordinator_says_names_its_requirement() {
    for (id, policy) in [("liar", "adaptive"), ("firewalls", "adaptive"), ("deadlock", "seed2004")]
    {
        for record in records(id, policy) {
            let why = why::explain(&record);
            if let Event::Swarm(_) = record.event {
                assert!(why.id.is_some_and(|id| id.starts_with("SW-")), "{record:?}");
                assert!(why.key.starts_with("swarm."), "{}", why.key);
            }
        }
    }
}

/// Each step of the funnel leaves no more than the one before.
#[test]
fn a_funnel_only_narrows_and_holds_the_one_that_was_taken() {
    let mut seen = std::collections::BTreeSet::new();
    for (id, policy) in [
        ("free-piece", "adaptive"),
        ("liar", "adaptive"),
        ("firewalls", "adaptive"),
        ("rarest-first", "adaptive"),
        ("deadlock", "seed2004"),
    ] {
        for record in records(id, policy) {
            let Event::Swarm(swarm::Event::Assigned { up, put, why, funnel, .. }) = record.event
            else {
                continue;
            };
            let funnel = funnel.expect("presets explain themselves");
            seen.insert(why);
            assert!(funnel.useful <= funnel.reachable && funnel.passive <= funnel.useful);
            assert!(funnel.needed >= 1 && funnel.pieces <= funnel.needed, "{funnel:?}");
            assert!(funnel.rarest <= funnel.pieces);
            let peer = up.is_some();
            if peer {
                assert!(funnel.useful >= 1 && funnel.pieces >= 1 && funnel.rarest >= 1);
                assert!(funnel.waiting >= 1, "the taker itself waits: {funnel:?}");
                let mode = if put { funnel.passive } else { funnel.useful - funnel.passive };
                assert!(mode >= 1 && funnel.stalled <= mode, "{funnel:?}");
                let stalled = why == Pick::Stalled;
                assert!(if stalled { funnel.stalled >= 1 } else { funnel.stalled < mode });
            } else if why == Pick::Unseen {
                assert_eq!(funnel.copies, 0, "no peer has it");
                assert!(funnel.pieces >= 1);
            }
        }
    }
    let expected = [Pick::Stalled, Pick::Fastest, Pick::Unseen, Pick::Source, Pick::Retry];
    assert!(expected.iter().all(|pick| seen.contains(pick)), "{seen:?}");
}

/// To say how choices are made changes none of them.
#[test]
fn a_coordinator_that_explains_decides_the_same() {
    let mut scenario = presets::find("firewalls").expect("a preset");
    let end = Instant::ZERO + scenario.horizon;
    let run = |scenario: &servent_sim::swarm::Scenario| {
        let (mut world, mut records) = (SwarmWorld::new(scenario), Vec::new());
        world.run_until(end, &mut records);
        let bare = |mut record: Record<Event>| {
            if let Event::Swarm(swarm::Event::Assigned { funnel, .. }) = &mut record.event {
                *funnel = None;
            }
            record
        };
        records.into_iter().map(bare).collect::<Vec<_>>()
    };
    let told = run(&scenario);
    scenario.swarm.explain = false;
    assert_eq!(run(&scenario), told);
}
