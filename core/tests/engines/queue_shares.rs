//! One address does not keep the others out of the slots.

use crate::queue_support;

use std::net::IpAddr;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::queue::Dialect::{Active, Parq, Passive};
use servent_core::queue::server::Input;
use servent_core::queue::{Config, Dialect, QueuePolicy};

const GREEDY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn from(bench: &mut Bench, peer: IpAddr, dialect: Dialect) -> (Client, Got) {
    let mut client = bench.client(dialect);
    client.peer = peer;
    let got = bench.ask(&mut client);
    (client, got)
}

/// Four clients of one address, each in a slot.
fn all_slots(bench: &mut Bench) -> Vec<Client> {
    let four = (0..4).map(|_| from(bench, GREEDY, Parq));
    four.map(|(client, got)| {
        assert_eq!(got, Got::Slot, "no other client wants it");
        client
    })
    .collect()
}

#[test]
fn a_client_beside_one_that_holds_every_slot_is_served_at_once() {
    for policy in [QueuePolicy::Text, QueuePolicy::Adaptive] {
        let mut bench = Bench::new(Config { policy, ..config(4) });
        let greedy = all_slots(&mut bench);
        bench.upload(Parq);
        // The four are closed, and their slots reserved: that keeps no client out either.
        for client in &greedy {
            bench.input(Input::Progress { conn: client.conn, bytes: 1 << 20 });
            bench.input(Input::Broken { conn: client.conn });
        }
        bench.upload(Active);
        let (_, got) = bench.arrive(Passive);
        got.place();
    }
}

#[test]
fn what_was_lent_is_given_back_before_its_holder_begins_anything_new() {
    let mut bench = Bench::new(config(4));
    let greedy = all_slots(&mut bench);
    let others = [bench.upload(Parq), bench.upload(Parq)];
    from(&mut bench, GREEDY, Parq).1.place();
    let mut free = Vec::new();
    for client in &greedy {
        bench.finish(client);
        free.push(bench.server.free());
    }
    // Six ran in four slots.
    assert_eq!((others.len(), free), (2, vec![0, 0, 1, 2]));
}

#[test]
fn others_in_line_come_before_an_address_that_has_its_share() {
    let mut bench = Bench::new(config(2));
    let (running, _) = from(&mut bench, GREEDY, Parq);
    let other = bench.upload(Parq);
    let (mut second, got) = from(&mut bench, GREEDY, Parq);
    got.place();
    let mut later = bench.queue(Parq);
    bench.finish(&other);
    bench.pass(secs(50));
    assert_eq!(bench.ask(&mut second).place().position, 1, "the slot is kept for the other");
    assert_eq!(bench.ask(&mut later), Got::Slot);
    bench.finish(&running);
    bench.pass(secs(60));
    assert_eq!(bench.ask(&mut second), Got::Slot, "its own share");
}

#[test]
fn alone_in_line_an_address_has_every_slot() {
    let mut bench = Bench::new(config(2));
    let running = [from(&mut bench, GREEDY, Parq).0, from(&mut bench, GREEDY, Parq).0];
    let mut line: Vec<Client> = (0..2).map(|_| from(&mut bench, GREEDY, Parq).0).collect();
    running.iter().for_each(|client| bench.finish(client));
    bench.pass(secs(60));
    let got: Vec<Got> = line.iter_mut().map(|client| bench.ask(client)).collect();
    assert_eq!(got, [Got::Slot, Got::Slot]);
}

#[test]
fn alone_in_line_an_address_is_served_in_its_order() {
    let mut bench = Bench::new(config(2));
    let running = [from(&mut bench, GREEDY, Parq).0, from(&mut bench, GREEDY, Parq).0];
    let (mut waits, got) = from(&mut bench, GREEDY, Parq);
    got.place();
    bench.finish(&running[0]);
    assert_eq!(from(&mut bench, GREEDY, Parq).1.place().position, 2, "no newcomer passes it");
    bench.pass(secs(60));
    assert_eq!(bench.ask(&mut waits), Got::Slot);
}

#[test]
fn a_slot_is_reserved_for_the_first_other_behind_as_many_as_sixty_three() {
    for (ahead, reserved) in [(63, true), (64, false)] {
        let mut bench = Bench::new(Config { hammer_requests: 1_000, ..config(2) });
        from(&mut bench, GREEDY, Parq);
        let running = bench.upload(Parq);
        (0..ahead).for_each(|_| _ = from(&mut bench, GREEDY, Active).1.place());
        let other = bench.queue(Active);
        bench.finish(&running);
        let kept = bench.server.view(1, 0, bench.now).kept;
        assert_eq!(kept.iter().any(|one| one.peer == other.peer), reserved, "{ahead}");
    }
}

#[test]
fn the_share_can_be_set_and_a_network_of_ipv6_has_one() {
    let mut bench = Bench::new(Config { slots_per_ip: 1, ..config(4) });
    for host in 0..4_u16 {
        let peer = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
        assert_eq!(from(&mut bench, peer, Parq).1, Got::Slot);
    }
    for _ in 0..3 {
        bench.upload(Parq);
    }
    let (_, got) = bench.arrive(Parq);
    got.place();
}

#[test]
fn qa_6_a_client_that_took_almost_nothing_keeps_no_slot() {
    let mut bench = Bench::new(Config { policy: QueuePolicy::Adaptive, ..config(1) });
    let first = bench.upload(Parq);
    bench.input(Input::Progress { conn: first.conn, bytes: 40_000 });
    bench.input(Input::Broken { conn: first.conn });
    assert_eq!((bench.server.free(), bench.server.length()), (1, 0));
    // The client that waited for its slot is in line again, and others are served meanwhile.
    let running = bench.upload(Parq);
    let mut waited = bench.queue(Parq);
    bench.finish(&running);
    bench.pass(secs(5));
    assert_eq!(bench.ask(&mut waited), Got::Slot);
    bench.input(Input::Broken { conn: waited.conn });
    assert_eq!((bench.server.free(), bench.position(&waited)), (1, 1));
    bench.upload(Passive);
}

#[test]
fn qa_6_no_reserve_outlives_a_restart_while_others_wait() {
    let mut bench = Bench::new(Config { policy: QueuePolicy::Adaptive, ..config(1) });
    bench.upload(Parq);
    let mut waits = bench.queue(Parq);
    bench.restart(secs(10));
    waits.conn = bench.conn();
    bench.ask(&mut waits).place();
    bench.pass(secs(60));
    assert_eq!(bench.ask(&mut waits), Got::Slot);
}
