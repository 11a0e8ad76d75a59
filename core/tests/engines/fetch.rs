//! Downloads against servers that are honest, slow, partial, lying or gone.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, GOOD, ID, LOCAL, addr, get, id};
use proptest::prelude::*;
use servent_core::engine::Engine as _;
use servent_core::fetch::{
    Config, DialError, Event, FetchAnswer, FetchFailure, Fetches, Input, Output, SourceTrouble,
    StoreError,
};
use servent_core::id::{ConnId, FileIndex, Guid, Sha1};
use servent_core::queue::Dialect;
use servent_core::time::{Duration, Instant};
use servent_core::wire::http::RangeSpec;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";
const BAD: Sha1 = Sha1([9; 20]);

fn chunked(sources: &[&str]) -> Desk {
    let mut desk = Desk::new(Config { chunk: 100, ..Config::default() }, Dialect::Parq);
    desk.input(Input::Get(get(Some(GOOD), sources)));
    desk
}

fn lost(desk: &Desk, at: &str, why: SourceTrouble) -> bool {
    desk.events.contains(&Event::SourceLost { fetch: FETCH, at: addr(at), why })
}

fn failed(desk: &Desk, why: FetchFailure) -> bool {
    desk.answers().contains(&FetchAnswer::Failed { fetch: FETCH, why })
}

#[test]
fn a_file_is_asked_for_whole_stored_hashed_and_named() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    assert_eq!(desk.answers(), [FetchAnswer::Fetching { fetch: FETCH }]);
    let first = desk.connect();
    assert_eq!(first.range(), RangeSpec::From(0));
    assert_eq!(first.header("User-Agent"), Some("Servent/test"));
    desk.serve(first.conn, 0, 1_000, 1_000);
    assert_eq!(desk.stores(), [(first.conn, 0, 1_000)]);
    assert!(desk.closed(first.conn));
    assert!(desk.outputs.contains(&Output::Verify { fetch: FETCH }));
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(GOOD) });
    let end = &desk.outputs[desk.outputs.len() - 3..];
    assert!(matches!(end, [Output::Complete { .. }, Output::Forget(FETCH), Output::Answer(_)]));
    assert_eq!(desk.state(), "done");
}

#[test]
fn a_hash_may_be_left_out_only_where_no_hash_is_known() {
    for (known, done) in [(None, true), (Some(GOOD), false)] {
        let mut desk = Desk::getting(known, &[A]);
        let first = desk.connect();
        desk.serve(first.conn, 0, 1_000, 1_000);
        desk.input(Input::Verified { fetch: FETCH, sha1: None });
        let fetched = FetchAnswer::Fetched { fetch: FETCH, bytes: 1_000, sha1: None };
        assert_eq!(desk.answers().contains(&fetched), done);
        assert_eq!(failed(&desk, FetchFailure::Disk), !done);
    }
}

#[test]
fn sources_that_deliver_at_once_share_the_file_and_the_longest_stretch_is_halved() {
    let mut desk = chunked(&[A, B]);
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    desk.input(Input::Dialed { conn: b, local: LOCAL });
    desk.serve(b, 100, 200, 1_000);
    // A ignores the range it was asked and sends everything.
    desk.reply(a, "HTTP/1.1 200 OK\nContent-Length: 1000");
    let (_, start, end) = *desk.stores().last().unwrap();
    assert_eq!((start, end), (0, 1_000));
    desk.serve(b, 200, 300, 1_000);
    let half = desk.last();
    assert_eq!(half.conn, b);
    let RangeSpec::Between(from, _) = half.range() else { panic!("{half:?}") };
    assert!((300..1_000).contains(&from));
    desk.serve(b, from, from + 100, 1_000);
    desk.input(Input::Stored { conn: a, bytes: 1_000 });
    assert_eq!(desk.state(), "verifying");
    assert!(desk.closed(a) && desk.closed(b));
}

#[test]
fn after_a_restart_only_what_is_missing_is_asked() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let first = desk.connect();
    desk.grant(first.conn, 0, 1_000, 1_000);
    desk.input(Input::Stored { conn: first.conn, bytes: 400 });
    desk.input(Input::Closed { conn: first.conn });
    let row = desk.row();
    assert_eq!((row.size, row.have.as_slice()), (Some(1_000), &[(0, 400)][..]));
    let mut again = Desk::new(Config::default(), Dialect::Parq);
    again.input(Input::Restore(row));
    again.input(Input::Resume);
    assert_eq!(again.connect().range(), RangeSpec::Between(400, 999));
}

