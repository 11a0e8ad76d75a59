//! PARQ 1.0.a, the server's side. Each test is named by its requirement.

use crate::queue_support;

use std::net::SocketAddr;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::id::Guid;
use servent_core::queue::Dialect::{Active, Parq, Parq11, Passive};
use servent_core::queue::server::{Input, Output};
use servent_core::queue::{Config, Event, FileKey, PositionLoss, RowState};

fn callable(bench: &mut Bench) -> Client {
    let mut client = bench.client(Parq);
    client.callback = Some(SocketAddr::new(client.peer, 6346));
    bench.ask(&mut client).place();
    client
}

fn calls(outputs: &[Output]) -> Vec<SocketAddr> {
    let call = |output: &Output| match output {
        Output::Call { to, .. } => Some(*to),
        _ => None,
    };
    outputs.iter().filter_map(call).collect()
}

#[test]
fn pq_1_the_first_fifty_keep_their_connection_the_others_come_back() {
    let mut bench = Bench::new(Config { capacity: 5_000, ..config(1) });
    bench.upload(Parq);
    for position in 1..=5_000 {
        let place = bench.arrive(Parq).1.place();
        assert_eq!((place.position, place.keep), (position, position <= 50));
    }
}

#[test]
fn pq_1_moving_from_the_far_part_to_the_near_part_keeps_the_connection() {
    let mut bench = Bench::new(Config { sync_places: 1, ..config(1) });
    bench.upload(Parq);
    let first = bench.queue(Active);
    let mut second = bench.client(Parq);
    assert!(!bench.ask(&mut second).place().keep);
    bench.gone(&first);
    bench.pass(secs(50));
    second.conn = bench.conn();
    assert!(bench.ask(&mut second).place().keep);
}

#[test]
fn pq_2_every_place_has_its_own_random_id() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut ids: Vec<Guid> = (0..100).map(|_| bench.arrive(Parq).1.place().ticket).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 100);
    assert!(ids.iter().all(|id| id.0 != [0; 16]));
}

#[test]
fn pq_3_a_passive_client_is_remembered_by_its_address() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = bench.client(Passive);
    let place = bench.ask(&mut client).place();
    assert!(!place.keep);
    bench.gone(&client);
    bench.queue(Parq);
    bench.pass(secs(299));
    client.conn = bench.conn();
    assert_eq!(bench.ask(&mut client).place().position, 1);
    assert_eq!(bench.server.length(), 2);
}

#[test]
fn pq_3_a_passive_client_is_found_among_many_others_of_its_address() {
    let mut bench = Bench::new(Config { hammer_requests: 1_000, ..config(1) });
    bench.upload(Active);
    let mut passive = bench.queue(Passive);
    for _ in 0..100 {
        let mut other = bench.client(Parq);
        other.peer = passive.peer;
        bench.ask(&mut other).place();
    }
    passive.conn = bench.conn();
    let place = bench.ask(&mut passive).place();
    assert_eq!((place.position, place.length), (1, 101));
}

#[test]
fn pq_3_a_passive_client_that_stays_away_for_300_seconds_is_forgotten() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    bench.queue(Passive);
    bench.pass(secs(301));
    assert_eq!((bench.server.length(), bench.lost()), (0, vec![PositionLoss::Overdue]));
    assert_eq!(bench.store().len(), 1, "only the running upload is remembered");
}

#[test]
fn pq_4_the_reply_holds_position_length_lifetime_and_retry_after() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    bench.queue(Parq);
    let place = bench.arrive(Parq).1.place();
    assert_eq!((place.position, place.length), (2, 2));
    assert_eq!((place.retry_after, place.lifetime), (secs(50), secs(300)));
}

#[test]
fn pq_4_the_lifetime_never_ends_before_retry_after() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    for _ in 0..30 {
        let place = bench.arrive(Parq).1.place();
        let expected = secs(300).max(place.retry_after + secs(60));
        assert_eq!(place.lifetime, expected, "position {}", place.position);
    }
}

#[test]
fn pq_5_every_client_is_answered_in_its_own_language() {
    let mut bench = Bench::new(config(0));
    for dialect in [Active, Parq, Parq11, Passive] {
        assert_eq!(bench.arrive(dialect).1.place().dialect, dialect);
    }
}

