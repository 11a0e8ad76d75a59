//! Active Queueing, the downloader's side. Each test is named after the
//! requirement it holds us to.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, GOOD, LOCAL, addr, get};
use servent_core::fetch::{Config, Event, Input, Output};
use servent_core::queue::Dialect;
use servent_core::queue::client::PlaceLoss;
use servent_core::wire::http::RangeSpec;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";
const QUEUED: &str = "HTTP/1.1 503 Queued\nContent-Length: 0\n\
                      X-Queue: position=2,length=5,limit=4,pollMin=45,pollMax=120";

fn active() -> Desk {
    let mut desk = Desk::new(Config::default(), Dialect::Active);
    desk.input(Input::Get(get(None, &[A])));
    desk
}

#[test]
fn aq_1_every_request_says_that_it_can_queue() {
    let mut desk = active();
    let first = desk.connect();
    assert_eq!(first.header("X-Queue"), Some("0.1"));
    assert_eq!(first.header("X-Queued"), None);
    assert_eq!(first.header("Host"), Some(A));
    desk.reply(first.conn, QUEUED);
    desk.secs(60);
    assert_eq!(desk.asked.len(), 2);
    assert_eq!(desk.last().header("X-Queue"), Some("0.1"));
}

#[test]
fn aq_5_and_aq_6_a_poll_lies_inside_the_window_whatever_it_is() {
    for (min, max) in [(45, 120), (30, 31), (45, 600), (1, 2), (10, 10), (600, 660)] {
        let mut desk = active();
        let first = desk.connect();
        let told = desk.now;
        desk.reply(
            first.conn,
            &format!(
                "HTTP/1.1 503 Queued\nContent-Length: 0\n\
                 X-Queue: position=1,length=1,limit=1,pollMin={min},pollMax={max}"
            ),
        );
        desk.secs(max + 5);
        let after = desk.asked[1].at.since(told).as_millis();
        assert!((min * 1000..=max * 1000).contains(&after), "{min}..{max}: {after} ms");
        assert_eq!(desk.asked[1].conn, first.conn, "the connection is the place");
    }
}

#[test]
fn aq_7_the_place_dies_with_its_connection_and_the_next_request_claims_nothing() {
    let mut desk = active();
    let first = desk.connect();
    desk.reply(first.conn, QUEUED);
    desk.input(Input::Closed { conn: first.conn });
    let lost = Event::PlaceLost { fetch: FETCH, at: addr(A), why: PlaceLoss::ConnectionLost };
    assert!(desk.events.contains(&lost));
    desk.secs(30);
    assert_eq!(desk.dials().len(), 2, "asked anew on a new connection");
    assert_eq!(desk.connect().header("X-Queued"), None);
}

#[test]
fn aq_9_the_next_range_is_asked_on_the_same_connection_at_once() {
    let mut desk = Desk::new(Config { chunk: 100, ..Config::default() }, Dialect::Active);
    desk.input(Input::Get(get(None, &[A, B])));
    let first = desk.asked.len();
    let (conn, _) = desk.dials()[0];
    desk.input(Input::Dialed { conn, local: LOCAL });
    assert_eq!(desk.last().range(), RangeSpec::Between(0, 99));
    desk.serve(conn, 0, 100, 1_000);
    assert_eq!(desk.asked.len(), first + 2);
    assert_eq!((desk.last().conn, desk.last().range()), (conn, RangeSpec::Between(100, 199)));
}

#[test]
fn aq_10_a_plain_busy_reply_is_asked_again_after_what_it_says() {
    let mut desk = active();
    let first = desk.connect();
    desk.reply(first.conn, "HTTP/1.1 503 Busy\nRetry-After: 70\nX-Queue: position=full");
    assert!(desk.closed(first.conn));
    desk.secs(69);
    assert_eq!(desk.dials().len(), 1);
    desk.secs(1);
    assert_eq!(desk.dials().len(), 2);
}

#[test]
fn aq_13_position_and_length_are_shown() {
    let mut desk = active();
    let first = desk.connect();
    desk.reply(first.conn, QUEUED);
    let view = &desk.fetches.view()[0].sources[0];
    assert_eq!((view.state.as_str(), view.position, view.length), ("queued", Some(2), Some(5)));
    assert_eq!(view.ask_at, Some(desk.now.as_micros() + 47_000_000));
    assert_eq!(view.deadline, Some(desk.now.as_micros() + 120_000_000));
}

#[test]
fn aq_13_without_times_the_default_interval_is_used() {
    let mut desk = active();
    let first = desk.connect();
    desk.reply(first.conn, "HTTP/1.1 503 Queued\nContent-Length: 0\nX-Queue: position=2");
    desk.secs(59);
    assert_eq!(desk.asked.len(), 1);
    desk.secs(1);
    assert_eq!(desk.asked.len(), 2);
}

#[test]
fn aq_13_the_range_is_chosen_anew_at_every_poll() {
    let mut desk = Desk::new(Config { chunk: 100, ..Config::default() }, Dialect::Active);
    desk.input(Input::Get(get(Some(GOOD), &[A, B])));
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    assert_eq!(desk.last().range(), RangeSpec::Between(0, 99));
    desk.reply(a, QUEUED);
    desk.input(Input::Dialed { conn: b, local: LOCAL });
    assert_eq!(desk.last().range(), RangeSpec::Between(0, 99), "no source brings it yet");
    desk.serve(b, 0, 100, 1_000);
    desk.grant(b, 100, 200, 1_000);
    desk.secs(47);
    let poll = desk.last();
    assert_eq!((poll.conn, poll.range()), (a, RangeSpec::Between(200, 299)));
}

#[test]
fn aq_13_alternate_locations_are_learnt_and_told() {
    let mut desk = Desk::new(Config { chunk: 100, ..Config::default() }, Dialect::Active);
    desk.input(Input::Get(get(Some(GOOD), &[A])));
    let first = desk.connect();
    desk.reply(first.conn, &format!("{QUEUED}\nX-Alt: 80.2.2.2,10.0.0.1,80.3.3.3:25"));
    assert_eq!(desk.dials().last().unwrap().1, addr(B), "only the public one on a high port");
    let alt = desk.connect();
    assert_eq!(alt.head.target, format!("/uri-res/N2R?urn:sha1:{GOOD}"));
    assert_eq!(alt.header("X-Alt"), None, "no source has proved good yet");
    desk.serve(alt.conn, 0, 100, 1_000);
    desk.secs(47);
    let poll = desk.asked.iter().rfind(|a| a.conn == first.conn).unwrap();
    assert_eq!(poll.header("X-Alt"), Some("80.2.2.2"));
}

#[test]
fn aq_13_only_what_a_partial_source_has_is_asked_of_it() {
    let mut desk = active();
    let first = desk.connect();
    desk.reply(first.conn, &format!("{QUEUED}\nX-Available-Ranges: bytes 500-599,800-899"));
    desk.secs(47);
    assert_eq!(desk.last().range(), RangeSpec::Between(500, 599));
}

#[test]
fn aq_13_a_body_behind_a_refusal_is_passed_over_and_the_place_kept() {
    let mut desk = active();
    let first = desk.connect();
    desk.reply(first.conn, &QUEUED.replace("Content-Length: 0", "Content-Length: 99"));
    assert!(desk.outputs.contains(&Output::Skip { conn: first.conn, bytes: 99 }));
    assert!(!desk.closed(first.conn));
}
