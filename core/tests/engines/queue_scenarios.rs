//! Stories of the upload queue that take more than one requirement.

use crate::queue_support;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::queue::Dialect::{Active, Parq, Passive};
use servent_core::queue::server::{Input, Lanes, Output, QueueLane, Windows};
use servent_core::queue::{Config, Event, FileKey, PositionLoss};
use servent_core::time::{Duration, Instant};

/// A polite client: asks exactly when it may.
struct Polite {
    client: Client,
    ask_at: Instant,
    waiting: bool,
}

/// Six polite clients, one slot, transfers of `length`: gaps between the end
/// of one and the begin of the next, and how long the head's poll took to
/// come after that end.
fn relay(dialect: servent_core::queue::Dialect, length: Duration) -> Vec<(Duration, Duration)> {
    let mut bench = Bench::new(config(1));
    let mut clients: Vec<Polite> = (0..6)
        .map(|n| {
            let ask_at = bench.now + Duration::from_millis(300 * n);
            Polite { client: bench.client(dialect), ask_at, waiting: true }
        })
        .collect();
    let (mut running, mut gaps) = (None::<(usize, Instant)>, Vec::new());
    let (mut ended, mut head_due) = (None::<Instant>, Instant::ZERO);
    while clients.iter().any(|one| one.waiting) || running.is_some() {
        let next = clients.iter().filter(|one| one.waiting).map(|one| one.ask_at).min();
        let end = running.map(|(_, end)| end);
        let at = [next, end].into_iter().flatten().min().expect("something goes on");
        bench.pass(at.since(bench.now));
        if let Some((done, _)) = running.take_if(|(_, end)| *end <= at) {
            bench.finish(&clients[done].client);
            ended = Some(at);
            head_due =
                clients.iter().find(|one| one.waiting).map_or(at, |head| head.ask_at.max(at));
        }
        let due = clients.iter_mut().enumerate().find(|(_, one)| one.waiting && one.ask_at <= at);
        let Some((number, one)) = due else { continue };
        match bench.ask(&mut one.client) {
            Got::Slot => {
                one.waiting = false;
                running = Some((number, at + length));
                gaps.extend(ended.take().map(|end| (at.since(end), head_due.since(end))));
            }
            got => one.ask_at = at + got.place().retry_after,
        }
    }
    assert_eq!(bench.lost(), []);
    gaps
}

#[test]
fn a_freed_slot_goes_to_the_head_at_its_very_next_poll() {
    for dialect in [Active, Parq, Passive] {
        for length in [1, 3, 20, 45, 200] {
            let gaps = relay(dialect, secs(length));
            assert_eq!(gaps.len(), 5);
            for (gap, allowed) in gaps {
                assert_eq!(gap, allowed, "{dialect:?}, transfers of {length} s");
                // The head was told at position 6 at worst.
                assert!(gap <= secs(135), "{gap:?}");
            }
        }
    }
}

#[test]
fn a_newcomer_never_takes_a_free_slot_past_a_waiting_client() {
    let mut bench = Bench::new(config(2));
    let (a, b) = (bench.upload(Parq), bench.upload(Parq));
    let (mut one, mut two) = (bench.queue(Parq), bench.queue(Passive));
    bench.finish(&a);
    bench.finish(&b);
    for _ in 0..10 {
        let newcomer = bench.queue(Active);
        assert!(bench.position(&newcomer) > 2);
    }
    bench.pass(secs(50));
    assert_eq!((bench.ask(&mut two), bench.ask(&mut one)), (Got::Slot, Got::Slot));
}

#[test]
fn a_slot_open_to_the_line_is_still_closed_to_newcomers() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let ahead: Vec<Client> = (0..30).map(|_| bench.queue(Active)).collect();
    let mut obeying: Vec<Client> = (0..5).map(|_| bench.queue(Parq)).collect();
    ahead.iter().for_each(|client| bench.gone(client));
    bench.finish(&running);
    bench.pass(secs(200));
    // Told to ask after 600 s, they obey: neither blamed nor passed by strangers.
    let mut newcomer = bench.queue(Parq);
    assert_eq!(bench.position(&newcomer), 6);
    bench.pass(secs(130));
    assert_eq!(bench.ask(&mut newcomer), Got::Slot, "in line by now, and no other client asks");
    bench.finish(&newcomer);
    bench.pass(secs(271));
    assert_eq!(bench.ask(&mut obeying[0]), Got::Slot);
}

