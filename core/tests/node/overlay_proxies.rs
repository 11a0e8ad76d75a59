//! Push proxies: asked for, granted, told of in hits, and asked for pushes over
//! HTTP, from every end.

use crate::node_support;

use std::net::SocketAddr;

use node_support::{Host, config, status};
use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::node::{
    Config, ConnInput, DialError, Input, NodeAnswer, NodeCommand, OverlayCommand, RestoredNode,
    SearchHit,
};
use servent_core::time::{Duration, Instant};
use servent_core::wire::gnutella::ggep::GgepBlock;
use servent_core::wire::gnutella::{
    FrameLimits, Framer, HitBuilder, MessageBody, OverlayMessage, OverlayPayload, Push, Quality,
    Query, Vendor, Wishes,
};

const LEAF: Guid = Guid([0x4c; 16]);
/// It, in base 32.
const LEAF32: &str = "JRGEYTCMJRGEYTCMJRGEYTCMJQ";

pub(crate) fn overlay(firewalled: bool) -> Config {
    let mut config = config();
    config.overlay.enabled = true;
    config.overlay.degree = 9;
    config.overlay.firewalled = firewalled;
    config
}

pub(crate) fn host(config: Config) -> Host {
    let mut host = Host::blank(config, &[100]);
    host.now = Instant::from_secs(1_000);
    let (listen, shared) = (Some("1.2.3.4:6346".parse().unwrap()), host.shared());
    host.input(Input::Start(RestoredNode { listen, shared, ..RestoredNode::default() }));
    host
}

/// A servent connects and is let in; what it was sent on the way is read.
pub(crate) fn neighbour(host: &mut Host, from: &str, ultrapeer: bool) -> ConnId {
    let conn = host.accept(from);
    let kind = if ultrapeer { "True" } else { "False" };
    let head = format!(
        "GNUTELLA CONNECT/0.6\r\nX-Ultrapeer: {kind}\r\nGGEP: 0.5\r\nVendor-Message: 0.2\r\n\r\n"
    );
    let answer = host.say(conn, &head);
    assert!(answer.starts_with("GNUTELLA/0.6 200 "), "{answer}");
    host.bytes(conn, b"GNUTELLA/0.6 200 OK\r\n\r\n");
    conn
}

pub(crate) fn heard(host: &mut Host, conn: ConnId) -> Vec<OverlayMessage> {
    let mut framer = Framer::new(FrameLimits { payload: 65_536 });
    framer.push(Vec::from(host.wire.remove(&conn).unwrap_or_default()).into());
    let next = || framer.next_frame().unwrap().map(|frame| OverlayMessage::parse(frame).unwrap());
    std::iter::from_fn(next).collect()
}

pub(crate) fn says(host: &mut Host, conn: ConnId, guid: Guid, body: MessageBody) {
    host.bytes(conn, &OverlayMessage { guid, ttl: 1, hops: 0, body }.to_bytes());
}

fn vendor(name: [u8; 4], selector: u16, version: u16, data: &[u8]) -> MessageBody {
    let data = OverlayPayload::copy_from_slice(data);
    MessageBody::Vendor(Vendor { standard: false, vendor: name, selector, version, data })
}

/// What it understands: proxies, in this version.
fn supports(version: u8) -> MessageBody {
    vendor([0; 4], 0, 0, &[1, 0, b'L', b'I', b'M', b'E', 21, 0, version, 0])
}

fn of_lime(messages: &[OverlayMessage], selector: u16) -> Vec<(Guid, Vendor)> {
    let vendor = |message: &OverlayMessage| match &message.body {
        MessageBody::Vendor(vendor) if (vendor.vendor, vendor.selector) == (*b"LIME", selector) => {
            Some((message.guid, vendor.clone()))
        }
        _ => None,
    };
    messages.iter().filter_map(vendor).collect()
}

