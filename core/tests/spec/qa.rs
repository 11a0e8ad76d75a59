//! The adaptive policy of the upload queue: told times follow what is
//! measured, and turn out to be true.

use crate::queue_support;

use queue_support::{Bench, Client, Got, config, secs};
use servent_core::id::ConnId;
use servent_core::queue::Dialect::{Active, Parq, Parq11, Passive};
use servent_core::queue::server::{Input, Output, QueueRequest, QueueVerdict};
use servent_core::queue::{Config, Dialect, Event, PositionLoss, QueuePolicy};
use servent_core::wire::http::{HeadLimits, HeadWriter, RequestHead};
use servent_core::wire::queue::{PositionClaim, waits, write_claim};

fn adaptive(slots: u32) -> Config {
    Config { policy: QueuePolicy::Adaptive, ..config(slots) }
}

/// A client in a slot that gets `bytes`.
fn uploading(bench: &mut Bench, bytes: u64) -> Client {
    let mut client = bench.client(Parq);
    client.bytes = bytes;
    bench.ask(&mut client);
    client
}

/// `seconds` in which a client gets so many bytes each second.
fn run(bench: &mut Bench, client: &Client, from: u64, seconds: u64, rate: u64) {
    for second in 1..=seconds {
        bench.pass(secs(1));
        bench.input(Input::Progress { conn: client.conn, bytes: from + second * rate });
    }
}

#[test]
fn qa_1_a_window_follows_the_expected_time_and_is_never_longer_than_the_texts() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    uploading(&mut bench, 20_000);
    let told = |place: servent_core::queue::QueuePosition| {
        (place.retry_after.as_secs(), place.lifetime.as_secs())
    };
    assert_eq!(told(bench.arrive(Active).1.place()), (10, 85));
    assert_eq!(told(bench.arrive(Parq).1.place()), (11, 300));
    assert_eq!(told(bench.arrive(Passive).1.place()), (11, 300));
    let mut far = bench.client(Parq11);
    far.bytes = 1_000_000;
    assert_eq!(told(bench.ask(&mut far).place()), (12, 300));
    assert_eq!(told(bench.arrive(Parq).1.place()), (110, 300), "as in the text");
    assert_eq!(told(bench.arrive(Active).1.place()), (135, 360), "as in the text");
}

#[test]
fn qa_1_every_poll_comes_closer_to_the_slot_down_to_a_floor() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let running = uploading(&mut bench, 40_000);
    let mut head = bench.queue(Parq);
    let mut told = Vec::new();
    let mut sent = 0;
    for wait in [20, 10, 5, 3, 1, 1] {
        run(&mut bench, &running, sent * 1_000, wait, 1_000);
        sent += wait;
        told.push(bench.ask(&mut head).place().retry_after.as_secs());
    }
    assert_eq!((sent, told), (40, vec![10, 5, 3, 1, 1, 1]));
    let passive = bench.arrive(Passive).1.place();
    assert_eq!(passive.retry_after.as_secs(), 5, "a client that connects anew is spared");
}

#[test]
fn qa_1_no_client_is_punished_for_a_time_it_was_not_told() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    uploading(&mut bench, 10_000);
    let mut clients: Vec<_> =
        [Active, Parq, Passive].map(|d| (bench.client(d), bench.now)).into_iter().collect();
    for _ in 0..60 {
        let (client, due) = clients.iter_mut().min_by_key(|(_, due)| *due).unwrap();
        bench.pass(due.since(bench.now));
        *due = bench.now + bench.ask(client).place().retry_after;
    }
    assert_eq!(bench.lost(), []);
}

#[test]
fn qa_5_the_rate_is_measured_and_the_running_uploads_count_as_far_as_they_are() {
    let mut bench = Bench::new(adaptive(1));
    let running = uploading(&mut bench, 100_000);
    assert_eq!(bench.arrive(Parq).1.place().eta, None, "nothing is measured yet");
    run(&mut bench, &running, 0, 10, 5_000);
    for (bytes, expected) in [(25_000, 11), (5_000, 16), (5_000, 17)] {
        let mut client = bench.client(Parq);
        client.bytes = bytes;
        assert_eq!(bench.ask(&mut client).place().eta, Some(secs(expected)));
    }
}

