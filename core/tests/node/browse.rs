//! Everything that is shared, as hits, for servents that look through it.

use crate::node_support;

use node_support::{Host, config, get, header, sha, status};
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, Input, NodeLimit};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{
    FrameLimits, Framer, MessageBody, OverlayMessage, Quality, QueryHit,
};

const PACKETS: &str = "application/x-gnutella-packets";

fn asks(version: &str, accept: &str) -> String {
    format!("GET / HTTP/{version}\r\nHost: x\r\nAccept: {accept}\r\n\r\n")
}

/// Says it; the head of the answer, and everything behind it.
fn answer(host: &mut Host, conn: ConnId, text: &str) -> (String, Vec<u8>) {
    host.bytes(conn, text.as_bytes());
    let all: Vec<u8> = host.wire.remove(&conn).unwrap_or_default().into();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head") + 4;
    (String::from_utf8(all[..end].to_vec()).unwrap(), all[end..].to_vec())
}

fn hits(bytes: &[u8]) -> Vec<QueryHit> {
    let mut framer = Framer::new(FrameLimits { payload: 65_536 });
    framer.push(bytes.to_vec().into());
    let next = || framer.next_frame().unwrap().map(|frame| OverlayMessage::parse(frame).unwrap());
    let hit = |message: OverlayMessage| match message.body {
        MessageBody::Hit(hit) => hit,
        other => panic!("no hit: {other:?}"),
    };
    std::iter::from_fn(next).map(hit).collect()
}

fn names(hits: &[QueryHit]) -> Vec<String> {
    let names = hits.iter().flat_map(QueryHit::results);
    names.map(|file| String::from_utf8(file.name.to_vec()).unwrap()).collect()
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("file {n}.bin")).collect()
}

/// Takes the chunks apart.
fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let line = bytes.windows(2).position(|two| two == b"\r\n").expect("a line");
        let size = std::str::from_utf8(&bytes[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let chunk = &bytes[line + 2..];
        assert_eq!(&chunk[size..size + 2], b"\r\n");
        if size == 0 {
            assert_eq!(chunk.len(), 2, "nothing behind the last chunk");
            return all;
        }
        all.extend_from_slice(&chunk[..size]);
        bytes = &chunk[size + 2..];
    }
}

#[test]
fn rt_24_a_client_that_accepts_hits_gets_everything_shared_and_needs_no_slot() {
    let mut host = Host::new(config(), &[10, 5_000_000]);
    host.stalled = true;
    let (_, taken) = host.ask("8.8.8.8:1", "");
    assert_eq!(status(&taken), 200, "the only slot is taken");
    let conn = host.accept("9.9.9.9:1");
    let (head, body) = answer(&mut host, conn, &asks("1.1", PACKETS));
    assert_eq!(status(&head), 200, "{head}");
    assert_eq!(header(&head, "Content-Type"), Some(PACKETS));
    assert_eq!(header(&head, "Content-Length"), Some(body.len().to_string().as_str()));
    let hits = hits(&body);
    assert_eq!(names(&hits), numbered(2));
    let result = hits[0].results().nth(1).unwrap();
    assert_eq!((result.size, result.sha1()), (5_000_000, Some(sha(1))));
    assert_eq!(
        (hits[0].at(), hits[0].servent()),
        ("1.2.3.4:6346".parse().unwrap(), host.node.servent())
    );
    let quality = Quality { push: Some(false), busy: Some(true), uploaded: None };
    assert_eq!(hits[0].quality(), quality);
    // The connection is kept, and a head alone has no body.
    let (head, body) = answer(&mut host, conn, &asks("1.1", PACKETS).replace("GET", "HEAD"));
    assert_eq!((status(&head), body.len()), (200, 0));
    assert!(!host.hung_up.contains(&conn));
}

#[test]
fn rt_24_what_is_accepted_decides_between_hits_and_a_page() {
    for (accept, wants_hits) in [
        ("application/x-gnutella-packets", true),
        ("text/html, application/x-gnutella-packets, application/x-gnutella2", true),
        ("text/html;q=0.5, Application/X-Gnutella-Packets;q=0.6", true),
        ("text/html;q=0.6, application/x-gnutella-packets;q=0.5", false),
        ("application/x-gnutella-packets;q=0", false),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false),
        ("*/*", false),
        ("application/*", false),
    ] {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        let (head, _) = answer(&mut host, conn, &asks("1.1", accept));
        let kind = if wants_hits { PACKETS } else { "text/html; charset=utf-8" };
        assert_eq!(header(&head, "Content-Type"), Some(kind), "{accept}");
        assert_eq!(header(&head, "Vary"), Some("Accept"));
    }
}

