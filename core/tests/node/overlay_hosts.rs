//! The hosts a node knows in the overlay: remembered, forgotten, believed or not;
//! and what it tells of itself.

use crate::node_support;

use std::net::SocketAddr;

use node_support::{Host, config};
use servent_core::id::ConnId;
use servent_core::node::{
    Config, ConnInput, DialError, DiskInput, HostRow, Input, NodeCommand, NodeOp, OverlayCommand,
    RestoredNode,
};
use servent_core::time::{Duration, Instant};
use servent_core::wire::gnutella::{
    FrameLimits, Framer, MessageBody, MessageKind, OverlayMessage, Qrp,
};

fn overlay(degree: u32) -> Config {
    let mut config = config();
    config.overlay.enabled = true;
    config.overlay.degree = degree;
    config
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A started node that remembers these.
fn host(config: Config, hosts: &[(&str, u64)]) -> Host {
    let mut host = Host::blank(config, &[100]);
    host.now = Instant::from_secs(30 * 86_400);
    let row = |(text, days): &(&str, u64)| HostRow {
        at: at(text),
        heard: Instant::from_secs(days * 86_400),
    };
    let (listen, shared) = (Some(at("1.2.3.4:6346")), host.shared());
    let hosts = hosts.iter().map(row).collect();
    host.input(Input::Start(RestoredNode { listen, shared, hosts, ..RestoredNode::default() }));
    host
}

/// The hosts in the store, from its inputs.
fn stored(host: &Host) -> Vec<SocketAddr> {
    let mut all = Vec::new();
    for op in &host.ops {
        match op {
            NodeOp::Host(row) => {
                all.retain(|other| *other != row.at);
                all.push(row.at);
            }
            NodeOp::HostGone(at) => all.retain(|other| other != at),
            _ => {}
        }
    }
    all.sort();
    all
}

/// A neighbour that has connected.
fn neighbour(host: &mut Host, from: &str, headers: &str) -> ConnId {
    let conn = host.accept(from);
    host.bytes(conn, format!("GNUTELLA CONNECT/0.6\r\n{headers}\r\n").as_bytes());
    host.bytes(conn, b"GNUTELLA/0.6 200 OK\r\n\r\n");
    conn
}

#[test]
fn a_remembered_host_is_called_at_the_start_unless_too_old() {
    let mut host = host(overlay(9), &[("80.1.1.1:1", 29), ("80.1.1.2:1", 28), ("80.1.1.3:1", 9)]);
    host.wait(Duration::from_secs(5));
    let called: Vec<SocketAddr> = host.dials.iter().map(|dial| dial.1).collect();
    assert_eq!(called, [at("80.1.1.1:1"), at("80.1.1.2:1")], "the latest first");
    assert!(host.ops.contains(&NodeOp::HostGone(at("80.1.1.3:1"))));
}

#[test]
fn a_refusal_names_others_and_the_store_learns_of_them() {
    let mut host = host(overlay(1), &[("80.1.1.1:1", 29)]);
    let (conn, to) = host.dials.pop().unwrap();
    host.input(Input::Connection(conn, ConnInput::Dialed { local: at("1.2.3.4:50000") }));
    host.bytes(
        conn,
        b"GNUTELLA/0.6 503 Full\r\nX-Try: 80.2.2.2:6342,127.0.0.1:8080,10.0.0.1:8080,80.2.2.4:25\r\n\
          X-Try-Ultrapeers: 80.3.3.3:6343 2026-01-01T00:00,224.0.0.1:6349,0.0.0.0:6349\r\n\r\n",
    );
    assert_eq!(
        stored(&host),
        [at("80.2.2.2:6342"), at("80.3.3.3:6343")],
        "and no host it cannot know"
    );
    host.wait(Duration::from_secs(2));
    let called = host.dials.iter().map(|dial| dial.1);
    assert!(called.clone().count() > 0 && called.clone().all(|other| other != to));
}

#[test]
fn a_stranger_that_connects_does_not_replace_a_host_we_know() {
    let mut small = overlay(0);
    small.overlay.hosts = 40;
    let mut host = host(small, &[]);
    for n in 1..=100 {
        let tries: Vec<String> = (1..40).map(|m| format!("81.0.{n}.{m}:1")).collect();
        let headers = format!("X-Try: {}\r\n", tries.join(","));
        let conn = neighbour(&mut host, &format!("82.1.1.{n}:1"), &headers);
        host.input(Input::Connection(conn, ConnInput::Closed));
    }
    assert!(stored(&host).iter().all(|at| at.to_string().starts_with("81.0.1.")));
    assert_eq!(stored(&host).len(), host.node.hosts());
}

#[test]
fn a_host_that_cannot_be_reached_is_forgotten_and_does_not_come_back_by_itself() {
    let mut host = host(overlay(1), &[("80.1.1.1:1", 29)]);
    for attempt in 1.. {
        let Some((conn, _)) = host.dials.pop() else { break };
        assert!(attempt <= 5, "tried for ever");
        host.input(Input::Connection(conn, ConnInput::DialFailed { why: DialError::Refused }));
        host.wait(Duration::from_secs(31));
    }
    assert_eq!(host.ops.last(), Some(&NodeOp::HostGone(at("80.1.1.1:1"))));
    assert_eq!(host.node.hosts(), 0);
}

#[test]
fn a_peer_that_becomes_a_neighbour_is_remembered_where_it_listens() {
    let mut host = host(overlay(0), &[]);
    neighbour(&mut host, "80.1.1.1:50000", "Listen-IP: 80.1.1.1:6346\r\n");
    neighbour(&mut host, "80.1.1.2:50000", "Listen-IP: 10.1.1.2:6346\r\n");
    assert_eq!(stored(&host), [at("80.1.1.1:6346")], "not inside a network of ours");
}

#[test]
fn the_local_network_is_believed_only_about_itself() {
    let mut host = host(overlay(9), &[]);
    for text in ["80.1.1.1:1", "224.0.0.251:1", "0.0.0.0:1", "[2001:db8::1]:1", "10.0.0.9:0"] {
        host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Nearby { at: at(text) })));
    }
    host.wait(Duration::from_secs(5));
    assert_eq!((host.dials.len(), host.node.hosts()), (0, 0));
    for text in ["10.0.0.9:1", "127.0.0.1:1", "[fe80::1]:1"] {
        host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Nearby { at: at(text) })));
    }
    host.wait(Duration::from_secs(5));
    assert_eq!(host.dials.len(), 3);
}

