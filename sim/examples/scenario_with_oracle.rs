//! A scenario of your own, something that goes wrong in it, and the oracles
//! that watch: eight clients wait for two slots, and the server crashes.

use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_sim::queue::check::QueueOracles;
use servent_sim::queue::{ClientGroup, Fault, FaultAt, Queue, QueueWorld, Scenario};
use servent_sim::{Keyframes, Oracle as _, Timeline};

pub(crate) fn main() {
    let mut scenario = Scenario::default();
    scenario.servers[0].queue.slots = 2;
    scenario.clients = vec![ClientGroup { count: 8, size: 500_000, ..ClientGroup::default() }];
    let (server, at) = (NodeId(0), Instant::from_secs(20));
    scenario.faults = vec![
        FaultAt { at, act: Fault::Crash { node: server } },
        FaultAt { at: at + Duration::from_secs(5), act: Fault::Restart { node: server } },
    ];

    let (mut world, mut oracles) = (QueueWorld::new(&scenario), QueueOracles::new(&scenario));
    let end = Instant::ZERO + scenario.horizon;
    world.watch(end, |_| false, |record| oracles.observe(record));
    oracles.finish(world.now());
    oracles.violations().iter().for_each(|violation| println!("{violation}"));
    assert!(oracles.violations().is_empty(), "a crash costs nobody his place");

    // The same run, travelled in time: there, back, and on another branch.
    let mut timeline: Timeline<Queue> = Timeline::new(&scenario, Keyframes::default());
    timeline.seek(Instant::from_secs(60));
    timeline.seek(Instant::from_secs(10));
    timeline.inject(Fault::Stall { node: NodeId(3) }).expect("room for a branch");
    timeline.seek(Instant::from_secs(60));
    let differ = timeline.divergence(0, 1).expect("a client that stands still is seen");
    println!("{} records; the branches differ from record {differ} on", world.records());
    assert_eq!(whole(&world), 8);
}

/// Downloads that are whole.
fn whole(world: &QueueWorld) -> u32 {
    (0..world.count()).map(|node| world.outcome(NodeId(node)).0).sum()
}