#[test]
fn rt_24_nothing_shared_is_a_list_without_hits() {
    let mut host = Host::new(config(), &[]);
    let conn = host.accept("9.9.9.9:1");
    let (head, body) = answer(&mut host, conn, &asks("1.1", PACKETS));
    assert_eq!((status(&head), header(&head, "Content-Length")), (200, Some("0")));
    assert!(body.is_empty());
}

#[test]
fn rt_24_a_long_list_comes_in_chunks_and_the_next_request_waits_for_its_end() {
    let mut host = Host::new(config(), &[1; 700]);
    let conn = host.accept("9.9.9.9:1");
    let (head, mut body) = answer(&mut host, conn, &asks("1.1", PACKETS));
    assert_eq!(header(&head, "Transfer-Encoding"), Some("chunked"), "{head}");
    assert_eq!(header(&head, "Content-Length"), None);
    host.bytes(conn, get(0, "").replace("GET", "HEAD").as_bytes());
    host.wait(Duration::from_secs(1));
    let rest: Vec<u8> = host.wire.remove(&conn).unwrap().into();
    body.extend(rest);
    let next = body.windows(9).position(|nine| nine == b"HTTP/1.1 ").expect("the next answer");
    assert_eq!(names(&hits(&unchunked(&body[..next]))), numbered(700));
    assert!(!host.hung_up.contains(&conn));
}

#[test]
fn rt_24_an_old_client_gets_a_long_list_to_the_end_of_the_connection() {
    let mut host = Host::new(config(), &[1; 700]);
    let conn = host.accept("9.9.9.9:1");
    let ask = asks("1.0", PACKETS).replace("Host: x", "Connection: keep-alive");
    let (head, mut body) = answer(&mut host, conn, &ask);
    assert_eq!(header(&head, "Connection"), Some("close"), "{head}");
    host.wait(Duration::from_secs(1));
    body.extend(host.wire.remove(&conn).unwrap());
    assert_eq!(names(&hits(&body)), numbered(700));
    assert!(host.hung_up.contains(&conn));
}

#[test]
fn rt_24_a_list_waits_for_a_slow_reader_but_not_for_ever() {
    let mut host = Host::new(config(), &[1; 3_000]);
    let conn = host.accept("9.9.9.9:1");
    let (_, first) = answer(&mut host, conn, &asks("1.1", PACKETS));
    host.input(Input::Connection(conn, ConnInput::Backlog { bytes: 70_000 }));
    host.wait(Duration::from_secs(60));
    assert!(!host.wire.contains_key(&conn), "nothing more while that has not left");
    assert!(!host.hung_up.contains(&conn));
    host.input(Input::Connection(conn, ConnInput::Backlog { bytes: 0 }));
    host.wait(Duration::from_millis(25));
    let second = host.wire.remove(&conn).expect("it goes on");
    assert!(second.len() < 2 * first.len(), "piece by piece");
    host.input(Input::Connection(conn, ConnInput::Backlog { bytes: 70_000 }));
    host.wait(Duration::from_secs(121));
    assert!(host.hung_up.contains(&conn) && host.hit(NodeLimit::ReaderRate));
}

#[test]
fn the_page_tells_a_visitor_its_own_places_in_line() {
    let mut host = Host::new(config(), &[100_000]);
    host.stalled = true;
    let queues = "X-Queue: 1.0\r\n";
    for (peer, expected) in
        [("9.9.9.1:1", 200), ("9.9.9.2:1", 503), ("9.9.9.3:1", 503), ("9.9.9.3:2", 503)]
    {
        assert_eq!(status(&host.ask(peer, queues).1), expected);
    }
    for (peer, told) in [
        ("9.9.9.2:7", "You are number 1 of 3 in line for an upload slot."),
        ("9.9.9.3:7", "You have 2 places in line for an upload slot; the first is number 2 of 3."),
        ("9.9.9.1:7", "All upload slots are taken; 3 in line."),
    ] {
        let conn = host.accept(peer);
        let (_, page) = answer(&mut host, conn, &asks("1.1", "text/html"));
        let page = String::from_utf8_lossy(&page).into_owned();
        assert!(page.contains(told), "{peer}: {page}");
    }
}