#[test]
fn pq_6_a_wrong_position_frees_the_place() {
    for wrong in [0, 2, 99] {
        let mut bench = Bench::new(config(1));
        bench.upload(Parq);
        let (mut client, other) = (bench.queue(Parq), bench.queue(Parq));
        let old = client.ticket;
        bench.pass(secs(30));
        client.told = Some(wrong);
        client.conn = bench.conn();
        assert_eq!(bench.ask(&mut client).place().position, 2, "a new place, at the end");
        assert_ne!(client.ticket, old);
        assert_eq!((bench.lost(), bench.position(&other)), (vec![PositionLoss::WrongPosition], 1));
    }
}

#[test]
fn pq_6_a_client_that_missed_the_last_reply_may_name_the_one_before() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let (first, mut second) = (bench.queue(Active), bench.queue(Parq));
    bench.gone(&first);
    bench.pass(secs(50));
    bench.ask(&mut second).place();
    bench.gone(&second);
    second.told = Some(2);
    second.conn = bench.conn();
    bench.pass(secs(30));
    assert_eq!(bench.ask(&mut second).place().position, 1);
}

#[test]
fn pq_7_a_request_before_retry_after_frees_the_place() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let (mut client, other) = (bench.queue(Parq), bench.queue(Parq));
    bench.pass(secs(28));
    assert_eq!(bench.ask(&mut client).place().position, 2);
    assert_eq!((bench.lost(), bench.position(&other)), (vec![PositionLoss::TooEarly], 1));
}

#[test]
fn pq_8_a_silent_client_with_x_node_is_called_and_answers_with_a_request() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = callable(&mut bench);
    bench.queue(Active);
    bench.gone(&client);
    let called = calls(&bench.pass(secs(301)));
    assert_eq!(called, [client.callback.unwrap()]);
    client.conn = bench.conn();
    assert_eq!(bench.ask(&mut client).place().position, 1);
    assert_eq!(calls(&bench.pass(secs(120))), []);
}

#[test]
fn pq_8_two_ignored_calls_free_the_place() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let client = callable(&mut bench);
    let called = bench.pass(secs(310));
    assert_eq!((calls(&called).len(), bench.server.length()), (1, 1));
    let called = bench.pass(secs(60));
    assert_eq!((calls(&called).len(), bench.server.length()), (1, 1));
    let called = bench.pass(secs(60));
    assert_eq!((calls(&called).len(), bench.server.length()), (0, 0));
    assert_eq!(bench.lost(), [PositionLoss::Unreachable]);
    assert_eq!(bench.position(&client), 0);
}

#[test]
fn pq_8_a_last_call_that_fails_frees_the_place_at_once() {
    let mut bench = Bench::new(Config { calls: 1, ..config(1) });
    bench.upload(Parq);
    let client = callable(&mut bench);
    bench.pass(secs(301));
    bench.input(Input::CallDone { ticket: client.ticket.unwrap(), ok: false });
    assert_eq!(bench.lost(), [PositionLoss::Unreachable]);
}

#[test]
fn pq_8_no_client_is_called_without_x_node_or_at_a_third_party() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    bench.queue(Parq);
    let mut liar = bench.client(Parq);
    liar.callback = Some("192.0.2.1:6346".parse().unwrap());
    bench.ask(&mut liar).place();
    assert_eq!(calls(&bench.pass(secs(2_000))), []);
    assert_eq!(bench.server.length(), 0);
}

#[test]
fn pq_8_calls_to_one_address_are_limited() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let first = callable(&mut bench);
    for _ in 0..20 {
        let mut client = bench.client(Parq);
        client.peer = first.peer;
        client.callback = first.callback;
        bench.ask(&mut client).place();
    }
    // The twenty-first place lives for 660 s; all are overdue by then.
    bench.pass(secs(299));
    for _ in 0..30 {
        assert!(calls(&bench.pass(secs(60))).len() <= 8);
    }
}

#[test]
fn pq_8_calls_in_all_are_spread() {
    let mut bench = Bench::new(Config { calls_per_second: 2, ..config(1) });
    bench.upload(Parq);
    for _ in 0..10 {
        callable(&mut bench);
    }
    bench.pass(secs(299));
    for _ in 0..10 {
        assert!(calls(&bench.pass(secs(1))).len() <= 3);
    }
}

#[test]
fn pq_9_retry_after_grows_by_twenty_seconds_a_place_and_then_stays() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let told: Vec<u64> =
        (0..25).map(|_| bench.arrive(Parq).1.place().retry_after.as_secs()).collect();
    assert_eq!((told[0], told[1], told[13], told[19]), (30, 50, 290, 410));
    assert_eq!(told[20..], [600; 5]);
}

