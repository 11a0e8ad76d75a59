//! PARQ §7 as the server keeps it: one line for all clients, in order of
//! arrival, and no absent client blocks it.

use crate::queue_support;

use std::net::IpAddr;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::queue::Dialect::{Active, Parq, Parq11, Passive};
use servent_core::queue::server::{Input, Output};
use servent_core::queue::{Config, Event, StoredEntry};
use servent_core::time::Duration;

#[test]
fn pq_16_all_dialects_are_served_strictly_in_order_of_arrival() {
    let mut bench = Bench::new(config(1));
    let mut running = bench.upload(Active);
    let mut line: Vec<Client> = [Parq, Passive, Active, Parq11, Passive, Active]
        .into_iter()
        .map(|dialect| bench.queue(dialect))
        .collect();
    while !line.is_empty() {
        bench.finish(&running);
        let mut served = None;
        for _ in 0..40 {
            bench.pass(secs(5));
            for (at, client) in line.iter_mut().enumerate() {
                let view = bench.server.view(1, 100, bench.now);
                let due = view.places.iter().any(|place| {
                    (Some(place.ticket) == client.ticket
                        || place.conn == Some(client.conn)
                        || place.peer == client.peer)
                        && place.not_before <= bench.now
                });
                if due && served != Some(at) && bench.ask(client) == Got::Slot {
                    assert_eq!(served, None);
                    served = Some(at);
                }
            }
        }
        assert_eq!(served, Some(0), "{} left", line.len());
        running = line.remove(0);
    }
    let passed = bench.events.iter().filter(|e| matches!(e, Event::Passed { .. })).count();
    assert_eq!(passed, 0);
}

#[test]
fn pq_16_an_absent_head_keeps_its_place_and_blocks_no_client() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let (mut absent, mut present) = (bench.queue(Parq), bench.queue(Parq));
    bench.gone(&absent);
    bench.pass(secs(49));
    bench.finish(&running);
    bench.pass(secs(1));
    assert_eq!(bench.ask(&mut present), Got::Slot);
    let id = absent.ticket;
    assert!(
        bench
            .events
            .iter()
            .any(|e| matches!(e, Event::Passed { ticket, .. } if Some(*ticket) == id))
    );
    absent.conn = bench.conn();
    assert_eq!(bench.ask(&mut absent).place().position, 1);
    bench.finish(&present);
    bench.pass(secs(30));
    assert_eq!(bench.ask(&mut absent), Got::Slot);
}

#[test]
fn pq_16_a_slot_is_kept_for_a_silent_head_until_the_deadline_it_was_told() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let silent = bench.queue(Active);
    bench.pass(secs(51));
    bench.finish(&running);
    bench.pass(secs(68));
    assert!(bench.server.view(1, 1, bench.now).places[0].entitled);
    let early = bench.queue(Passive);
    assert_eq!((bench.position(&silent), bench.position(&early)), (1, 2));
    bench.pass(secs(1));
    assert_eq!((bench.position(&silent), bench.position(&early)), (0, 1));
}

#[test]
fn pq_16_a_chain_of_silent_clients_holds_a_slot_no_longer_than_one() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let silent: Vec<Client> = (0..10).map(|_| bench.queue(Passive)).collect();
    bench.pass(secs(260));
    bench.finish(&running);
    bench.pass(secs(39));
    bench.queue(Active);
    assert_eq!(bench.server.length(), silent.len() as u32 + 1);
    bench.pass(secs(1));
    assert_eq!(bench.server.length(), 1, "all of them at the same moment");
}

/// A client that asks `every` so often, a new client each seven seconds, and
/// transfers of twenty: how many are served before it.
fn served_before(dialect: servent_core::queue::Dialect, every: u64) -> u32 {
    let mut bench = Bench::new(config(1));
    let mut running = bench.upload(Parq);
    let mut obedient = bench.queue(dialect);
    let (mut ends, mut before) = (20, 0);
    for second in 1..3_600 {
        bench.pass(secs(1));
        if second == ends {
            bench.finish(&running);
        }
        if second % every == 0 && bench.ask(&mut obedient) == Got::Slot {
            return before;
        }
        if second % 7 == 0 {
            let (client, got) = bench.arrive(Passive);
            if got == Got::Slot {
                (running, ends, before) = (client, second + 20, before + 1);
            }
        }
    }
    panic!("{dialect:?} is never served, {before} others are");
}

#[test]
fn pq_16_no_newcomer_is_served_before_a_client_inside_the_window_it_was_told() {
    for (dialect, every) in [(Passive, 60), (Active, 82), (Parq, 60), (Parq, 299), (Parq11, 31)] {
        assert_eq!(served_before(dialect, every), 0, "{dialect:?} every {every} s");
    }
}

#[test]
fn pq_16_a_client_that_asks_in_its_time_is_passed_by_others_of_the_line_at_most_once() {
    let mut bench = Bench::new(config(1));
    let mut running = bench.upload(Active);
    let mut late = bench.queue(Active);
    let mut passed = 0;
    for _ in 0..4 {
        bench.finish(&running);
        let mut next = bench.queue(Parq);
        bench.pass(secs(61));
        if bench.ask(&mut next) == Got::Slot {
            passed += 1;
            running = next;
        }
        bench.pass(secs(21));
        if bench.ask(&mut late) == Got::Slot {
            return assert_eq!(passed, 1);
        }
    }
    panic!("never served");
}

