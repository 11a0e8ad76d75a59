//! After a restart nothing waits for clients that have left longer than it
//! would have without.

use crate::queue_support;

use std::net::SocketAddr;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::queue::Dialect::{Parq, Passive};
use servent_core::queue::server::{Output, QueueVerdict};
use servent_core::queue::{Config, Dialect, QueuePolicy};

fn adaptive(slots: u32) -> Config {
    Config { policy: QueuePolicy::Adaptive, ..config(slots) }
}

/// A client that can be called, like ours.
fn callable(bench: &mut Bench, dialect: Dialect) -> (Client, Got) {
    let mut client = bench.client(dialect);
    client.callback = Some(SocketAddr::new(client.peer, 6346));
    client.bytes = 10_000_000;
    let got = bench.ask(&mut client);
    (client, got)
}

/// The seconds until one that waits for its answer gets a slot.
fn seconds_to_slot(bench: &mut Bench) -> u64 {
    let mut waits = bench.client(Parq);
    waits.waits = true;
    let mut outputs = bench.input(servent_core::queue::server::Input::Request(waits.request()));
    for second in 0..300 {
        let starts = |output: &Output| matches!(output, Output::Reply { conn, verdict: QueueVerdict::Start { .. } } if *conn == waits.conn);
        if outputs.iter().any(starts) {
            return second;
        }
        if second % 24 == 23 {
            outputs = bench.pass(secs(1));
            waits.told = None;
            let ask = waits.request();
            outputs.extend(bench.input(servent_core::queue::server::Input::Request(ask)));
        } else {
            outputs = bench.pass(secs(1));
        }
    }
    300
}

#[test]
fn pq_14_a_slot_waits_for_an_owner_no_longer_after_a_restart_than_without() {
    for dialect in [Parq, Passive] {
        let mut bench = Bench::new(adaptive(1));
        let (_owner, got) = callable(&mut bench, dialect);
        assert_eq!(got, Got::Slot);
        bench.restart(secs(3));
        assert_eq!(bench.server.free(), 0, "its owner may come back");
        let waited = seconds_to_slot(&mut bench);
        assert!(waited <= 6, "{dialect:?}: {waited} s");
    }
}

#[test]
fn pq_14_owners_of_many_slots_at_one_address_hold_none_of_them_longer() {
    let mut bench = Bench::new(Config { slots_per_ip: 9, ..adaptive(9) });
    let peer = bench.client(Parq).peer;
    for n in 0..9 {
        let mut owner = bench.client(Parq);
        owner.peer = peer;
        owner.callback = Some(SocketAddr::new(peer, 6_400 + n));
        assert_eq!(bench.ask(&mut owner), Got::Slot);
    }
    bench.restart(secs(3));
    for _ in 0..9 {
        let waited = seconds_to_slot(&mut bench);
        assert!(waited <= 6, "{waited} s");
    }
}

#[test]
fn pq_12_places_of_clients_that_left_during_a_restart_block_no_slot_and_are_kept() {
    for policy in [QueuePolicy::Adaptive, QueuePolicy::Text] {
        let mut bench = Bench::new(Config { policy, ..adaptive(1) });
        let running = bench.upload(Parq);
        let mut left: Vec<Client> = (0..3).map(|_| callable(&mut bench, Parq).0).collect();
        bench.finish(&running);
        bench.restart(secs(3));
        bench.pass(secs(6));
        let mut other = bench.client(Parq);
        assert_eq!(bench.ask(&mut other), Got::Slot, "{policy:?}: within a moment all have left");
        assert_eq!(bench.server.length(), 3, "their places are kept");
        bench.finish(&other);
        left[1].conn = bench.conn();
        let got = bench.ask(&mut left[1]);
        assert_eq!(got, Got::Slot, "one that comes back is there");
        left[0].conn = bench.conn();
        assert_eq!(bench.ask(&mut left[0]).place().position, 1, "and the first is first");
    }
}

#[test]
fn pq_12_in_the_moment_after_a_restart_no_newcomer_is_served_before_those_that_waited() {
    let mut bench = Bench::new(adaptive(1));
    let running = bench.upload(Parq);
    let mut waited = callable(&mut bench, Parq).0;
    bench.finish(&running);
    bench.restart(secs(3));
    bench.pass(secs(1));
    let mut other = bench.client(Parq);
    assert_eq!(bench.ask(&mut other).place().position, 2);
    waited.conn = bench.conn();
    bench.pass(secs(2));
    assert_eq!(bench.ask(&mut waited), Got::Slot);
}

#[test]
fn pq_12_one_that_was_told_to_disconnect_has_the_time_it_was_told() {
    let mut bench = Bench::new(Config { sync_places: 1, ..adaptive(1) });
    let running = bench.upload(Parq);
    let first = bench.queue(Parq);
    let mut far = bench.queue(Parq);
    bench.gone(&first);
    bench.finish(&running);
    bench.restart(secs(3));
    bench.pass(secs(20));
    let mut other = bench.client(Parq);
    assert_eq!(bench.ask(&mut other).place().position, 3, "no newcomer is served before it");
    far.conn = bench.conn();
    assert_eq!(bench.ask(&mut far), Got::Slot);
}

#[test]
fn pq_12_one_that_was_absent_before_a_restart_is_not_waited_for_after_it() {
    let mut bench = Bench::new(adaptive(1));
    let running = bench.upload(Parq);
    let mut left = bench.client(Passive);
    left.waits = true;
    bench.input(servent_core::queue::server::Input::Request(left.request()));
    bench.pass(secs(30));
    assert_eq!(bench.server.view(1, 1, bench.now).places.len(), 1, "its hold has ended");
    left.conn = bench.conn();
    bench.input(servent_core::queue::server::Input::Request(left.request()));
    bench.gone(&left);
    bench.finish(&running);
    bench.restart(secs(3));
    bench.pass(secs(6));
    assert_eq!(bench.server.length(), 1, "its place is kept");
    bench.upload(Parq);
}

#[test]
fn qa_5_a_slot_held_after_a_restart_is_told_with_the_time_that_is_left_of_it() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let (_owner, got) = callable(&mut bench, Parq);
    assert_eq!(got, Got::Slot);
    bench.restart(secs(3));
    let told: Vec<_> = [0, 2, 2]
        .into_iter()
        .map(|seconds| {
            bench.pass(secs(seconds));
            bench.server.view(1, 1, bench.now).places.first().map(|place| place.eta)
        })
        .collect();
    assert_eq!(told, [None, None, None], "no client waits yet");
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    callable(&mut bench, Parq);
    bench.restart(secs(3));
    let (_, place) = callable(&mut bench, Parq);
    assert_eq!(place.place().eta, Some(secs(5)));
    bench.pass(secs(2));
    assert_eq!(bench.server.view(1, 1, bench.now).places[0].eta, Some(secs(3)));
    bench.pass(secs(2));
    assert_eq!(bench.server.view(1, 1, bench.now).places[0].eta, Some(secs(1)));
}

#[test]
fn qa_5_absent_clients_ahead_are_not_waited_for() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let mut running = bench.client(Parq);
    running.bytes = 30_000;
    assert_eq!(bench.ask(&mut running), Got::Slot);
    let (left, _) = callable(&mut bench, Parq);
    bench.gone(&left);
    let (_, place) = bench.arrive(Parq);
    assert_eq!(place.place().eta, Some(secs(30)));
}
