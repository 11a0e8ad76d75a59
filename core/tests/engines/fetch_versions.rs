//! A file that becomes another one while it is downloaded: bytes of two versions
//! are never joined, whatever the server says of them.

use crate::fetch_support;

use fetch_support::{Asked, Desk, FETCH, GOOD, LOCAL, addr, get};
use servent_core::fetch::{
    Config, Event, FetchFailure, FileVersion, Input, Output, PartRow, SourceTrouble,
};
use servent_core::id::{ConnId, Sha1, Tth};
use servent_core::queue::Dialect;
use servent_core::wire::http::RangeSpec;

const A: &str = "80.1.1.1:6346";
const B: &str = "80.2.2.2:6346";
const SIZE: u64 = 1_000;
const TAG: &str = "ETag: \"one\"";
const DATE: &str = "Last-Modified: Sun, 22 Nov 2026 12:00:00 GMT";

/// A server sends what was asked for, up to `end`, and all of it is stored.
fn gives(desk: &mut Desk, asked: &Asked, end: u64, fields: &str) {
    let start = begin(asked);
    grants(desk, asked, SIZE, fields);
    desk.input(Input::Stored { conn: asked.conn, bytes: end - start });
}

/// A server begins to send what was asked for, to the end of the file.
fn grants(desk: &mut Desk, asked: &Asked, size: u64, fields: &str) {
    let start = begin(asked);
    let end = match asked.range() {
        RangeSpec::Between(_, last) => (last + 1).min(size),
        _ => size,
    };
    let length = end - start;
    let range =
        format!("Content-Range: bytes {start}-{}/{size}\nContent-Length: {length}", end - 1);
    desk.reply(asked.conn, format!("HTTP/1.1 206 OK\n{range}\n{fields}").trim_end());
}

fn begin(asked: &Asked) -> u64 {
    match asked.range() {
        RangeSpec::From(start) | RangeSpec::Between(start, _) => start,
        RangeSpec::Last(_) => panic!("no end is asked for"),
    }
}

/// The host hashes what it was asked to, and finds this.
fn hashes(desk: &mut Desk, tth: u8) {
    let hash = |o: &Output| match o {
        Output::Hash { start, .. } => Some(*start),
        _ => None,
    };
    let start = desk.outputs.iter().rev().find_map(hash).expect("something to hash");
    desk.input(Input::Hashed { fetch: FETCH, start, tth: Some(Tth([tth; 24])) });
}

/// The server hangs up, and is asked again.
fn hangs_up(desk: &mut Desk, conn: ConnId) -> Asked {
    desk.input(Input::Closed { conn });
    desk.secs(2);
    desk.connect()
}

/// Half the file has come from A, which has hung up and is asked again.
fn half(fields: &str) -> (Desk, Asked) {
    let mut desk = Desk::getting(None, &[A]);
    let asked = desk.connect();
    gives(&mut desk, &asked, 500, fields);
    let asked = hangs_up(&mut desk, asked.conn);
    (desk, asked)
}

fn changed(desk: &Desk) -> Vec<u64> {
    let dropped = |event: &Event| match event {
        Event::VersionChanged { dropped, .. } => Some(*dropped),
        _ => None,
    };
    desk.events.iter().filter_map(dropped).collect()
}

fn lost(desk: &Desk, why: SourceTrouble) -> bool {
    desk.events.iter().any(|e| matches!(e, Event::SourceLost { why: told, .. } if *told == why))
}

fn is_done(desk: &Desk) -> bool {
    desk.outputs.contains(&Output::Verify { fetch: FETCH })
}

#[test]
fn the_validator_of_the_first_reply_is_asked_for_and_the_same_version_goes_on() {
    for (fields, asked_for) in [
        (TAG.to_owned(), "\"one\""),
        (DATE.to_owned(), &DATE["Last-Modified: ".len()..]),
        (format!("{TAG}\n{DATE}"), "\"one\""),
        (format!("ETag: W/\"one\"\n{DATE}"), &DATE["Last-Modified: ".len()..]),
    ] {
        let (mut desk, asked) = half(&fields);
        assert_eq!(asked.header("If-Range"), Some(asked_for), "{fields}");
        assert_eq!(asked.range(), RangeSpec::Between(500, SIZE - 1));
        gives(&mut desk, &asked, SIZE, &fields);
        assert!(is_done(&desk) && changed(&desk).is_empty());
    }
}

