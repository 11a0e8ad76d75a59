//! The oracles speak up: sound records, then each kind of lie.

use std::net::IpAddr;

use servent_core::fetch;
use servent_core::id::{ConnId, FetchId, Guid, Sha1};
use servent_core::node::{ConnEvent, Minor};
use servent_core::queue::{Config, Dialect, Event as Queue, PositionLoss};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::queue::check::QueueOracles;
use servent_sim::queue::{Scenario, ScenarioServer};

use crate::presets::run;

fn scenario(slots: u32) -> Scenario {
    let queue = Config { slots, ..Config::default() };
    Scenario {
        servers: vec![ScenarioServer { queue, ..ScenarioServer::default() }],
        ..Scenario::default()
    }
}

/// What the oracles find in a made-up history, one event a second.
fn verdict(events: Vec<Event>) -> Vec<&'static str> {
    verdict_at(1, events.into_iter().enumerate().map(|(s, event)| (s as u64, event)).collect())
}

/// The same with so many slots, each event at its second.
pub(crate) fn verdict_at(slots: u32, events: Vec<(u64, Event)>) -> Vec<&'static str> {
    let mut oracles = QueueOracles::new(&scenario(slots));
    let mut last = None;
    for (seq, (at, event)) in events.into_iter().enumerate() {
        let at = Instant::from_secs(at);
        let record = Record { seq: seq as u64, at, node: NodeId(0), cause: None, event };
        oracles.observe(&record);
        last = Some(at);
    }
    oracles.finish(last.expect("a history"));
    oracles.violations().iter().map(|v| v.key).collect()
}