fn pushes(messages: &[OverlayMessage]) -> Vec<Push> {
    let push = |message: &OverlayMessage| match &message.body {
        MessageBody::Push(push) => Some(push.clone()),
        _ => None,
    };
    messages.iter().filter_map(push).collect()
}

/// A leaf that we are the proxy of.
fn proxied(host: &mut Host, from: &str) -> ConnId {
    let leaf = neighbour(host, from, false);
    says(host, leaf, LEAF, vendor(*b"LIME", 21, 2, b""));
    leaf
}

fn asks(host: &mut Host, from: &str, request: &str, node: &str) -> u16 {
    let conn = host.accept(from);
    let node = if node.is_empty() { String::new() } else { format!("X-Node: {node}\r\n") };
    status(&host.say(conn, &format!("{request} HTTP/1.1\r\nHost: x\r\n{node}\r\n")))
}

#[test]
fn rt_25_a_servent_that_cannot_be_reached_asks_neighbours_that_can_and_tells_of_them_in_hits() {
    for (version, ack) in [(1, &[0xca, 0x18][..]), (2, &[9, 9, 9, 9, 0xca, 0x18])] {
        let mut host = host(overlay(true));
        let conn = neighbour(&mut host, "80.1.1.1:50000", true);
        heard(&mut host, conn);
        says(&mut host, conn, Guid([1; 16]), supports(version));
        let asked = of_lime(&heard(&mut host, conn), 21);
        assert_eq!(asked.len(), 1);
        let ours = host.node.servent();
        assert_eq!((asked[0].0, asked[0].1.version), (ours, u16::from(version)));
        assert!(asked[0].1.data.is_empty());
        // Once is enough.
        says(&mut host, conn, Guid([1; 16]), supports(version));
        assert_eq!(of_lime(&heard(&mut host, conn), 21), []);

        let query = |host: &mut Host, guid: u8| {
            let query = Query::new(Wishes::default(), "file", &[]);
            says(host, conn, Guid([guid; 16]), MessageBody::Query(query));
            let hit = heard(host, conn).into_iter().find_map(|message| match message.body {
                MessageBody::Hit(hit) => Some(hit),
                _ => None,
            });
            hit.expect("a hit")
        };
        let before = query(&mut host, 2);
        assert_eq!((before.quality().push, before.proxies()), (Some(true), Vec::new()));
        // An acknowledgement for another servent, and one of a port that cannot be.
        says(&mut host, conn, LEAF, vendor(*b"LIME", 22, u16::from(version), ack));
        says(&mut host, conn, ours, vendor(*b"LIME", 22, 1, &[0, 0]));
        assert_eq!(query(&mut host, 3).proxies(), []);
        says(&mut host, conn, ours, vendor(*b"LIME", 22, u16::from(version), ack));
        // It is believed about its port, not about an address.
        assert_eq!(query(&mut host, 4).proxies(), ["80.1.1.1:6346".parse().unwrap()]);
        host.input(Input::Connection(conn, ConnInput::Closed));
        let other = neighbour(&mut host, "80.1.1.2:50000", true);
        let words = Query::new(Wishes::default(), "file", &[]);
        heard(&mut host, other);
        says(&mut host, other, Guid([5; 16]), MessageBody::Query(words));
        let hits = heard(&mut host, other);
        let hit = hits.iter().find_map(|message| match &message.body {
            MessageBody::Hit(hit) => Some(hit.proxies()),
            _ => None,
        });
        assert_eq!(hit, Some(Vec::new()), "a proxy that has gone is none");
    }
}

#[test]
fn rt_25_a_servent_that_can_be_reached_asks_no_proxy_and_leaves_are_not_asked() {
    for (firewalled, ultrapeer) in [(false, true), (true, false)] {
        let mut host = host(overlay(firewalled));
        let conn = neighbour(&mut host, "80.1.1.1:50000", ultrapeer);
        says(&mut host, conn, Guid([1; 16]), supports(2));
        assert_eq!(of_lime(&heard(&mut host, conn), 21), []);
        // No servent is a proxy that was not asked.
        let ours = host.node.servent();
        says(&mut host, conn, ours, vendor(*b"LIME", 22, 2, &[80, 1, 1, 1, 0xca, 0x18]));
        assert_eq!(host.node.overlay().unwrap().links.len(), 1);
    }
}

