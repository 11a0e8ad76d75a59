//! Time travel over a world of nodes that send each other messages: seek is run, steps undo each other,
//! a fault on the past opens a branch, and the picture follows.

use proptest::prelude::*;
use servent_core::choose::Choose;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_sim::unicast::{
    Arrow, ArrowFate, DatagramEvent, DatagramId, Diagram, Event, Scenario, Unicast, UnicastAction,
    UnicastActionAt, UnicastWorld, presets, random,
};
use servent_sim::{Keyframes, ScenarioMistake, Timeline};

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

fn timeline(s: &Scenario) -> Timeline<Unicast> {
    Timeline::new(s, Keyframes { every: 16, most: 8 })
}

fn drawn(seed: u64) -> Scenario {
    random::draw(&mut Choose::random(seed), seed)
}

/// What a world looks like at an instant when it is simply run.
fn run(s: &Scenario, to: Instant) -> (u64, u64, String) {
    let mut world = UnicastWorld::new(s);
    world.run_until(to, &mut Vec::new());
    look(&world)
}

fn look(world: &UnicastWorld) -> (u64, u64, String) {
    let margins = (0..).map_while(|node| world.margins(NodeId(node)));
    (world.digest(), world.records(), format!("{:?}", margins.collect::<Vec<_>>()))
}

fn any_fault() -> impl Strategy<Value = UnicastActionAt> {
    let n = || 1..40u32;
    let by = || (0..900_000u64).prop_map(Duration::from_micros);
    let (from, to) = (A, B);
    let act = prop_oneof![
        Just(UnicastAction::Crash { node: B }),
        Just(UnicastAction::Restart { node: A }),
        Just(UnicastAction::Stall { node: B }),
        Just(UnicastAction::Cut { from, to }),
        n().prop_map(move |n| UnicastAction::Drop { from, to, n }),
        (n(), by()).prop_map(move |(n, by)| UnicastAction::Delay { from, to, n, by }),
        (n(), by()).prop_map(move |(n, by)| UnicastAction::Duplicate { from, to, n, by }),
    ];
    (0..6_000_000u64, act)
        .prop_map(|(at, act)| UnicastActionAt { at: Instant::from_micros(at), act })
}

const END: Instant = Instant::from_secs(20);

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn seek_is_run(seed: u64, to in prop::collection::vec(0..20_000_000u64, 1..5)) {
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
        let there = t.seek_record(at, END);
        prop_assume!(there);
        let before = (t.index(), t.now(), look(t.world()));
        if t.step(true, END) {
            prop_assert_eq!(t.index(), before.0 + 1);
            prop_assert!(t.step(false, END));
        }
        prop_assert_eq!(&(t.index(), t.now(), look(t.world())), &before);
    }

    #[test]
    fn a_branch_is_the_scenario_with_that_fault(seed: u64, fault in any_fault(), look_at in 0..20_000_000u64) {
        let s = drawn(seed);
        let mut t = timeline(&s);
        t.explore(END, u64::MAX);
        t.seek(fault.at);
        prop_assert_eq!(t.inject(fault.act), Some(1));
        t.explore(END, u64::MAX);
        let planned = Scenario { faults: t.faults().to_vec(), ..s.clone() };
        for to in [END, Instant::from_micros(look_at), END] {
            t.seek(to);
            prop_assert_eq!(look(t.world()), run(&planned, to));
        }
        prop_assert!(t.use_branch(0));
        t.seek(END);
        prop_assert_eq!(look(t.world()), run(&s, END));
    }
}

/// Every arrow of the branch a timeline is at.
fn arrows(t: &Timeline<Unicast>) -> Vec<Arrow> {
    let mut diagram = Diagram::default();
    for i in 0..t.count() {
        diagram.observe(t.world(), t.record(i).expect("a record"));
    }
    diagram.arrows(Instant::ZERO, END, usize::MAX).cloned().collect()
}

#[test]
fn an_arrow_can_be_dropped_after_the_fact_and_keeps_its_id() {
    let s = presets::find("lose-middle").expect("a preset");
    let mut t = timeline(&s);
    t.explore(END, u64::MAX);
    let before = arrows(&t);
    let id = DatagramId::new(A, B, 3);
    let third = before.iter().find(|arrow| arrow.id == id).expect("the third").clone();
    assert_eq!((third.fate, third.at), (ArrowFate::Arrived, Some(third.due)));

    t.seek(third.sent);
    let drop =
        |n| t.world().possible(&UnicastAction::Drop { from: A, to: B, n }).map_err(|no| no.why);
    assert_eq!((drop(3), drop(1)), (Ok(()), Err(ScenarioMistake::TooLate)));
    let act = UnicastAction::Drop { from: A, to: B, n: 3 };
    assert_eq!(t.inject(act), Some(1));
    t.explore(END, u64::MAX);
    let after = arrows(&t);
    let third = after.iter().find(|arrow| arrow.id == id).expect("still there");
    assert_eq!(third.fate, ArrowFate::Lost);
    let diverged = t.divergence(0, 1).expect("another history");
    let lost = t.record(diverged).expect("a record");
    assert!(matches!(lost.event, Event::Datagram(DatagramEvent::Lost { id: it, .. }) if it == id));
}

#[test]
fn arrows_in_sight_are_those_whose_flight_touches_it() {
    let s = presets::find("burst").expect("a preset");
    let mut t = timeline(&s);
    t.explore(END, u64::MAX);
    let mut diagram = Diagram::default();
    for i in 0..t.count() {
        diagram.observe(t.world(), t.record(i).expect("a record"));
    }
    let all: Vec<Arrow> = diagram.arrows(Instant::ZERO, END, usize::MAX).cloned().collect();
    for ms in (0..4_000).step_by(170) {
        let from = Instant::from_micros(ms * 1_000);
        let to = from + Duration::from_millis(90);
        let seen: Vec<Arrow> = diagram.arrows(from, to, usize::MAX).cloned().collect();
        let ends = |arrow: &Arrow| arrow.at.unwrap_or(arrow.due).max(arrow.due);
        let touch = |arrow: &&Arrow| arrow.sent <= to && ends(arrow) >= from;
        assert_eq!(seen, all.iter().filter(touch).cloned().collect::<Vec<_>>());
        assert!(diagram.marks(from, to, 5).len() <= 5);
    }
    assert!(all.len() > 300 && all.iter().any(|arrow| arrow.again));
}
