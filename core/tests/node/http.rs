//! What never reaches the queue: heads, lists, refusals, limits, deadlines.

use crate::node_support;

use node_support::{CHANGED, Host, config, get, header, status};
use servent_core::id::ConnId;
use servent_core::node::{
    Config, ConnInput, DiskInput, HttpCommand, Input, NodeCommand, NodeLimit, RestoredNode,
};
use servent_core::time::Duration;

fn head_request(target: &str, extra: &str) -> String {
    format!("HEAD {target} HTTP/1.1\r\nHost: x\r\n{extra}\r\n")
}

#[test]
fn head_tells_everything_and_is_never_queued() {
    let mut host = Host::new(config(), &[1_000]);
    let conn = host.accept("9.9.9.9:1");
    let reply =
        host.say(conn, &head_request("/get/0/file%200.bin", "X-Queue: 0.1\r\nRange: bytes=5-\r\n"));
    assert_eq!(status(&reply), 200, "{reply}");
    assert_eq!(header(&reply, "Content-Length"), Some("1000"));
    assert_eq!(header(&reply, "Accept-Ranges"), Some("bytes"));
    let urn = format!("urn:sha1:{}", node_support::sha(0));
    assert_eq!(header(&reply, "X-Gnutella-Content-URN"), Some(&urn[..]));
    assert!(reply.ends_with("\r\n\r\n"), "no body");
    assert_eq!(host.node.view(1, 10).queue.length, 0);
    // The connection is kept, and the URN form leads to the same file.
    let reply = host.say(conn, &head_request(&format!("/uri-res/N2R?{urn}"), ""));
    assert_eq!(header(&reply, "Content-Length"), Some("1000"));
}

/// Asks a fresh host of ours on a connection of its own.
fn asked(request: &str) -> String {
    let mut host = Host::new(config(), &[1_000]);
    host.now = host.now.max(CHANGED + Duration::from_secs(86_400));
    let conn = host.accept("9.9.9.9:1");
    host.say(conn, request)
}

