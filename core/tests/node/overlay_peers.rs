//! How a node gets along with servents that others wrote: which it dials, which
//! it leaves alone, and which learn its keywords.

use crate::node_support;

use std::net::SocketAddr;

use node_support::{Host, config};
use servent_core::id::ConnId;
use servent_core::node::{
    Config, ConnInput, Input, NodeAnswer, NodeCommand, OverlayCommand, RestoredNode,
};
use servent_core::time::{Duration, Instant};
use servent_core::wire::gnutella::{FrameLimits, Framer, MessageKind, OverlayMessage};

fn overlay(degree: u32) -> Config {
    let mut config = config();
    config.overlay.enabled = true;
    config.overlay.degree = degree;
    config
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn host(config: Config) -> Host {
    let mut host = Host::blank(config, &[100]);
    host.now = Instant::from_secs(1_000);
    let (listen, shared) = (Some(at("1.2.3.4:6346")), host.shared());
    host.input(Input::Start(RestoredNode { listen, shared, ..RestoredNode::default() }));
    host
}

fn join(host: &mut Host, to: &str) {
    host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(to) })));
}

/// A servent connects and is let in.
fn neighbour(host: &mut Host, from: &str, headers: &str) -> ConnId {
    let conn = host.accept(from);
    host.bytes(conn, format!("GNUTELLA CONNECT/0.6\r\n{headers}\r\n").as_bytes());
    host.bytes(conn, b"GNUTELLA/0.6 200 OK\r\n\r\n");
    conn
}

/// The host that is being dialled is there and answers.
fn answer(host: &mut Host, head: &str) -> ConnId {
    let (conn, _) = host.dials.pop().expect("a host is dialled");
    host.input(Input::Connection(conn, ConnInput::Dialed { local: at("1.2.3.4:50000") }));
    host.bytes(conn, format!("GNUTELLA/0.6 {head}\r\n\r\n").as_bytes());
    conn
}

/// The seconds until the next dial.
fn seconds_to_dial(host: &mut Host) -> u64 {
    let from = host.now;
    while host.dials.is_empty() {
        host.wait(Duration::from_secs(1));
        assert!(host.now.since(from) < Duration::from_secs(20_000), "no host is dialled");
    }
    host.now.since(from).as_secs()
}

