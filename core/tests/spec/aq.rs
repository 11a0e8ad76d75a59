//! Active Queueing, the server's side. Each test is named by its requirement.

use crate::queue_support;

use queue_support::{Bench, Got, config, secs};
use servent_core::queue::Dialect::{Active, Parq, Passive};
use servent_core::queue::server::Input;
use servent_core::queue::{Event, FileKey, PositionLoss, QueueRefusal};

#[test]
fn aq_2_a_free_slot_starts_the_transfer_at_once() {
    let mut bench = Bench::new(config(2));
    bench.upload(Active);
    bench.upload(Active);
    assert_eq!(bench.server.free(), 0);
    assert_eq!(bench.queue(Active).told, None);
}

#[test]
fn aq_2_a_free_slot_kept_for_a_waiting_client_is_not_given_to_a_newcomer() {
    let mut bench = Bench::new(config(1));
    let first = bench.upload(Active);
    let mut head = bench.queue(Active);
    bench.finish(&first);
    assert_eq!(bench.server.free(), 1);
    let newcomer = bench.queue(Active);
    assert_eq!(bench.position(&newcomer), 2);
    bench.pass(secs(45));
    assert_eq!(bench.ask(&mut head), Got::Slot);
}

#[test]
fn aq_3_a_request_without_a_slot_goes_to_the_end_and_hears_all_five_numbers() {
    let mut bench = Bench::new(config(2));
    bench.upload(Active);
    bench.upload(Active);
    bench.queue(Active);
    let place = bench.arrive(Active).1.place();
    assert_eq!((place.position, place.length, place.limit), (2, 2, 2));
    assert_eq!((place.retry_after, place.lifetime), (secs(45), secs(120)));
    assert!(place.keep);
}

#[test]
fn aq_5_a_poll_before_poll_min_loses_the_place_and_the_connection() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let mut client = bench.queue(Active);
    bench.pass(secs(43));
    assert_eq!(bench.ask(&mut client), Got::HungUp(PositionLoss::TooEarly));
    assert_eq!(bench.server.length(), 0);
}

#[test]
fn aq_5_a_poll_at_poll_min_or_a_second_of_jitter_before_it_keeps_the_place() {
    for early in [0, 1] {
        let mut bench = Bench::new(config(1));
        bench.upload(Active);
        let mut client = bench.queue(Active);
        bench.pass(secs(45 - early));
        assert_eq!(bench.ask(&mut client).place().position, 1);
    }
}

#[test]
fn aq_6_a_poll_at_poll_max_is_in_time() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let mut client = bench.queue(Active);
    bench.pass(secs(120) - servent_core::time::Duration::from_micros(1));
    bench.now += servent_core::time::Duration::from_micros(1);
    assert_eq!(bench.ask(&mut client).place().position, 1);
}

#[test]
fn aq_6_no_poll_by_poll_max_loses_the_place_and_the_connection() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let client = bench.queue(Active);
    let outputs = bench.pass(secs(121));
    let why = PositionLoss::Overdue;
    let hangup = servent_core::queue::server::Output::Hangup { conn: client.conn, why };
    assert_eq!(outputs, [hangup]);
    assert_eq!((bench.server.length(), bench.lost()), (0, vec![why]));
}

#[test]
fn aq_6_a_poll_a_moment_after_poll_max_is_late_even_before_the_timer_ran() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let mut client = bench.queue(Active);
    bench.now += secs(120) + servent_core::time::Duration::from_micros(1);
    assert_eq!(bench.ask(&mut client), Got::HungUp(PositionLoss::Overdue));
}

#[test]
fn aq_7_a_dropped_connection_frees_the_place_at_once_and_the_rest_advance() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let (first, mut second) = (bench.queue(Active), bench.queue(Active));
    bench.gone(&first);
    assert_eq!(bench.lost(), [PositionLoss::ConnectionLost]);
    bench.pass(secs(45));
    let place = bench.ask(&mut second).place();
    assert_eq!((place.position, place.length), (1, 1));
}

#[test]
fn aq_8_another_file_while_queued_moves_to_the_back() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let (mut first, second) = (bench.queue(Active), bench.queue(Passive));
    bench.pass(secs(45));
    first.file = FileKey(2);
    assert_eq!(bench.ask(&mut first).place().position, 2);
    assert_eq!(bench.position(&second), 1);
    assert!(bench.events.iter().any(|e| matches!(e, Event::Moved { position: 2, .. })));
}

#[test]
fn aq_8_leaving_the_header_out_does_not_keep_the_place_for_another_file() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Active);
    let (mut first, mut second) = (bench.queue(Active), bench.queue(Active));
    bench.finish(&running);
    bench.pass(secs(45));
    (first.file, first.dialect) = (FileKey(2), Passive);
    assert_eq!(bench.ask(&mut first).place().position, 2);
    assert_eq!(bench.ask(&mut second), Got::Slot);
}

#[test]
fn aq_8_the_same_file_with_another_range_keeps_the_place() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let (mut first, _second) = (bench.queue(Active), bench.queue(Active));
    bench.pass(secs(45));
    first.bytes = 7;
    assert_eq!(bench.ask(&mut first).place().position, 1);
}

#[test]
fn aq_9_the_next_range_on_the_same_connection_is_not_queued() {
    let mut bench = Bench::new(config(1));
    let mut chunked = bench.upload(Active);
    let mut head = bench.queue(Active);
    bench.input(Input::Finished { conn: chunked.conn, last: false });
    bench.pass(secs(4));
    assert_eq!(bench.ask(&mut chunked), Got::Slot);
    bench.pass(secs(41));
    assert_eq!(bench.ask(&mut head).place().position, 1);
}

