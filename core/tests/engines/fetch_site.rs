//! Downloads from the members of a divided site, which know who has the file and
//! leave us to that one, while members die and the file changes hands.

use crate::fetch_support;

use std::net::SocketAddr;

use fetch_support::{Asked, Desk, GOOD, ID, LOCAL, addr, id, source};
use servent_core::fetch::{DialError, Event, FetchAnswer, Input, SourceTrouble};
use servent_core::id::ConnId;
use servent_core::time::Duration;
use servent_core::wire::http::RangeSpec;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";
const C: &str = "80.3.3.3:6346";
const SIZE: u64 = 4_000_000;

/// A download that knows these members, all of them being dialed.
fn knows(members: &[&str]) -> Desk {
    Desk::getting(Some(GOOD), members)
}

/// The last dial to a member.
fn dial(desk: &Desk, to: &str) -> ConnId {
    let dials = desk.dials();
    let found = dials.iter().rev().find(|(_, at)| *at == addr(to));
    found.unwrap_or_else(|| panic!("{to} is not dialed: {dials:?}")).0
}

fn dials(desk: &Desk, to: &str) -> usize {
    desk.dials().iter().filter(|(_, at)| *at == addr(to)).count()
}

/// The last dial to a member succeeds.
fn connects(desk: &mut Desk, to: &str) -> Asked {
    let conn = dial(desk, to);
    desk.input(Input::Dialed { conn, local: LOCAL });
    let asked = desk.last();
    assert_eq!(asked.conn, conn, "nothing is asked there");
    asked
}

fn refuses(desk: &mut Desk, at: &str) {
    let conn = dial(desk, at);
    desk.input(Input::DialFailed { conn, why: DialError::Refused });
}

/// The member that was asked leaves us to another one.
fn names(desk: &mut Desk, conn: ConnId, to: &str) {
    let head = format!("HTTP/1.1 503 Elsewhere\nLocation: //{to}/get/1/a\nContent-Length: 0");
    desk.reply(conn, &head);
    let answers = desk.answers();
    let Some(FetchAnswer::Moved { fetch, from, .. }) = answers.last().cloned() else {
        panic!("{answers:?}")
    };
    desk.input(Input::Moved { fetch, from, to: Some(source(to)) });
}

/// A member sends what it was asked for, in a slot that has an id.
fn grants(desk: &mut Desk, asked: &Asked) {
    let (start, last) = match asked.range() {
        RangeSpec::Between(start, last) => (start, last),
        other => panic!("{other:?}"),
    };
    let range = format!("Content-Range: bytes {start}-{last}/{SIZE}");
    let length = format!("Content-Length: {}", last + 1 - start);
    desk.reply(asked.conn, &format!("HTTP/1.1 206 OK\nX-Queued: ID={ID}\n{range}\n{length}"));
}

/// A has the file and sends it; B leaves us to A.
fn sent_by_a(desk: &mut Desk) -> ConnId {
    let asked = connects(desk, A);
    grants(desk, &asked);
    desk.input(Input::Stored { conn: asked.conn, bytes: 500_000 });
    let beside = connects(desk, B);
    names(desk, beside.conn, A);
    assert_eq!(desk.source_state(0), "receiving");
    asked.conn
}

/// The sources that were said to be in trouble, and why, since so many events.
fn said(desk: &Desk, since: usize) -> Vec<(SocketAddr, SourceTrouble, u64)> {
    let waiting = |event: &Event| match *event {
        Event::Waiting { at, why, ask_at, .. } => Some((at, why, ask_at.since(desk.now).as_secs())),
        _ => None,
    };
    desk.events[since..].iter().filter_map(waiting).collect()
}

#[test]
fn st_4_a_member_that_leaves_us_to_one_that_sends_rests_and_is_in_no_trouble() {
    let mut desk = knows(&[A, B]);
    sent_by_a(&mut desk);
    assert_eq!(said(&desk, 0), []);
    let before = dials(&desk, B);
    desk.secs(55);
    assert_eq!(dials(&desk, B), before);
}

/// The member that sends dies. Until another one has the file, the one that is
/// left names the dead one; as soon as it does not, bytes come from it.
#[test]
fn st_4_when_the_member_that_sends_dies_the_others_are_asked_every_few_seconds() {
    let mut desk = knows(&[A, B]);
    let conn = sent_by_a(&mut desk);
    let (events, died) = (desk.events.len(), desk.now);
    desk.input(Input::Closed { conn });
    let hung_up = (addr(A), SourceTrouble::Disconnected, 1);
    assert_eq!(said(&desk, events), [hung_up, (addr(B), SourceTrouble::Elsewhere, 3)]);
    let mut asked = 0;
    let heard = loop {
        let (to_a, to_b) = (dials(&desk, A), dials(&desk, B));
        desk.pass(Duration::from_millis(100));
        if dials(&desk, A) > to_a {
            refuses(&mut desk, A);
        }
        if dials(&desk, B) == to_b {
            continue;
        }
        asked += 1;
        let request = connects(&mut desk, B);
        if desk.now.since(died).as_secs() >= 8 {
            break request;
        }
        names(&mut desk, request.conn, A);
        assert_eq!(dials(&desk, B), to_b + 1, "we do not run to and fro");
        if dials(&desk, A) > to_a {
            refuses(&mut desk, A);
        }
    };
    assert_eq!((desk.now.since(died).as_secs(), asked), (9, 3));
    assert!(heard.header("X-Queued").unwrap().contains(ID), "{heard:?}");
    grants(&mut desk, &heard);
    assert_eq!(desk.source_state(1), "receiving");
}

