//! Neighbours that do what they must not: each goes with the right word, what
//! it costs is bounded, and no other servent notices.

use crate::program;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;

use program::peer::{Peer, guid, query};
use program::{PATIENCE, Place, Running, lab_get, until};
use servent_core::id::{FileIndex, Guid};
use servent_core::wire::gnutella::{
    Deflater, HitBuilder, MessageBody, OverlayMessage, OverlayPayload, Ping, Push, Quality, code,
};

/// A servent that shares one file and looks for no other.
fn share(place: &Place, extra: &[&str]) -> Running {
    place.share("a rare thing.bin", 1_000);
    place.sharing(&[&["--set", "overlay.degree=0"], extra].concat())
}

/// Kilobytes a process has in memory.
fn resident(running: &Running) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A header alone.
fn header(n: u64, kind: u8, (ttl, hops): (u8, u8), length: u32) -> Vec<u8> {
    [&guid(n).0[..], &[kind, ttl, hops], &length.to_le_bytes()].concat()
}

/// True when the servent still serves an honest neighbour.
fn answers(at: SocketAddr, n: u64) -> bool {
    let mut honest = Peer::join(at, "");
    honest.say(&query(n, "rare thing"));
    let hit = honest.until(|message| message.guid == guid(n));
    matches!(hit.body, MessageBody::Hit(_))
}

#[test]
fn every_fault_ends_with_its_own_word() {
    let place = Place::new();
    let running = share(&place, &[]);
    assert!(answers(running.at, 1));
    let before = resident(&running);
    let many = |one: &dyn Fn(u64) -> Vec<u8>| (0..200).flat_map(one).collect::<Vec<u8>>();
    let far = |n| OverlayMessage { ttl: 200, ..query(1_000 + n, "words") }.to_bytes();
    let improper = |n| [&header(2_000 + n, 0x80, (3, 1), 4)[..], b"\0\0ab"].concat();
    let same = |_| query(3_000, "the same again").to_bytes();
    let qrp = |n| [&header(4_000 + n, 0x30, (1, 0), 6)[..], &[0, 1, 2, 3, 4, 7]].concat();
    let bomb = Deflater::new().push(&vec![0; 64 << 20]);
    for (what, plain, bytes, wanted) in [
        ("too long", true, header(1, 0x80, (4, 1), 1 << 24), code::TOO_BIG),
        ("the longest there is", true, header(1, 0x81, (4, 1), u32::MAX), code::TOO_BIG),
        ("no such kind", true, header(1, 0x77, (1, 0), 0), code::UNKNOWN),
        ("TTL 200", true, many(&far), code::TTL_TOO_LARGE),
        ("words without an end", true, many(&improper), code::IMPROPER),
        ("a table of an odd size", true, many(&qrp), code::IMPROPER),
        ("the same again and again", true, many(&same), code::DUPLICATES),
        ("a bomb", false, bomb, code::DESYNCHRONISED),
        ("no stream at all", false, vec![0x55; 5_000], code::DESYNCHRONISED),
    ] {
        let more = if plain { "" } else { "Content-Encoding: deflate\r\n" };
        let mut peer = Peer::join(running.at, more);
        peer.send(&bytes);
        assert_eq!(peer.goodbye(), Some(wanted), "{what}");
    }
    let grown = resident(&running).saturating_sub(before);
    println!("resident before {before} KiB, {grown} KiB more after");
    assert!(grown < 48 * 1_024, "{grown} KiB");
    assert!(answers(running.at, 2));
}

#[test]
fn a_slow_handshake_is_cut_however_steadily_it_goes_on() {
    let place = Place::new();
    let running = share(&place, &["--set", "limits.request_deadline=1s"]);
    let mut slow = TcpStream::connect(running.at).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    slow.write_all(b"GNUTELLA CONNECT/0.6\r\nUser-Agent: ").unwrap();
    until("it is cut", || {
        let mut byte = [0];
        let alive = match slow.read(&mut byte) {
            Ok(n) => n > 0,
            Err(e) => matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        !(alive && slow.write_all(b"x").is_ok())
    });
    let long = format!("GNUTELLA CONNECT/0.6\r\nA: {}\r\n", "y".repeat(20_000));
    let many = format!("GNUTELLA CONNECT/0.6\r\n{}\r\n", "A: b\r\n".repeat(70));
    for head in [long, many] {
        let mut greedy = TcpStream::connect(running.at).unwrap();
        greedy.set_read_timeout(Some(PATIENCE)).unwrap();
        greedy.write_all(head.as_bytes()).unwrap();
        let mut said = Vec::new();
        let _ = greedy.read_to_end(&mut said); // A reset is an end too.
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!said.contains(" 200 "), "{said}");
    }
    assert!(answers(running.at, 1));
}

