//! Downloads that stop or end while they wait give their places and slots back to
//! servers that understand (QA-8).

use crate::fetch_support;

use fetch_support::{Asked, Desk, FETCH, GOOD, ID, LOCAL, get, id};
use servent_core::fetch::{Event, Input, Output};
use servent_core::queue::client::PlaceLoss;
use servent_core::wire::http::HttpMethod;
use servent_core::wire::queue::leaves;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";
const LEAVE: &str = "X-Features: leave/1.0";

/// A server tells a place; `fields` are further ones.
fn queues(desk: &mut Desk, asked: &Asked, fields: &str) {
    let place = "X-Queue: 1.0\nX-Queued: position=2, length=9, pollMin=30, pollMax=90";
    let head = format!("HTTP/1.1 503 Queued\n{place}; ID={ID}\nRetry-After: 60\n{fields}");
    desk.reply(asked.conn, &head);
}

/// A server begins to send ten bytes, in a slot with an id.
fn serves(desk: &mut Desk, asked: &Asked, fields: &str) {
    let slot = format!("X-Queued: ID={ID}\nContent-Range: bytes 0-9/10\nContent-Length: 10");
    desk.reply(asked.conn, &format!("HTTP/1.1 206 OK\n{slot}\n{fields}"));
}

fn getting(source: &str) -> (Desk, Asked) {
    let mut desk = Desk::getting(None, &[source]);
    let asked = desk.connect();
    (desk, asked)
}

fn goodbyes(desk: &Desk) -> Vec<Asked> {
    let said = desk.asked.iter().filter(|asked| leaves(&asked.head.headers) == Some(id()));
    said.cloned().collect()
}

fn left(desk: &Desk) -> bool {
    let left = |e: &Event| matches!(e, Event::PlaceLost { why: PlaceLoss::Left, .. });
    desk.events.iter().any(left)
}

#[test]
fn a_download_that_is_stopped_gives_its_place_back() {
    for input in [Input::Pause { fetch: FETCH }, Input::Cancel { fetch: FETCH }] {
        let (mut desk, asked) = getting(A);
        queues(&mut desk, &asked, LEAVE);
        desk.input(input);
        if goodbyes(&desk).is_empty() {
            desk.connect(); // The place was waited for without a connection.
        }
        let [said] = &goodbyes(&desk)[..] else { panic!("{:?}", desk.asked) };
        assert_eq!((&said.head.method, said.header("Host")), (&HttpMethod::Head, Some(A)));
        assert_eq!((desk.fetches.leaving(), left(&desk)), (1, true));
        desk.reply(said.conn, "HTTP/1.1 200 OK\nContent-Length: 10");
        assert!(desk.closed(said.conn));
        assert_eq!(desk.fetches.leaving(), 0);
    }
}

#[test]
fn after_a_goodbye_the_same_download_begins_without_a_place() {
    let (mut desk, asked) = getting(A);
    queues(&mut desk, &asked, LEAVE);
    desk.input(Input::Pause { fetch: FETCH });
    assert_eq!(desk.row().tickets, [], "no restart claims it");
    desk.input(Input::Get(get(None, &[A])));
    let (conn, _) = *desk.dials().last().unwrap();
    desk.input(Input::Dialed { conn, local: LOCAL });
    assert_eq!(desk.last().header("X-Queued"), None);
}

#[test]
fn a_slot_that_sends_or_is_held_after_a_break_is_given_back() {
    for breaks in [false, true] {
        let (mut desk, asked) = getting(A);
        serves(&mut desk, &asked, LEAVE);
        if breaks {
            desk.input(Input::Closed { conn: asked.conn });
        }
        desk.input(Input::Pause { fetch: FETCH });
        assert!(goodbyes(&desk).is_empty(), "nothing may be said within a reply");
        let said = desk.connect();
        assert_eq!(leaves(&said.head.headers), Some(id()));
        assert!(breaks || desk.closed(asked.conn));
    }
}

#[test]
fn a_place_at_another_server_is_given_back_when_the_file_is_whole() {
    let mut desk = Desk::getting(Some(GOOD), &[A, B]);
    let dials = desk.dials();
    desk.input(Input::Dialed { conn: dials[0].0, local: LOCAL });
    let first = desk.last();
    desk.input(Input::Dialed { conn: dials[1].0, local: LOCAL });
    let second = desk.last();
    queues(&mut desk, &second, LEAVE);
    desk.serve(first.conn, 0, 10, 10);
    assert!(desk.outputs.contains(&Output::Verify { fetch: FETCH }));
    if goodbyes(&desk).is_empty() {
        desk.connect();
    }
    assert_eq!(goodbyes(&desk).len(), 1);
}

#[test]
fn a_slot_whose_transfer_is_over_is_left_to_the_next_download() {
    let (mut desk, asked) = getting(A);
    serves(&mut desk, &asked, LEAVE);
    desk.input(Input::Stored { conn: asked.conn, bytes: 10 });
    assert_eq!((desk.fetches.leaving(), goodbyes(&desk).len()), (0, 0));
}

#[test]
fn a_server_that_does_not_understand_hears_nothing() {
    let (mut desk, asked) = getting(A);
    queues(&mut desk, &asked, "X-Features: browse/1.0");
    let dials = desk.dials().len();
    desk.input(Input::Pause { fetch: FETCH });
    assert_eq!((desk.fetches.leaving(), desk.dials().len(), left(&desk)), (0, dials, false));
}

#[test]
fn a_server_that_cannot_be_reached_or_does_not_answer_is_waited_for_briefly() {
    for answers in [false, true] {
        let (mut desk, asked) = getting(A);
        serves(&mut desk, &asked, LEAVE);
        desk.input(Input::Pause { fetch: FETCH });
        let (conn, _) = *desk.dials().last().unwrap();
        if answers {
            desk.input(Input::Dialed { conn, local: LOCAL });
        }
        desk.secs(4);
        assert_eq!(desk.fetches.leaving(), 1);
        desk.secs(2);
        assert_eq!((desk.fetches.leaving(), desk.closed(conn)), (0, true));
    }
}