#[test]
fn pq_10_one_broken_connection_keeps_the_place_the_next_frees_it() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let (mut client, _other) = (bench.queue(Parq), bench.queue(Active));
    bench.gone(&client);
    assert_eq!(bench.position(&client), 1);
    bench.pass(secs(60));
    client.conn = bench.conn();
    assert_eq!(bench.ask(&mut client).place().position, 1);
    bench.gone(&client);
    assert_eq!((bench.lost(), bench.position(&client)), (vec![PositionLoss::BrokeTooOften], 0));
}

#[test]
fn pq_10_the_first_break_is_held_for_300_seconds_and_no_longer() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let client = bench.queue(Parq);
    bench.pass(secs(10));
    bench.gone(&client);
    bench.pass(secs(300) - servent_core::time::Duration::from_micros(1));
    assert_eq!(bench.position(&client), 1);
    bench.pass(secs(1));
    assert_eq!((bench.position(&client), bench.lost()), (0, vec![PositionLoss::Overdue]));
}

#[test]
fn pq_10_a_closed_connection_of_the_far_part_is_no_break() {
    let mut bench = Bench::new(Config { sync_places: 0, ..config(1) });
    bench.upload(Parq);
    let mut client = bench.queue(Parq);
    for _ in 0..5 {
        bench.gone(&client);
        bench.pass(secs(30));
        client.conn = bench.conn();
        assert_eq!(bench.ask(&mut client).place().position, 1);
    }
}

#[test]
fn pq_11_a_passive_client_is_told_at_most_250_seconds() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let told: Vec<u64> =
        (0..25).map(|_| bench.arrive(Passive).1.place().retry_after.as_secs()).collect();
    assert_eq!((told[0], told[11], told[12], told[24]), (30, 250, 250, 250));
}

#[test]
fn pq_11_a_passive_client_that_ignores_retry_after_keeps_its_place() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = bench.queue(Passive);
    for _ in 0..20 {
        bench.pass(secs(2));
        client.conn = bench.conn();
        assert_eq!(bench.ask(&mut client).place().position, 1);
    }
}

#[test]
fn pq_11_hammering_is_refused_and_forgiven_and_hurts_no_client_that_names_itself() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    let mut hammer = bench.queue(Passive);
    let mut holder = bench.client(Active);
    let mut known = bench.client(Parq);
    (holder.peer, known.peer) = (hammer.peer, hammer.peer);
    bench.ask(&mut holder).place();
    bench.ask(&mut known).place();
    let refused = (0..100).find_map(|_| match bench.ask(&mut hammer) {
        Got::Hammering(pause) => Some(pause),
        _ => None,
    });
    assert_eq!(refused, Some(secs(60)));
    bench.pass(secs(90) - secs(20));
    known.conn = bench.conn();
    for _ in 0..100 {
        bench.ask(&mut hammer);
    }
    assert!(matches!(bench.ask(&mut hammer), Got::Hammering(_)));
    bench.ask(&mut holder).place();
    assert_eq!(bench.ask(&mut known).place().position, 3);
    bench.pass(secs(61));
    assert_eq!(bench.ask(&mut hammer).place().position, 1, "lifted, and the place still there");
}

#[test]
fn pq_12_five_thousand_places_and_ids_survive_a_crash() {
    let mut bench = Bench::new(Config { capacity: 5_000, ..config(2) });
    let (_running, done) = (bench.upload(Parq), bench.upload(Parq));
    let mut clients: Vec<Client> =
        (0..5_000).map(|n| bench.queue(if n % 3 == 0 { Passive } else { Parq })).collect();
    bench.finish(&done);
    bench.restart(secs(86_400 * 3));
    assert_eq!(bench.server.length(), 5_000);
    bench.pass(secs(150));
    for (ahead, client) in clients[..20].iter_mut().enumerate() {
        client.conn = bench.conn();
        let id = client.ticket;
        match (ahead, bench.ask(client)) {
            (0, got) => assert_eq!(got, Got::Slot),
            (_, got) => assert_eq!(got.place().position as usize, ahead),
        }
        assert_eq!(client.ticket, id);
    }
    bench.pass(secs(149));
    assert_eq!(bench.server.length(), 4_999);
    bench.pass(secs(2));
    assert_eq!(bench.server.length(), 19, "those who did not come back in 300 s are gone");
}