/// What has been sent to a neighbour behind the handshake.
fn said(host: &Host, conn: ConnId) -> Vec<OverlayMessage> {
    let bytes: Vec<u8> = host.wire[&conn].iter().copied().collect();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut framer = Framer::new(FrameLimits { payload: 65_536 });
    framer.push(bytes[end..].to_vec().into());
    let next = || framer.next_frame().unwrap().map(|frame| OverlayMessage::parse(frame).unwrap());
    std::iter::from_fn(next).collect()
}

#[test]
fn a_neighbour_that_wants_keywords_gets_ours_and_then_the_changes_in_time() {
    let mut leads = overlay(0);
    leads.overlay.router.dynamic = true;
    let mut host = host(leads, &[]);
    let wants = neighbour(&mut host, "80.1.1.1:1", "X-Ultrapeer-Query-Routing: 0.1\r\n");
    let does_not = neighbour(&mut host, "80.1.1.2:1", "");
    host.wait(Duration::from_secs(1));
    let parts = |host: &Host, conn| -> Vec<Qrp> {
        let qrp = |message: OverlayMessage| match message.body {
            MessageBody::Qrp(qrp) => Some(qrp),
            _ => None,
        };
        said(host, conn).into_iter().filter_map(qrp).collect()
    };
    let first = parts(&host, wants);
    assert!(matches!(first[..], [Qrp::Reset { .. }, Qrp::Patch { .. }]), "{first:?}");
    assert_eq!(parts(&host, does_not), []);
    let mut file = host.shared()[0].clone();
    for n in 10..20 {
        (file.index.0, file.name) = (n, format!("another thing {n}.ogg"));
        host.input(Input::Disk(DiskInput::Shared(file.clone())));
    }
    host.wait(Duration::from_secs(29));
    assert_eq!(parts(&host, wants).len(), 2, "not for every file");
    host.wait(Duration::from_secs(2));
    assert!(matches!(parts(&host, wants)[..], [_, _, Qrp::Patch { .. }]));
    assert!(said(&host, does_not).iter().all(|message| message.kind() != MessageKind::Qrp));
}