#[test]
fn corrupt_bytes_are_fetched_once_more_from_others_and_then_no_more() {
    let mut desk = Desk::getting(Some(GOOD), &[A, B]);
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    desk.serve(a, 0, 1_000, 1_000);
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(BAD) });
    let corrupt = Event::Corrupt { fetch: FETCH, expected: GOOD, found: BAD };
    assert!(desk.events.contains(&corrupt));
    assert!(lost(&desk, A, SourceTrouble::Corrupt));
    assert_eq!(desk.row().have, []);
    let second = desk.connect();
    assert_ne!(second.conn, b);
    desk.serve(second.conn, 0, 1_000, 1_000);
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(BAD) });
    assert!(failed(&desk, FetchFailure::Corrupt));
}

#[test]
fn one_source_that_gave_every_wrong_byte_is_not_asked_again() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let first = desk.connect();
    desk.serve(first.conn, 0, 10, 10);
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(BAD) });
    assert!(failed(&desk, FetchFailure::Corrupt));
    assert!(desk.outputs.contains(&Output::Forget(FETCH)));
}

#[test]
fn a_source_that_lies_is_lost_and_its_word_with_it() {
    let config = Config { chunk: 100, attempts: 1, ..Config::default() };
    let mut desk = Desk::new(config, Dialect::Parq);
    desk.input(Input::Get(get(Some(GOOD), &[A, B])));
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    desk.input(Input::Dialed { conn: b, local: LOCAL });
    desk.grant(a, 0, 100, 5_000);
    desk.grant(b, 100, 200, 1_000);
    assert!(lost(&desk, B, SourceTrouble::LengthLie));
    // A sends nothing in the end: then perhaps B was right about the size.
    desk.input(Input::Closed { conn: a });
    assert!(lost(&desk, A, SourceTrouble::Disconnected));
    assert_eq!(desk.dials().last().unwrap().1, addr(B));
    let second = desk.connect();
    desk.serve(second.conn, 0, 100, 1_000);
    assert_eq!(desk.fetches.view()[0].size, Some(1_000));
}

#[test]
fn a_server_that_repeats_what_we_have_is_given_up() {
    let config = Config { attempts: 3, ..Config::default() };
    let mut desk = Desk::new(config, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    for _ in 0..10 {
        if desk.state() != "running" {
            break;
        }
        let asked = desk.connect();
        desk.reply(asked.conn, "HTTP/1.1 200 OK\nContent-Length: 5000\nETag: \"a\"");
        desk.input(Input::Stored { conn: asked.conn, bytes: 100 });
        desk.input(Input::Closed { conn: asked.conn });
        desk.secs(700);
    }
    assert!(failed(&desk, FetchFailure::NoSource));
    assert_eq!(desk.row().have, [(0, 100)], "kept for another attempt");
}

#[test]
fn a_silent_server_and_a_slow_one_are_left_and_asked_again_later() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.secs(45);
    assert!(desk.closed(first.conn));
    desk.secs(10);
    let second = desk.connect();
    let range = "Content-Range: bytes 0-999999/1000000\nContent-Length: 1000000";
    desk.reply(second.conn, &format!("HTTP/1.1 206 OK\n{range}\nETag: \"a\""));
    desk.secs(59);
    desk.input(Input::Stored { conn: second.conn, bytes: 60 * 64 });
    desk.secs(59);
    assert!(!desk.closed(second.conn), "just fast enough");
    desk.input(Input::Stored { conn: second.conn, bytes: 60 * 64 + 100 });
    desk.secs(1);
    assert!(desk.closed(second.conn), "too few bytes within a minute");
    desk.secs(10);
    assert_eq!(desk.connect().header("Range"), Some("bytes=3940-999999"));
}

