//! How long a download asks a source that does not give: failures and refusals in a
//! row, after which it is given up, and what begins the count again.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, ID, get};
use servent_core::fetch::{Config, Event, Input, Output, SourceTrouble};
use servent_core::id::Tth;
use servent_core::queue::Dialect;
use servent_core::time::Duration;

const A: &str = "80.1.1.1:6346";
const BUSY: &str = "HTTP/1.1 503 Busy\nRetry-After: 5\nContent-Length: 0";
const SLOWER: &str = "HTTP/1.1 429 Slow Down\nRetry-After: 5\nContent-Length: 0";

fn trying(refusals: u32) -> Desk {
    let mut desk = Desk::new(Config { refusals, ..Config::default() }, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    desk
}

/// The server answers the next request with that, and time passes until it may be
/// asked again.
fn answered(desk: &mut Desk, reply: &str) {
    let asked = desk.connect();
    desk.reply(asked.conn, reply);
    desk.secs(10);
}

fn lost(desk: &Desk) -> Option<SourceTrouble> {
    desk.events.iter().find_map(|event| match event {
        Event::SourceLost { why, .. } => Some(*why),
        _ => None,
    })
}

fn statuses(desk: &Desk) -> Vec<u16> {
    let status = |event: &Event| match event {
        Event::Status { status, .. } => Some(*status),
        _ => None,
    };
    desk.events.iter().filter_map(status).collect()
}

#[test]
fn a_busy_source_is_given_up_after_so_many_refusals() {
    let mut desk = trying(3);
    for reply in [BUSY, SLOWER] {
        answered(&mut desk, reply);
        assert_eq!((lost(&desk), &*desk.state()), (None, "running"));
    }
    answered(&mut desk, BUSY);
    assert_eq!((lost(&desk), &*desk.state()), (Some(SourceTrouble::Busy), "no source"));
    assert_eq!(statuses(&desk), [503, 429, 503], "the host can say why");
}

#[test]
fn without_such_a_limit_it_is_asked_as_long_as_it_likes() {
    let mut desk = trying(0);
    for _ in 0..100 {
        answered(&mut desk, BUSY);
    }
    assert_eq!((lost(&desk), desk.asked.len()), (None, 100));
}

#[test]
fn a_place_new_bytes_and_a_user_who_asks_begin_the_count_again() {
    let queued = format!(
        "HTTP/1.1 503 Queued\nX-Queue: 1.0\nX-Queued: position=60; length=99; lifetime=90; ID={ID}\nRetry-After: 5\nConnection: close"
    );
    let mut desk = trying(2);
    answered(&mut desk, BUSY);
    answered(&mut desk, &queued);
    answered(&mut desk, BUSY);
    assert_eq!(lost(&desk), None, "a place is no refusal");
    let asked = desk.connect();
    let range = "Content-Range: bytes 0-999/1000\nContent-Length: 1000";
    desk.reply(asked.conn, &format!("HTTP/1.1 206 OK\n{range}\nETag: \"a\""));
    desk.input(Input::Stored { conn: asked.conn, bytes: 5 });
    desk.input(Input::Closed { conn: asked.conn });
    desk.secs(10);
    answered(&mut desk, BUSY);
    assert_eq!(lost(&desk), None, "it gave bytes meanwhile");
    desk.input(Input::AskNow { fetch: FETCH });
    answered(&mut desk, BUSY);
    assert_eq!(lost(&desk), None, "the user has patience again");
    answered(&mut desk, BUSY);
    assert_eq!(lost(&desk), Some(SourceTrouble::Busy));
}

/// A server that sends the file from its beginning whatever it is asked for, but never
/// to its end.
#[test]
fn a_server_that_never_sends_the_end_is_asked_as_often_as_any_other() {
    let mut desk = Desk::new(Config { attempts: 3, ..Config::default() }, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    for tries in 1..=3 {
        let asked = desk.connect();
        desk.reply(asked.conn, "HTTP/1.1 200 OK\nContent-Length: 10000");
        desk.input(Input::Stored { conn: asked.conn, bytes: 6_000 });
        desk.secs(60);
        assert!(desk.closed(asked.conn), "a minute after its last bytes");
        assert_eq!(lost(&desk).is_some(), tries == 3, "{tries}");
        // What is here is hashed, to be compared with what the server sends next.
        if let Some(Output::Hash { start, .. }) = desk.outputs.pop() {
            let tth = Some(Tth([0; 24]));
            desk.input(Input::Hashed { fetch: FETCH, start, tth });
        }
        desk.secs(10);
    }
    assert_eq!(lost(&desk), Some(SourceTrouble::Stalled), "the reason is the last one");
    assert_eq!((desk.asked.len(), &*desk.state()), (3, "no source"));
}

/// kill -9 on a slow line may cost seconds, not all of it.
#[test]
fn what_came_is_saved_every_second_however_little_it_is() {
    let mut desk = Desk::getting(None, &[A]);
    let asked = desk.connect();
    let range = "Content-Range: bytes 0-999999/1000000\nContent-Length: 1000000";
    desk.reply(asked.conn, &format!("HTTP/1.1 206 OK\n{range}\nETag: \"a\""));
    for second in 1..=5 {
        desk.secs(1);
        desk.input(Input::Stored { conn: asked.conn, bytes: second * 1_000 });
        let row = desk.row();
        assert_eq!((row.have, row.size), (vec![(0, second * 1_000)], Some(1_000_000)));
        assert_eq!(row.version.etag.as_deref(), Some("\"a\""), "what it is of is known too");
    }
}

/// What answers at that port speaks another protocol: it will the next time, too.
#[test]
fn a_server_that_never_spoke_http_is_not_asked_again() {
    let mut desk = trying(0);
    let asked = desk.connect();
    desk.input(Input::Garbage { conn: asked.conn });
    assert_eq!((lost(&desk), &*desk.state()), (Some(SourceTrouble::Garbage), "no source"));
}

/// A held answer would come after its deadline, and count as silence.
#[test]
fn a_client_with_little_patience_does_not_say_that_it_waits() {
    for (seconds, said) in [(45, Some("hold/1.0")), (3, None)] {
        let config = Config { answer_deadline: Duration::from_secs(seconds), ..Config::default() };
        let mut desk = Desk::new(config, Dialect::Parq);
        desk.input(Input::Get(get(None, &[A])));
        let asked = desk.connect();
        assert_eq!((asked.header("X-Queue"), asked.header("X-Features")), (Some("1.0"), said));
    }
}