#[test]
fn a_part_of_another_version_is_not_joined_whatever_tells_it() {
    let digest = |of: &str| format!("Repr-Digest: sha-256=:{of}:");
    let etags = (TAG.to_owned(), "ETag: \"two\"".to_owned());
    let dates = (DATE.to_owned(), DATE.replace("12:00", "12:01"));
    let both = (format!("{TAG}\n{DATE}"), format!("ETag: \"two\"\n{DATE}"));
    let digests = (digest("YQ=="), digest("Yg=="));
    for (old, new) in [etags, dates, both, digests] {
        let (mut desk, asked) = half(&old);
        grants(&mut desk, &asked, SIZE, &new);
        assert_eq!(changed(&desk), [500], "{new}");
        assert_eq!(desk.stores().len(), 1, "nothing of it is stored behind the old half");
        assert!(desk.row().have.is_empty(), "and a restart does not find that half");
        let anew = desk.connect();
        assert_eq!(begin(&anew), 0);
        gives(&mut desk, &anew, SIZE, &new);
        assert!(is_done(&desk));
    }
}

#[test]
fn the_whole_of_another_version_is_taken_at_once() {
    let (mut desk, asked) = half(TAG);
    desk.reply(asked.conn, "HTTP/1.1 200 OK\nContent-Length: 1200\nETag: \"two\"");
    assert_eq!(changed(&desk), [500]);
    assert_eq!(desk.stores().last(), Some(&(asked.conn, 0, 1_200)));
    desk.input(Input::Stored { conn: asked.conn, bytes: 1_200 });
    assert!(is_done(&desk));
}

#[test]
fn another_length_is_another_version_too() {
    let shorter = "HTTP/1.1 416 No\nContent-Range: bytes */400\nContent-Length: 0";
    let longer = "HTTP/1.1 206 OK\nContent-Range: bytes 500-1999/2000\nContent-Length: 1500";
    for (reply, size) in [(shorter, 400), (longer, 2_000)] {
        let (mut desk, asked) = half(DATE);
        desk.reply(asked.conn, reply);
        assert_eq!(changed(&desk), [500], "{reply}");
        let anew = desk.connect();
        assert_eq!(anew.range(), RangeSpec::From(0));
        grants(&mut desk, &anew, size, DATE);
        desk.input(Input::Stored { conn: anew.conn, bytes: size });
        assert!(is_done(&desk));
    }
}

/// The host cuts the file where it is allocated: otherwise the old half would be taken
/// for the whole.
#[test]
fn a_file_that_becomes_empty_keeps_no_byte_of_its_former_version() {
    let emptied = |desk: &Desk| {
        let is = |o: &Output| matches!(o, Output::Allocate { size: Some(0), .. });
        desk.outputs.iter().any(is) && desk.row().have.is_empty() && is_done(desk)
    };
    for fields in ["", TAG, DATE] {
        let (mut desk, asked) = half(TAG);
        desk.reply(asked.conn, format!("HTTP/1.1 200 OK\nContent-Length: 0\n{fields}").trim_end());
        assert_eq!(changed(&desk), [500], "{fields}");
        assert!(emptied(&desk), "{fields}");
    }
    let (mut desk, asked) = half(DATE);
    desk.reply(asked.conn, "HTTP/1.1 416 No\nContent-Range: bytes */0\nContent-Length: 0");
    assert_eq!(changed(&desk), [500]);
    let anew = desk.connect();
    assert_eq!(anew.range(), RangeSpec::From(0));
    desk.reply(anew.conn, "HTTP/1.1 416 No\nContent-Range: bytes */0\nContent-Length: 0");
    assert!(emptied(&desk));
    // Half of a body of unknown length.
    let mut desk = Desk::getting(None, &[A]);
    let asked = desk.connect();
    desk.reply(asked.conn, &format!("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n{TAG}"));
    desk.input(Input::Stored { conn: asked.conn, bytes: 500 });
    desk.input(Input::Closed { conn: asked.conn });
    desk.secs(20);
    let again = desk.connect();
    desk.reply(again.conn, &format!("HTTP/1.1 200 OK\nContent-Length: 0\n{TAG}"));
    assert!(emptied(&desk));
}