pub(crate) fn ticket(n: u8) -> Guid {
    Guid([n; 16])
}
/// Every client has an address of its own.
fn address(n: u8) -> IpAddr {
    [10, 0, 0, n].into()
}
pub(crate) fn asks(n: u8) -> [Event; 2] {
    let conn = ConnId(u64::from(n) * 2);
    let peer = (address(n), 1).into();
    let request = ConnEvent::Request {
        conn,
        method: "GET".into(),
        target: "/".into(),
        range: None,
        agent: None,
        version: Minor::default(),
    };
    [Event::Conn(ConnEvent::Accepted { conn, peer }), Event::Conn(request)]
}
pub(crate) fn arrives(n: u8, dialect: Dialect, position: u32, length: u32) -> Vec<Event> {
    let (peer, arrival) = (address(n), u64::from(n));
    let arrived = Queue::Arrived { ticket: ticket(n), arrival, peer, dialect, position, length };
    asks(n).into_iter().chain([Event::Queue(arrived), told(n, position, length)]).collect()
}
pub(crate) fn told(n: u8, position: u32, length: u32) -> Event {
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
pub(crate) fn starts(n: u8, free: u32) -> Event {
    starts_from(n, address(n), free)
}
fn starts_from(n: u8, peer: IpAddr, free: u32) -> Event {
    let conn = ConnId(u64::from(n) * 2);
    Event::Queue(Queue::Started { ticket: ticket(n), conn, peer, waited: Duration::ZERO, free })
}
fn finishes(n: u8) -> Event {
    frees(n, 1)
}
fn frees(n: u8, free: u32) -> Event {
    Event::Queue(Queue::Finished { ticket: ticket(n), free })
}
fn entitled(n: u8) -> Event {
    Event::Queue(Queue::Entitled { ticket: ticket(n) })
}
fn lost(n: u8, why: PositionLoss, length: u32) -> Event {
    Event::Queue(Queue::Lost { ticket: ticket(n), why, length })
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

/// Two slots taken, `two`, `three` and `four` in line at second 0.
fn crowded() -> Vec<(u64, Event)> {
    let takes = [&asks(8)[..], &[starts(8, 1)], &asks(9), &[starts(9, 0)]].concat();
    let line = (2..5).flat_map(|n| arrives(n, Dialect::Active, u32::from(n) - 1, u32::from(n) - 1));
    takes.into_iter().chain(line).map(|event| (0, event)).collect()
}

#[test]
fn each_slot_is_kept_by_its_own_time_and_not_by_that_of_another() {
    // One slot is free from 1 s on, the other from 50 s on; the client the first
    // was kept for takes it at 55 s. The second is not open before 110 s.
    let story = [
        (1, frees(8, 1)),
        (1, entitled(2)),
        (50, frees(9, 2)),
        (50, entitled(3)),
        (55, starts(2, 1)),
    ];
    let jumps = |at| [&crowded()[..], &story, &[(at, starts(4, 0))]].concat();
    assert_eq!(verdict_at(2, jumps(70)), ["check.fifo"]);
    assert_eq!(verdict_at(2, jumps(109)), ["check.fifo"]);
    assert_eq!(verdict_at(2, jumps(110)), [""; 0]);
}

#[test]
fn a_newcomer_takes_no_slot_that_is_kept_for_a_client_however_long() {
    let story = [(1, frees(8, 1)), (1, entitled(2))];
    let late = asks(7).into_iter().chain([starts(7, 0)]).map(|event| (299, event));
    let h = [&crowded()[..], &story, &late.collect::<Vec<_>>()].concat();
    assert_eq!(verdict_at(2, h), ["check.fifo"]);
}

#[test]
fn a_place_lost_for_no_reason_the_records_know_of_is_seen() {
    let line = |dialect| {
        let two = arrives(2, dialect, 1, 1);
        history(&[&asks(1), &[starts(1, 0)], &two]).into_iter().map(|event| (0, event))
    };
    let after =
        |dialect, story: Vec<(u64, Event)>| verdict_at(1, line(dialect).chain(story).collect());
    let closed = || Event::Conn(ConnEvent::Closed { conn: ConnId(4) });
    let away = || Event::Queue(Queue::Away { ticket: ticket(2), until: Instant::from_secs(320) });
    let told = |dialect| {
        let mut told = told(2, 1, 1);
        if let Event::Queue(Queue::Told { dialect: spoken, .. }) = &mut told {
            *spoken = dialect;
        }
        told
    };
    // AQ-5 and PQ-7: it was not too early, 30 s after it was told to wait 30.
    assert_eq!(after(Dialect::Active, vec![(29, lost(2, PositionLoss::TooEarly, 0))]), [""; 0]);
    assert_eq!(
        after(Dialect::Active, vec![(30, lost(2, PositionLoss::TooEarly, 0))]),
        ["check.lost"]
    );
    // AQ-6 and PQ-8: there was time until 300.
    assert_eq!(after(Dialect::Active, vec![(300, lost(2, PositionLoss::Overdue, 0))]), [""; 0]);
    assert_eq!(
        after(Dialect::Active, vec![(299, lost(2, PositionLoss::Overdue, 0))]),
        ["check.lost"]
    );
    // AQ-7: the connection stands; or it is no client's place.
    let gone = || lost(2, PositionLoss::ConnectionLost, 0);
    assert_eq!(after(Dialect::Active, vec![(9, closed()), (9, gone())]), [""; 0]);
    assert_eq!(after(Dialect::Active, vec![(9, gone())]), ["check.lost"]);
    let parq = |story: Vec<(u64, Event)>| {
        after(Dialect::Parq, [vec![(0, told(Dialect::Parq))], story].concat())
    };
    assert_eq!(parq(vec![(9, closed()), (9, gone())]), ["check.lost"]);
    // PQ-10: the first break is forgiven, the second need not be.
    let broke = || lost(2, PositionLoss::BrokeTooOften, 0);
    assert_eq!(parq(vec![(9, closed()), (9, broke())]), ["check.lost"]);
    assert_eq!(parq(vec![(9, closed()), (9, away()), (10, broke())]), [""; 0]);
    // PQ-8: no server has called.
    let unreachable = || lost(2, PositionLoss::Unreachable, 0);
    let called = Queue::Called { ticket: ticket(2), to: "10.0.0.9:2".parse().unwrap(), attempt: 1 };
    assert_eq!(parq(vec![(400, unreachable())]), ["check.lost"]);
    assert_eq!(parq(vec![(301, Event::Queue(called)), (400, unreachable())]), [""; 0]);
    // PQ-6: Active Queueing names no positions.
    let wrong = lost(2, PositionLoss::WrongPosition, 0);
    assert_eq!(after(Dialect::Active, vec![(40, wrong)]), ["check.lost"]);
}

#[test]
fn a_window_no_client_could_meet_is_seen() {
    let two = arrives(2, Dialect::Active, 1, 1);
    for (deadline, wanted) in [(80, &[""; 0][..]), (79, &["check.window"])] {
        let mut told = told(2, 1, 1);
        if let Event::Queue(Queue::Told { deadline: by, .. }) = &mut told {
            *by = Instant::from_secs(deadline);
        }
        assert_eq!(verdict(history(&[&asks(1), &[starts(1, 0)], &two, &[told]])), wanted);
    }
}

#[test]
fn letting_a_place_lapse_before_its_owner_may_ask_is_seen() {
    let two = arrives(2, Dialect::Active, 1, 1);
    let lapsed = Event::Queue(Queue::Lapsed { ticket: ticket(2) });
    let h = history(&[&asks(1), &[starts(1, 0)], &two, &[finishes(1), lapsed]]);
    assert_eq!(verdict(h), ["check.lapsed_early"]);
}

#[test]
fn an_idle_slot_with_a_client_entitled_is_seen() {
    assert_eq!(verdict(arrives(1, Dialect::Parq, 1, 1)), ["check.idle_slot"]);
}

#[test]
fn qa_4_a_slot_left_free_while_an_entitled_client_is_held_is_seen() {
    let until = Instant::from_secs(60);
    let held = Event::Queue(Queue::Held { ticket: ticket(2), position: 1, length: 1, until });
    let arrived = arrives(2, Dialect::Parq, 1, 1);
    let begins = [&asks(1)[..], &[starts(1, 0)], &arrived[..3], &[held]].concat();
    let begins: Vec<_> = begins.into_iter().map(|event| (0, event)).collect();
    let story = |at| [&begins[..], &[(20, finishes(1)), (at, starts(2, 0))]].concat();
    assert_eq!(verdict_at(1, story(20)), [""; 0], "in the same instant");
    assert_eq!(verdict_at(1, story(21)), ["check.idle_held"]);
}

#[test]
fn what_one_address_holds_beyond_its_share_keeps_no_other_out() {
    let lent = |third| {
        let one = address(9);
        let mut events = vec![starts_from(1, one, 1), starts_from(2, one, 0), starts(3, 0)];
        events.extend(third);
        verdict_at(2, events.into_iter().map(|event| (1, event)).collect())
    };
    assert!(lent(None).is_empty());
    assert_eq!(lent(Some(starts(4, 0))), ["check.slots"], "one slot was lent, and no more");
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
fn a_download_of_two_versions_that_is_called_whole_is_seen() {
    let fetch = FetchId(1);
    let event = |e| Event::Fetch(e);
    let bytes = scenario(1).clients[0].size;
    let begun = event(fetch::Event::Begun { fetch, name: "a".into(), have: 0 });
    let stored = event(fetch::Event::Stored { fetch, start: 0, end: bytes });
    let done = event(fetch::Event::Done { fetch, bytes, sha1: Some(Sha1([1; 20])) });
    let mixture = [begun.clone(), stored.clone(), done.clone()];
    assert_eq!(verdict(mixture.to_vec()), ["check.mixture"]);
    let unvouched = event(fetch::Event::Unvouched { fetch });
    assert_eq!(verdict([begun, stored, unvouched, done].to_vec()), [""; 0], "its user is told");
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
fn a_download_that_fails_is_seen_unless_a_user_stopped_it() {
    let fetch = FetchId(1);
    let fails = |why| {
        let begun = fetch::Event::Begun { fetch, name: "a".into(), have: 0 };
        verdict(vec![Event::Fetch(begun), Event::Fetch(fetch::Event::Failed { fetch, why })])
    };
    assert_eq!(fails(fetch::FetchFailure::Cancelled), [""; 0]);
    assert_eq!(fails(fetch::FetchFailure::NoSource), ["check.failed"]);
}

#[test]
fn a_place_told_to_a_client_without_one_is_seen() {
    assert_eq!(verdict(history(&[&asks(1), &[told(1, 1, 1)]])), ["check.no_place"]);
}

#[test]
fn a_line_that_is_not_as_long_as_was_said_is_seen() {
    let goes = |length| {
        let two = arrives(2, Dialect::Active, 1, 1);
        let start = history(&[&asks(1), &[starts(1, 0)], &two]);
        let start = start.into_iter().map(|event| (0, event));
        verdict_at(1, start.chain([(300, lost(2, PositionLoss::Overdue, length))]).collect())
    };
    assert_eq!(goes(0), [""; 0]);
    assert_eq!(goes(7), ["check.length"]);
}

#[test]
fn doctored_records_of_a_real_run_are_noticed() {
    let s = servent_sim::queue::presets::find("newcomer").expect("a preset");
    let (_, mut records) = run(&s);
    let mut second = records.iter_mut().filter_map(|r| match &mut r.event {
        Event::Queue(Queue::Started { ticket, .. }) => Some(ticket),
        _ => None,
    });
    // The second upload is given to a client further down the line.
    *second.nth(1).expect("a second upload") = Guid([9; 16]);
    let mut oracles = QueueOracles::new(&s);
    records.iter().for_each(|r| oracles.observe(r));
    assert!(oracles.violations().iter().any(|v| v.oracle == "fifo"));
}