#[test]
fn rt_25_a_leaf_that_asks_is_granted_a_proxy() {
    for (version, data) in
        [(1, &[0xca, 0x18][..]), (2, &[1, 2, 3, 4, 0xca, 0x18]), (9, &[1, 2, 3, 4, 0xca, 0x18])]
    {
        let mut host = host(overlay(false));
        let leaf = neighbour(&mut host, "80.1.1.1:50000", false);
        let lists = heard(&mut host, leaf);
        let list = lists.iter().find_map(|message| match &message.body {
            MessageBody::Vendor(vendor) if vendor.vendor == [0; 4] => Some(vendor.data.to_vec()),
            _ => None,
        });
        let list = list.expect("what we understand");
        assert!(list[2..].chunks(8).any(|item| item == b"LIME\x15\x00\x02\x00"), "{list:?}");
        says(&mut host, leaf, LEAF, vendor(*b"LIME", 21, version, b""));
        let granted = of_lime(&heard(&mut host, leaf), 22);
        assert_eq!(granted.len(), 1, "version {version}");
        assert_eq!((granted[0].0, granted[0].1.version), (LEAF, version.min(2)));
        assert_eq!(&granted[0].1.data[..], data);
    }
    // A servent that cannot be reached itself, or passes nothing on, is no proxy.
    let mut leaf_node = overlay(false);
    leaf_node.overlay.router.relay = false;
    for config in [overlay(true), leaf_node] {
        let mut host = host(config);
        let leaf = proxied(&mut host, "80.1.1.1:50000");
        assert_eq!(of_lime(&heard(&mut host, leaf), 22), []);
        let request = format!("GET /gnutella/push-proxy?ServerId={LEAF32}");
        assert_eq!(asks(&mut host, "90.1.1.1:1", &request, "90.1.1.1:7000"), 410);
    }
}

#[test]
fn rt_25_a_push_asked_for_over_http_goes_to_the_leaf_and_names_the_client() {
    let mut host = host(overlay(false));
    let leaf = proxied(&mut host, "80.1.1.1:50000");
    heard(&mut host, leaf);
    let hex = "4c".repeat(16);
    for (n, request) in [
        format!("HEAD /gnutella/push-proxy?ServerID={LEAF32}&file=7&tls=true"),
        format!("GET /gnutella/push-proxy?ServerId={LEAF32}&file=7"),
        format!("GET /gnet/push-proxy?guid={hex}&file=7"),
        format!("GET /gnutella/pushproxy?serverid={hex}&file=7"),
    ]
    .into_iter()
    .enumerate()
    {
        // Whatever address it names: it is called where it is.
        let named = ["90.1.1.1:7000", "10.0.0.1:7000", "127.0.0.1:7000", "8.8.8.8:7000"][n];
        assert_eq!(asks(&mut host, "90.1.1.1:1", &request, named), 202, "{request}");
        let messages = heard(&mut host, leaf);
        let push = pushes(&messages);
        assert_eq!(push.len(), 1, "{messages:?}");
        let Push { servent, index, at, .. } = push[0];
        assert_eq!((servent, index, at), (LEAF, FileIndex(7), "90.1.1.1:7000".parse().unwrap()));
    }
    // Enough for one target.
    let request = format!("GET /gnutella/push-proxy?ServerId={LEAF32}");
    assert_eq!(asks(&mut host, "90.1.1.1:1", &request, "90.1.1.1:7001"), 202);
    assert_eq!(asks(&mut host, "90.1.1.1:1", &request, "90.1.1.1:7002"), 429);
    assert_eq!(pushes(&heard(&mut host, leaf)).len(), 1);
    assert_eq!(asks(&mut host, "90.1.1.2:1", &request, "90.1.1.2:7000"), 202, "others are heard");
    host.wait(Duration::from_secs(31));
    assert_eq!(asks(&mut host, "90.1.1.1:1", &request, "90.1.1.1:7000"), 202);
}

