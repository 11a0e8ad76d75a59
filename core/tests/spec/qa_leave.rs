//! The goodbye of a client that wants no more.

use crate::queue_support;

use queue_support::{Bench, Got, config, secs};
use servent_core::id::Guid;
use servent_core::queue::Dialect::{Active, Parq};
use servent_core::queue::server::{Input, Output};
use servent_core::queue::{Config, Event, PositionLoss, QueuePolicy};
use servent_core::wire::http::{HeadLimits, HeadWriter, RequestHead};
use servent_core::wire::queue::{leaves, write_leave};

fn adaptive(slots: u32) -> Config {
    Config { policy: QueuePolicy::Adaptive, ..config(slots) }
}

#[test]
fn qa_8_a_goodbye_gives_back_a_place_at_once() {
    for policy in [QueuePolicy::Adaptive, QueuePolicy::Text] {
        let mut bench = Bench::new(Config { policy, ..config(1) });
        let running = bench.upload(Parq);
        let (first, mut second) = (bench.queue(Parq), bench.queue(Parq));
        let conn = bench.conn();
        let outputs = bench.input(Input::Leave { conn, ticket: first.ticket.unwrap() });
        assert!(outputs.contains(&Output::Hangup { conn: first.conn, why: PositionLoss::Left }));
        assert_eq!((bench.lost(), bench.position(&second)), (vec![PositionLoss::Left], 1));
        assert_eq!(bench.store().len(), 2, "its row is gone");
        bench.finish(&running);
        bench.pass(secs(30));
        assert_eq!(bench.ask(&mut second), Got::Slot);
    }
}

#[test]
fn qa_8_a_goodbye_on_the_connection_of_the_place_is_answered() {
    let mut bench = Bench::new(config(1));
    bench.upload(Parq);
    let client = bench.queue(Parq);
    let (conn, ticket) = (client.conn, client.ticket.unwrap());
    let outputs = bench.input(Input::Leave { conn, ticket });
    assert_eq!(outputs, [Output::Forget(ticket)]);
}

#[test]
fn qa_8_a_goodbye_gives_back_a_slot_that_runs_or_is_reserved() {
    for broken in [false, true] {
        let mut bench = Bench::new(config(1));
        let owner = bench.upload(Parq);
        let ticket = bench.server.view(1, 1, bench.now).uploads[0].ticket;
        if broken {
            bench.input(Input::Broken { conn: owner.conn });
            assert_eq!(bench.server.free(), 0, "it is held for 300 seconds");
        }
        let conn = bench.conn();
        let outputs = bench.input(Input::Leave { conn, ticket });
        let hangs_up = outputs.iter().any(|it| matches!(it, Output::Hangup { .. }));
        assert_eq!((bench.server.free(), hangs_up), (1, !broken));
        assert_eq!(bench.store(), []);
        bench.upload(Active);
    }
}

#[test]
fn qa_8_a_goodbye_with_an_unknown_id_changes_nothing() {
    let mut bench = Bench::new(adaptive(1));
    bench.upload(Parq);
    let client = bench.queue(Parq);
    let conn = bench.conn();
    assert_eq!(bench.input(Input::Leave { conn, ticket: Guid([7; 16]) }), []);
    assert_eq!(bench.position(&client), 1);
    assert!(!bench.events.iter().any(|event| matches!(event, Event::Lost { .. })));
}

#[test]
fn qa_8_a_goodbye_is_read_as_it_is_written() {
    let parse = |lines: &[u8]| {
        let limits = HeadLimits { bytes: 4_096, lines: 64 };
        leaves(&RequestHead::parse(lines, &limits).unwrap().unwrap().0.headers)
    };
    let ticket = Guid([9; 16]);
    let mut head = HeadWriter::request("HEAD", "/");
    write_leave(&mut head, ticket);
    assert_eq!(parse(&head.finish()), Some(ticket));
    let plain = format!("HEAD / HTTP/1.1\r\nX-Queued: position=1; ID={ticket}\r\n\r\n");
    assert_eq!(parse(plain.as_bytes()), None, "a claim alone is none");
    assert_eq!(parse(b"HEAD / HTTP/1.1\r\nX-Queued: leave=1\r\n\r\n"), None);
}
