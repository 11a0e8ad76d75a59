//! Time travel over a swarm: seek is run, steps undo each other, a fault on
//! the past opens a branch.

use proptest::prelude::*;
use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_sim::swarm::{Habit, Scenario, Swarm, SwarmAction, SwarmActionAt, SwarmWorld, random};
use servent_sim::{Keyframes, Timeline};

/// What is looked at.
const END: Instant = Instant::from_secs(60);

fn timeline(s: &Scenario) -> Timeline<Swarm> {
    Timeline::new(s, Keyframes { every: 64, most: 8 })
}

fn drawn(seed: u64) -> Scenario {
    let scenario = random::draw(&mut Choose::random(seed), seed);
    Scenario { horizon: END.since(Instant::ZERO), ..scenario }
}

type Look = (u64, u64, Vec<u8>, String);

/// What a world looks like at an instant when it is simply run.
fn run(s: &Scenario, to: Instant) -> Look {
    let mut world = SwarmWorld::new(s);
    world.run_until(to, &mut Vec::new());
    look(&world)
}

fn look(world: &SwarmWorld) -> Look {
    let rows = (0..).map_while(|client| world.client_view(client));
    let rows = format!("{:?} {:?}", rows.collect::<Vec<_>>(), world.coordinator_view());
    (world.digest(), world.records(), world.cells(), rows)
}

fn any_fault() -> impl Strategy<Value = SwarmActionAt> {
    let client = NodeId(0);
    let act = prop_oneof![
        Just(SwarmAction::Kill { client }),
        Just(SwarmAction::Restart { client }),
        Just(SwarmAction::Stall { client }),
        Just(SwarmAction::Passive { client }),
        Just(SwarmAction::Habit { client, habit: Habit::Corrupt }),
        Just(SwarmAction::RestartCoordinator {}),
    ];
    (0..40_000_000u64, act)
        .prop_map(|(at, act)| SwarmActionAt { at: Instant::from_micros(at), act })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn seek_is_run(seed: u64, to in prop::collection::vec(0..60_000_000u64, 1..4)) {
        let s = drawn(seed);
        let mut t = timeline(&s);
        for to in to {
            let to = Instant::from_micros(to);
            t.seek(to);
            prop_assert_eq!(look(t.world()), run(&s, to));
        }
    }

    #[test]
    fn a_step_forward_and_a_step_back_are_no_step(seed: u64, at in 0u64..400) {
        let s = drawn(seed);
        let mut t = timeline(&s);
        prop_assume!(t.seek_record(at, END));
        let before = (t.index(), t.now(), look(t.world()));
        if t.step(true, END) {
            prop_assert_eq!(t.index(), before.0 + 1);
            prop_assert!(t.step(false, END));
        }
        prop_assert_eq!(&(t.index(), t.now(), look(t.world())), &before);
    }

    #[test]
    fn a_branch_is_the_scenario_with_that_fault(seed: u64, fault in any_fault(), at in 0..60_000_000u64) {
        let s = drawn(seed);
        let mut t = timeline(&s);
        t.explore(END, u64::MAX);
        t.seek(fault.at);
        prop_assert_eq!(t.inject(fault.act), Some(1));
        t.explore(END, u64::MAX);
        let planned = Scenario { faults: t.faults().to_vec(), ..s.clone() };
        for to in [END, Instant::from_micros(at)] {
            t.seek(to);
            prop_assert_eq!(look(t.world()), run(&planned, to));
        }
        prop_assert!(t.use_branch(0));
        t.seek(END);
        prop_assert_eq!(look(t.world()), run(&s, END));
    }

    #[test]
    fn the_world_before_a_record_is_the_one_that_makes_it(seed: u64, i in 0u64..300) {
        let s = drawn(seed);
        let mut t = timeline(&s);
        prop_assume!(t.seek_record(i, END));
        let mut world = t.world_before(i);
        prop_assert!(world.records() <= i);
        let mut fresh = Vec::new();
        while world.records() <= i {
            world.step(&mut fresh);
        }
        let made = fresh.into_iter().find(|record| record.seq == i);
        prop_assert_eq!(made.as_ref(), t.record(i));
    }
}

#[test]
fn a_scenario_comes_back_from_its_text() {
    for seed in 0..60 {
        let mut scenario = drawn(seed);
        let at = Instant::from_micros(seed);
        scenario.faults.push(SwarmActionAt { at, act: SwarmAction::Kill { client: NodeId(0) } });
        let text = serde_json::to_string(&scenario).expect("JSON");
        assert_eq!(Scenario::parse(&text), Ok(scenario), "{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let group = r#"{"count":3}"#;
    for (text, what) in [
        (r#"{"clients":[]}"#.to_owned(), "clients"),
        (r#"{"clients":[{"count":10001}]}"#.to_owned(), "clients"),
        (r#"{"clients":[{"count":4294967295},{"count":4294967295}]}"#.to_owned(), "clients"),
        (format!(r#"{{"clients":[{group}],"pieces":0}}"#), "pieces"),
        (format!(r#"{{"clients":[{group}],"pieces":5000}}"#), "pieces"),
        (r#"{"clients":[{"count":9000}],"pieces":4000}"#.to_owned(), "times"),
        (format!(r#"{{"clients":[{group}],"chunk":0}}"#), "chunk"),
        (format!(r#"{{"clients":[{group}],"source_up":0}}"#), "source_up"),
        (
            format!(r#"{{"clients":[{group}],"source_slots":0}}"#),
            "`source_slots`: 0 is not 1 to 1000",
        ),
        (r#"{"clients":[{"count":1,"up":0}]}"#.to_owned(), "`clients[0].up`: 0 is not 1 to"),
        (
            r#"{"clients":[{"count":1,"first":90000000000}]}"#.to_owned(),
            "`clients[0].first`: 90000000000 is not",
        ),
        (
            format!(r#"{{"clients":[{group}],"faults":[{{"at":1,"kill":{{"client":3}}}}]}}"#),
            "`faults[0]`: there is no client 3",
        ),
        (
            format!(r#"{{"clients":[{group}],"faults":[{{"at":1,"cut":{{"from":1,"to":1}}}}]}}"#),
            "`faults[0]`: two different clients",
        ),
        (
            format!(r#"{{"clients":[{group}],"swarm":{{"piece_time":0}}}}"#),
            "`swarm.piece_time`: 0 is not 1000 or more",
        ),
        (
            format!(r#"{{"clients":[{group}],"swarm":{{"ratio":0}}}}"#),
            "`swarm.ratio`: 0 is not 1 or more",
        ),
        (format!(r#"{{"clients":[{group}],"unknown":1}}"#), "unknown"),
    ] {
        let wrong = Scenario::parse(&text).expect_err(&text).to_string();
        assert!(wrong.contains(what), "{text}: {wrong}");
    }
    assert!(Scenario::parse(&format!(r#"{{"clients":[{group}]}}"#)).is_ok());
    let day = Duration::from_secs(86_400);
    assert!(Scenario::HORIZON > day, "a drawn one is watched for a day");
}
