//! The presets, under both profiles.

use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_sim::unicast::{DatagramEvent, Event, MessagingEvent, Scenario, UnicastWorld, presets};

pub(crate) fn run(s: &Scenario) -> (UnicastWorld, Vec<Record<Event>>) {
    let mut world = UnicastWorld::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    (world, records)
}

/// A preset under its two profiles.
fn both(id: &str) -> [Scenario; 2] {
    let preset = presets::find(id).expect("a preset");
    ["unicast3", "adaptive"].map(|name| preset.variant(name).expect("a variant"))
}

/// What a node read, in order.
fn read(records: &[Record<Event>], at: u32) -> Vec<u64> {
    let mut numbers = Vec::new();
    for record in records.iter().filter(|record| record.node == NodeId(at)) {
        if let Event::App(MessagingEvent::Read { n, .. }) = record.event {
            numbers.push(n);
        }
    }
    numbers
}

/// When the last message was read.
fn done(records: &[Record<Event>]) -> Instant {
    let read = |r: &&Record<Event>| matches!(r.event, Event::App(MessagingEvent::Read { .. }));
    records.iter().rev().find(read).expect("something was read").at
}

#[test]
fn whatever_a_preset_loses_everything_is_read_in_order_and_once() {
    for id in ["lose-first", "lose-middle", "lose-last", "close-in-flight"] {
        for s in both(id) {
            let (_, records) = run(&s);
            assert_eq!(read(&records, 1), (1..=9).collect::<Vec<_>>(), "{}", s.title);
        }
    }
    for id in ["five-percent", "burst"] {
        for s in both(id) {
            let (_, records) = run(&s);
            assert_eq!(read(&records, 1), (1..=300).collect::<Vec<_>>(), "{}", s.title);
        }
    }
}

#[test]
fn both_profiles_lose_the_same_datagrams() {
    let lost = |s: &Scenario| -> Vec<(u32, u32)> {
        let mut lost = Vec::new();
        let mut numbers = std::collections::BTreeMap::new();
        for record in run(s).1 {
            match record.event {
                Event::Datagram(DatagramEvent::Sent { id, n, .. }) => {
                    numbers.insert(id, n);
                }
                Event::Datagram(DatagramEvent::Lost { id, .. }) => {
                    lost.push((record.node.0, numbers[&id]));
                }
                _ => {}
            }
        }
        lost.sort_unstable();
        lost
    };
    for id in ["five-percent", "burst"] {
        let [letter, adaptive] = both(id).map(|s| lost(&s));
        let common = |node: u32| {
            let of = |all: &[(u32, u32)]| -> Vec<u32> {
                all.iter().filter(|(at, _)| *at == node).map(|(_, n)| *n).collect()
            };
            let (a, b) = (of(&letter), of(&adaptive));
            let shorter = a.len().min(b.len());
            assert!(shorter > 2, "{id}: something is lost both times");
            assert_eq!(a[..shorter], b[..shorter], "{id}");
        };
        common(0);
    }
}

#[test]
fn adaptive_repairs_sooner_than_the_text() {
    for id in ["lose-middle", "lose-last", "lose-first", "five-percent"] {
        let [letter, adaptive] = both(id).map(|s| done(&run(&s).1));
        assert!(adaptive < letter, "{id}: {adaptive:?} {letter:?}");
    }
}

#[test]
fn a_receiver_that_restarts_reads_on_from_where_the_sender_stands() {
    for s in both("receiver-restart") {
        let numbers = read(&run(&s).1, 1);
        assert_eq!(numbers.last(), Some(&40), "{}", s.title);
        let again = numbers.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        assert!(again <= 1, "only what was not acknowledged may come again: {numbers:?}");
        let all = (1..=40).all(|n| numbers.contains(&n));
        assert!(all, "{}: {numbers:?}", s.title);
    }
}

#[test]
fn the_same_scenario_gives_the_same_digest() {
    let s = presets::find("burst").expect("a preset");
    assert_eq!(run(&s).0.digest(), run(&s).0.digest());
    let other = Scenario { seed: s.seed + 1, ..s.clone() };
    assert_ne!(run(&s).0.digest(), run(&other).0.digest());
}

/// What the datagrams to B waited, in milliseconds: the one in the middle of those
/// sent between two and ten seconds.
fn queued(s: &Scenario) -> u64 {
    let mut waits = Vec::new();
    for record in run(s).1 {
        let measured = (2..10).contains(&(record.at.as_micros() / 1_000_000));
        if let Event::Datagram(DatagramEvent::Sent { to: NodeId(1), due, .. }) = record.event
            && measured
        {
            waits.push(due.since(record.at).as_micros() / 1_000);
        }
    }
    waits.sort_unstable();
    waits[waits.len() / 2] - waits[0]
}

#[test]
fn a_flow_that_waits_for_losses_queues_more_on_a_shared_link() {
    let mixed = Scenario::parse(include_str!("fill-the-queue.json")).expect("a scenario");
    let mut measured = mixed.clone();
    measured.nodes[2].congestion = None;
    let (mixed, alone) = (queued(&mixed), queued(&measured));
    assert!(mixed > alone, "{mixed} ms beside CUBIC, {alone} ms without");
}