#[test]
fn qa_5_with_several_slots_the_estimate_is_of_the_one_that_falls_free_first() {
    let mut bench = Bench::new(Config { bandwidth: 2_000, ..adaptive(2) });
    uploading(&mut bench, 4_000);
    uploading(&mut bench, 30_000);
    let mut told = Vec::new();
    for bytes in [6_000, 50_000, 1_000] {
        let mut client = bench.client(Parq);
        client.bytes = bytes;
        told.push(bench.ask(&mut client).place().eta.unwrap().as_secs());
    }
    // The first slot at 4 s and, after 6 s of the next, at 10 s; the other at 30 s.
    assert_eq!(told, [4, 10, 30]);
}

#[test]
fn qa_5_a_client_that_takes_its_file_piece_by_piece_counts_with_the_rest_of_it() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let mut piecewise = bench.client(Parq);
    (piecewise.bytes, piecewise.rest) = (10_000, 90_000);
    bench.ask(&mut piecewise);
    run(&mut bench, &piecewise, 0, 5, 1_000);
    assert_eq!(bench.arrive(Parq).1.place().eta, Some(secs(95)));
    run(&mut bench, &piecewise, 5_000, 5, 1_000);
    bench.input(Input::Finished { conn: piecewise.conn, last: false });
    let mut next = bench.client(Parq);
    (next.bytes, next.rest) = (1_000, 9_000);
    assert_eq!(bench.ask(&mut next).place().eta, Some(secs(91)), "between two pieces");
    assert_eq!(bench.arrive(Parq).1.place().eta, Some(secs(101)), "in line, too");
    (piecewise.bytes, piecewise.rest) = (90_000, 0);
    bench.ask(&mut piecewise);
    assert_eq!(bench.arrive(Parq).1.place().eta, Some(secs(102)), "and nothing counts twice");
}

#[test]
fn qa_5_a_held_slot_counts_with_the_time_it_is_held() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..config(1) });
    let owner = uploading(&mut bench, 50_000);
    breaks(&mut bench, &owner);
    bench.pass(secs(100));
    assert_eq!(bench.arrive(Passive).1.place().eta, Some(secs(200)));
}

/// A client that waits for its answer, and what it hears at once.
fn patient(bench: &mut Bench, dialect: Dialect) -> (Client, Vec<Output>) {
    let client = bench.client(dialect);
    let said = asks(bench, &client);
    (client, said)
}

fn asks(bench: &mut Bench, client: &Client) -> Vec<Output> {
    let said = bench.input(Input::Request(QueueRequest {
        conn: client.conn,
        peer: client.peer,
        dialect: client.dialect,
        file: client.file,
        bytes: client.bytes,
        rest: client.rest,
        ticket: client.ticket,
        told: client.told,
        callback: None,
        waits: true,
        sleeps: false,
    }));
    said.into_iter().filter(|one| matches!(one, Output::Reply { .. })).collect()
}

/// Which client each reply is for, and whether it is a slot.
fn replies(said: &[Output]) -> Vec<(ConnId, bool)> {
    let reply = |one: &Output| match one {
        Output::Reply { conn, verdict } => {
            Some((*conn, matches!(verdict, QueueVerdict::Start { .. })))
        }
        _ => None,
    };
    said.iter().filter_map(reply).collect()
}

#[test]
fn qa_3_a_held_poll_is_answered_in_the_instant_the_slot_is_there() {
    let mut bench = Bench::new(adaptive(1));
    let running = bench.upload(Parq);
    let ((one, first), (two, second)) = (patient(&mut bench, Parq), patient(&mut bench, Passive));
    assert_eq!((first, second), (vec![], vec![]));
    bench.pass(secs(7));
    let said = bench.input(Input::Finished { conn: running.conn, last: true });
    assert_eq!(replies(&said), [(one.conn, true)]);
    let said = bench.input(Input::Finished { conn: one.conn, last: true });
    assert_eq!(replies(&said), [(two.conn, true)]);
}