#[test]
fn rt_25_a_push_that_makes_no_sense_or_is_for_an_absent_servent_is_refused() {
    let mut host = host(overlay(false));
    let leaf = proxied(&mut host, "80.1.1.1:50000");
    heard(&mut host, leaf);
    let good = format!("GET /gnutella/push-proxy?ServerId={LEAF32}");
    let other = format!("GET /gnutella/push-proxy?ServerId={}", "ab".repeat(16));
    for (from, request, node, wanted) in [
        ("90.1.1.1:1", other.as_str(), "90.1.1.1:7000", 410),
        ("90.1.1.1:1", "GET /gnutella/push-proxy?ServerId=nonsense", "90.1.1.1:7000", 400),
        ("90.1.1.1:1", "GET /gnutella/push-proxy?", "90.1.1.1:7000", 400),
        ("90.1.1.1:1", good.as_str(), "", 400),
        ("90.1.1.1:1", good.as_str(), "nonsense", 400),
        ("90.1.1.1:1", good.as_str(), "90.1.1.1:25", 400),
        ("90.1.1.1:1", good.as_str(), "90.1.1.1:1023", 400),
        ("[2001:db8::1]:1", good.as_str(), "[2001:db8::1]:7000", 400),
    ] {
        assert_eq!(asks(&mut host, from, request, node), wanted, "{from} {request} {node}");
    }
    assert_eq!(pushes(&heard(&mut host, leaf)), []);
    host.input(Input::Connection(leaf, ConnInput::Closed));
    assert_eq!(asks(&mut host, "90.1.1.1:1", &good, "90.1.1.1:7000"), 410, "it has gone");
}

#[test]
fn rt_25_no_stranger_takes_the_pushes_of_a_servent_that_is_there() {
    let mut host = host(overlay(false));
    let honest = proxied(&mut host, "80.1.1.1:50000");
    let thief = proxied(&mut host, "80.1.1.2:50000");
    heard(&mut host, honest);
    assert_eq!(of_lime(&heard(&mut host, thief), 22), [], "not granted");
    let request = format!("GET /gnutella/push-proxy?ServerId={LEAF32}");
    assert_eq!(asks(&mut host, "90.1.1.1:1", &request, "90.1.1.1:7000"), 202);
    assert_eq!(pushes(&heard(&mut host, honest)).len(), 1);
    assert_eq!(pushes(&heard(&mut host, thief)).len(), 0);
    // It connects anew elsewhere.
    host.input(Input::Connection(honest, ConnInput::Closed));
    says(&mut host, thief, LEAF, vendor(*b"LIME", 21, 2, b""));
    assert_eq!(of_lime(&heard(&mut host, thief), 22).len(), 1);
}

#[test]
fn rt_25_pipelined_requests_behind_a_push_are_answered_in_their_order() {
    let mut host = host(overlay(false));
    proxied(&mut host, "80.1.1.1:50000");
    let conn = host.accept("90.1.1.1:1");
    let push = format!("GET /gnutella/push-proxy?ServerId={LEAF32} HTTP/1.1\r\nHost: x\r\n");
    let all = format!(
        "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n{push}X-Node: 90.1.1.1:7000\r\n\r\n\
         HEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n{push}\r\n"
    );
    let said = host.say(conn, &all);
    let lines = said.split("HTTP/1.1 ").skip(1).map(|reply| &reply[..3]);
    assert_eq!(lines.collect::<Vec<_>>(), ["200", "202", "404", "400"], "{said}");
}

