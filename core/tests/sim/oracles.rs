//! The oracles speak up: sound records, then each kind of lie.

use servent_core::fetch;
use servent_core::id::{ConnId, FetchId, Guid};
use servent_core::node::ConnEvent;
use servent_core::queue::{Config, Dialect, Event as Queue};
use servent_core::sim::check::Oracles;
use servent_core::sim::{Scenario, Server};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, NodeId, Record};

use crate::presets::run;

fn scenario() -> Scenario {
    let queue = Config { slots: 1, ..Config::default() };
    Scenario { servers: vec![Server { queue, ..Server::default() }], ..Scenario::default() }
}

/// What the oracles find in a made-up history, one event a second.
fn verdict(events: Vec<Event>) -> Vec<&'static str> {
    let mut oracles = Oracles::new(&scenario());
    let mut last = None;
    for (seq, event) in events.into_iter().enumerate() {
        let at = Instant::from_secs(seq as u64);
        let record = Record { seq: seq as u64, at, node: NodeId(0), cause: None, event };
        oracles.see(&record);
        last = Some(record);
    }
    oracles.finish(&last.expect("a history"));
    oracles.violations().iter().map(|v| v.key).collect()
}

fn ticket(n: u8) -> Guid {
    Guid([n; 16])
}
fn asks(n: u8) -> [Event; 2] {
    let conn = ConnId(u64::from(n) * 2);
    let peer = "10.0.0.9:1".parse().unwrap();
    let request = ConnEvent::Request {
        conn,
        method: "GET".into(),
        target: "/".into(),
        range: None,
        agent: None,
    };
    [Event::Conn(ConnEvent::Accepted { conn, peer }), Event::Conn(request)]
}
fn arrives(n: u8, dialect: Dialect, position: u32, length: u32) -> Vec<Event> {
    let (peer, arrival) = ("10.0.0.9".parse().unwrap(), u64::from(n));
    let arrived = Queue::Arrived { ticket: ticket(n), arrival, peer, dialect, position, length };
    asks(n).into_iter().chain([Event::Queue(arrived), told(n, position, length)]).collect()
}
fn told(n: u8, position: u32, length: u32) -> Event {
    Event::Queue(Queue::Told {
        ticket: ticket(n),
        dialect: Dialect::Active,
        position,
        length,
        not_before: Instant::from_secs(30),
        deadline: Instant::from_secs(300),
        keep: true,
    })
}
fn starts(n: u8, free: u32) -> Event {
    let (conn, peer) = (ConnId(u64::from(n) * 2), "10.0.0.9".parse().unwrap());
    Event::Queue(Queue::Started { ticket: ticket(n), conn, peer, waited: Duration::ZERO, free })
}
fn finishes(n: u8) -> Event {
    Event::Queue(Queue::Finished { ticket: ticket(n), free: 1 })
}
fn history(parts: &[&[Event]]) -> Vec<Event> {
    parts.concat()
}

#[test]
fn a_sound_history_is_not_complained_of() {
    let two = arrives(2, Dialect::Active, 1, 1);
    let three = arrives(3, Dialect::Active, 2, 2);
    let h = history(&[&asks(1), &[starts(1, 0)], &two, &three, &[finishes(1), starts(2, 0)]]);
    assert_eq!(verdict(h), [""; 0]);
}

#[test]
fn jumping_the_line_is_seen() {
    let two = arrives(2, Dialect::Active, 1, 1);
    let three = arrives(3, Dialect::Active, 2, 2);
    let h = history(&[&asks(1), &[starts(1, 0)], &two, &three, &[finishes(1), starts(3, 0)]]);
    assert_eq!(verdict(h), ["check.fifo"]);
}

#[test]
fn letting_a_place_lapse_before_its_owner_may_ask_is_seen() {
    let two = arrives(2, Dialect::Active, 1, 1);
    let lapsed = Event::Queue(Queue::Lapsed { ticket: ticket(2) });
    let h = history(&[&asks(1), &[starts(1, 0)], &two, &[finishes(1), lapsed]]);
    assert_eq!(verdict(h), ["check.lapsed_early"]);
}

#[test]
fn an_idle_slot_with_somebody_entitled_is_seen() {
    assert_eq!(verdict(arrives(1, Dialect::Parq, 1, 1)), ["check.idle_slot"]);
}

#[test]
fn more_uploads_than_slots_are_seen() {
    let h = history(&[&asks(1), &[starts(1, 0)], &asks(2), &[starts(2, 0)]]);
    assert!(verdict(h).contains(&"check.slots"));
}

#[test]
fn a_wrong_count_of_free_slots_is_seen() {
    assert_eq!(verdict(history(&[&asks(1), &[starts(1, 1)]])), ["check.free"]);
}

#[test]
fn a_position_beyond_the_length_is_seen() {
    let h = history(&[&asks(1), &[starts(1, 0)], &arrives(2, Dialect::Active, 2, 1)]);
    assert_eq!(verdict(h), ["check.position", "check.position"]);
}

#[test]
fn a_place_told_wrongly_is_seen() {
    let two = arrives(2, Dialect::Active, 1, 1);
    let three = arrives(3, Dialect::Active, 2, 2);
    let h = history(&[&asks(1), &[starts(1, 0)], &two, &three, &[told(3, 1, 2)]]);
    assert_eq!(verdict(h), ["check.position"]);
}

#[test]
fn an_active_place_that_outlives_its_connection_is_seen() {
    let two = arrives(2, Dialect::Active, 1, 1);
    let closed = Event::Conn(ConnEvent::Closed { conn: ConnId(4) });
    let h = history(&[&asks(1), &[starts(1, 0)], &two, &[closed], &asks(3)]);
    assert_eq!(verdict(h), ["check.aq_connection"]);
}

#[test]
fn a_download_called_done_with_a_hole_in_it_is_seen() {
    let fetch = FetchId(1);
    let event = |e| Event::Fetch(e);
    let begun = event(fetch::Event::Begun { fetch, name: "a".into(), have: 0 });
    let stored = |start, end| event(fetch::Event::Stored { fetch, start, end });
    let done = event(fetch::Event::Done { fetch, bytes: 30, sha1: None });
    let whole = [begun.clone(), stored(0, 10), stored(20, 30), stored(5, 20), done.clone()];
    assert_eq!(verdict(whole.to_vec()), [""; 0]);
    let hole = [begun.clone(), stored(0, 10), stored(20, 30), done];
    assert_eq!(verdict(hole.to_vec()), ["check.complete"]);
    assert_eq!(verdict(vec![begun]), ["check.unfinished"]);
}

#[test]
fn doctored_records_of_a_real_run_are_noticed() {
    let s = servent_core::sim::presets::find("newcomer").expect("a preset");
    let (_, mut records) = run(&s);
    let mut second = records.iter_mut().filter_map(|r| match &mut r.event {
        Event::Queue(Queue::Started { ticket, .. }) => Some(ticket),
        _ => None,
    });
    // The second upload is given to somebody further down the line.
    *second.nth(1).expect("a second upload") = Guid([9; 16]);
    let mut oracles = Oracles::new(&s);
    records.iter().for_each(|r| oracles.see(r));
    assert!(oracles.violations().iter().any(|v| v.oracle == "fifo"));
}