#[test]
fn qa_3_a_hold_ends_and_tells_a_place_and_plain_clients_are_held_a_shorter_time() {
    let mut bench = Bench::new(adaptive(1));
    bench.upload(Parq);
    let ((ours, _), (plain, _)) = (patient(&mut bench, Parq), patient(&mut bench, Passive));
    assert_eq!(replies(&bench.pass(secs(19))), []);
    assert_eq!(replies(&bench.pass(secs(1))), [(plain.conn, false)]);
    assert_eq!(replies(&bench.pass(secs(4))), []);
    assert_eq!(replies(&bench.pass(secs(1))), [(ours.conn, false)]);
    assert_eq!((bench.position(&ours), bench.position(&plain)), (1, 2));
}

#[test]
fn qa_3_a_client_that_does_not_say_that_it_waits_is_answered_at_once() {
    let mut bench = Bench::new(adaptive(1));
    bench.upload(Parq);
    for dialect in [Active, Parq, Parq11] {
        bench.arrive(dialect).1.place();
    }
    assert_eq!(patient(&mut bench, Active).1.len(), 1, "how long it waits is not known");
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    assert_eq!(patient(&mut bench, Parq).1.len(), 1, "as in the text");
}

#[test]
fn qa_3_without_a_hold_every_client_is_answered_at_once() {
    let nothing = servent_core::time::Duration::ZERO;
    let mut bench = Bench::new(Config { hold: nothing, hold_plain: nothing, ..adaptive(1) });
    bench.upload(Parq);
    for dialect in [Parq, Parq11, Passive] {
        assert_eq!(patient(&mut bench, dialect).1.len(), 1, "{dialect:?}");
    }
}

#[test]
fn qa_7_with_no_client_waiting_no_slot_waits_for_a_next_file() {
    let mut bench = Bench::new(adaptive(1));
    let mut client = bench.upload(Passive);
    for _ in 0..3 {
        bench.finish(&client);
        let view = bench.server.view(1, 0, bench.now);
        assert_eq!((view.uploads.len(), view.free), (0, 1));
        assert_eq!(bench.ask(&mut client), Got::Slot);
    }
}

#[test]
fn qa_3_with_no_time_to_hold_every_client_is_answered_at_once() {
    let (hold, hold_plain) = (secs(0), secs(0));
    let mut bench = Bench::new(Config { hold, hold_plain, ..adaptive(1) });
    bench.upload(Parq);
    for dialect in [Parq, Passive] {
        let (client, said) = patient(&mut bench, dialect);
        assert_eq!(replies(&said), [(client.conn, false)]);
    }
}

#[test]
fn qa_3_held_requests_are_bounded_in_number_and_for_each_address() {
    let mut bench = Bench::new(Config { holds: 3, holds_per_ip: 2, ..adaptive(1) });
    bench.upload(Parq);
    let from = |bench: &mut Bench, n: u8| {
        let mut client = bench.client(Parq);
        client.peer = [192, 0, 2, n].into();
        asks(bench, &client).len()
    };
    let answered = [1, 1, 1, 2, 3].map(|n| from(&mut bench, n));
    assert_eq!(answered, [0, 0, 1, 0, 1]);
}

#[test]
fn qa_3_a_held_request_is_no_hammering_until_it_is_given_up() {
    let mut bench = Bench::new(Config { hammer_requests: 10, ..adaptive(1) });
    bench.upload(Parq);
    let ask = |bench: &mut Bench| {
        let mut client = bench.client(Parq);
        client.peer = [192, 0, 2, 1].into();
        (asks(bench, &client).len(), client)
    };
    let held: Vec<_> = (0..30).map(|_| ask(&mut bench)).collect();
    assert!(held.iter().all(|(said, _)| *said == 0), "a client was not held");
    for (_, client) in &held {
        bench.gone(client);
    }
    assert_eq!(ask(&mut bench).0, 1, "thirty that hung up are counted");
}