fn push_of(host: &mut Host, proxies: &[&str]) {
    let proxies: Vec<SocketAddr> = proxies.iter().map(|at| at.parse().unwrap()).collect();
    let command = NodeCommand::Overlay(OverlayCommand::AskPush {
        servent: LEAF,
        index: FileIndex(7),
        via: None,
        proxies,
    });
    host.input(Input::Command(command));
}

/// The proxy that is being dialled is there; what it is asked.
fn reached(host: &mut Host) -> (ConnId, SocketAddr, String) {
    let (conn, to) = host.dials.pop().expect("a proxy is dialled");
    host.input(Input::Connection(
        conn,
        ConnInput::Dialed { local: "1.2.3.4:50000".parse().unwrap() },
    ));
    let asked = host.heard(conn);
    (conn, to, asked)
}

#[test]
fn rt_25_a_downloader_asks_the_proxies_one_after_the_other_and_then_the_overlay() {
    let mut host = host(overlay(false));
    let no_way = NodeAnswer::NoWay { servent: LEAF };
    push_of(&mut host, &["81.1.1.1:6346", "81.1.1.2:6346", "81.1.1.3:6346"]);
    let (conn, to, asked) = reached(&mut host);
    assert_eq!(to, "81.1.1.1:6346".parse().unwrap());
    let line = format!("GET /gnutella/push-proxy?ServerId={LEAF32}&file=7 HTTP/1.1\r\n");
    assert!(asked.starts_with(&line), "{asked}");
    assert_eq!(node_support::header(&asked, "X-Node"), Some("1.2.3.4:6346"));
    push_of(&mut host, &["81.1.1.9:6346"]);
    assert_eq!(host.dials, [], "it is being asked");
    host.bytes(conn, b"HTTP/1.1 410 Push Proxy: Servent not connected\r\n\r\n");
    assert!(host.hung_up.contains(&conn));
    let (conn, to) = host.dials.pop().unwrap();
    assert_eq!(to, "81.1.1.2:6346".parse().unwrap());
    host.input(Input::Connection(conn, ConnInput::DialFailed { why: DialError::Refused }));
    // The last one never says anything.
    let (conn, to, _) = reached(&mut host);
    assert_eq!(to, "81.1.1.3:6346".parse().unwrap());
    assert!(!host.answers.contains(&no_way));
    host.wait(Duration::from_secs(16));
    assert!(host.hung_up.contains(&conn));
    assert!(host.answers.contains(&no_way), "the overlay knows no way either");

    host.answers.clear();
    push_of(&mut host, &["81.1.1.1:6346", "81.1.1.2:6346"]);
    let (conn, ..) = reached(&mut host);
    host.bytes(conn, b"HTTP/1.1 202 Push Message Sent\r\nContent-Length: 5\r\n\r\nfine.");
    assert!(host.hung_up.contains(&conn));
    assert_eq!((&host.dials[..], host.answers.contains(&no_way)), (&[][..], false));
}