#[test]
fn back_off_doubles_and_ends() {
    let mut desk = Desk::getting(None, &[A]);
    let mut pauses = Vec::new();
    while desk.state() == "running" {
        let (conn, _) = *desk.dials().last().unwrap();
        let (at, before) = (desk.now, desk.dials().len());
        desk.input(Input::DialFailed { conn, why: DialError::Refused });
        while desk.state() == "running" && desk.dials().len() == before {
            desk.secs(1);
        }
        pauses.push(desk.now.since(at).as_secs());
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 600, 0]);
    assert!(lost(&desk, A, SourceTrouble::Unreachable));
    assert!(failed(&desk, FetchFailure::NoSource));
    // Another command goes on with the same download.
    desk.input(Input::Get(get(None, &[A])));
    assert_eq!((desk.fetches.view().len(), desk.state().as_str()), (1, "running"));
}

fn impatient() -> Desk {
    let config = Config { first_contact: Duration::from_secs(10), ..Config::default() };
    Desk::new(config, Dialect::Parq)
}

#[test]
fn where_no_server_listens_it_gives_up_soon_when_told_to() {
    let mut desk = impatient();
    desk.input(Input::Get(get(None, &[A, B])));
    // A refuses every time, B never says a word.
    let mut told = 0;
    while desk.state() == "running" {
        let dials = desk.dials();
        for &(conn, _) in dials[told..].iter().filter(|(_, to)| *to == addr(A)) {
            desk.input(Input::DialFailed { conn, why: DialError::Refused });
        }
        told = dials.len();
        desk.secs(1);
    }
    assert_eq!(desk.now.since(Instant::from_secs(1_000)).as_secs(), 10);
    assert_eq!(desk.dials().iter().filter(|(_, to)| *to == addr(A)).count(), 5);
    assert!(lost(&desk, A, SourceTrouble::Unreachable));
    assert!(lost(&desk, B, SourceTrouble::Unreachable));
    assert!(failed(&desk, FetchFailure::NoSource));
    // The same command tries for as long again.
    desk.input(Input::Get(get(None, &[A, B])));
    desk.secs(9);
    assert_eq!(desk.state(), "running");
    desk.secs(1);
    assert_eq!(desk.state(), "no source");
}

#[test]
fn a_source_that_was_reached_once_is_waited_for() {
    let mut desk = impatient();
    desk.input(Input::Get(get(None, &[A])));
    let first = desk.connect();
    desk.input(Input::Closed { conn: first.conn });
    desk.secs(10);
    let (conn, _) = *desk.dials().last().unwrap();
    desk.input(Input::DialFailed { conn, why: DialError::Refused });
    desk.secs(15);
    assert_eq!((desk.state().as_str(), desk.dials().len()), ("running", 2), "20 s of pause");
    // So is one who was reached before a restart.
    let mut row = desk.row();
    row.size = Some(10);
    let mut desk = impatient();
    desk.input(Input::Restore(row));
    desk.input(Input::Resume);
    let (conn, _) = *desk.dials().last().unwrap();
    desk.input(Input::DialFailed { conn, why: DialError::Refused });
    desk.secs(11);
    assert_eq!(desk.state(), "running");
}

#[test]
fn what_cannot_be_read_to_be_checked_ends_it() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let first = desk.connect();
    desk.serve(first.conn, 0, 10, 10);
    assert_eq!(desk.state(), "verifying");
    desk.input(Input::VerifyFailed { fetch: FETCH, why: StoreError::Failed });
    assert!(failed(&desk, FetchFailure::Disk));
    assert_eq!(desk.row().have, [(0, 10)], "kept for another attempt");
    desk.input(Input::VerifyFailed { fetch: FETCH, why: StoreError::Failed });
    assert_eq!(desk.answers().len(), 2, "said once");
    // Once it can be read again the same command finds nothing missing.
    desk.input(Input::Get(get(Some(GOOD), &[A])));
    assert_eq!((desk.state().as_str(), desk.dials().len()), ("verifying", 1));
}

#[test]
fn one_source_of_both_makes_two_commands_mean_one_download() {
    let mut desk = Desk::getting(None, &[A]);
    desk.input(Input::Get(get(None, &[B, A])));
    assert_eq!(desk.fetches.view().len(), 1);
    assert_eq!(desk.row().get.sources.len(), 2, "the new source helps");
    desk.input(Input::Get(get(None, &["7.7.7.7:7"])));
    assert_eq!(desk.fetches.view().len(), 2, "a name alone may be anything");
}

