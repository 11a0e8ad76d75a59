//! By which name a source is asked for a file: its hash, or its number there.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, GOOD, addr, id};
use servent_core::fetch::{Config, DownloadSource, Event, Get, Input};
use servent_core::id::{ConnId, FileIndex};
use servent_core::queue::Dialect;

const A: &str = "80.1.1.1:6346";

#[test]
fn rt_17_index_and_name_of_a_giv_mean_nothing() {
    let mut desk = Desk::getting(Some(GOOD), &[A]);
    let (servent, peer) = (id(), addr("80.9.9.9:4000"));
    desk.input(Input::ExpectGiv { fetch: FETCH, servent, index: FileIndex(5) });
    let giv = |conn| Input::Giv { conn, peer, index: FileIndex(0), servent, name: "file".into() };
    desk.input(giv(ConnId(4)));
    let asked = desk.last();
    let target = format!("/uri-res/N2R?urn:sha1:{GOOD}");
    assert_eq!((asked.conn, asked.head.target.as_str()), (ConnId(4), target.as_str()));
    // It was expected once.
    desk.input(giv(ConnId(6)));
    assert!(desk.closed(ConnId(6)));
}

/// A download of the file whose SHA-1 is known from one source, asked for so.
fn asking(target: &str) -> Desk {
    let mut desk = Desk::new(Config::default(), Dialect::Parq);
    let source = DownloadSource { at: addr(A), target: target.into(), host: A.into() };
    let get = Get { name: "a".into(), sha1: Some(GOOD), sources: vec![source] };
    desk.input(Input::Get(get));
    desk
}

#[test]
fn rt_16_a_4xx_of_one_name_is_followed_by_the_other() {
    let (hash, number) = (format!("/uri-res/N2R?urn:sha1:{GOOD}"), "/get/7/a%20b".to_owned());
    for (target, first, second) in
        [(format!("{hash}#{number}"), &hash, &number), (number.clone(), &number, &hash)]
    {
        for refusal in ["404 Not Found", "403 Forbidden", "400 Bad Request"] {
            for (end, kept) in [("Content-Length: 0", true), ("Connection: close", false)] {
                let mut desk = asking(&target);
                let asked = desk.connect();
                assert_eq!(&asked.head.target, first);
                desk.reply(asked.conn, &format!("HTTP/1.1 {refusal}\n{end}"));
                let again = if kept { desk.last() } else { desk.connect() };
                assert_eq!((&again.head.target, again.conn == asked.conn), (second, kept));
                desk.reply(again.conn, &format!("HTTP/1.1 {refusal}\n{end}"));
                let lost = |event: &Event| matches!(event, Event::SourceLost { .. });
                assert!(desk.events.iter().any(lost), "both names are refused");
            }
        }
    }
}

#[test]
fn rt_16_a_busy_source_is_asked_by_the_same_name_again() {
    let hash = format!("/uri-res/N2R?urn:sha1:{GOOD}");
    let mut desk = asking(&format!("{hash}#/get/7/a"));
    let asked = desk.connect();
    desk.reply(asked.conn, "HTTP/1.1 503 Busy\nRetry-After: 5\nContent-Length: 0");
    desk.secs(10);
    assert_eq!(desk.connect().head.target, hash);
}
