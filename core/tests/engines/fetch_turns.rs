//! Many downloads: how many run at a time, and what one leaves to the next.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, GOOD, LOCAL, addr, get};
use servent_core::fetch::{Config, DialError, FetchAnswer, FetchFailure, Get, Input, Output};
use servent_core::id::{ConnId, FetchId, Sha1, Tth};
use servent_core::queue::Dialect;
use servent_core::time::Duration;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";

fn desk(config: Config) -> Desk {
    Desk::new(config, Dialect::Parq)
}

/// A file of that name from that server.
fn file(name: &str, at: &str) -> Input {
    Input::Get(Get { name: name.into(), ..get(None, &[at]) })
}

/// The server sends a whole file on a connection.
fn finish(desk: &mut Desk, conn: ConnId, fetch: FetchId) {
    desk.serve(conn, 0, 1_000, 1_000);
    desk.input(Input::Verified { fetch, sha1: None });
}

fn states(desk: &Desk) -> Vec<String> {
    desk.fetches.view().into_iter().map(|view| view.state).collect()
}

#[test]
fn a_download_too_many_waits_its_turn_over_a_restart_too() {
    let config = Config { fetches: 1, fetches_waiting: 1, ..Config::default() };
    let mut desk = desk(config);
    desk.input(file("a", A));
    desk.input(file("b", B));
    assert_eq!(states(&desk), ["running", "waiting"]);
    assert_eq!(desk.dials().len(), 1, "no source is asked for what waits");
    assert_eq!(desk.row().get.name, "b", "what waits is remembered");

    // There is a limit to those that wait.
    desk.input(file("c", B));
    let refused = FetchAnswer::Failed { fetch: FetchId(2), why: FetchFailure::TooMany };
    assert_eq!(desk.answers().last(), Some(&refused));

    let mut again = self::desk(config);
    let rows = desk.outputs.iter().filter_map(|output| match output {
        Output::Save(row) => Some((**row).clone()),
        _ => None,
    });
    rows.for_each(|row| again.input(Input::Restore(row)));
    again.input(Input::Resume);
    assert_eq!(states(&again), ["running", "waiting"]);

    for desk in [&mut desk, &mut again] {
        desk.secs(60);
        let first = desk.connect();
        finish(desk, first.conn, FETCH);
        assert_eq!(states(desk), ["done", "running"]);
        assert_eq!(desk.dials().last().unwrap().1, addr(B));
    }
}

#[test]
fn a_pause_or_an_end_makes_room_and_what_goes_on_waits_its_turn() {
    let mut desk = desk(Config { fetches: 1, ..Config::default() });
    for name in ["a", "b", "c"] {
        desk.input(file(name, A));
    }
    desk.input(Input::Pause { fetch: FETCH });
    assert_eq!(states(&desk), ["paused", "running", "waiting"]);
    desk.input(Input::GoOn { fetch: FETCH });
    assert_eq!(states(&desk), ["waiting", "running", "waiting"]);
    desk.input(Input::Cancel { fetch: FetchId(2) });
    desk.input(Input::Cancel { fetch: FetchId(1) });
    assert_eq!(states(&desk), ["running"]);
}

#[test]
fn waiting_is_no_time_in_which_a_source_could_be_reached() {
    let first_contact = Duration::from_secs(10);
    let mut desk = desk(Config { fetches: 1, first_contact, ..Config::default() });
    desk.input(file("a", A));
    let first = desk.connect();
    desk.grant(first.conn, 0, 1_000, 1_000);
    desk.input(file("b", B));
    desk.secs(30);
    desk.input(Input::Stored { conn: first.conn, bytes: 1_000 });
    desk.input(Input::Verified { fetch: FETCH, sha1: None });
    desk.secs(5);
    assert_eq!(states(&desk), ["done", "running"]);
    desk.secs(6);
    assert_eq!(states(&desk), ["done", "no source"]);
}

/// The last thing that kept the first one going was its hash tree.
#[test]
fn a_hash_tree_that_fails_leaves_its_turn_to_the_next_download() {
    const SIZE: u64 = 1 << 20;
    let mut desk = desk(Config { fetches: 1, ..Config::default() });
    desk.input(Input::Get(get(Some(GOOD), &[A])));
    let first = desk.connect();
    let root = Tth([5; 24]);
    desk.reply(
        first.conn,
        &format!(
            "HTTP/1.1 200 OK\nContent-Length: {SIZE}\nX-Thex-URI: /uri-res/N2X?urn:sha1:{GOOD};{root}"
        ),
    );
    let (tree, _) = *desk.dials().last().unwrap();
    assert_ne!(tree, first.conn, "the tree is asked for beside the file");
    desk.input(file("b", B));
    desk.input(Input::Stored { conn: first.conn, bytes: SIZE });
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(Sha1([9; 20])) });
    assert_eq!(states(&desk), ["running", "waiting"], "the tree may say which piece is wrong");
    desk.input(Input::DialFailed { conn: tree, why: DialError::Refused });
    assert_eq!(states(&desk), ["corrupt", "running"]);
    assert_eq!(desk.dials().last().unwrap().1, addr(B));
}

fn keeping() -> Desk {
    desk(Config { spares: 1, ..Config::default() })
}

#[test]
fn a_connection_is_left_to_the_next_download_from_there() {
    let mut desk = keeping();
    desk.input(file("a", A));
    let first = desk.connect();
    finish(&mut desk, first.conn, FETCH);
    assert!(!desk.closed(first.conn));
    desk.input(file("b", B));
    assert_eq!(desk.dials().len(), 2, "that is another server");
    desk.input(file("c", A));
    assert_eq!((desk.last().conn, desk.dials().len()), (first.conn, 2));
    finish(&mut desk, first.conn, FetchId(2));
    assert_eq!(states(&desk), ["done", "running", "done"]);

    // No download needs it any more.
    assert!(!desk.closed(first.conn));
    desk.secs(5);
    assert!(desk.closed(first.conn));
}

#[test]
fn no_more_connections_are_left_than_allowed() {
    let mut desk = keeping();
    desk.input(file("a", A));
    desk.input(file("b", A));
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    for conn in [a, b] {
        desk.input(Input::Dialed { conn, local: LOCAL });
    }
    finish(&mut desk, a, FETCH);
    finish(&mut desk, b, FetchId(1));
    assert!(!desk.closed(a) && desk.closed(b));
}

/// A server may close it at any time, also just when we ask again.
#[test]
fn a_connection_closed_meanwhile_is_no_failure() {
    let mut desk = keeping();
    desk.input(file("a", A));
    let first = desk.connect();
    finish(&mut desk, first.conn, FETCH);
    desk.input(file("b", A));
    assert_eq!(desk.last().conn, first.conn);
    desk.input(Input::Closed { conn: first.conn });
    let second = desk.connect();
    assert_ne!(second.conn, first.conn, "at once, without a pause");
    finish(&mut desk, second.conn, FetchId(1));
    assert_eq!(states(&desk), ["done", "done"]);

    // While no download uses it, it is just gone.
    desk.input(Input::Closed { conn: second.conn });
    desk.input(file("c", A));
    assert_eq!(desk.dials().len(), 3);
}

#[test]
fn a_reply_that_was_not_asked_for_ends_a_connection() {
    let mut desk = keeping();
    desk.input(file("a", A));
    let first = desk.connect();
    finish(&mut desk, first.conn, FETCH);
    desk.reply(first.conn, "HTTP/1.1 200 OK\nContent-Length: 5");
    assert!(desk.closed(first.conn));
    desk.input(file("b", A));
    assert_eq!(desk.dials().len(), 2);
}