#[test]
fn rt_25_the_proxies_of_a_hit_are_told_unless_they_cannot_be() {
    let mut host = host(overlay(false));
    let conn = neighbour(&mut host, "80.1.1.1:50000", true);
    host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Search {
        search: 5,
        words: "needle".into(),
    })));
    let guid = heard(&mut host, conn).into_iter().find_map(|message| match message.body {
        MessageBody::Query(_) => Some(message.guid),
        _ => None,
    });
    let quality = Quality { push: Some(true), ..Quality::default() };
    let at = |text: &str| -> [u8; 6] {
        let at: std::net::SocketAddrV4 = text.parse().unwrap();
        let ([a, b, c, d], [low, high]) = (at.ip().octets(), at.port().to_le_bytes());
        [a, b, c, d, low, high]
    };
    let named =
        ["81.1.1.1:6346", "10.0.0.1:6346", "81.1.1.2:25", "127.0.0.1:6346", "81.1.1.3:6347"];
    let packed = named.map(at).concat();
    let blocks = [GgepBlock::new(b"BH", b""), GgepBlock::new(b"PUSH", &packed)];
    let at = "10.0.0.7:6346".parse().unwrap();
    let hit = HitBuilder::new(at, 1, (*b"LIME", quality), LEAF, 4_000);
    let mut hit = hit.with(&blocks);
    assert!(hit.add(FileIndex(7), 100, "a needle", None));
    let body = MessageBody::Hit(hit.finish().unwrap());
    host.bytes(conn, &OverlayMessage { guid: guid.unwrap(), ttl: 3, hops: 1, body }.to_bytes());
    let found: Vec<SearchHit> = host
        .answers
        .iter()
        .filter_map(|answer| match answer {
            NodeAnswer::Found(hit) => Some(hit.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(found.len(), 1);
    let wanted: Vec<SocketAddr> =
        ["81.1.1.1:6346", "81.1.1.3:6347"].map(|at| at.parse().unwrap()).into();
    assert_eq!((found[0].push, &found[0].proxies), (true, &wanted));
}

/// A neighbour that we connected to: it proves nothing about who can connect to us.
fn called(host: &mut Host, at: &str) -> ConnId {
    let at: SocketAddr = at.parse().unwrap();
    host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at })));
    let (conn, _) = *host.dials.iter().find(|(_, to)| *to == at).expect("a dial");
    let local = "1.2.3.4:50000".parse().unwrap();
    host.input(Input::Connection(conn, ConnInput::Dialed { local }));
    let head =
        "GNUTELLA/0.6 200 OK\r\nX-Ultrapeer: True\r\nGGEP: 0.5\r\nVendor-Message: 0.2\r\n\r\n";
    host.bytes(conn, head.as_bytes());
    host.wire.remove(&conn);
    conn
}

/// Whether our hits say that a push is needed.
fn wants_push(host: &mut Host, conn: ConnId, guid: u8) -> Option<bool> {
    let query = Query::new(Wishes::default(), "file", &[]);
    says(host, conn, Guid([guid; 16]), MessageBody::Query(query));
    heard(host, conn).into_iter().find_map(|message| match message.body {
        MessageBody::Hit(hit) => hit.quality().push,
        _ => None,
    })
}

/// A peer connects to an address of ours.
fn comes(host: &mut Host, peer: &str) {
    let conn = host.accept_at(peer, Some("192.168.1.7:6346".parse().unwrap()));
    assert!(!host.hung_up.contains(&conn));
}

#[test]
fn a_firewall_is_found_out() {
    let pushed = |host: &mut Host, conn, guid| {
        let (servent, at) = (host.node.servent(), "81.1.1.9:6346".parse().unwrap());
        let push = Push { servent, index: FileIndex(0), at, ggep: OverlayPayload::new() };
        says(host, conn, Guid([guid; 16]), MessageBody::Push(push));
    };
    let mut host = host(overlay(false));
    let conn = called(&mut host, "80.1.1.1:6346");
    assert_eq!(wants_push(&mut host, conn, 1), Some(false));
    // One that had connected would not ask for that.
    pushed(&mut host, conn, 2);
    assert_eq!(wants_push(&mut host, conn, 3), Some(true));
    comes(&mut host, "10.0.0.9:1");
    assert_eq!(wants_push(&mut host, conn, 4), Some(true), "one of the house proves nothing");
    host.accept("82.1.1.1:1");
    assert_eq!(wants_push(&mut host, conn, 14), Some(true), "nor does a visitor of a meeting");
    comes(&mut host, "82.1.1.1:2");
    assert_eq!(wants_push(&mut host, conn, 5), Some(false), "it is open after all");
    pushed(&mut host, conn, 6);
    assert_eq!(wants_push(&mut host, conn, 7), Some(false), "and stays so");
}