#[test]
fn a_hash_learnt_on_the_way_is_demanded_after_a_restart_too() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    let head = "HTTP/1.1 200 OK\nContent-Length: 10\nX-Gnutella-Content-URN: ";
    desk.reply(first.conn, &format!("{head}urn:sha1:{GOOD}"));
    let row = desk.row();
    assert_eq!(row.get.sha1, Some(GOOD), "remembered before any byte is there");
    let mut desk = Desk::new(Config::default(), Dialect::Parq);
    desk.input(Input::Restore(row));
    desk.input(Input::Resume);
    // The same command, without a hash, means the same download.
    desk.input(Input::Get(get(None, &[A])));
    assert_eq!(desk.fetches.view().len(), 1);
    let again = desk.connect();
    desk.serve(again.conn, 0, 10, 10);
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(BAD) });
    assert!(failed(&desk, FetchFailure::Corrupt));
}

#[test]
fn errors_of_a_server_cost_what_they_should() {
    for (status, why) in [
        ("404 Not Found", SourceTrouble::NotFound),
        ("403 Forbidden", SourceTrouble::Refused),
        ("304 Not Modified", SourceTrouble::Refused),
        ("302 Found", SourceTrouble::Astray),
    ] {
        let mut desk = Desk::getting(None, &[A]);
        let first = desk.connect();
        desk.reply(first.conn, &format!("HTTP/1.1 {status}"));
        assert!(lost(&desk, A, why), "{status}");
    }
    for status in ["500 Oops", "429 Slow down\nRetry-After: 5", "503 Busy"] {
        let mut desk = Desk::getting(None, &[A]);
        let first = desk.connect();
        desk.reply(first.conn, &format!("HTTP/1.1 {status}"));
        assert_eq!(desk.source_state(0), "waiting", "{status}");
        desk.secs(60);
        assert!(desk.dials().len() >= 2, "{status}");
    }
}

#[test]
fn the_wrong_file_is_not_stored() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let first = desk.connect();
    let head = "HTTP/1.1 200 OK\nContent-Length: 5\nX-Gnutella-Content-URN: ";
    desk.reply(first.conn, &format!("{head}urn:sha1:{BAD}"));
    assert_eq!(desk.stores(), []);
    assert!(lost(&desk, A, SourceTrouble::NotFound));
}

#[test]
fn a_full_disk_ends_it_and_the_user_can_take_it_back() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.grant(first.conn, 0, 10, 10);
    desk.input(Input::DiskFailed { conn: first.conn, why: StoreError::Full });
    assert!(failed(&desk, FetchFailure::Disk) && desk.closed(first.conn));
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.input(Input::Cancel { fetch: FETCH });
    assert!(failed(&desk, FetchFailure::Cancelled) && desk.closed(first.conn));
    assert!(desk.outputs.contains(&Output::Forget(FETCH)));
    assert_eq!(desk.fetches.view(), []);
    desk.input(Input::Cancel { fetch: FETCH });
    assert_eq!(desk.answers().last(), Some(&FetchAnswer::Unknown { fetch: FETCH }));
}

#[test]
fn the_user_can_hurry_or_stop_the_asking() {
    let queued = format!(
        "HTTP/1.1 503 Queued\nX-Queue: 1.0\nContent-Length: 0\nRetry-After: 30\n\
         X-Queued: position=1; length=1; lifetime=300; ID={ID}"
    );
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &queued);
    desk.input(Input::AskNow { fetch: FETCH });
    assert_eq!(desk.asked.len(), 2);
    desk.reply(first.conn, &queued);
    desk.input(Input::Sleep { fetch: FETCH, length: Duration::from_secs(100) });
    desk.secs(99);
    assert_eq!(desk.asked.len(), 2);
    desk.secs(1);
    assert_eq!(desk.asked.len(), 3);
}