#[test]
fn the_whole_handshake_has_one_deadline() {
    let mut host = host(overlay(0), &[]);
    let conn = host.accept("80.1.1.3:1");
    host.wait(Duration::from_secs(10));
    host.bytes(conn, b"GNUTELLA CONNECT/0.6\r\nUser-Agent: half\r\n\r\n");
    host.wait(Duration::from_secs(4));
    assert!(!host.hung_up.contains(&conn));
    host.wait(Duration::from_secs(2));
    assert!(host.hung_up.contains(&conn), "fifteen seconds from its first byte");
}

#[test]
fn a_deflated_link_unpacks_to_so_much_in_a_second() {
    let mut small = overlay(0);
    small.overlay.inflate_rate = 100_000;
    // A message no servent knows, whose packing is no bomb.
    let mut message = vec![7; 16];
    message.extend([0x31, 1, 0, 0x00, 0x10, 0, 0]);
    message.extend((0..4_096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8));
    for (pause, stays) in [(0, false), (1, true)] {
        let mut host = host(small.clone(), &[]);
        let conn = host.accept("80.1.1.1:1");
        host.bytes(conn, b"GNUTELLA CONNECT/0.6\r\nBye-Packet: 0.1\r\n\r\n");
        host.bytes(conn, b"GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n");
        let mut deflater = servent_core::wire::gnutella::Deflater::new();
        for _ in 0..40 {
            if host.hung_up.contains(&conn) {
                break;
            }
            host.bytes(conn, &deflater.push(&message));
            host.wait(Duration::from_secs(pause));
        }
        assert_eq!(!host.hung_up.contains(&conn), stays);
    }
}

/// What one neighbour brings at once is forwarded to another only as far as
/// that one's queue goes, so that it can neither be buried nor cut for it.
#[test]
fn a_flood_at_once_is_bounded_for_all_other_neighbours() {
    let mut host = host(overlay(0), &[]);
    let honest = neighbour(&mut host, "80.1.1.1:1", "");
    let flooder = neighbour(&mut host, "80.1.1.2:1", "");
    let mut flood = Vec::new();
    for n in 0..20_000_u64 {
        let mut guid = [1; 16];
        guid[..8].copy_from_slice(&n.to_le_bytes());
        flood.extend(guid);
        flood.extend([0x80, 4, 2, 10, 0, 0, 0, 0x80, 0]);
        flood.extend(b"flooded\0");
    }
    let before = host.wire[&honest].len();
    host.bytes(flooder, &flood);
    let brought = host.wire[&honest].len() - before;
    let limits = &host.node.config().overlay.router;
    let most = (limits.window + limits.queue) as usize + 1_000;
    assert!(brought > limits.window as usize && brought <= most, "{brought} of {}", flood.len());
    assert!(!host.hung_up.contains(&honest));
    let before = host.wire[&honest].len();
    let mut guid = [2; 16];
    guid[8] = 0xff;
    host.bytes(flooder, &[&guid[..], &[0x80, 4, 2, 10, 0, 0, 0, 0x80, 0], b"honest.\0"].concat());
    assert_eq!(host.wire[&honest].len() - before, 33, "and then all is as before");
}