#[test]
fn pq_16_a_client_that_moves_to_another_address_takes_its_place_along() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = bench.queue(Parq);
    bench.pass(secs(30));
    (client.peer, client.conn) = (IpAddr::from([192, 0, 2, 7]), bench.conn());
    assert_eq!(bench.ask(&mut client).place().position, 1);
    assert_eq!(bench.server.view(1, 1, bench.now).places[0].peer, client.peer);
}

/// Two of one address, whose share is a single slot: the second is next because
/// the first is away, and the first is back before it asks.
#[test]
fn pq_16_of_two_at_one_address_too_the_first_is_first() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let mut first = bench.queue(Parq);
    let mut second = bench.client(Parq);
    second.peer = first.peer;
    bench.ask(&mut second).place();
    bench.gone(&first);
    bench.finish(&running);
    let entitled = |event: &Event| match event {
        Event::Entitled { ticket } => Some(*ticket),
        _ => None,
    };
    assert_eq!(bench.events.iter().rev().find_map(entitled), second.ticket);
    first.conn = bench.conn();
    assert_eq!(bench.ask(&mut first), Got::Slot);
    bench.pass(secs(60));
    assert_eq!(bench.ask(&mut second).place().position, 1);
}

/// A line whose first four, of Active Queueing, have just vanished: those
/// behind were told to stay away longer than a slot is reserved.
fn after_four_vanished(bench: &mut Bench, behind: usize) -> Vec<Client> {
    let vanishing: Vec<Client> = (0..4).map(|_| bench.queue(Active)).collect();
    let left = (0..behind).map(|_| bench.queue(Parq)).collect();
    vanishing.iter().for_each(|client| bench.gone(client));
    left
}

#[test]
fn pq_16_a_head_that_may_not_ask_yet_is_passed_after_the_reserve_and_keeps_its_place() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    let mut head = after_four_vanished(&mut bench, 1).remove(0);
    let mut later = bench.queue(Passive);
    bench.finish(&running);
    bench.pass(secs(59));
    assert_eq!(bench.ask(&mut later).place().position, 2, "the slot is reserved");
    bench.pass(secs(1));
    assert_eq!(bench.ask(&mut later), Got::Slot, "the reserve is over");
    assert_eq!(bench.position(&head), 1);
    bench.pass(secs(40));
    bench.finish(&later);
    assert_eq!(bench.arrive(Parq).1.place().position, 2, "no newcomer takes it meanwhile");
    bench.pass(secs(10));
    assert_eq!(bench.ask(&mut head), Got::Slot);
}

#[test]
fn pq_16_every_slot_is_reserved_for_its_own_full_time() {
    let mut bench = Bench::new(config(2));
    let (first, second) = (bench.upload(Parq), bench.upload(Parq));
    let mut heads = after_four_vanished(&mut bench, 2);
    let (mut later, mut last) = (bench.queue(Passive), bench.queue(Passive));
    bench.finish(&first);
    bench.pass(secs(50));
    bench.finish(&second);
    bench.pass(secs(10));
    assert_eq!(bench.ask(&mut later), Got::Slot, "the first has stood free for a minute");
    bench.pass(secs(49));
    assert_eq!(bench.ask(&mut last).place().position, 3, "the second has not");
    bench.pass(secs(1));
    assert_eq!(bench.ask(&mut heads[0]), Got::Slot);
}

#[test]
fn pq_10_a_place_far_behind_is_held_until_its_client_may_ask_and_a_minute_more() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    (0..24).for_each(|_| _ = bench.queue(Parq));
    let client = bench.queue(Parq);
    bench.gone(&client);
    bench.pass(secs(660) - Duration::from_micros(1));
    assert!(bench.position(&client) > 0, "it was told to come in ten minutes");
    bench.pass(secs(1));
    assert_eq!(bench.position(&client), 0);
}

#[test]
fn pq_15_with_many_slots_an_estimate_is_what_is_left_at_the_rate_of_all() {
    // Up to sixteen slots are reckoned one by one, each with its part of the rate.
    for (slots, first, second) in [(16, 17, 17), (17, 17, 18), (20, 20, 21)] {
        let mut bench = Bench::new(Config { bandwidth: 1_000, ..config(slots) });
        (0..slots).for_each(|_| _ = bench.upload(Parq));
        let told = [(); 2].map(|()| bench.arrive(Parq).1.place().eta);
        assert_eq!(told, [Some(secs(first)), Some(secs(second))], "{slots} slots");
    }
}

#[test]
fn pq_12_a_row_that_is_here_is_not_restored_twice_and_one_of_a_connection_not_at_all() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let client = bench.queue(Parq);
    let row = *bench.store().iter().find(|row| Some(row.ticket) == client.ticket).unwrap();
    assert_eq!(bench.input(Input::Restore(row)), []);
    let ticket = servent_core::id::Guid([9; 16]);
    let bound = StoredEntry { dialect: Active, ticket, ..row };
    assert_eq!(bench.input(Input::Restore(bound)), [Output::Forget(ticket)]);
    assert_eq!(bench.server.length(), 1);
    bench.input(Input::Restore(StoredEntry { ticket, ..row }));
    assert_eq!(bench.server.length(), 2);
}

#[test]
fn pq_4_the_last_instant_of_a_lifetime_is_in_time() {
    for (late, lost) in [(0, 0), (1, 1)] {
        let mut bench = Bench::new(config(1));
        bench.upload(Parq);
        let (mut client, got) = bench.arrive(Parq);
        // The request is there before the timer runs.
        bench.now = bench.now + got.place().lifetime + Duration::from_micros(late);
        client.told = None;
        bench.ask(&mut client).place();
        assert_eq!(bench.lost().len(), lost);
    }
}