#[test]
fn pq_12_after_a_restart_holders_of_x_node_are_called_owners_of_slots_first() {
    let mut bench = Bench::new(config(1));
    let mut owner = bench.client(Parq);
    owner.callback = Some(SocketAddr::new(owner.peer, 6346));
    assert_eq!(bench.ask(&mut owner), Got::Slot);
    let (first, _mute) = (callable(&mut bench), bench.queue(Parq));
    let running = bench.store().into_iter().find(|row| row.state == RowState::Uploading).unwrap();
    let mut called = calls(&bench.restart(secs(86_400)));
    called.extend(calls(&bench.pass(secs(5))));
    assert_eq!(called, [owner.callback.unwrap(), first.callback.unwrap()]);
    assert_eq!(bench.server.free(), 0, "the slot is held for its owner");
    (owner.ticket, owner.conn) = (Some(running.ticket), bench.conn());
    assert_eq!(bench.ask(&mut owner), Got::Slot);
}

#[test]
fn pq_12_places_of_active_queueing_are_never_written_down() {
    let mut bench = Bench::new(config(1));
    bench.upload(Active);
    bench.queue(Active);
    assert_eq!(bench.store(), []);
}

#[test]
fn pq_12_what_a_client_is_told_is_saved_before_it_is_told() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = bench.queue(Parq);
    bench.pass(secs(30));
    let place = bench.ask(&mut client).place();
    let told = bench.outputs.len();
    match &bench.outputs[told - 2..] {
        [Output::Save(row), Output::Reply { .. }] => {
            assert_eq!((row.ticket, row.told), (place.ticket, place.position));
            assert_eq!(row.not_before, bench.now + place.retry_after);
            assert_eq!(row.deadline, bench.now + place.lifetime);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn pq_13_a_parq_client_asks_for_another_file_and_keeps_its_place() {
    let mut bench = Bench::new(config(1));
    let first = bench.upload(Parq);
    let (mut client, _other) = (bench.queue(Parq), bench.queue(Parq));
    bench.pass(secs(30));
    client.file = FileKey(9);
    assert_eq!(bench.ask(&mut client).place().position, 1);
    bench.finish(&first);
    bench.pass(secs(30));
    client.file = FileKey(10);
    assert_eq!(bench.ask(&mut client), Got::Slot);
}

#[test]
fn pq_14_a_broken_transfer_keeps_its_slot_300_seconds_for_the_same_address_and_file() {
    for dialect in [Parq, Passive] {
        let mut bench = Bench::new(config(1));
        let mut owner = bench.upload(dialect);
        let mut head = bench.queue(Parq);
        bench.input(Input::Broken { conn: owner.conn });
        bench.pass(secs(290));
        head.conn = bench.conn();
        assert_eq!(bench.ask(&mut head).place().position, 1);
        owner.conn = bench.conn();
        assert_eq!(bench.ask(&mut owner), Got::Slot);
    }
}

#[test]
fn pq_14_another_file_or_address_does_not_get_the_held_slot_and_it_ends() {
    let mut bench = Bench::new(config(1));
    let mut owner = bench.upload(Passive);
    bench.input(Input::Broken { conn: owner.conn });
    let mut other = bench.queue(Parq);
    owner.conn = bench.conn();
    owner.file = FileKey(2);
    assert_eq!(bench.ask(&mut owner).place().position, 2);
    bench.pass(secs(200));
    bench.ask(&mut other).place();
    bench.pass(secs(101));
    assert!(bench.events.iter().any(|e| matches!(e, Event::Unreserved { free: 1, .. })));
    assert_eq!(bench.ask(&mut other), Got::Slot);
}

#[test]
fn pq_14_a_slot_that_breaks_again_and_again_is_freed() {
    let mut bench = Bench::new(config(1));
    let mut owner = bench.upload(Parq);
    for _ in 0..3 {
        bench.input(Input::Broken { conn: owner.conn });
        owner.conn = bench.conn();
        assert_eq!(bench.ask(&mut owner), Got::Slot);
    }
    bench.input(Input::Broken { conn: owner.conn });
    assert_eq!(bench.server.free(), 1);
}

#[test]
fn pq_14_a_transfer_we_end_ourselves_holds_nothing() {
    let mut bench = Bench::new(config(1));
    let stalled = bench.upload(Parq);
    bench.gone(&stalled);
    assert_eq!((bench.server.free(), bench.store()), (1, vec![]));
}

#[test]
fn pq_15_the_eta_is_bytes_ahead_over_bandwidth_or_nothing() {
    let mut bench = Bench::new(Config { bandwidth: 100, ..config(1) });
    bench.upload(Parq);
    // What is left of the running upload stands before them too.
    for expected in [10, 20, 30] {
        assert_eq!(bench.arrive(Parq).1.place().eta, Some(secs(expected)));
    }
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    assert_eq!(bench.arrive(Parq).1.place().eta, None);
}

#[test]
fn pq_15_absurd_sizes_make_no_absurd_eta() {
    let mut bench = Bench::new(Config { bandwidth: 1 << 20, ..config(0) });
    for ahead in 0..10 {
        let mut client = bench.client(Parq);
        client.bytes = u64::MAX;
        let eta = bench.ask(&mut client).place().eta.unwrap();
        assert_eq!(eta, secs(ahead << 20));
    }
}

#[test]
fn pq_9_the_time_scale_divides_what_is_told_and_what_is_enforced() {
    let mut bench = Bench::new(Config { time_scale: 100, ..config(1) });
    bench.upload(Parq);
    let mut client = bench.client(Parq);
    let place = bench.ask(&mut client).place();
    assert_eq!((place.retry_after.as_millis(), place.lifetime.as_millis()), (300, 3_000));
    bench.pass(place.retry_after);
    assert_eq!(bench.ask(&mut client).place().position, 1);
    bench.pass(secs(4));
    assert_eq!(bench.lost(), [PositionLoss::Overdue]);
}

#[test]
fn pq_7_a_client_that_asks_too_early_again_and_again_is_refused_as_hammering() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut hasty = bench.queue(Parq);
    let early = (0..100).take_while(|_| matches!(bench.ask(&mut hasty), Got::Place(_))).count();
    assert_eq!(early, 59, "sixty requests a minute, the first one counted");
    assert_eq!((bench.server.length(), bench.store().len()), (0, 1));
    bench.pass(secs(61));
    assert_eq!(bench.ask(&mut hasty).place().position, 1);
}

#[test]
fn pq_12_a_clock_that_was_set_back_keeps_no_place_longer_than_any_is_told() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let (_silent, other) = (bench.queue(Parq), bench.queue(Passive));
    bench.now = servent_core::time::Instant::from_secs(1_000);
    bench.restart(secs(0));
    assert_eq!(bench.position(&other), 2);
    bench.pass(secs(661));
    assert_eq!((bench.server.length(), bench.store()), (0, vec![]));
}