#[test]
fn qa_3_closing_early_gives_the_place_up_as_the_dialect_says() {
    let mut bench = Bench::new(adaptive(1));
    let running = bench.upload(Parq);
    let (never_told, _) = patient(&mut bench, Parq);
    let (mut told, _) = patient(&mut bench, Parq);
    let (plain, _) = patient(&mut bench, Passive);
    bench.gone(&never_told);
    assert_eq!(bench.lost(), [PositionLoss::ConnectionLost], "it knows no id to come back with");
    let place = bench.pass(secs(25)).into_iter().find_map(|one| match one {
        Output::Reply { conn, verdict: QueueVerdict::Wait(place) } if conn == told.conn => {
            Some(place)
        }
        _ => None,
    });
    let place = place.expect("the hold is over");
    (told.ticket, told.told) = (Some(place.ticket), Some(place.position));
    bench.pass(secs(3));
    assert_eq!((asks(&mut bench, &told), asks(&mut bench, &plain)), (vec![], vec![]));
    bench.gone(&told);
    bench.gone(&plain);
    assert_eq!((bench.position(&told), bench.position(&plain)), (1, 2), "both places are kept");
    bench.input(Input::Finished { conn: running.conn, last: true });
    bench.upload(Parq);
}

#[test]
fn qa_3_plain_clients_of_one_address_stand_for_themselves_while_they_are_held() {
    let mut bench = Bench::new(adaptive(1));
    let mut running = bench.upload(Parq);
    let mut line = Vec::new();
    for _ in 0..5 {
        let mut client = bench.client(Passive);
        client.peer = [192, 0, 2, 1].into();
        assert_eq!(asks(&mut bench, &client), []);
        line.push(client);
    }
    for client in &line[..3] {
        bench.pass(secs(4));
        let said = bench.input(Input::Finished { conn: running.conn, last: true });
        assert_eq!(replies(&said), [(client.conn, true)]);
        running = client.clone();
    }
    // The other two hear the one place their address has from now on.
    assert_eq!(replies(&bench.pass(secs(8))), [(line[3].conn, false), (line[4].conn, false)]);
    assert_eq!((bench.server.length(), bench.lost()), (1, vec![PositionLoss::Replaced]));
}

#[test]
fn qa_3_a_client_that_sends_more_while_it_is_held_is_answered() {
    let mut bench = Bench::new(adaptive(1));
    bench.upload(Parq);
    let (client, _) = patient(&mut bench, Parq);
    let said = bench.input(Input::Answer { conn: client.conn });
    assert_eq!(replies(&said), [(client.conn, false)]);
    assert_eq!(bench.input(Input::Answer { conn: client.conn }), [], "once");
}

#[test]
fn qa_3_a_slot_left_standing_by_the_head_goes_to_the_first_that_is_held() {
    let mut bench = Bench::new(adaptive(1));
    let running = bench.upload(Parq);
    bench.queue(Active);
    bench.finish(&running);
    bench.pass(secs(45));
    let (held, _) = patient(&mut bench, Parq);
    assert_eq!(replies(&bench.pass(secs(14))), []);
    assert_eq!(replies(&bench.pass(secs(1))), [(held.conn, true)], "the reserve is over");
}

#[test]
fn qa_3_our_client_says_that_it_waits_and_a_plain_one_need_not() {
    let spoken = |lines: &str| {
        let text = format!("GET /get/0/a HTTP/1.1\r\n{lines}\r\n");
        let limits = HeadLimits { bytes: 1_000, lines: 10 };
        let (head, _) = RequestHead::parse(text.as_bytes(), &limits).unwrap().unwrap();
        waits(&head.headers, servent_core::wire::queue::spoken(&head.headers))
    };
    assert!(spoken("") && spoken("X-Queue: 1.0\r\nX-Features: browse/1.0, hold/1.0\r\n"));
    assert!(!spoken("X-Queue: 1.0\r\n") && !spoken("X-Queue: 1.1\r\nX-Features: tls/1.0\r\n"));
    assert!(!spoken("X-Queue: 0.1\r\nX-Features: hold/1.0\r\n"));
    let mut head = HeadWriter::request("GET", "/get/0/a");
    write_claim(&mut head, Parq, PositionClaim::default(), None, true);
    let text = String::from_utf8(head.finish()).unwrap();
    assert!(text.contains("X-Features: hold/1.0\r\n"), "{text}");
}