/// No member takes over, as while the database is away: it is asked ever more seldom,
/// and never given up, because it answers.
#[test]
fn st_4_a_member_that_names_a_dead_one_for_long_is_asked_once_a_minute() {
    let mut desk = knows(&[A, B]);
    let conn = sent_by_a(&mut desk);
    desk.input(Input::Closed { conn });
    let mut times = Vec::new();
    let died = desk.now;
    while desk.now.since(died).as_secs() < 600 {
        let (to_a, to_b) = (dials(&desk, A), dials(&desk, B));
        desk.pass(Duration::from_millis(100));
        if dials(&desk, B) > to_b {
            times.push(desk.now.since(died).as_secs());
            let request = connects(&mut desk, B);
            names(&mut desk, request.conn, A);
        }
        if dials(&desk, A) > to_a {
            refuses(&mut desk, A);
        }
    }
    assert_eq!(times[..8], [3, 6, 9, 12, 15, 21, 33, 57]);
    assert!(times.windows(2).all(|two| two[1] - two[0] <= 61), "{times:?}");
    assert!(!desk.events.iter().any(|event| matches!(event, Event::SourceLost { .. })));
}

/// While a file changes hands two members may name each other for a moment.
#[test]
fn st_4_members_that_name_each_other_do_not_make_us_run_to_and_fro() {
    let mut desk = knows(&[A, B]);
    let first = connects(&mut desk, A);
    desk.reply(
        first.conn,
        &format!(
            "HTTP/1.1 503 Queued\nRetry-After: 1\nX-Queued: ID={ID}; position=1\nContent-Length: 0"
        ),
    );
    let second = connects(&mut desk, B);
    names(&mut desk, second.conn, A);
    let begun = desk.now;
    let mut answered = 2;
    while desk.now.since(begun).as_secs() < 30 {
        for at in [A, B] {
            let conn = dial(&desk, at);
            if desk.asked.iter().all(|asked| asked.conn != conn) {
                desk.input(Input::Dialed { conn, local: LOCAL });
            }
        }
        while let Some(request) = desk.asked.get(answered).cloned() {
            answered += 1;
            let at = desk.dials().iter().find(|(conn, _)| *conn == request.conn).unwrap().1;
            names(&mut desk, request.conn, if at == addr(A) { B } else { A });
        }
        desk.pass(Duration::from_millis(100));
    }
    let asked = desk.asked.len();
    assert!((8..=24).contains(&asked), "{asked} requests");
    assert!(desk.asked.iter().rev().take(2).any(|asked| asked.header("X-Queued").is_some()));
}

/// A client that was sent on from A to C, and hears that C is gone, is told so of C.
#[test]
fn st_4_what_fails_is_told_of_the_member_that_failed() {
    let mut desk = knows(&[A]);
    let first = connects(&mut desk, A);
    names(&mut desk, first.conn, C);
    let request = connects(&mut desk, C);
    desk.grant(request.conn, 0, SIZE, SIZE);
    let events = desk.events.len();
    desk.input(Input::Closed { conn: request.conn });
    assert_eq!(said(&desk, events), [(addr(C), SourceTrouble::Disconnected, 3)]);
    desk.secs(3);
    assert_eq!(dials(&desk, A), 2, "it is asked where it was");
}

/// The member that has our place by now calls us. It is one that we know already:
/// it is asked once, not as two, and when it dies the first one is asked again.
#[test]
fn st_4_a_member_that_calls_us_is_the_one_we_know_already() {
    let mut desk = knows(&[A, B]);
    let first = connects(&mut desk, A);
    names(&mut desk, first.conn, C);
    let request = connects(&mut desk, C);
    grants(&mut desk, &request);
    let beside = connects(&mut desk, B);
    names(&mut desk, beside.conn, C);
    desk.input(Input::Closed { conn: request.conn });
    let (conn, peer) = (ConnId(99), addr("80.2.2.2:50000"));
    desk.input(Input::Called { conn, peer, ticket: id(), server: Some(addr(B)) });
    let called = desk.last();
    assert_eq!(called.conn, conn);
    grants(&mut desk, &called);
    let before = desk.asked.len();
    let connected = dials(&desk, B);
    desk.secs(30);
    assert_eq!((desk.asked.len(), dials(&desk, B)), (before, connected), "it is asked as two");
    let asked = (dials(&desk, A), dials(&desk, B));
    desk.input(Input::Closed { conn });
    desk.secs(3);
    assert_eq!((dials(&desk, A), dials(&desk, B)), (asked.0 + 1, asked.1 + 1));
}