fn text(host: &Host, conn: ConnId) -> String {
    let bytes: Vec<u8> = host.wire[&conn].iter().copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn rt_20_a_connected_host_is_not_dialled_whatever_its_header_is_called() {
    for header in ["Node", "Listen-IP", "X-My-Address"] {
        let mut host = host(overlay(9));
        neighbour(&mut host, "80.1.1.1:50000", &format!("{header}: 80.1.1.1:6350\r\n"));
        join(&mut host, "80.1.1.1:6350");
        join(&mut host, "[::ffff:80.1.1.1]:6350");
        host.wait(Duration::from_secs(100));
        assert_eq!(host.dials, [], "{header}");
        join(&mut host, "80.1.1.1:6351");
        assert_eq!(host.dials.len(), 1, "another servent of that address");
    }
}

#[test]
fn rt_20_one_address_is_never_dialled_twice_at_once() {
    let mut host = host(overlay(9));
    for _ in 0..3 {
        join(&mut host, "80.1.1.1:6350");
        join(&mut host, "[::ffff:80.1.1.1]:6350");
    }
    host.wait(Duration::from_secs(100));
    assert_eq!(host.dials.len(), 1, "{:?}", host.dials);
}

#[test]
fn rt_20_every_4xx_backs_off_twice_as_long_each_time() {
    for head in ["403 High Outdegree Required", "409 Already connected", "429 Banned for 5m 0s"] {
        let mut host = host(overlay(9));
        join(&mut host, "80.1.1.1:6350");
        let mut waits = Vec::new();
        for _ in 0..6 {
            answer(&mut host, head);
            waits.push(seconds_to_dial(&mut host));
        }
        let expected = [60, 120, 240, 480, 960, 1_920];
        let near = |(wait, wanted): (&u64, u64)| (wanted..=wanted + 1).contains(wait);
        assert!(waits.iter().zip(expected).all(near), "{head}: {waits:?}");
        answer(&mut host, "200 OK\r\nX-Ultrapeer: True");
        assert_eq!(host.node.overlay().unwrap().links.len(), 1);
    }
}

#[test]
fn rt_20_409_means_that_it_is_connected() {
    let mut host = host(overlay(9));
    // It does not say where it listens.
    let conn = neighbour(&mut host, "80.1.1.1:50000", "");
    join(&mut host, "80.1.1.1:6350");
    answer(&mut host, "409 Already connected");
    host.wait(Duration::from_secs(100));
    assert_eq!(host.dials, [], "that one is it");
    host.input(Input::Connection(conn, ConnInput::Closed));
    host.wait(Duration::from_secs(1));
    assert_eq!(host.dials.len(), 1, "and is looked for when it has gone");
}

#[test]
fn rt_20_a_connected_host_that_comes_again_is_told_so() {
    let mut host = host(overlay(0));
    let node = "Node: 80.1.1.1:6350\r\n";
    neighbour(&mut host, "80.1.1.1:50000", node);
    let again = neighbour(&mut host, "80.1.1.1:50001", node);
    assert!(text(&host, again).starts_with("GNUTELLA/0.6 409 "), "{}", text(&host, again));
    assert!(host.hung_up.contains(&again));
    // Others are not kept out by a host that claims their address.
    neighbour(&mut host, "80.1.1.2:50001", "Node: 80.1.1.3:6350\r\n");
    let honest = neighbour(&mut host, "80.1.1.3:50001", "Node: 80.1.1.3:6350\r\n");
    assert!(text(&host, honest).starts_with("GNUTELLA/0.6 200 "));
    assert!(!host.hung_up.contains(&honest));
}

#[test]
fn a_refusal_is_told_in_its_own_words() {
    let mut host = host(overlay(9));
    join(&mut host, "80.1.1.1:6346");
    answer(&mut host, "503 Not Good Ultrapeer\r\nX-Try-Ultrapeers:");
    let reason = "Not Good Ultrapeer".into();
    let told = NodeAnswer::Refused { at: at("80.1.1.1:6346"), status: 503, reason };
    assert!(host.answers.contains(&told), "{:?}", host.answers);
}

#[test]
fn a_stalled_handshake_hears_no_http() {
    let mut host = host(overlay(0));
    for begun in ["GNUT", "GNUTELLA CONN", "GNUTELLA CONNECT/0.6\r\n", "GNUTELLA CONNECT/0.6\r\nUs"]
    {
        let conn = host.accept("80.1.1.1:1");
        host.bytes(conn, begun.as_bytes());
        host.wait(Duration::from_secs(16));
        assert!(host.hung_up.contains(&conn), "{begun}");
        assert!(!host.wire.contains_key(&conn) || text(&host, conn).is_empty(), "{begun}");
    }
}

/// True when a neighbour was sent our keywords.
fn has_keywords(host: &Host, conn: ConnId) -> bool {
    let bytes: Vec<u8> = host.wire[&conn].iter().copied().collect();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut framer = Framer::new(FrameLimits { payload: 65_536 });
    framer.push(bytes[end..].to_vec().into());
    let next = || framer.next_frame().unwrap().map(|frame| OverlayMessage::parse(frame).unwrap());
    std::iter::from_fn(next).any(|message| message.kind() == MessageKind::Qrp)
}

#[test]
fn rt_19_keywords_go_only_to_neighbours_that_negotiated_them() {
    let cases = [
        // What we are, what it says, whether it gets them.
        (true, "X-Ultrapeer: True\r\nX-Query-Routing: 0.1\r\n", false),
        (true, "X-Ultrapeer: True\r\nX-Ultrapeer-Query-Routing: 0.1\r\n", true),
        (true, "X-Ultrapeer: False\r\nX-Query-Routing: 0.2\r\n", false),
        (true, "X-Ultrapeer: False\r\nX-Ultrapeer-Query-Routing: 0.1\r\n", false),
        (true, "", false),
        (false, "X-Ultrapeer: True\r\nX-Query-Routing: 0.1\r\n", true),
        (false, "X-Ultrapeer: True\r\nX-Ultrapeer-Query-Routing: 0.1\r\n", false),
        (false, "X-Ultrapeer: True\r\n", false),
        (false, "X-Ultrapeer: False\r\nX-Query-Routing: 0.1\r\n", false),
    ];
    for (relay, headers, gets) in cases {
        let mut ours = overlay(0);
        (ours.overlay.router.relay, ours.overlay.router.dynamic) = (relay, true);
        let mut host = host(ours);
        let conn = neighbour(&mut host, "80.1.1.1:1", headers);
        host.wait(Duration::from_secs(1));
        assert_eq!(has_keywords(&host, conn), gets, "{relay} {headers}");
    }
}

#[test]
fn rt_18_what_deployed_leaves_ask_of_an_ultrapeer_is_announced_when_it_is_done() {
    let wanted = [
        "X-Ultrapeer: True",
        "X-Query-Routing: 0.1",
        "X-Ultrapeer-Query-Routing: 0.1",
        "X-Dynamic-Querying: 0.1",
        "X-Ext-Probes: 0.1",
        "X-Max-TTL: 4",
        "X-Degree: 32",
    ];
    for (relay, dynamic) in [(true, true), (true, false), (false, true)] {
        let mut ours = overlay(32);
        (ours.overlay.router.relay, ours.overlay.router.dynamic) = (relay, dynamic);
        let mut host = host(ours);
        let conn = neighbour(&mut host, "80.1.1.1:1", "X-Ultrapeer: False\r\n");
        let said = text(&host, conn);
        let has = |line: &&str| said.contains(&format!("\r\n{line}\r\n"));
        assert_eq!(wanted.iter().all(has), relay && dynamic, "{said}");
        assert_eq!(has(&"X-Dynamic-Querying: 0.1"), relay && dynamic, "{said}");
    }
}

#[test]
fn rt_18_there_is_room_for_thirty_leaves_beside_all_neighbours() {
    let mut ours = overlay(0);
    ours.limits.connections_per_ip = 100;
    ours.overlay.router.links = 128;
    let mut host = host(ours);
    for (headers, from) in [("X-Ultrapeer: True\r\n", 1), ("X-Ultrapeer: False\r\n", 2)] {
        for n in 0..40 {
            neighbour(&mut host, &format!("80.1.{from}.{n}:1"), headers);
        }
    }
    let links = host.node.overlay().unwrap().links;
    let leaves = links.iter().filter(|link| !link.relays).count();
    assert_eq!((leaves, links.len() - leaves), (32, 32));
}

#[test]
fn a_servent_that_listens_everywhere_is_reached_where_it_was_found() {
    let mut host = Host::blank(overlay(0), &[100]);
    let (listen, shared) = (Some(at("0.0.0.0:6346")), host.shared());
    host.input(Input::Start(RestoredNode { listen, shared, ..RestoredNode::default() }));
    let conn = ConnId(1_000);
    let (peer, local) = (at("10.0.0.7:50000"), Some(at("10.0.0.9:6346")));
    host.input(Input::Connection(conn, ConnInput::Accepted { peer, local }));
    host.bytes(conn, b"GNUTELLA CONNECT/0.6\r\n\r\n");
    assert!(text(&host, conn).contains("Listen-IP: 10.0.0.9:6346\r\n"), "{}", text(&host, conn));
}