/// Each time the user asks, the count of failures begins anew: an impatient
/// user never makes a download end that would have gone on by itself.
#[test]
fn asking_again_never_uses_up_the_patience_with_a_source() {
    let config = Config { attempts: 3, ..Config::default() };
    let mut desk = Desk::new(config, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    for _ in 0..20 {
        let dial = desk.dials().last().unwrap().0;
        desk.input(Input::DialFailed { conn: dial, why: DialError::Refused });
        assert!(!lost(&desk, A, SourceTrouble::Unreachable));
        desk.input(Input::AskNow { fetch: FETCH });
    }
}

#[test]
fn the_user_can_pause_it_and_a_restart_does_not_go_on_with_it() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let first = desk.connect();
    desk.grant(first.conn, 0, 10, 10);
    desk.input(Input::Stored { conn: first.conn, bytes: 4 });
    desk.input(Input::Pause { fetch: FETCH });
    assert!(desk.closed(first.conn));
    assert!(desk.outputs.contains(&Output::Paused(FETCH, true)));
    let row = desk.row();
    assert_eq!((row.have.as_slice(), &*desk.state()), (&[(0, 4)][..], "paused"));
    desk.secs(100_000);
    assert_eq!(desk.fetches.poll_timeout(), None);

    let mut again = Desk::new(Config::default(), Dialect::Parq);
    again.input(Input::Restore(row));
    again.input(Input::RestorePaused(FETCH));
    again.input(Input::Resume);
    again.secs(100_000);
    assert_eq!((again.outputs.len(), &*again.state()), (0, "paused"));
    again.input(Input::GoOn { fetch: FETCH });
    assert!(again.outputs.contains(&Output::Paused(FETCH, false)));
    assert_eq!(again.connect().range(), RangeSpec::Between(4, 9));
}

#[test]
fn an_expected_giv_is_a_source_and_any_other_is_hung_up_on() {
    let mut desk = Desk::new(Config::default(), Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    let (index, servent, peer) = (FileIndex(5), id(), addr("80.9.9.9:4000"));
    desk.input(Input::ExpectGiv { fetch: FETCH, servent, index });
    let stranger = ConnId(2);
    let another = Guid([9; 16]);
    desk.input(Input::Giv { conn: stranger, peer, index, servent: another, name: "a".into() });
    assert!(desk.closed(stranger));
    let conn = ConnId(4);
    desk.input(Input::Giv { conn, peer, index, servent, name: "a b".into() });
    let asked = desk.last();
    assert_eq!((asked.conn, asked.head.target.as_str()), (conn, "/get/5/a%20b"));
    desk.reply(
        conn,
        &format!(
            "HTTP/1.1 503 Queued\nX-Queue: 1.0\nContent-Length: 0\nRetry-After: 30\n\
             X-Queued: position=1; length=1; ID={ID}"
        ),
    );
    desk.secs(32);
    assert_eq!(desk.last().conn, conn, "queued and polled over the given connection");
    desk.input(Input::Closed { conn });
    assert!(lost(&desk, "80.9.9.9:4000", SourceTrouble::Disconnected));
}

/// LimeWire always says `GIV 0:<id>/file`, and gives files by their hash only.
#[test]
fn strangers_cannot_make_sources_without_end() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    for round in 0..20_u32 {
        let asked = desk.asked.len();
        let conn = if round == 0 { desk.connect().conn } else { desk.asked[0].conn };
        let list: Vec<String> =
            (0..64).map(|n| format!("81.{round}.{}.{n}", round % 250)).collect();
        desk.reply(
            conn,
            &format!(
                "HTTP/1.1 503 Queued\nContent-Length: 0\nX-Alt: {}\n\
                 X-Queue: position=1,length=1,limit=1,pollMin=1,pollMax=90",
                list.join(",")
            ),
        );
        desk.secs(3);
        assert!(desk.asked.len() > asked);
    }
    assert!(desk.fetches.view()[0].sources.len() <= Config::default().sources as usize);
    assert!(desk.events.iter().any(|e| matches!(e, Event::AltRefused { .. })));
}

#[test]
fn an_empty_file_is_whole_at_once() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, "HTTP/1.1 200 OK\nContent-Length: 0");
    assert_eq!(desk.state(), "verifying");
    let mut liar = Desk::getting(Some(GOOD), &[A]);
    let first = liar.connect();
    liar.reply(first.conn, "HTTP/1.1 200 OK\nContent-Length: 0");
    assert!(lost(&liar, A, SourceTrouble::LengthLie));
}

/// What a hostile world can do, as small numbers.
fn mischief() -> impl Strategy<Value = (u8, u8, u64)> {
    (0..14_u8, 0..6_u8, 0..3_000_u64)
}