#[test]
fn more_slots_are_for_waiting_clients_and_fewer_take_from_none() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut waiting: Vec<Client> = (0..3).map(|_| bench.queue(Active)).collect();
    bench.input(Input::Slots(3));
    assert_eq!(bench.arrive(Active).1.place().position, 4);
    bench.pass(secs(45));
    assert_eq!(bench.ask(&mut waiting[1]), Got::Slot);
    assert_eq!(bench.ask(&mut waiting[0]), Got::Slot);
    bench.input(Input::Slots(1));
    assert_eq!((bench.server.free(), bench.server.view(1, 9, bench.now).uploads.len()), (0, 3));
    bench.pass(secs(45));
    assert_eq!(bench.ask(&mut waiting[2]).place().position, 1);
}

#[test]
fn an_id_taken_to_a_new_connection_closes_the_old_one() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = bench.queue(Parq);
    let old = client.conn;
    client.conn = bench.conn();
    bench.pass(secs(30));
    assert_eq!(bench.ask(&mut client).place().position, 1);
    let why = PositionLoss::Replaced;
    assert!(bench.outputs.contains(&Output::Hangup { conn: old, why }));
    bench.input(Input::Gone { conn: old });
    assert_eq!(bench.position(&client), 1);
}

#[test]
fn an_upload_goes_on_over_a_new_connection_while_the_old_one_seems_alive() {
    let mut bench = Bench::new(config(1));
    let mut owner = bench.client(Parq);
    assert_eq!(bench.ask(&mut owner), Got::Slot);
    owner.ticket = Some(bench.server.view(1, 1, bench.now).uploads[0].ticket);
    owner.conn = bench.conn();
    assert_eq!(bench.ask(&mut owner), Got::Slot);
    assert_eq!(bench.server.view(1, 1, bench.now).uploads.len(), 1);
}

#[test]
fn every_event_says_which_requirement_it_obeys() {
    let mut bench = Bench::new(Config { capacity: 3, ..config(1) });
    let owner = bench.upload(Parq);
    let (first, mut second) = (bench.queue(Active), bench.queue(Active));
    bench.queue(Passive);
    bench.arrive(Passive);
    bench.gone(&first);
    bench.pass(secs(45));
    second.file = FileKey(3);
    bench.ask(&mut second).place();
    bench.input(Input::Broken { conn: owner.conn });
    bench.pass(secs(400));
    bench.restart(secs(1));
    for event in &bench.events {
        let (id, clause) = (event.id(), event.clause());
        assert!(id.starts_with("AQ-") || id.starts_with("PQ-"), "{event:?}");
        assert!(clause.starts_with("PARQ §") || clause.starts_with("Active Queueing"), "{clause}");
    }
    assert!(bench.events.iter().any(|e| matches!(e, Event::Moved { .. }) && e.id() == "AQ-8"));
}

#[test]
fn the_lanes_count_every_client_and_show_what_is_in_their_windows() {
    let mut bench = Bench::new(Config { sync_places: 2, capacity: 400, ..config(1) });
    let served = bench.upload(Parq);
    let near = bench.queue(Parq);
    for _ in 0..300 {
        bench.queue(Passive);
    }
    // Far behind, and its wire is kept all the same.
    let far = bench.queue(Active);
    let broken = bench.queue(Parq);
    bench.gone(&broken);
    bench.gone(&near);
    let windows = Windows { sync: (0, 9), asynchronous: (100, 2), grace: (0, 1) };
    let (lanes, places) = bench.server.lanes(&windows, bench.now);
    assert_eq!(lanes, Lanes { sync: 1, asynchronous: 301, grace: 1, beyond: 0 });
    let shown: Vec<(QueueLane, u32)> = places.iter().map(|p| (p.lane, p.position)).collect();
    assert_eq!(
        shown,
        [
            (QueueLane::Grace, 1),
            (QueueLane::Async, 102),
            (QueueLane::Async, 103),
            (QueueLane::Sync, 302)
        ]
    );
    assert_eq!(places[3].peer, far.peer);
    let all = bench.server.view(1, 400, bench.now).places;
    assert_eq!(places, [&all[0], &all[101], &all[102], &all[301]].map(Clone::clone));
    bench.finish(&served);
    let kept = bench.server.view(1, 0, bench.now).kept;
    assert_eq!(kept.iter().map(|k| k.position).collect::<Vec<_>>(), [2]);
    assert!(kept[0].until > kept[0].not_before && kept[0].not_before > bench.now);
}