#[test]
fn pushes_lead_nowhere_they_must_not_and_not_often_where_they_may() {
    let place = Place::new();
    let running = share(&place, &[]);
    let victim = TcpListener::bind("127.0.0.1:0").unwrap();
    victim.set_nonblocking(true).unwrap();
    let mut peer = Peer::join(running.at, "");
    peer.say(&query(1, "rare thing"));
    let MessageBody::Hit(hit) = peer.until(|message| message.guid == guid(1)).body else {
        panic!("no hit");
    };
    let (servent, index) = (hit.servent(), hit.results().next().unwrap().index);
    let push = |n, at: SocketAddr| {
        let SocketAddr::V4(at) = at else { unreachable!() };
        let body = MessageBody::Push(Push { servent, index, at, ggep: OverlayPayload::new() });
        OverlayMessage { guid: guid(n), ttl: 3, hops: 1, body }
    };
    let never = ["0.0.0.0:80", "0.1.2.3:80", "224.0.0.1:80", "255.255.255.255:80", "240.0.0.1:80"];
    let never = never.into_iter().map(|at| at.parse().unwrap());
    let never = never.chain([running.at, "127.0.0.1:0".parse().unwrap()]);
    for (n, at) in (100..).zip(never) {
        peer.say(&push(n, at));
    }
    for n in 200..230 {
        peer.say(&push(n, victim.local_addr().unwrap()));
    }
    // What comes after them is answered after them.
    peer.say(&query(2, "rare thing"));
    peer.until(|message| message.guid == guid(2));
    let mut called = 0;
    until("five calls", || {
        while victim.accept().is_ok() {
            called += 1;
        }
        called >= 5
    });
    let status = lab_get(running.lab.unwrap(), "/api/status").json();
    let one = &status["servents"][0];
    assert_eq!(one["counters"]["dials"], 5, "nowhere else");
    let messages = one["overlay"]["messages"].as_array().unwrap();
    let pushes = messages.iter().find(|kind| kind["kind"] == "push").unwrap();
    assert_eq!(pushes["dropped"], serde_json::json!([["bad_address", 7], ["push_limit", 25]]));
}

#[test]
fn a_flood_of_queries_costs_little_and_takes_no_way_of_anybody() {
    const FLOOD: u64 = 10_000;
    const QUOTA: u64 = 4_000;
    let place = Place::new();
    // Our peers answer no pings, however long a busy machine takes.
    let mut few = vec!["--set", "overlay.router.queries_per_link=4_000"];
    few.extend(["--set", "overlay.router.queries_at_once=0"]);
    few.extend(["--set", "overlay.router.silence=3600s", "--set", "overlay.router.stall=3600s"]);
    let running = share(&place, &few);
    let (mut asks, mut has) = (Peer::join(running.at, ""), Peer::join(running.at, ""));
    asks.say(&query(1, "an honest question"));
    has.until(|message| message.guid == guid(1));
    let before = resident(&running);

    let mut flooder = Peer::join(running.at, "");
    for from in (0..FLOOD).step_by(1_000) {
        let flood = (from..from + 1_000).map(|n| query(1 << 32 | n, "what ever").to_bytes());
        assert!(flooder.send(&flood.collect::<Vec<_>>().concat()));
    }
    // A pong says that everything before has been looked at.
    let ping =
        OverlayMessage { guid: guid(9), ttl: 1, hops: 0, body: MessageBody::Ping(Ping::default()) };
    flooder.say(&ping);
    flooder.until(|message| message.guid == guid(9));
    let grown = resident(&running).saturating_sub(before);
    println!("resident before {before} KiB, {grown} KiB more after {FLOOD} queries");
    assert!(grown < 64 * 1_024, "{grown} KiB");

    let at: SocketAddrV4 = "127.0.0.1:9".parse().unwrap();
    let mut hit = HitBuilder::new(at, 1, (*b"TEST", Quality::default()), Guid([3; 16]), 4_096);
    assert!(hit.add(FileIndex(1), 10, "an honest question", None));
    let body = MessageBody::Hit(hit.finish().unwrap());
    has.say(&OverlayMessage { guid: guid(1), ttl: 5, hops: 0, body });
    asks.until(|message| message.guid == guid(1) && matches!(message.body, MessageBody::Hit(_)));
    has.say(&query(2, "asked after the flood"));
    asks.until(|message| message.guid == guid(2));

    let status = lab_get(running.lab.unwrap(), "/api/status").json();
    let messages = status["servents"][0]["overlay"]["messages"].as_array().unwrap();
    let queries = messages.iter().find(|kind| kind["kind"] == "query").unwrap();
    let dropped = queries["dropped"].as_array().unwrap();
    let quota = dropped.iter().find(|why| why[0] == "quota").unwrap();
    assert_eq!(quota[1], FLOOD - QUOTA);
}