fn head_of(kind: u64) -> String {
    let (a, b) = (kind % 7 * 50, kind % 11 * 37);
    match kind % 8 {
        0 => format!("HTTP/1.1 200 OK\nContent-Length: {b}"),
        1 => format!("HTTP/1.1 206 OK\nContent-Range: bytes {a}-{}/{}", a + b, b * 3),
        2 => {
            format!("HTTP/1.1 206 OK\nContent-Range: bytes {a}-{}/1000\nConnection: close", a + 99)
        }
        3 => format!("HTTP/1.1 503 Q\nX-Queue: position={a},pollMin={b}"),
        4 => format!("HTTP/1.1 503 Q\nX-Queued: position={a}; ID={ID}\nRetry-After: {b}"),
        5 => format!("HTTP/1.1 416 No\nContent-Range: bytes */{b}"),
        6 => format!("HTTP/1.1 {} X\nX-Alt: 80.3.{a}.1,80.4.1.{b}", 400 + a),
        _ => String::from(
            "HTTP/1.1 206 OK\nContent-Range: bytes 0-99/1000\nX-Available-Ranges: bytes 0-9",
        ),
    }
}

fn play(desk: &mut Desk, (what, which, n): (u8, u8, u64)) {
    let dials = desk.dials();
    let conn = dials.get(usize::from(which)).map_or(ConnId(u64::from(which)), |d| d.0);
    match what {
        0 | 1 => desk.input(Input::Dialed { conn, local: LOCAL }),
        2 => desk.input(Input::DialFailed { conn, why: DialError::TimedOut }),
        3..=6 => desk.reply(conn, &head_of(n)),
        7 => desk.input(Input::Stored { conn, bytes: n }),
        8 => desk.input(Input::Closed { conn }),
        9 => desk.pass(Duration::from_millis(n * 50)),
        10 => desk.input(Input::Garbage { conn }),
        11 => desk.input(Input::Verified {
            fetch: FETCH,
            sha1: Some(if n % 2 == 0 { GOOD } else { BAD }),
        }),
        12 => {
            let peer = addr("80.1.1.1:5");
            desk.input(Input::Called { conn: ConnId(n * 2), peer, ticket: id(), server: None });
        }
        _ => desk.input(Input::AskNow { fetch: FETCH }),
    }
}

proptest! {
    #[test]
    fn whatever_servers_do_the_engine_stands_and_stays_small(
        steps in prop::collection::vec(mischief(), 0..80),
    ) {
        let mut desk = chunked(&[A, B]);
        for step in steps {
            let before = desk.outputs.len();
            play(&mut desk, step);
            if step.0 != 9 {
                prop_assert!(desk.outputs.len() - before < 400, "bounded effects");
            }
            let view = &desk.fetches.view()[0];
            prop_assert!(view.sources.len() <= 32);
            prop_assert!(view.size.is_none_or(|size| view.have <= size));
        }
        // Nothing is ever announced for storing behind the size.
        for (_, start, end) in desk.stores() {
            prop_assert!(start < end);
        }
    }

    #[test]
    fn the_same_inputs_have_the_same_effects_and_a_clone_the_same_future(
        steps in prop::collection::vec(mischief(), 0..40), more in prop::collection::vec(mischief(), 0..20),
    ) {
        let (mut a, mut b) = (chunked(&[A, B]), chunked(&[A, B]));
        for &step in &steps {
            play(&mut a, step);
            play(&mut b, step);
        }
        prop_assert_eq!(&a.outputs, &b.outputs);
        b.fetches = a.fetches.clone();
        for &step in &more {
            play(&mut a, step);
            play(&mut b, step);
        }
        prop_assert_eq!((a.outputs, a.events), (b.outputs, b.events));
    }

    #[test]
    fn nothing_happens_before_its_time(steps in prop::collection::vec(mischief(), 0..40)) {
        let mut desk = chunked(&[A, B]);
        for step in steps {
            play(&mut desk, step);
            let early = |fetches: &mut Fetches, at: Instant| {
                let mut fx = servent_core::engine::Fx::new();
                fetches.handle_timeout(at, &mut fx);
                fx.is_empty()
            };
            if let Some((due, _)) = desk.fetches.poll_timeout() {
                let before = Instant::from_micros(due.as_micros().saturating_sub(1));
                prop_assert!(early(&mut desk.fetches.clone(), before));
            }
        }
    }
}
