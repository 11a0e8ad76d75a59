//! Downloads against servers of all manners, byte by byte.

use crate::node_support;

use node_support::{Host, config, content, header, sha};
use servent_core::engine::Effect;
use servent_core::fetch::Event as FetchEvent;
use servent_core::id::{ConnId, FileIndex};
use servent_core::node::{
    ConnEvent, ConnInput, DownloadSource, FetchCommand, Get, Input, NodeAnswer, NodeCommand, Output,
};
use servent_core::time::Duration;
use servent_core::trace::Event;

const SIZE: usize = 300;

/// A download that has dialed its only source, and its request.
fn asking() -> (Host, ConnId, String) {
    let mut host = Host::new(config(), &[]);
    host.files.insert(FileIndex(0), content(SIZE));
    let source = DownloadSource {
        at: "9.9.9.9:9".parse().unwrap(),
        target: "/get/0/file%200.bin".into(),
        host: "h".into(),
    };
    let get = Get { name: "x".into(), sha1: Some(sha(0)), sources: vec![source] };
    host.input(Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))));
    let (conn, _) = host.dials.pop().expect("a dial");
    assert_eq!(conn.0 % 4, 1);
    host.input(Input::Connection(conn, ConnInput::Dialed { local: "1.2.3.4:5".parse().unwrap() }));
    let request = host.heard(conn);
    (host, conn, request)
}

fn whole() -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 206 OK\r\nContent-Length: {SIZE}\r\nContent-Range: bytes 0-{}/{SIZE}\r\n\r\n",
        SIZE - 1
    );
    [head.into_bytes(), content(SIZE)].concat()
}

/// Lets time pass until something shows.
fn wait_until(host: &mut Host, done: impl Fn(&Host) -> bool) {
    for _ in 0..3_600 {
        if done(host) {
            return;
        }
        host.wait(Duration::from_secs(1));
    }
    panic!("it never comes");
}

/// What happened, but for how far the disk was at which moment.
fn story(host: &Host) -> Vec<&Event> {
    let events = host.log.iter().filter_map(|e| match e {
        Effect::Event(Event::Fetch(FetchEvent::Stored { .. })) | Effect::Output(_) => None,
        Effect::Event(event) => Some(event),
    });
    events.collect()
}

#[test]
fn a_request_says_what_we_speak_and_where_we_are() {
    let (_, _, request) = asking();
    assert!(request.starts_with("GET /get/0/file%200.bin HTTP/1.1\r\n"), "{request}");
    assert_eq!(header(&request, "Host"), Some("h"));
    assert_eq!(header(&request, "X-Queue"), Some("1.0"));
    assert_eq!(header(&request, "X-Node"), Some("1.2.3.4:6346"));
}

#[test]
fn replies_cut_anywhere_have_the_same_effects() {
    let queued = b"HTTP/1.1 503 Queued\r\nX-Queue: 1.0\r\nX-Queued: position=1; length=2; \
                   lifetime=300; ID=6a074979f3201edbf323b6425fef4a53\r\nRetry-After: 30\r\n\
                   Content-Length: 5\r\n\r\nhello";
    let play = |cut: usize| {
        let (mut host, conn, _) = asking();
        let (a, b) = queued.split_at(cut.min(queued.len()));
        [a, b].iter().for_each(|piece| host.bytes(conn, piece));
        wait_until(&mut host, |host| !host.wire.is_empty());
        let claim = "position=1; ID=6a074979f3201edbf323b6425fef4a53";
        assert_eq!(header(&host.heard(conn), "X-Queued"), Some(claim), "cut at {cut}");
        let body = whole();
        let (a, b) = body.split_at(cut.min(body.len()));
        [a, b].iter().for_each(|piece| host.bytes(conn, piece));
        assert_eq!(host.parts.values().next(), Some(&content(SIZE)), "cut at {cut}");
        assert!(matches!(host.answers.last(), Some(NodeAnswer::Fetched { .. })), "cut at {cut}");
        host
    };
    let reference = play(0);
    for cut in 1..=whole().len() {
        assert_eq!(story(&play(cut)), story(&reference), "cut at {cut}");
    }
}

#[test]
fn garbage_ends_the_connection_but_not_the_node() {
    let endless = [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'x'; 40_000]].concat();
    for bytes in [&b"\x16\x03\x01\r\n\r\n"[..], b"SSH-2.0-x\r\n\r\n", &endless] {
        let (mut host, conn, _) = asking();
        host.bytes(conn, bytes);
        assert!(host.hung_up.contains(&conn), "{:?}", String::from_utf8_lossy(&bytes[..9]));
        assert!(!host.answers.iter().any(|a| matches!(a, NodeAnswer::Fetched { .. })));
    }
}

#[test]
fn a_lie_about_length_is_noticed() {
    for (length, range) in [("300", "0-9/10"), ("7", "0-299/300"), ("300", "100-399/400")] {
        let (mut host, conn, _) = asking();
        let head = format!(
            "HTTP/1.1 206 OK\r\nContent-Length: {length}\r\nContent-Range: bytes {range}\r\n\r\n"
        );
        host.bytes(conn, head.as_bytes());
        host.bytes(conn, &content(400));
        host.input(Input::Connection(conn, ConnInput::Closed));
        host.wait(Duration::from_secs(1));
        assert!(!host.answers.iter().any(|a| matches!(a, NodeAnswer::Fetched { .. })), "{range}");
    }
}

#[test]
fn a_connection_that_breaks_in_the_body_keeps_what_came() {
    let (mut host, conn, _) = asking();
    let bytes = whole();
    host.bytes(conn, &bytes[..bytes.len() - 100]);
    host.input(Input::Connection(conn, ConnInput::Closed));
    wait_until(&mut host, |host| !host.dials.is_empty());
    let (conn, _) = host.dials.pop().expect("another try");
    host.input(Input::Connection(conn, ConnInput::Dialed { local: "1.2.3.4:5".parse().unwrap() }));
    let request = host.heard(conn);
    assert!(header(&request, "Range").is_some_and(|r| r.starts_with("bytes=200-")), "{request}");
}

#[test]
fn a_failing_disk_ends_the_download_with_its_reason() {
    let (mut host, conn, _) = asking();
    host.bytes(conn, &whole()[..150]);
    let why = servent_core::node::StoreError::Full;
    host.input(Input::Connection(conn, ConnInput::DiskFailed { why }));
    assert!(matches!(host.answers.last(), Some(NodeAnswer::Failed { .. })), "{:?}", host.answers);
    assert!(host.hung_up.contains(&conn));
}

#[test]
fn a_dial_given_up_is_closed_once() {
    let (mut host, conn, _) = asking();
    let Some(NodeAnswer::Fetching { fetch }) = host.answers.first().cloned() else { panic!() };
    host.input(Input::Command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })));
    assert!(host.hung_up.contains(&conn));
    let closing = |e: &Effect<Output, Event>| {
        matches!(e, Effect::Event(Event::Conn(ConnEvent::Closing { .. })))
    };
    assert_eq!(host.log.iter().filter(|e| closing(e)).count(), 1);
    assert_eq!(host.node.view(1, 1).connections, 0);
}