#[test]
fn aq_9_the_slot_waits_a_bounded_time_for_the_next_range() {
    let mut bench = Bench::new(config(1));
    let mut chunked = bench.upload(Active);
    let head = bench.queue(Parq);
    bench.input(Input::Finished { conn: chunked.conn, last: false });
    bench.pass(secs(6));
    assert_eq!(bench.server.free(), 1);
    assert_eq!(bench.ask(&mut chunked).place().position, 2);
    assert_eq!(bench.position(&head), 1);
}

#[test]
fn aq_9_the_last_byte_of_the_file_or_a_closed_connection_holds_nothing() {
    let mut bench = Bench::new(config(2));
    let (done, left) = (bench.upload(Active), bench.upload(Active));
    bench.input(Input::Finished { conn: left.conn, last: false });
    bench.finish(&done);
    assert_eq!(bench.server.free(), 1);
    bench.gone(&left);
    assert_eq!(bench.server.free(), 2);
    assert_eq!(bench.store(), []);
}

#[test]
fn aq_9_another_file_in_the_slot_is_an_ordinary_request() {
    let mut bench = Bench::new(config(1));
    let mut chunked = bench.upload(Active);
    let head = bench.queue(Active);
    bench.input(Input::Finished { conn: chunked.conn, last: false });
    chunked.file = FileKey(2);
    assert_eq!(bench.ask(&mut chunked).place().position, 2);
    assert_eq!(bench.position(&head), 1);
}

#[test]
fn aq_9_no_client_stays_for_ever_by_never_asking_for_the_end() {
    let mut bench = Bench::new(servent_core::queue::Config { ranges_per_slot: 3, ..config(1) });
    let mut chunked = bench.upload(Active);
    bench.queue(Active);
    for _ in 0..2 {
        bench.input(Input::Finished { conn: chunked.conn, last: false });
        assert_eq!(bench.ask(&mut chunked), Got::Slot);
    }
    bench.input(Input::Finished { conn: chunked.conn, last: false });
    assert_eq!(bench.ask(&mut chunked).place().position, 2);
}

#[test]
fn aq_10_beyond_the_maximum_length_comes_a_plain_503() {
    let mut bench = Bench::new(servent_core::queue::Config { capacity: 2, ..config(2) });
    bench.upload(Active);
    bench.upload(Parq);
    assert_eq!(bench.arrive(Active).1.place().position, 1);
    assert_eq!(bench.arrive(Passive).1.place().position, 2);
    for dialect in [Active, Parq, Passive] {
        assert_eq!(bench.arrive(dialect).1, Got::Busy(QueueRefusal::QueueFull));
    }
    assert_eq!(bench.server.length(), 2);
}

#[test]
fn aq_10_one_address_gets_a_bounded_number_of_places() {
    let mut bench = Bench::new(servent_core::queue::Config { per_ip: 2, ..config(1) });
    let first = bench.upload(Active);
    let same = |bench: &mut Bench| {
        let mut client = bench.client(Active);
        client.peer = first.peer;
        bench.ask(&mut client)
    };
    assert_eq!(same(&mut bench).place().position, 1);
    assert_eq!(same(&mut bench), Got::Busy(QueueRefusal::PerAddress));
    bench.queue(Active);
}

#[test]
fn aq_10_a_host_with_a_whole_network_of_addresses_gets_no_more_places_than_one() {
    let mut bench = Bench::new(servent_core::queue::Config { per_ip: 2, ..config(1) });
    bench.upload(Active);
    let from = |bench: &mut Bench, peer: &str| {
        let mut client = bench.client(Active);
        client.peer = peer.parse().unwrap();
        bench.ask(&mut client)
    };
    assert_eq!(from(&mut bench, "2001:db8::1").place().position, 1);
    assert_eq!(from(&mut bench, "2001:db8::2").place().position, 2);
    assert_eq!(from(&mut bench, "2001:db8::3"), Got::Busy(QueueRefusal::PerAddress));
    assert_eq!(from(&mut bench, "2001:db8:0:1::3").place().position, 3);
}

#[test]
fn aq_11_poll_times_grow_with_the_position() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let told: Vec<_> = (0..12)
        .map(|_| bench.arrive(Active).1.place())
        .map(|place| (place.retry_after.as_secs(), place.lifetime.as_secs()))
        .collect();
    assert_eq!(told[..4], [(45, 120), (45, 120), (90, 240), (90, 240)]);
    assert_eq!(told[8..], [(225, 600); 4]);
}

#[test]
fn aq_12_a_full_line_is_known_so_that_query_hits_can_say_busy() {
    let mut bench = Bench::new(servent_core::queue::Config { capacity: 1, ..config(1) });
    assert!(bench.server.has_room());
    bench.upload(Active);
    assert!(bench.server.has_room());
    let waiting = bench.queue(Active);
    assert!(!bench.server.has_room());
    bench.gone(&waiting);
    assert!(bench.server.has_room());
}

#[test]
fn aq_2_a_freed_slot_goes_to_position_one_and_not_to_position_two() {
    let mut bench = Bench::new(config(2));
    let (done, _other) = (bench.upload(Active), bench.upload(Active));
    let (mut one, mut two) = (bench.queue(Active), bench.queue(Active));
    bench.finish(&done);
    bench.pass(secs(45));
    assert_eq!(bench.ask(&mut two).place().position, 2);
    assert_eq!(bench.ask(&mut one), Got::Slot);
    assert_eq!(bench.position(&two), 1);
    assert_eq!(bench.arrive(Active).1.place().position, 2);
}