/// A client of the line that gave an address where it can be called.
fn callable(bench: &mut Bench, dialect: Dialect) -> Client {
    let mut client = bench.client(dialect);
    client.callback = Some((client.peer, 6346).into());
    bench.ask(&mut client).place();
    client
}

fn calls(said: &[Output]) -> Vec<Option<std::net::SocketAddr>> {
    let to = |one: &Output| match one {
        Output::Call { to, .. } => Some(Some(*to)),
        _ => None,
    };
    said.iter().filter_map(to).collect()
}

#[test]
fn qa_2_the_next_client_is_called_when_the_slot_is_there_and_may_ask_at_once() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let running = uploading(&mut bench, 400_000);
    let (mut head, second) = (callable(&mut bench, Parq11), callable(&mut bench, Parq11));
    bench.pass(secs(5));
    let said = bench.input(Input::Finished { conn: running.conn, last: true });
    assert_eq!(calls(&said), [head.callback]);
    assert!(bench.events.iter().any(|e| matches!(e, Event::Called { attempt: 0, .. })));
    head.conn = bench.conn();
    assert_eq!(bench.ask(&mut head), Got::Slot, "the call lifts the time it was told");
    assert_eq!((bench.position(&second), bench.lost()), (1, vec![]));
}

#[test]
fn qa_2_it_is_called_a_moment_before_the_slot_is_expected() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let running = uploading(&mut bench, 20_000);
    let head = callable(&mut bench, Parq11);
    let progress = |bench: &mut Bench, bytes| {
        bench.pass(secs(1));
        calls(&bench.input(Input::Progress { conn: running.conn, bytes }))
    };
    assert_eq!(progress(&mut bench, 17_000), []);
    assert_eq!(progress(&mut bench, 18_000), [head.callback]);
    assert_eq!(progress(&mut bench, 19_000), [], "once");
}

#[test]
fn qa_2_calls_to_one_place_keep_their_distance() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let running = uploading(&mut bench, 20_000);
    callable(&mut bench, Parq11);
    let mut called = Vec::new();
    // The upload stands still just before its end.
    for second in 1..=130 {
        bench.pass(secs(1));
        let said = bench.input(Input::Progress { conn: running.conn, bytes: 18_000 });
        called.extend(calls(&said).iter().map(|_| second));
    }
    assert_eq!(called, [1, 61, 121], "a minute each");
}

#[test]
fn qa_2_a_call_to_come_early_is_none_of_those_after_which_a_place_is_lost() {
    let mut bench = Bench::new(Config { bandwidth: 1_000, ..adaptive(1) });
    let running = uploading(&mut bench, 400_000);
    let head = callable(&mut bench, Parq11);
    bench.input(Input::Finished { conn: running.conn, last: true });
    bench.pass(secs(299));
    assert_eq!(bench.position(&head), 1, "its lifetime is that of the text");
    let said = bench.pass(secs(2));
    assert_eq!(calls(&said), [head.callback], "the first that counts");
    bench.pass(secs(200));
    assert_eq!(bench.lost(), [PositionLoss::Unreachable]);
}

#[test]
fn qa_2_the_text_calls_no_client_before_its_time_and_no_address_of_a_third_party() {
    let mut bench = Bench::new(config(1));
    let running = bench.upload(Parq);
    callable(&mut bench, Parq11);
    let said = bench.input(Input::Finished { conn: running.conn, last: true });
    assert_eq!(calls(&said), []);
    let mut bench = Bench::new(adaptive(1));
    let running = bench.upload(Parq);
    let mut liar = bench.client(Parq11);
    liar.callback = Some("192.0.2.9:6346".parse().unwrap());
    bench.ask(&mut liar).place();
    assert_eq!(calls(&bench.input(Input::Finished { conn: running.conn, last: true })), []);
}

