//! Visitors upload files into the inbox.

use crate::node_support;

use node_support::{Host, config, header, status};
use servent_core::id::ConnId;
use servent_core::node::{
    Config, ConnInput, ConnOutput, DiskInput, InboxLimits, InboxUsage, Input, NodeAnswer,
    NodeLimit, Output, StoreError,
};
use servent_core::time::Duration;

fn host(inbox: InboxLimits) -> Host {
    let mut host = Host::new(Config { inbox, ..config() }, &[1_000]);
    host.input(Input::Disk(DiskInput::Inbox { held: Some(InboxUsage { files: 1, bytes: 100 }) }));
    host
}

fn limits() -> InboxLimits {
    InboxLimits { file_bytes: 500, bytes: 1_000, files: 4, ..InboxLimits::default() }
}

fn put(name: &str, body: &str, lines: &str) -> String {
    let length = body.len();
    format!("PUT /{name} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{lines}\r\n{body}")
}

fn inbox(host: &Host) -> (u32, u64, usize) {
    let view = host.node.view(1, 0).inbox.unwrap();
    (view.files, view.bytes, view.arriving.len())
}

#[test]
fn a_file_is_kept_under_its_name_and_the_next_request_is_answered() {
    let mut host = host(limits());
    let conn = host.accept("9.9.9.9:1");
    let reply = host
        .say(conn, &(put("my%20song", "la la", "") + "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_eq!(status(&reply), 201, "{reply}");
    assert!(reply.contains("\r\n\r\nKept as my song\nHTTP/1.1 404 "), "{reply}");
    assert_eq!(host.inbox["my song"], b"la la");
    assert_eq!(inbox(&host), (2, 105, 0));
    let from = "9.9.9.9:1".parse().unwrap();
    let told = NodeAnswer::Received { name: "my song".into(), bytes: 5, from };
    assert_eq!(host.answers, [told]);
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on_and_others_are_not() {
    let mut host = host(limits());
    let waits = "Expect: 100-continue\r\n";
    let conn = host.accept("9.9.9.9:1");
    let head = put("a", "la", waits);
    assert_eq!(host.say(conn, &head[..head.len() - 2]), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(status(&host.say(conn, "la")), 201);
    let reply = host.say(conn, &put("a", "la", waits));
    assert!(reply.contains("Kept as a (2)\n") && !reply.contains("100 Continue"), "{reply}");
    let large = put("b", &"x".repeat(501), waits);
    let reply = host.say(conn, large.split_inclusive("\r\n\r\n").next().unwrap());
    assert_eq!(status(&reply), 413, "{reply}");
    let empty = host.accept("9.9.9.8:1");
    assert_eq!(status(&host.say(empty, &put("empty", "", ""))), 201);
    assert_eq!((host.inbox["empty"].len(), inbox(&host)), (0, (4, 104, 0)));
}

#[test]
fn a_body_in_chunks_is_a_file_when_its_last_chunk_is_there() {
    let mut host = host(limits());
    let conn = host.accept("9.9.9.9:1");
    let head = "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nlala\r\n";
    assert_eq!(host.say(conn, head), "");
    let begun = host.outputs().into_iter().find_map(|output| match output {
        Output::Connection(_, ConnOutput::Incoming { size, most, early, .. }) => {
            Some((*size, *most, early.len()))
        }
        _ => None,
    });
    assert_eq!(begun, Some((None, 500, 9)), "no more than a file may have");
    host.input(Input::Connection(conn, ConnInput::Stored { bytes: 4 }));
    assert_eq!(inbox(&host), (1, 100, 1));
    host.input(Input::Connection(
        conn,
        ConnInput::BodyEnded { unread: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec() },
    ));
    let reply = host.heard(conn);
    assert!(status(&reply) == 201 && reply.contains("HTTP/1.1 200 OK"), "{reply}");
    assert_eq!(inbox(&host), (2, 104, 0));
}

#[test]
fn every_limit_holds_and_is_said() {
    let full = |held, limits| {
        let mut host = host(limits);
        host.input(Input::Disk(DiskInput::Inbox { held: Some(held) }));
        host
    };
    let held = |files, bytes| InboxUsage { files, bytes };
    for (held, limits, name, body, wanted, limit) in [
        (held(0, 0), limits(), "a", 501, 413, NodeLimit::InboxFile),
        (held(4, 9), limits(), "a", 1, 507, NodeLimit::InboxFiles),
        (held(1, 999), limits(), "a", 2, 507, NodeLimit::InboxBytes),
        (held(0, 0), limits(), &*"a".repeat(201), 1, 400, NodeLimit::InboxName),
    ] {
        let mut host = full(held, limits);
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &put(name, &"x".repeat(body), ""));
        assert_eq!(status(&reply), wanted, "{reply}");
        assert!(host.hit(limit) && host.hung_up.contains(&conn), "{limit:?}");
        assert!(host.inbox.is_empty());
    }
    let mut host = full(held(4, 9), limits());
    host.input(Input::Disk(DiskInput::Inbox { held: Some(held(3, 9)) }));
    let conn = host.accept("9.9.9.9:1");
    assert_eq!(status(&host.say(conn, &put("a", "la", ""))), 201, "its owner took one away");
}

/// Begins an upload of `size` bytes that does not go on.
fn begin(host: &mut Host, peer: &str, size: usize) -> (ConnId, String) {
    let conn = host.accept(peer);
    let head = put("a", &"x".repeat(size), "");
    (conn, host.say(conn, &head[..head.len() - size]))
}

#[test]
fn what_is_arriving_counts_and_is_given_back_when_it_breaks() {
    let mut host = host(InboxLimits { at_once_per_ip: 2, at_once: 3, files: 9, ..limits() });
    let (one, _) = begin(&mut host, "9.9.9.9:1", 400);
    let (_, reply) = begin(&mut host, "9.9.9.9:2", 500);
    assert_eq!(reply, "");
    let (_, reply) = begin(&mut host, "9.9.9.8:1", 1);
    assert_eq!(status(&reply), 507, "{reply}");
    host.input(Input::Connection(one, ConnInput::Closed));
    let (_, reply) = begin(&mut host, "9.9.9.8:1", 1);
    assert_eq!(reply, "");
    let (_, reply) = begin(&mut host, "9.9.9.9:1", 1);
    assert_eq!(reply, "");
    for (peer, who) in [("9.9.9.7:1", "too many"), ("9.9.9.9:1", "too many of one")] {
        let (_, reply) = begin(&mut host, peer, 1);
        assert_eq!((status(&reply), header(&reply, "Retry-After")), (503, Some("5")), "{who}");
    }
    assert_eq!((inbox(&host), host.inbox.len()), ((1, 100, 3), 0));
}

#[test]
fn a_visitor_that_sends_too_slowly_is_ended() {
    let slow = InboxLimits { rate: 2, window: Duration::from_secs(60), ..limits() };
    let mut host = host(slow);
    let (conn, _) = begin(&mut host, "9.9.9.9:1", 400);
    host.bytes(conn, &[b'x'; 200]);
    host.wait(Duration::from_secs(90));
    assert!(!host.hung_up.contains(&conn));
    host.bytes(conn, &[b'x'; 100]);
    host.wait(Duration::from_secs(61));
    assert_eq!(status(&host.heard(conn)), 408);
    assert!(host.hit(NodeLimit::InboxRate) && host.hung_up.contains(&conn));
    assert_eq!((inbox(&host), host.inbox.len()), ((1, 100, 0), 0));
}

#[test]
fn no_page_of_another_site_uploads_and_nothing_is_hidden_or_below() {
    let mut host = host(limits());
    let browser = "User-Agent: Mozilla/5.0\r\n";
    for lines in [
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
    ] {
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &put("a", "la", &format!("{browser}{lines}")));
        assert_eq!(status(&reply), 403, "{lines}: {reply}");
    }
    let conn = host.accept("9.9.9.9:1");
    let rebound = put("a", "la", browser).replace("Host: x", "Host: evil.example");
    let near = host.accept("127.0.0.1:1");
    assert_eq!(status(&host.say(near, &rebound)), 421);
    let near = host.accept("127.0.0.1:2");
    let rebound = rebound.replace("Mozilla/5.0", "curl/8.0");
    assert_eq!(status(&host.say(near, &rebound)), 421, "whatever the page calls its program");
    let ours = format!("{browser}Sec-Fetch-Site: same-origin\r\nOrigin: http://x\r\n");
    assert_eq!(status(&host.say(conn, &put("a", "la", &ours))), 201);
    for (name, why) in [(".profile", 403), ("", 403), ("a/b", 403), ("%2e%2e", 403), ("a%0Ab", 400)]
    {
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &put(name, "la", ""));
        assert_eq!(status(&reply), why, "{name}: {reply}");
    }
    assert_eq!(host.inbox.len(), 1);
}

#[test]
fn a_disk_that_fails_is_said_and_without_an_inbox_nothing_is_taken() {
    for (why, wanted) in [(StoreError::Full, 507), (StoreError::Denied, 500)] {
        let mut host = host(limits());
        let (conn, _) = begin(&mut host, "9.9.9.9:1", 400);
        host.input(Input::Connection(conn, ConnInput::DiskFailed { why }));
        assert_eq!(status(&host.heard(conn)), wanted);
        assert_eq!(inbox(&host), (1, 100, 0));
    }
    let mut host = Host::new(config(), &[1_000]);
    let conn = host.accept("9.9.9.9:1");
    let reply = host.say(conn, &put("a", "la", ""));
    assert_eq!((status(&reply), header(&reply, "Allow")), (405, Some("GET, HEAD")));
    assert!(!host.say(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").contains("id=give"));
}