#[test]
fn pq_10_a_client_that_lost_its_synchronous_connection_may_come_back_before_its_time() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let mut client = bench.queue(Parq);
    bench.pass(secs(10));
    bench.gone(&client);
    client.conn = bench.conn();
    bench.pass(secs(1));
    let place = bench.ask(&mut client).place();
    assert_eq!((place.position, place.retry_after.as_secs(), bench.lost()), (1, 30, vec![]));
    bench.pass(secs(10));
    assert_eq!(bench.ask(&mut client).place().position, 1);
    assert_eq!(
        bench.lost(),
        [PositionLoss::TooEarly],
        "on a connection that stands it is too early"
    );
}

#[test]
fn pq_14_pieces_on_a_connection_each_keep_the_slot_between_them() {
    let mut bench = Bench::new(config(1));
    let mut client = bench.upload(Passive);
    let waits = bench.queue(Passive);
    for _ in 0..3 {
        bench.input(Input::Parted { conn: client.conn });
        bench.gone(&client);
        client.conn = bench.conn();
        bench.pass(secs(4));
        assert_eq!(bench.ask(&mut client), Got::Slot);
    }
    bench.input(Input::Parted { conn: client.conn });
    bench.pass(secs(6));
    assert_eq!((bench.server.free(), bench.position(&waits)), (1, 1));
}

#[test]
fn pq_11_what_is_served_is_no_hammering() {
    let mut bench = Bench::new(Config { hammer_requests: 10, ..config(1) });
    let again = |bench: &mut Bench| {
        let mut client = bench.client(Passive);
        client.peer = [192, 0, 2, 1].into();
        (bench.ask(&mut client), client)
    };
    for _ in 0..150 {
        let (got, client) = again(&mut bench);
        assert_eq!(got, Got::Slot);
        bench.finish(&client);
    }
    bench.upload(Parq);
    let refused = (0..20).filter(|_| matches!(again(&mut bench).0, Got::Hammering(_))).count();
    assert_eq!(refused, 10, "queue decisions are counted");
}