#[test]
fn qa_2_calls_are_limited_for_each_address() {
    let mut bench = Bench::new(Config { calls_per_ip: 2, ..adaptive(4) });
    let running: Vec<Client> = (0..4).map(|_| bench.upload(Parq)).collect();
    for _ in 0..4 {
        let mut client = bench.client(Parq11);
        client.peer = [192, 0, 2, 1].into();
        client.callback = Some((client.peer, 6346).into());
        bench.ask(&mut client).place();
    }
    let mut called = 0;
    for client in running {
        bench.pass(secs(1));
        called += calls(&bench.input(Input::Finished { conn: client.conn, last: true })).len();
    }
    assert_eq!(called, 2);
}

/// Its transfer breaks when a part of it is there.
fn breaks(bench: &mut Bench, owner: &Client) {
    bench.input(Input::Progress { conn: owner.conn, bytes: 1 << 20 });
    bench.input(Input::Broken { conn: owner.conn });
}

#[test]
fn qa_6_a_broken_transfer_without_an_id_holds_nothing() {
    let mut bench = Bench::new(adaptive(1));
    let curl = bench.upload(Passive);
    bench.input(Input::Broken { conn: curl.conn });
    assert_eq!(bench.server.free(), 1);
}

#[test]
fn qa_6_others_wait_five_seconds_for_the_owner_that_keeps_its_place_in_line() {
    let mut bench = Bench::new(adaptive(1));
    let mut owner = bench.upload(Parq);
    owner.ticket = Some(bench.server.view(1, 1, bench.now).uploads[0].ticket);
    let (waits, _) = patient(&mut bench, Parq);
    breaks(&mut bench, &owner);
    assert_eq!(replies(&bench.pass(secs(4))), []);
    assert_eq!(replies(&bench.pass(secs(1))), [(waits.conn, true)]);
    assert_eq!(bench.position(&owner), 1);
    let later = bench.queue(Active);
    assert_eq!((bench.position(&owner), bench.position(&later)), (1, 2));
    // It comes back with its id, and is the first of the line.
    owner.conn = bench.conn();
    assert_eq!(bench.ask(&mut owner).place().position, 1);
    bench.input(Input::Finished { conn: waits.conn, last: true });
    bench.pass(secs(2));
    assert_eq!(bench.ask(&mut owner), Got::Slot);
}

#[test]
fn qa_6_two_owners_stand_in_line_as_they_came() {
    let mut bench = Bench::new(adaptive(2));
    let mut owners = [bench.upload(Parq), bench.upload(Parq)];
    for (owner, view) in owners.iter_mut().zip(bench.server.view(1, 1, bench.now).uploads) {
        owner.ticket = Some(view.ticket);
    }
    let waiting: Vec<Client> = (0..3).map(|_| bench.queue(Passive)).collect();
    breaks(&mut bench, &owners[0]);
    bench.pass(secs(1));
    breaks(&mut bench, &owners[1]);
    bench.pass(secs(5));
    assert_eq!(owners.each_ref().map(|owner| bench.position(owner)), [1, 2]);
    assert_eq!(waiting.iter().map(|one| bench.position(one)).collect::<Vec<_>>(), [3, 4, 5]);
}

#[test]
fn qa_6_the_slot_is_held_to_its_end_while_no_client_waits() {
    let mut bench = Bench::new(adaptive(1));
    let mut owner = bench.upload(Parq);
    owner.ticket = Some(bench.server.view(1, 1, bench.now).uploads[0].ticket);
    breaks(&mut bench, &owner);
    bench.pass(secs(299));
    assert_eq!(bench.server.free(), 0);
    bench.pass(secs(2));
    assert_eq!(bench.server.free(), 1);
}