#[test]
fn a_restart_remembers_which_version_the_bytes_are_of() {
    for same in [true, false] {
        let (desk, _) = half(TAG);
        let row = desk.row();
        assert_eq!(row.version.etag.as_deref(), Some("\"one\""));
        let mut desk = Desk::new(Config::default(), Dialect::Parq);
        desk.input(Input::Restore(row));
        desk.input(Input::Resume);
        hashes(&mut desk, 1);
        let asked = desk.connect();
        assert_eq!(asked.header("If-Range"), Some("\"one\""));
        let tag = if same { TAG } else { "ETag: \"two\"" };
        gives(&mut desk, &asked, 500, tag);
        assert_eq!(changed(&desk).is_empty(), same);
    }
}

#[test]
fn where_the_user_named_the_hash_a_source_that_changed_is_dropped() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let asked = desk.connect();
    gives(&mut desk, &asked, 500, TAG);
    let asked = hangs_up(&mut desk, asked.conn);
    grants(&mut desk, &asked, SIZE, "ETag: \"two\"");
    assert!(lost(&desk, SourceTrouble::Changed) && changed(&desk).is_empty());
    assert_eq!(desk.row().have, [(0, 500)], "another source may go on with them");
}

#[test]
fn a_hash_that_the_source_told_is_forgotten_with_its_version() {
    let urn = |n: u8| format!("X-Content-URN: urn:sha1:{}", Sha1([n; 20]));
    let (mut desk, asked) = half(&urn(1));
    desk.reply(asked.conn, &format!("HTTP/1.1 200 OK\nContent-Length: 800\n{}", urn(2)));
    assert_eq!(changed(&desk), [500]);
    desk.input(Input::Stored { conn: asked.conn, bytes: 800 });
    desk.input(Input::Verified { fetch: FETCH, sha1: Some(Sha1([2; 20])) });
    assert!(desk.events.iter().any(|e| matches!(e, Event::Done { bytes: 800, .. })));
}

#[test]
fn of_several_sources_the_one_that_changed_is_kept_in_reserve() {
    let config = Config { chunk: 100, ..Config::default() };
    let mut desk = Desk::new(config, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A, B])));
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    let asked = desk.last();
    gives(&mut desk, &asked, 100, TAG);
    let asked = desk.last();
    assert_eq!(asked.header("If-Range"), Some("\"one\""));
    grants(&mut desk, &asked, SIZE, "ETag: \"two\"");
    let kept = |e: &Event| matches!(e, Event::KeptBack { at, why: SourceTrouble::Changed, .. } if *at == addr(A));
    assert!(desk.events.iter().any(kept) && changed(&desk).is_empty());
    // B has the version of which a part is there, or begins anew.
    desk.input(Input::Dialed { conn: b, local: LOCAL });
    assert_eq!(desk.row().have, [(0, 100)]);
}

#[test]
fn where_nothing_vouches_overlapping_bytes_have_to_and_the_end_says_so() {
    let (mut desk, _) = half_silent(1);
    let asked = desk.last();
    gives(&mut desk, &asked, SIZE, "");
    desk.input(Input::Verified { fetch: FETCH, sha1: None });
    assert!(desk.events.contains(&Event::Unvouched { fetch: FETCH }));
    assert!(changed(&desk).is_empty());
}

#[test]
fn where_the_overlapping_bytes_differ_it_begins_anew() {
    let (mut desk, _) = half_silent(2);
    assert_eq!(changed(&desk), [436], "and that is said");
    let anew = desk.connect();
    assert_eq!(begin(&anew), 0);
    gives(&mut desk, &anew, SIZE, "");
    desk.input(Input::Verified { fetch: FETCH, sha1: None });
    assert!(!desk.events.contains(&Event::Unvouched { fetch: FETCH }), "all came at once");
}

