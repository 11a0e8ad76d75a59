//! The bench: equal calls give equal runs, and what makes no sense is said.

mod errors;
mod examples;

use servent_core::node::{
    Config, NodeAnswer, NodeCommand, OverlayCommand, OverlayConfig, WorldEvent,
};
use servent_core::time::Duration;
use servent_core::trace::{Event, NodeId};
use servent_core::unicast;
use servent_sim::Bench;
use servent_sim::queue::Fault;
use servent_sim::unicast::DatagramLink;

/// One who shares and one who wants it.
fn pair(seed: u64) -> (Bench, NodeId, NodeId) {
    let mut bench = Bench::new(seed);
    let alice = bench.node("alice", Config::default());
    let bob = bench.node("bob", Config::default());
    bench.share(alice, "one.bin", 400_000);
    bench.share(alice, "two.bin", 900_000);
    (bench, alice, bob)
}

#[test]
fn two_files_of_one_node_arrive_and_equal_calls_give_equal_runs() {
    let run = |seed: u64| {
        let (mut bench, alice, bob) = pair(seed);
        bench.get(bob, alice, "one.bin");
        bench.get(bob, alice, "two.bin");
        assert!(bench.run_until(Duration::from_secs(600), |bench| bench.fetched(bob) == 2));
        assert_eq!(bench.failed(bob), 0);
        bench.digest()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_was_shared_is_shared_after_a_crash_too() {
    let (mut bench, alice, bob) = pair(3);
    bench.fault(Fault::Crash { node: alice });
    bench.run_for(Duration::from_secs(1));
    assert!(bench.look(alice).is_none());
    bench.fault(Fault::Restart { node: alice });
    bench.run_for(Duration::from_secs(1));
    let told = bench.records().iter().filter(|record| matches!(record.event, Event::World(_)));
    let told: Vec<&Event> = told.map(|record| &record.event).collect();
    assert_eq!(told, [WorldEvent::Crashed, WorldEvent::Restarted].map(Event::World).each_ref());
    bench.get(bob, alice, "two.bin");
    assert!(bench.run_until(Duration::from_secs(600), |bench| bench.fetched(bob) == 1));
}

#[test]
fn slow_wires_take_their_time() {
    let (mut bench, alice, bob) = pair(4);
    bench.wires(alice, 100_000, 100_000, Duration::from_millis(50));
    bench.get(bob, alice, "two.bin");
    assert!(!bench.run_until(Duration::from_secs(8), |bench| bench.fetched(bob) == 1));
    assert!(bench.run_until(Duration::from_secs(4), |bench| bench.fetched(bob) == 1));
}

#[test]
fn more_messages_than_a_window_holds_arrive_in_their_order() {
    let window = unicast::Config { send_messages: 32, ..unicast::Config::default() };
    let config = || Config { datagrams: Some(window.clone()), ..Config::default() };
    let mut bench = Bench::new(5);
    let alice = bench.node("alice", config());
    let bob = bench.node("bob", config());
    bench.datagrams(DatagramLink { loss: (1, 20), ..DatagramLink::default() });
    for n in 0..500_u32 {
        bench.send(alice, bob, n.to_be_bytes().to_vec());
    }
    assert!(bench.run_until(Duration::from_secs(600), |b| b.delivered(bob).len() == 500));
    let told = bench.delivered(bob).iter().map(|m| u32::from_be_bytes(m[..].try_into().unwrap()));
    assert!(told.eq(0..500));
}

#[test]
fn what_was_not_sent_yet_ends_with_its_sender() {
    let window = unicast::Config { send_messages: 8, ..unicast::Config::default() };
    let config = || Config { datagrams: Some(window.clone()), ..Config::default() };
    let mut bench = Bench::new(9);
    let alice = bench.node("alice", config());
    let bob = bench.node("bob", config());
    for _ in 0..100 {
        bench.send(alice, bob, vec![1]);
    }
    bench.fault(Fault::Crash { node: alice });
    bench.fault(Fault::Restart { node: alice });
    bench.run_for(Duration::from_secs(1));
    bench.send(alice, bob, vec![2]);
    let last = |bench: &Bench| bench.delivered(bob).last().is_some_and(|last| last[..] == [2]);
    assert!(bench.run_until(Duration::from_secs(60), last), "she speaks again");
    assert!(bench.delivered(bob).len() < 100, "not all were sent when she crashed");
}

#[test]
fn the_overlay_finds_a_file_two_neighbours_away() {
    let overlay = || OverlayConfig { enabled: true, ..OverlayConfig::default() };
    let config = || Config { overlay: overlay(), ..Config::default() };
    let mut bench = Bench::new(8);
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| bench.node(name, config()));
    let sha1 = bench.share(carol, "song.ogg", 1_000);
    for (one, other) in [(alice, bob), (bob, carol)] {
        let at = bench.address(other);
        bench.command(one, NodeCommand::Overlay(OverlayCommand::Join { at }));
    }
    bench.run_for(Duration::from_secs(1));
    bench.command(
        alice,
        NodeCommand::Overlay(OverlayCommand::Search { search: 1, words: "song".into() }),
    );
    let hit = |bench: &Bench| {
        bench.answers(alice).iter().find_map(|answer| match answer {
            NodeAnswer::Found(hit) => Some(hit.clone()),
            _ => None,
        })
    };
    assert!(bench.run_until(Duration::from_secs(10), |bench| hit(bench).is_some()));
    let hit = hit(&bench).expect("it was just there");
    assert_eq!((hit.at, hit.sha1), (bench.address(carol), Some(sha1)));
}

#[test]
#[should_panic(expected = "bob is down")]
fn no_node_speaks_that_is_down() {
    let config = || Config { datagrams: Some(unicast::Config::default()), ..Config::default() };
    let mut bench = Bench::new(6);
    let alice = bench.node("alice", config());
    let bob = bench.node("bob", config());
    bench.fault(Fault::Crash { node: bob });
    bench.run_for(Duration::from_secs(1));
    bench.send(alice, bob, vec![1]); // He may come back.
    bench.send(bob, alice, vec![1]);
}

#[test]
#[should_panic(expected = "alice cannot send to 10.1.0.2:6346: TooLong")]
fn a_message_that_will_never_go_is_said() {
    let short = unicast::Config { max_message: 10, ..unicast::Config::default() };
    let config = || Config { datagrams: Some(short.clone()), ..Config::default() };
    let mut bench = Bench::new(6);
    let alice = bench.node("alice", config());
    let bob = bench.node("bob", config());
    bench.send(alice, bob, vec![0; 11]);
}

#[test]
#[should_panic(expected = "`loss`: [1, 0] is no ratio")]
fn a_link_that_makes_no_sense_is_said() {
    Bench::new(6).datagrams(DatagramLink { loss: (1, 0), ..DatagramLink::default() });
}

#[test]
#[should_panic(expected = "alice shares a file called one.bin already")]
fn a_name_that_is_taken_is_said() {
    let (mut bench, alice, _) = pair(6);
    bench.share(alice, "one.bin", 1);
}

#[test]
#[should_panic(expected = "there is no node 9: there are 2, numbered from 0")]
fn a_node_that_there_is_not_is_said() {
    let (bench, ..) = pair(6);
    let _ = bench.fetched(NodeId(9));
}

#[test]
#[should_panic(expected = "bob shares no file called one.bin")]
fn a_file_that_no_node_shares_is_said() {
    let (mut bench, alice, bob) = pair(6);
    bench.get(alice, bob, "one.bin");
}

#[test]
#[should_panic(expected = "alice has no datagrams")]
fn messages_without_datagrams_are_said() {
    let (mut bench, alice, bob) = pair(6);
    bench.send(alice, bob, vec![1]);
}

#[test]
#[should_panic(expected = "there is no node 7")]
fn a_fault_of_a_node_that_there_is_not_is_said() {
    let (mut bench, ..) = pair(6);
    bench.fault(Fault::Stall { node: NodeId(7) });
}