#[test]
fn a_reply_says_which_content_it_is_and_when_it_was_changed() {
    let reply = asked(&head_request("/get/0/file%200.bin", ""));
    let tag = format!("\"{}\"", node_support::sha(0));
    assert_eq!(header(&reply, "ETag"), Some(&tag[..]), "{reply}");
    assert_eq!(header(&reply, "Last-Modified"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(header(&reply, "Date"), Some("Mon, 07 Nov 1994 08:49:37 GMT"));
    assert_eq!(header(&reply, "Digest"), Some("SHA=AQEBAQEBAQEBAQEBAQEBAQEBAQE="));
    assert_eq!(header(&reply, "Repr-Digest"), Some("sha=:AQEBAQEBAQEBAQEBAQEBAQEBAQE=:"));
}

#[test]
fn a_condition_is_judged_before_the_queue_is_asked() {
    let tag = format!("\"{}\"", node_support::sha(0));
    let before = "Sun, 06 Nov 1994 08:49:36 GMT";
    let same = "Sun, 06 Nov 1994 08:49:37 GMT";
    // Of size and time of change: what the file was called before its hash was known.
    let former = "\"3e8-2c9253feeaa40\"";
    let cases = [
        (format!("If-None-Match: {tag}"), 304),
        (format!("If-None-Match: \"x\", W/{tag}"), 304),
        ("If-None-Match: *".into(), 304),
        ("If-None-Match: \"x\"".into(), 200),
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {same}"), 200),
        (format!("If-Modified-Since: {same}"), 304),
        (format!("If-Modified-Since: {before}"), 200),
        ("If-Modified-Since: yesterday".into(), 200),
        (format!("If-Match: {tag}"), 200),
        (format!("If-Match: W/{tag}"), 412),
        ("If-Match: \"x\"".into(), 412),
        (format!("If-Unmodified-Since: {before}"), 412),
        (format!("If-Unmodified-Since: {same}"), 200),
        (format!("Range: bytes=5-\r\nIf-Range: {tag}"), 206),
        (format!("Range: bytes=5-\r\nIf-Range: {former}"), 206),
        (format!("Range: bytes=5-\r\nIf-Range: {same}"), 206),
        (format!("Range: bytes=5-\r\nIf-Range: {before}"), 200),
        (format!("Range: bytes=5-\r\nIf-Range: W/{tag}"), 200),
        ("Range: bytes=5-\r\nIf-Range: \"nope\"".into(), 200),
        ("Range: bytes=5000-\r\nIf-Range: \"nope\"".into(), 200),
    ];
    for (condition, wanted) in cases {
        let known = if condition.contains(former) { former } else { &tag };
        let reply = asked(&get(0, &format!("{condition}\r\n")));
        assert_eq!(status(&reply), wanted, "{condition}\n{reply}");
        if wanted == 206 {
            // A client that goes on finds the tag that its first bytes came with.
            assert_eq!(header(&reply, "ETag"), Some(known), "{condition}");
        }
        if wanted == 304 {
            assert_eq!(header(&reply, "ETag"), Some(&tag[..]));
            assert!(reply.ends_with("\r\n\r\n") && header(&reply, "Content-Length").is_none());
        }
    }
}

#[test]
fn a_plain_browser_gets_a_list() {
    let mut host = Host::new(config(), &[10, 20]);
    let conn = host.accept("9.9.9.9:1");
    let reply = host.say(conn, "GET / HTTP/1.0\r\n\r\n");
    assert_eq!(status(&reply), 200);
    assert_eq!(header(&reply, "Content-Type"), Some("text/html; charset=utf-8"));
    assert!(reply.contains("<a href=\"./file%201.bin\">file 1.bin</a>"), "{reply}");
    assert!(host.hung_up.contains(&conn), "HTTP/1.0 closes unless asked to keep");
    let conn = host.accept("9.9.9.9:2");
    let reply = host.say(conn, "GET /?q=0.BIN HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    assert!(reply.contains("file 0.bin") && !reply.contains("file 1.bin"), "{reply}");
    assert_eq!(header(&reply, "Connection"), Some("keep-alive"));
    assert!(!host.hung_up.contains(&conn));
}

#[test]
fn a_folder_keeps_its_tree_in_urls() {
    let mut host = Host::new(config(), &[10, 20]);
    for (n, name) in [(0, "Music/A/one song.ogg"), (1, "Music/two.ogg")] {
        let mut info = host.shared()[n].clone();
        info.name = name.into();
        host.input(Input::Disk(DiskInput::Shared(info)));
    }
    let conn = host.accept("9.9.9.9:1");
    let mut asked = |target: &str| {
        let reply = host.say(conn, &head_request(target, ""));
        let word = |name| header(&reply, name).map(str::to_owned);
        (status(&reply), word("Content-Length"), word("Location"))
    };
    let (ten, twenty) = (Some("10".to_owned()), Some("20".to_owned()));
    for target in
        ["/Music/A/one%20song.ogg", "/get/0/Music/A/one%20song.ogg", "/get/0/one%20song.ogg"]
    {
        assert_eq!(asked(target), (200, ten.clone(), None), "{target}");
    }
    assert_eq!(asked("/Music/two.ogg?x=y"), (200, twenty, None));
    for folder in ["/Music/", "/Music/A/", "/Music/?sort=size"] {
        assert_eq!(asked(folder).0, 200, "{folder}");
    }
    let moved = asked("/Music/A");
    assert_eq!((moved.0, moved.2.as_deref()), (301, Some("./A/")));
    for nothing in [
        "/music/two.ogg",
        "/Music/two.ogg/",
        "/Music/B/",
        "/Mus/",
        "/Music/A/../two.ogg",
        "/Music/%2e%2e/two.ogg",
        "/../",
        "/Music//two.ogg",
    ] {
        assert_eq!(asked(nothing).0, 404, "{nothing}");
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    for target in ["/get/7/x", "/etc/passwd", "/get/0", "/get/x/y", "/favicon.ico", "/../../x"] {
        let reply = host.say(conn, &format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(status(&reply), 404, "{target}");
    }
    let wrong = format!("X-Gnutella-Content-URN: urn:sha1:{}\r\n", node_support::sha(9));
    assert_eq!(status(&host.say(conn, &get(0, &wrong))), 404);
    let unknown = format!("/uri-res/N2R?urn:sha1:{}", node_support::sha(9));
    let reply = host.say(conn, &format!("GET {unknown} HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_eq!(status(&reply), 404);
    // A name never becomes a path.
    let reply = host.say(conn, &head_request("/get/0/..%2f..%2fetc%2fpasswd", ""));
    assert_eq!(status(&reply), 404);
}

#[test]
fn a_number_with_the_name_of_another_file_is_not_taken_for_that_file() {
    let mut host = Host::new(config(), &[10, 20]);
    let conn = host.accept("9.9.9.9:1");
    let mut asked = |target: &str, extra: &str| {
        let reply = host.say(conn, &head_request(target, extra));
        (status(&reply), header(&reply, "Content-Length").map(str::to_owned))
    };
    let whole = (200, Some("10".to_owned()));
    assert_eq!(asked("/get/0/file%201.bin", "").0, 404, "that is the name of number 1");
    assert_eq!(asked("/get/0/song.ogg", "").0, 404);
    for spelled in ["/get/0/file 0.bin", "/get/0/FILE%200.BIN/", "/get/0/%66ile%200%2Ebin"] {
        assert_eq!(asked(spelled, ""), whole, "{spelled}");
    }
    // A client that names the content needs no name, and the right name does not
    // make up for other content.
    let urn = |n| format!("X-Gnutella-Content-URN: urn:sha1:{}\r\n", node_support::sha(n));
    assert_eq!(asked("/get/0/song.ogg", &urn(0)), whole);
    assert_eq!(asked("/get/0/file%200.bin", &urn(1)).0, 404);
}

#[test]
fn a_file_no_longer_shared_is_not_found() {
    let mut host = Host::new(config(), &[10]);
    let index = servent_core::id::FileIndex(0);
    host.input(Input::Disk(DiskInput::Unshared { index }));
    let conn = host.accept("9.9.9.9:1");
    assert_eq!(status(&host.say(conn, &get(0, ""))), 404);
}

#[test]
fn only_get_and_head_are_served() {
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        let reply =
            host.say(conn, &format!("{method} /get/0/file%200.bin HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(status(&reply), 405, "{method}");
        assert_eq!(header(&reply, "Allow"), Some("GET, HEAD"));
        assert!(host.hung_up.contains(&conn));
    }
}

#[test]
fn malformed_requests_are_answered_and_end_the_connection() {
    for (bytes, want) in [
        ("GET / HTTP/2.0\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET  HTTP/1.1\r\n\r\n", 400),
    ] {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        assert_eq!(status(&host.say(conn, bytes)), want, "{bytes}");
        assert!(host.hung_up.contains(&conn), "{bytes}");
    }
}

#[test]
fn other_protocols_are_hung_up_on_without_a_word() {
    for bytes in ["\x17\x03\x01", "GNUTELLA CONNECT/0.6\r\n", "GIV nonsense\r\n\r\n", "hello\r\n"] {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        assert_eq!(host.say(conn, bytes), "", "{bytes:?}");
        assert!(host.hung_up.contains(&conn) && host.hit(NodeLimit::Garbage), "{bytes:?}");
    }
}

#[test]
fn a_client_that_speaks_tls_to_us_is_told_that_we_do_not() {
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    let reply = host.say(conn, "\x16\x03\x01\x02");
    assert_eq!(status(&reply), 400);
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{reply}");
    assert!(body.contains("write http:// instead of https://"), "{reply}");
    assert!(host.hung_up.contains(&conn));
}

#[test]
fn no_download_waits_for_this_giv_or_queue() {
    for line in [
        "GIV 1:6a074979f3201edbf323b6425fef4a53/x\n\n",
        "QUEUE 6a074979f3201edbf323b6425fef4a53 9.9.9.9:1\r\n",
    ] {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        assert_eq!(host.say(conn, line), "", "{line}");
        assert!(host.hung_up.contains(&conn), "{line}");
    }
}

#[test]
fn too_long_heads_are_refused() {
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    let reply = host.say(conn, &get(0, &format!("A: {}\r\n", "x".repeat(20_000))));
    assert_eq!(status(&reply), 431);
    assert!(host.hung_up.contains(&conn) && host.hit(NodeLimit::HeadBytes));
    let conn = host.accept("9.9.9.9:2");
    let reply = host.say(conn, &get(0, &"A: b\r\n".repeat(100)));
    assert_eq!(status(&reply), 431);
    assert!(host.hung_up.contains(&conn) && host.hit(NodeLimit::HeadLines));
}

#[test]
fn deadlines_end_slow_and_silent_connections() {
    let mut host = Host::new(config(), &[10]);
    let silent = host.accept("9.9.9.9:1");
    let slow = host.accept("9.9.9.9:2");
    let kept = host.accept("9.9.9.9:3");
    host.say(kept, &head_request("/", ""));
    // A byte now and then does not move the deadline of the whole request.
    let mut heard = String::new();
    for byte in "GET / HTTP/1.1\r\n".chars() {
        heard += &host.say(slow, &byte.to_string());
        host.wait(Duration::from_secs(1));
    }
    assert_eq!(status(&heard), 408);
    assert!(host.hung_up.contains(&silent) && host.hung_up.contains(&slow));
    assert_eq!(host.heard(silent), "");
    assert!(!host.hung_up.contains(&kept));
    host.wait(Duration::from_secs(43));
    assert!(!host.hung_up.contains(&kept));
    host.wait(Duration::from_secs(2));
    assert!(host.hung_up.contains(&kept) && host.hit(NodeLimit::IdleDeadline));
}

#[test]
fn connections_are_limited_in_all_and_by_address() {
    let mut limited = config();
    limited.limits.connections = 3;
    limited.limits.connections_per_ip = 2;
    let mut host = Host::new(limited, &[10]);
    let first = host.accept("9.9.9.9:1");
    host.accept("9.9.9.9:2");
    let third = host.accept("9.9.9.9:3");
    assert!(host.hung_up.contains(&third) && host.hit(NodeLimit::ConnectionsPerIp));
    host.accept("8.8.8.8:1");
    let fourth = host.accept("8.8.8.8:2");
    assert!(host.hung_up.contains(&fourth) && host.hit(NodeLimit::Connections));
    host.input(Input::Connection(first, ConnInput::Closed));
    let again = host.accept("9.9.9.9:4");
    assert!(!host.hung_up.contains(&again));
}

#[test]
fn unread_replies_end_the_connection() {
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    host.say(conn, &head_request("/", ""));
    host.input(Input::Connection(conn, ConnInput::Backlog { bytes: 256 * 1024 }));
    assert!(!host.hung_up.contains(&conn));
    host.input(Input::Connection(conn, ConnInput::Backlog { bytes: 256 * 1024 + 1 }));
    assert!(host.hung_up.contains(&conn) && host.hit(NodeLimit::Backlog));
}

#[test]
fn bytes_cut_anywhere_have_the_same_effects() {
    let text = [
        head_request("/get/0/file%200.bin", ""),
        head_request("/", "A: b\r\n c\r\n"),
        "GET /?q=a HTTP/1.1\r\nHost: x\r\n\r\n".into(),
        head_request("/get/9/x", "Connection: close\r\n"),
        "whatever follows is not read".into(),
    ]
    .concat();
    let mut whole = Host::new(config(), &[10]);
    let conn = whole.accept("9.9.9.9:1");
    whole.bytes(conn, text.as_bytes());
    assert_eq!(whole.outputs().len(), 6, "the servent id, four replies, the close");
    for cut in 0..=text.len() {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        host.bytes(conn, &text.as_bytes()[..cut]);
        host.bytes(conn, &text.as_bytes()[cut..]);
        assert_eq!(host.log, whole.log, "cut at {cut}");
    }
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    text.bytes().for_each(|b| host.bytes(conn, &[b]));
    assert_eq!(host.log, whole.log, "byte by byte");
}

#[test]
fn too_many_requests_at_once_are_not_answered_for_ever() {
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    let reply = host.say(conn, &head_request("/", "").repeat(1_000));
    assert!(host.hung_up.contains(&conn) && host.hit(NodeLimit::Pipeline));
    assert_eq!(reply.matches("200 OK").count(), 9, "one and eight ahead");
}

#[test]
fn what_is_not_as_http_wants_it_is_refused_before_it_is_understood() {
    for fields in [
        "",
        "Host: x\r\nHost: x\r\n",
        "Host : x\r\n",
        " Host: x\r\nHost: x\r\n",
        "Host: x\nA: b\r\n",
        "Host: x\r\nno field\r\n",
    ] {
        let mut host = Host::new(config(), &[10]);
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &format!("GET / HTTP/1.1\r\n{fields}\r\n"));
        assert_eq!(status(&reply), 400, "{fields:?}");
        assert!(host.hung_up.contains(&conn), "nothing behind it can be trusted");
    }
    let mut host = Host::new(config(), &[10]);
    let conn = host.accept("9.9.9.9:1");
    assert_eq!(status(&host.say(conn, "GET / HTTP/1.0\r\n\r\n")), 200);
}

#[test]
fn a_page_elsewhere_gets_no_slot_and_no_place() {
    let page = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n";
    let mut host = Host::new(config(), &[1_000]);
    for target in [
        get(0, page),
        format!(
            "GET /uri-res/N2R?urn:sha1:{} HTTP/1.1\r\nHost: x\r\n{page}\r\n",
            node_support::sha(0)
        ),
    ] {
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &target);
        assert_eq!(status(&reply), 403, "{reply}");
    }
    let view = host.node.view(1, 10).queue;
    assert_eq!((view.uploads.len(), view.length), (0, 0));
    // A page whose owner pointed its name to us, whatever it calls its program.
    for (n, agent) in ["Mozilla/5.0", "curl/8.0"].into_iter().enumerate() {
        let rebound = format!(
            "GET /get/0/file%200.bin HTTP/1.1\r\nHost: evil.example\r\nUser-Agent: {agent}\r\n\r\n"
        );
        let near = host.accept(&format!("127.0.0.1:{}", n * 2 + 1));
        let reply = host.say(near, &rebound);
        assert_eq!(status(&reply), 421, "{agent}: {reply}");
        assert!(reply.contains("--name"), "it says what to do: {reply}");
        let typed = host.accept(&format!("127.0.0.1:{}", n * 2 + 2));
        let target = rebound.replace("evil.example", "127.0.0.1:6346").replace("GET", "HEAD");
        assert_eq!(status(&host.say(typed, &target)), 200);
    }
}

#[test]
fn a_host_on_a_folded_line_is_refused() {
    for folded in ["Host: x\r\n y\r\n", "Host:\r\n x\r\n", "Host: x\r\n\ty\r\nRange: bytes=0-\r\n"]
    {
        let reply = asked(&format!("GET /get/0/file%200.bin HTTP/1.1\r\n{folded}\r\n"));
        assert_eq!(status(&reply), 400, "{folded:?}\n{reply}");
    }
}

#[test]
fn browsers_neither_guess_what_a_file_is_nor_run_it_as_ours() {
    for (name, is_active) in [("a.bin", false), ("a.HTML", true), ("a.svg", true), ("a.pdf", true)]
    {
        let mut host = Host::blank(config(), &[1_000]);
        let mut shared = host.shared();
        shared[0].name = name.into();
        shared[0].run = servent_core::node::RunBit(is_active);
        host.input(Input::Start(RestoredNode { shared, ..RestoredNode::default() }));
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &head_request(&format!("/get/0/{name}"), ""));
        assert_eq!(header(&reply, "X-Content-Type-Options"), Some("nosniff"), "{reply}");
        let sandbox = header(&reply, "Content-Security-Policy");
        assert_eq!(sandbox, is_active.then_some("sandbox"), "{name}");
        let run = header(&reply, "X-Executable");
        assert_eq!(run, is_active.then_some("1"), "a downloader may make it run");
    }
}

/// A target in absolute form names the host that counts.
#[test]
fn a_foreign_host_in_the_target_is_refused_whatever_the_header_says() {
    let mut host = Host::new(config(), &[10]);
    for (n, (target, wanted)) in [
        ("http://127.0.0.1:6346/", 200),
        ("http://evil.example/", 421),
        ("HTTP://evil.example/?q=a", 421),
        ("http://127.0.0.1@evil.example/", 421),
    ]
    .into_iter()
    .enumerate()
    {
        let conn = host.accept(&format!("127.0.0.1:{}", n + 1));
        let reply = host.say(conn, &format!("HEAD {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
        assert_eq!(status(&reply), wanted, "{target}: {reply}");
    }
}

/// The owner's names, and those of a certificate, of which some cover one label.
#[test]
fn names_that_the_owner_gave_are_answered() {
    let hosts = ["share.example.org".into(), "*.example.net".into()].into();
    let mut host = Host::new(Config { hosts, ..config() }, &[10]);
    for (n, (name, wanted)) in [
        ("share.example.org", 200),
        ("SHARE.example.org:6346", 200),
        ("a.example.net", 200),
        ("example.net", 421),
        ("a.b.example.net", 421),
        ("other.example.org", 421),
    ]
    .into_iter()
    .enumerate()
    {
        let conn = host.accept(&format!("127.0.0.1:{}", n + 1));
        let reply = host.say(conn, &format!("HEAD / HTTP/1.1\r\nHost: {name}\r\n\r\n"));
        assert_eq!(status(&reply), wanted, "{name}: {reply}");
    }
}

#[test]
fn names_that_the_host_learns_later_are_its_own() {
    let mut host = Host::new(config(), &[1_000]);
    let asked = |host: &mut Host, name: &str| {
        let conn = host.accept("9.9.9.9:1");
        status(&host.say(conn, &format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n")))
    };
    assert_eq!(asked(&mut host, "files.example.org"), 421);
    let hosts = |names: &[&str]| {
        let hosts = names.iter().map(|name| (*name).to_owned()).collect();
        Input::Command(NodeCommand::Http(HttpCommand::Hosts { hosts }))
    };
    host.input(hosts(&["files.example.org", "*.example.net"]));
    assert_eq!(asked(&mut host, "files.example.org"), 200);
    assert_eq!(asked(&mut host, "a.example.net:6346"), 200);
    host.input(hosts(&["other.example.org"]));
    assert_eq!(asked(&mut host, "files.example.org"), 421, "the last command counts");
}

#[test]
fn the_files_that_requests_name_are_known_before_they_are_answered() {
    let mut host = Host::new(config(), &[1_000, 2_000]);
    let conn = host.accept("9.9.9.9:1");
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    let named = |host: &Host, text: &str| -> Vec<u32> {
        host.node.files_named(conn, text.as_bytes()).iter().map(|index| index.0).collect()
    };
    assert_eq!(named(&host, &get("/get/1/file%201.bin")), [1]);
    assert_eq!(named(&host, &get("/file%200.bin")), [0]);
    assert_eq!(named(&host, &[get("/file%200.bin"), get("/"), get("/get/1/x")].concat()), [0, 1]);
    for none in ["", "GET /get/1/f", &get("/none"), &get("/?list"), "\r\n\r\n"] {
        assert_eq!(named(&host, none), [0; 0], "{none}");
    }
    // What has come before of a head belongs to it.
    let text = get("/get/1/file%201.bin");
    let (first, rest) = text.split_at(10);
    assert_eq!(host.say(conn, first), "");
    assert_eq!(named(&host, rest), [1]);
    assert_eq!(host.node.files_named(ConnId(999), text.as_bytes()), []);
}
