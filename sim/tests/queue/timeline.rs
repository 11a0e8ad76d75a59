//! Time travel: seek is run, steps undo each other, branches keep the future.

use proptest::prelude::*;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_sim::queue::{ClientGroup, Fault, FaultAt, Queue, Scenario};
use servent_sim::{Keyframes, Timeline, World};

use crate::parrot::Parrot;

const END: Instant = Instant::from_secs(120);

fn scenario(seed: u64, faults: Vec<FaultAt>) -> Scenario {
    let group = ClientGroup {
        count: 6,
        size: 300_000,
        spacing: Duration::from_secs(3),
        jitter: Duration::from_secs(2),
        ..ClientGroup::default()
    };
    Scenario { seed, clients: vec![group], faults, ..Scenario::default() }
}

fn timeline(s: &Scenario) -> Timeline<Queue<Parrot>> {
    Timeline::new(s, Keyframes { every: 16, most: 8 })
}

/// What a world looks like at an instant when it is simply run.
fn run(s: &Scenario, to: Instant) -> (u64, u64, String) {
    let mut world = World::<Queue<Parrot>>::new(s);
    world.run_until(to, &mut Vec::new());
    look(&world)
}

fn look(world: &World<Queue<Parrot>>) -> (u64, u64, String) {
    let outcomes: Vec<_> =
        (0..world.profiles().len()).map(|i| world.outcome(NodeId(i as u32))).collect();
    (world.digest(), world.records(), format!("{:?} {outcomes:?}", world.now()))
}

fn any_fault() -> impl Strategy<Value = FaultAt> {
    let node = || (0..7u32).prop_map(NodeId);
    let fault = prop_oneof![
        (node(), node()).prop_map(|(a, b)| Fault::Cut { a, b }),
        node().prop_map(|node| Fault::Restart { node }),
        node().prop_map(|node| Fault::Crash { node }),
        node().prop_map(|node| Fault::Stall { node }),
        node().prop_map(|node| Fault::Resume { node }),
        (node(), any::<bool>()).prop_map(|(node, closed)| Fault::Firewall { node, closed }),
        (node(), -9_000_000..9_000_000i64).prop_map(|(node, offset)| Fault::Clock { node, offset }),
        node().prop_map(|node| Fault::AskNow { node }),
    ];
    (0..100_000_000u64, fault)
        .prop_map(|(at, fault)| FaultAt { at: Instant::from_micros(at), act: fault })
}

fn faults() -> impl Strategy<Value = Vec<FaultAt>> {
    prop::collection::vec(any_fault(), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn seek_is_run(seed: u64, faults in faults(), to in prop::collection::vec(0..120_000_000u64, 1..6)) {
        let s = scenario(seed, faults);
        let mut t = timeline(&s);
        for to in to {
            let to = Instant::from_micros(to);
            t.seek(to);
            prop_assert_eq!(look(t.world()), run(&s, to));
        }
    }

    #[test]
    fn a_step_forward_and_a_step_back_are_no_step(seed: u64, faults in faults(), at in 0u64..400) {
        let s = scenario(seed, faults);
        let mut t = timeline(&s);
        let there = t.seek_record(at, END);
        prop_assume!(there);
        let before = (t.index(), t.now(), look(t.world()));
        if t.step(true, END) {
            prop_assert_eq!(t.index(), before.0 + 1);
            prop_assert!(t.step(false, END));
        }
        prop_assert_eq!(&(t.index(), t.now(), look(t.world())), &before);
        if t.step(false, END) && t.index() > 0 {
            prop_assert!(t.step(true, END));
            prop_assert_eq!(&(t.index(), t.now(), look(t.world())), &before);
        }
    }

    #[test]
    fn a_branch_is_the_scenario_with_that_fault(seed: u64, early in faults(), fault in any_fault(), look_at in 0..120_000_000u64) {
        let s = scenario(seed, early);
        let mut t = timeline(&s);
        t.explore(END, u64::MAX);
        t.seek(fault.at);
        let branch = t.inject(fault.act);
        prop_assert_eq!(branch, Some(1));
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

    #[test]
    fn a_fault_at_the_frontier_belongs_to_the_branch(seed: u64, fault in any_fault(), look_at in 0..120_000_000u64) {
        let s = scenario(seed, vec![]);
        let mut t = timeline(&s);
        t.advance(fault.at, u64::MAX);
        prop_assert_eq!(t.inject(fault.act), Some(0));
        let planned = Scenario { faults: t.faults().to_vec(), ..s };
        t.advance(END, u64::MAX);
        for to in [END, Instant::from_micros(look_at), END] {
            t.seek(to);
            prop_assert_eq!(look(t.world()), run(&planned, to));
        }
    }
}

#[test]
fn branches_diverge_where_the_fault_was_and_records_are_shared_before_it() {
    let s = scenario(3, vec![]);
    let mut t = timeline(&s);
    t.explore(END, u64::MAX);
    t.seek(Instant::from_secs(4));
    let base = t.index();
    assert_eq!(t.inject(Fault::Crash { node: NodeId(0) }), Some(1));
    t.explore(END, u64::MAX);
    assert_eq!(t.divergence(0, 1), Some(base));
    assert_eq!(t.record_of(0, base - 1), t.record_of(1, base - 1));
    assert_eq!(t.divergence(1, 1), None);
}

#[test]
fn stepping_one_node_visits_its_records_alone_and_in_order() {
    let s = scenario(3, vec![]);
    let mut t = timeline(&s);
    let node = NodeId(2);
    let mut seen = Vec::new();
    while t.step_node(node, true, END) {
        let i = t.index() - 1;
        assert_eq!(t.record(i).unwrap().node, node);
        seen.push(i);
    }
    assert!(seen.len() >= 3 && seen.is_sorted());
    while t.step_node(node, false, END) && seen.len() > 1 {
        seen.pop();
        assert_eq!(t.index() - 1, *seen.last().unwrap());
    }
}

#[test]
fn keyframes_stay_few_however_long_the_run() {
    let s = scenario(3, vec![]);
    let mut t = Timeline::<Queue<Parrot>>::new(&s, Keyframes { every: 1, most: 8 });
    t.explore(END, u64::MAX);
    assert!(t.keyframes() <= 8 && t.keyframes() >= 4, "{}", t.keyframes());
}