/// What a servent understands that connects to others when it is asked.
fn offers_dial_back() -> MessageBody {
    vendor([0; 4], 0, 0, &[1, 0, b'B', b'E', b'A', b'R', 7, 0, 1, 0])
}

fn tests_firewall() -> Config {
    let mut config = overlay(false);
    config.overlay.router.dial_back = true;
    config
}

/// The ports at which a neighbour was asked to connect to us.
fn asked_back(host: &mut Host, conn: ConnId) -> Vec<Vec<u8>> {
    let asked = |message: &OverlayMessage| match &message.body {
        MessageBody::Vendor(it) if (it.vendor, it.selector) == (*b"BEAR", 7) => {
            Some(it.data.to_vec())
        }
        _ => None,
    };
    heard(host, conn).iter().filter_map(asked).collect()
}

#[test]
fn a_neighbour_is_asked_to_connect_so_that_no_client_has_to_find_a_firewall() {
    let mut host = host(tests_firewall());
    let conn = called(&mut host, "80.1.1.1:6346");
    says(&mut host, conn, Guid([1; 16]), offers_dial_back());
    assert_eq!(asked_back(&mut host, conn), [[0xca, 0x18]], "at the port on which we listen");
    assert!(!host.node.is_firewalled(), "it may still come");
    host.wait(Duration::from_secs(6));
    assert!(host.node.is_firewalled());
    assert_eq!(wants_push(&mut host, conn, 2), Some(true));
    comes(&mut host, "80.1.1.1:50000");
    assert!(!host.node.is_firewalled(), "it came late");
    assert_eq!(wants_push(&mut host, conn, 3), Some(false));
}

#[test]
fn a_servent_that_others_reach_asks_no_neighbour_for_that() {
    let mut host = host(tests_firewall());
    comes(&mut host, "82.1.1.1:1");
    let conn = called(&mut host, "80.1.1.1:6346");
    says(&mut host, conn, Guid([1; 16]), offers_dial_back());
    assert!(asked_back(&mut host, conn).is_empty());
    host.wait(Duration::from_secs(11));
    assert!(!host.node.is_firewalled());
}

#[test]
fn a_neighbour_that_asks_is_connected_to_where_it_is_and_once() {
    let mut host = host(tests_firewall());
    let conn = neighbour(&mut host, "80.1.1.1:50000", true);
    for guid in 1..4 {
        says(&mut host, conn, Guid([guid; 16]), vendor(*b"BEAR", 7, 1, &[0xca, 0x18]));
    }
    let to: Vec<SocketAddr> = host.dials.iter().map(|(_, to)| *to).collect();
    assert_eq!(to, ["80.1.1.1:6346".parse().unwrap()]);
    let (back, _) = host.dials[0];
    let local = "1.2.3.4:50000".parse().unwrap();
    host.input(Input::Connection(back, ConnInput::Dialed { local }));
    assert_eq!(host.wire.remove(&back).unwrap_or_default(), b"\n\n");
    assert!(host.hung_up.contains(&back));
    says(&mut host, conn, Guid([9; 16]), vendor(*b"BEAR", 7, 1, b""));
    assert_eq!(host.dials.len(), 1, "no port is none");
}

#[test]
fn a_servent_that_meets_itself_says_so_and_leaves_itself_alone() {
    let mut host = host(overlay(false));
    let own = host.node.servent();
    let conn = host.accept("80.1.1.1:1");
    let said = host.say(conn, &format!("GNUTELLA CONNECT/0.6\r\nGUID: {own}\r\n\r\n"));
    assert!(said.starts_with("GNUTELLA/0.6 403 ") && host.hung_up.contains(&conn), "{said}");
    let conn = host.accept("80.1.1.1:2");
    let said = host.say(conn, &format!("GNUTELLA CONNECT/0.6\r\nGUID: {LEAF}\r\n\r\n"));
    assert!(said.contains(&format!("\r\nGUID: {own}\r\n")), "{said}");
}