/// Half the file has come from A, of which nothing is known but its length; the
/// bytes at its end, which A was asked for again, hash to this instead of 1.
fn half_silent(after: u8) -> (Desk, Asked) {
    let mut desk = Desk::new(Config { probe: 64, ..Config::default() }, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    let asked = desk.connect();
    gives(&mut desk, &asked, 500, "");
    desk.input(Input::Closed { conn: asked.conn });
    desk.secs(2);
    hashes(&mut desk, 1);
    let asked = desk.connect();
    assert_eq!(asked.range(), RangeSpec::Between(436, 499), "bytes that are there already");
    gives(&mut desk, &asked, 500, "");
    hashes(&mut desk, after);
    (desk, asked)
}

#[test]
fn a_file_that_changes_each_time_is_given_up() {
    let mut desk = Desk::new(Config { attempts: 3, ..Config::default() }, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A])));
    for n in 0..10 {
        if desk.state() != "running" {
            break;
        }
        let asked = desk.connect();
        let size = 1_000 + n;
        desk.reply(asked.conn, &format!("HTTP/1.1 200 OK\nContent-Length: {size}\nETag: \"{n}\""));
        desk.input(Input::Stored { conn: asked.conn, bytes: 500 });
        desk.input(Input::Closed { conn: asked.conn });
        desk.secs(2);
    }
    assert_eq!(changed(&desk).len(), 3);
    assert!(lost(&desk, SourceTrouble::Changed));
    let failed = |e: &Event| matches!(e, Event::Failed { why: FetchFailure::NoSource, .. });
    assert!(desk.events.iter().any(failed));
}

#[test]
fn a_row_without_a_version_is_continued_by_overlap() {
    let (size, have) = (Some(SIZE), vec![(0, 500)]);
    let row = PartRow { size, have, ..PartRow::new(FETCH, get(None, &[A]).into()) };
    assert_eq!(row.version, FileVersion::default());
    let mut desk = Desk::new(Config { probe: 64, ..Config::default() }, Dialect::Parq);
    desk.input(Input::Restore(row));
    desk.input(Input::Resume);
    hashes(&mut desk, 1);
    let asked = desk.connect();
    gives(&mut desk, &asked, 500, TAG);
    hashes(&mut desk, 1);
    let asked = desk.last();
    gives(&mut desk, &asked, SIZE, TAG);
    desk.input(Input::Verified { fetch: FETCH, sha1: None });
    assert!(
        desk.events.contains(&Event::Unvouched { fetch: FETCH }),
        "of the first half nothing is known"
    );
}

/// Half of it came from A, whose link has expired; the user names B.
fn relinked(fields: &str) -> (Desk, Asked) {
    let (mut desk, _) = half(fields);
    desk.input(Input::Relink { fetch: FETCH, sources: get(None, &[B]).sources });
    hashes(&mut desk, 1);
    let asked = desk.connect();
    (desk, asked)
}

#[test]
fn a_new_link_goes_on_when_overlapping_bytes_agree_whatever_the_tags_say() {
    let (mut desk, asked) = relinked(TAG);
    assert_eq!((asked.header("Host"), asked.header("If-Range")), (Some(B), None));
    gives(&mut desk, &asked, 500, "ETag: \"of another server\"");
    hashes(&mut desk, 1);
    assert_eq!(begin(&desk.last()), 500);
    let asked = desk.last();
    gives(&mut desk, &asked, SIZE, "ETag: \"of another server\"");
    assert!(is_done(&desk) && changed(&desk).is_empty());
    assert_eq!(desk.row().get.sources, get(None, &[B]).sources, "a restart asks there too");
}

#[test]
fn a_new_link_to_another_file_is_refused_and_what_is_there_is_kept() {
    let (mut desk, asked) = relinked(TAG);
    gives(&mut desk, &asked, 500, TAG);
    hashes(&mut desk, 2);
    assert!(lost(&desk, SourceTrouble::Unlike) && changed(&desk).is_empty());
    let (mut desk, asked) = relinked(TAG);
    grants(&mut desk, &asked, SIZE + 1, TAG);
    assert!(lost(&desk, SourceTrouble::Changed) || lost(&desk, SourceTrouble::LengthLie));
    assert!(changed(&desk).is_empty());
    assert_eq!(desk.row().have, [(0, 500)], "what was there before is still there");
}

/// The source told the hash itself. When its file is another one, it has none of
/// that hash: it is asked by the name alone, and the download begins anew.
#[test]
fn a_source_that_lost_the_file_of_its_own_hash_is_asked_by_name() {
    let urn = |digit: &str| format!("{TAG}\nX-Gnutella-Content-URN: urn:sha1:{}", digit.repeat(32));
    let (mut desk, again) = half(&urn("A"));
    assert!(again.header("X-Gnutella-Content-URN").is_some());
    desk.reply(again.conn, "HTTP/1.1 404 Not Found\nContent-Length: 0");
    let by_name = desk.asked.last().cloned().expect("asked once more");
    assert_eq!(by_name.header("X-Gnutella-Content-URN"), None);
    let other = urn("B").replace("one", "two");
    desk.reply(by_name.conn, &format!("HTTP/1.1 200 OK\nContent-Length: {SIZE}\n{other}"));
    assert_eq!(changed(&desk), [500]);
    desk.input(Input::Stored { conn: by_name.conn, bytes: SIZE });
    assert!(is_done(&desk));
}

/// Nothing of it had come when the file became another one.
#[test]
fn another_length_is_taken_where_nothing_is_there_yet() {
    let mut desk = Desk::getting(None, &[A]);
    let asked = desk.connect();
    grants(&mut desk, &asked, SIZE, "");
    desk.input(Input::Closed { conn: asked.conn });
    desk.secs(20);
    let asked = desk.connect();
    desk.reply(asked.conn, "HTTP/1.1 206 OK\nContent-Range: bytes 0-399/400\nContent-Length: 400");
    assert_eq!(changed(&desk), [0; 0], "there is nothing to drop");
    desk.input(Input::Stored { conn: asked.conn, bytes: 400 });
    assert!(is_done(&desk));
}

/// Both began at once, so neither can be compared with what is there: the one whose
/// bytes come later is, before they are joined.
#[test]
fn two_sources_that_begin_at_once_are_compared() {
    let config = Config { chunk: 500, probe: 64, ..Config::default() };
    let mut desk = Desk::new(config, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A, B])));
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    let first = desk.last();
    desk.input(Input::Dialed { conn: b, local: LOCAL });
    let second = desk.last();
    grants(&mut desk, &second, SIZE, DATE);
    grants(&mut desk, &first, SIZE, DATE);
    for asked in [&second, &first] {
        desk.input(Input::Stored { conn: asked.conn, bytes: 500 });
    }
    assert!(!is_done(&desk), "the bytes of one of them have to be compared first");
    hashes(&mut desk, 1);
    let probe = desk.last();
    assert_eq!((probe.conn, probe.range()), (first.conn, RangeSpec::Between(936, 999)));
    gives(&mut desk, &probe, 1_000, DATE);
    hashes(&mut desk, 1);
    assert!(is_done(&desk));
}

/// What is there of one of them is short, and will not get longer: it is compared as
/// it is, and the download ends.
#[test]
fn what_is_there_is_compared_however_short_when_nothing_is_missing() {
    let config = Config { chunk: 990, probe: 64, ..Config::default() };
    let mut desk = Desk::new(config, Dialect::Parq);
    desk.input(Input::Get(get(None, &[A, B])));
    let [(a, _), (b, _)] = desk.dials()[..] else { panic!("two dials") };
    desk.input(Input::Dialed { conn: a, local: LOCAL });
    let first = desk.last();
    desk.input(Input::Dialed { conn: b, local: LOCAL });
    let second = desk.last();
    grants(&mut desk, &second, SIZE, DATE);
    grants(&mut desk, &first, SIZE, DATE);
    desk.input(Input::Stored { conn: second.conn, bytes: 10 });
    desk.input(Input::Stored { conn: first.conn, bytes: 990 });
    assert!(!is_done(&desk), "the bytes of one of them have to be compared first");
    hashes(&mut desk, 1);
    let probe = desk.last();
    assert_eq!((probe.conn, probe.range()), (first.conn, RangeSpec::Between(990, 999)));
    gives(&mut desk, &probe, SIZE, DATE);
    hashes(&mut desk, 1);
    assert!(is_done(&desk));
}
