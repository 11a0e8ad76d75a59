//! Servents joined to an overlay through whole nodes: handshakes and messages
//! as bytes, cut anywhere.

use crate::node_support;

use std::net::SocketAddr;

use node_support::{Host, config, content, sha};
use servent_core::engine::Fx;
use servent_core::id::{ConnId, FetchId, FileIndex, Guid};
use servent_core::node::{
    Config, ConnEvent, ConnInput, DialError, DownloadSource, FetchCommand, Get, Input, NodeAnswer,
    NodeCommand, OverlayCommand, RestoredNode, SearchHit,
};
use servent_core::routing::{self, NeighbourEnding};
use servent_core::time::Duration;
use servent_core::trace::Event;
use servent_core::wire::gnutella::code;

use servent_core::engine::Engine as _;

/// Nodes, each at an address of its own, and the wires between them.
struct Net {
    hosts: Vec<Host>,
    links: Vec<[(usize, ConnId); 2]>,
    chunk: usize,
}

fn at(node: usize) -> SocketAddr {
    SocketAddr::from(([80, 0, 0, node as u8 + 1], 6_346))
}

fn leaving(node: usize) -> SocketAddr {
    SocketAddr::from(([80, 0, 0, node as u8 + 1], 50_000))
}

fn overlay(degree: u32) -> Config {
    let mut config = config();
    config.overlay.enabled = true;
    config.overlay.degree = degree;
    config.overlay.router.trace_messages = true;
    config
}

impl Net {
    fn new(configs: Vec<Config>, shares: &[&[usize]]) -> Self {
        let hosts = (0..).zip(configs).map(|(node, config)| {
            let mut host = Host::blank(config, shares[node]);
            let (servent, shared) = (Some(Guid([node as u8 + 1; 16])), host.shared());
            let listen = Some(at(node));
            host.input(Input::Start(RestoredNode {
                servent,
                listen,
                shared,
                ..RestoredNode::default()
            }));
            host
        });
        Self { hosts: hosts.collect(), links: Vec::new(), chunk: 5 }
    }

    /// One share at the end of a line of three; `far` changes its config.
    fn line(far: impl Fn(&mut Config)) -> Self {
        let mut last = overlay(1);
        far(&mut last);
        let mut net = Self::new(vec![overlay(1), overlay(0), last], &[&[], &[], &[4_000]]);
        // What the right bytes hash to; not shared.
        net.hosts[0].files.insert(FileIndex(0), content(4_000));
        for end in [0, 2] {
            net.hosts[end]
                .input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(1) })));
        }
        net.run(Duration::from_secs(2));
        net
    }

    fn dial(&mut self) -> bool {
        for from in 0..self.hosts.len() {
            let Some((conn, to)) = self.hosts[from].dials.pop() else { continue };
            match (0..self.hosts.len()).find(|node| at(*node) == to && *node != from) {
                None => {
                    let why = DialError::Unreachable;
                    self.hosts[from].input(Input::Connection(conn, ConnInput::DialFailed { why }));
                }
                Some(far) => {
                    let there = self.hosts[far].accept(&leaving(from).to_string());
                    self.links.push([(from, conn), (far, there)]);
                    self.hosts[from]
                        .input(Input::Connection(conn, ConnInput::Dialed { local: leaving(from) }));
                }
            }
            return true;
        }
        false
    }

    fn carry(&mut self) -> bool {
        for link in self.links.clone() {
            for [(from, out), (to, into)] in [link, [link[1], link[0]]] {
                let Some(wire) = self.hosts[from].wire.get_mut(&out).filter(|w| !w.is_empty())
                else {
                    continue;
                };
                let some: Vec<u8> = wire.drain(..self.chunk.min(wire.len())).collect();
                if !self.hosts[to].hung_up.contains(&into) {
                    self.hosts[to].bytes(into, &some);
                }
                return true;
            }
        }
        false
    }

    fn hang_up(&mut self) -> bool {
        let gone =
            |net: &Self, (node, conn): (usize, ConnId)| net.hosts[node].hung_up.contains(&conn);
        let Some(place) =
            self.links.iter().position(|link| link.iter().any(|end| gone(self, *end)))
        else {
            return false;
        };
        for (node, conn) in self.links.remove(place) {
            if !self.hosts[node].hung_up.contains(&conn) {
                self.hosts[node].input(Input::Connection(conn, ConnInput::Closed));
            }
        }
        true
    }

    /// Lets so much time pass, everything in its turn.
    fn run(&mut self, time: Duration) {
        let until = self.hosts[0].now + time;
        for _ in 0..1_000_000 {
            if self.dial() || self.carry() || self.hang_up() {
                continue;
            }
            let next = self.hosts.iter().filter_map(|host| host.node.poll_timeout()).min();
            let Some((due, _)) = next.filter(|(due, _)| *due <= until) else {
                self.hosts.iter_mut().for_each(|host| host.now = until);
                return;
            };
            for host in &mut self.hosts {
                host.now = host.now.max(due);
                if host.node.poll_timeout().is_some_and(|(at, _)| at <= host.now) {
                    host.wake(&mut Fx::new());
                }
            }
        }
        panic!("no end in sight");
    }

    fn events(&self, node: usize) -> Vec<routing::Event> {
        let event = |effect: &_| match effect {
            servent_core::engine::Effect::Event(Event::Routing(event)) => Some(event.clone()),
            _ => None,
        };
        self.hosts[node].log.iter().filter_map(event).collect()
    }

    fn found(&self, node: usize) -> Vec<SearchHit> {
        let found = |answer: &NodeAnswer| match answer {
            NodeAnswer::Found(hit) => Some(hit.clone()),
            _ => None,
        };
        self.hosts[node].answers.iter().filter_map(found).collect()
    }

    fn search(&mut self, words: &str) -> Vec<SearchHit> {
        let (search, words) = (5, words.into());
        self.hosts[0]
            .input(Input::Command(NodeCommand::Overlay(OverlayCommand::Search { search, words })));
        self.run(Duration::from_secs(2));
        self.found(0)
    }

    fn fetched(&self) -> Option<&Vec<u8>> {
        let done = |answer: &NodeAnswer| matches!(answer, NodeAnswer::Fetched { .. });
        let part = self.hosts[0].parts.get(&FetchId(0));
        part.filter(|_| self.hosts[0].answers.iter().any(done))
    }
}

#[test]
fn a_search_at_one_end_of_a_line_finds_and_downloads_from_the_other() {
    let mut net = Net::line(|_| {});
    let hits = net.search("FILE bin");
    assert_eq!(hits.len(), 1, "{hits:?}");
    let SearchHit {
        search,
        at: place,
        index,
        name,
        size,
        sha1,
        push,
        busy,
        hops,
        from,
        through,
        ..
    } = hits[0].clone();
    assert_eq!(through, Some(at(1)));
    assert_eq!((search, place, index), (5, at(2), FileIndex(0)));
    assert_eq!((name.as_str(), size, sha1), ("file 0.bin", 4_000, Some(sha(0))));
    assert_eq!((push, busy, hops, from), (false, false, 1, at(1).ip()));
    let source =
        DownloadSource { at: place, target: "/get/0/file%200.bin".into(), host: place.to_string() };
    let get = Get { name: "f".into(), sha1, sources: vec![source] };
    net.hosts[0].input(Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))));
    net.run(Duration::from_secs(5));
    assert!(net.fetched() == Some(&content(4_000)), "{:?}", net.hosts[0].answers);
}

#[test]
fn a_firewalled_source_is_fetched_by_push() {
    let mut net = Net::line(|config| config.overlay.firewalled = true);
    let hits = net.search("file");
    assert!(hits[0].push, "it cannot be reached and says so");
    let get = Get { name: "f".into(), sha1: hits[0].sha1, sources: Vec::new() };
    net.hosts[0].input(Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))));
    let (fetch, servent, index) = (FetchId(0), hits[0].servent, hits[0].index);
    for command in [
        NodeCommand::Fetch(FetchCommand::ExpectGiv { fetch, servent, index }),
        NodeCommand::Overlay(OverlayCommand::AskPush {
            servent,
            index,
            via: None,
            proxies: Vec::new(),
        }),
    ] {
        net.hosts[0].input(Input::Command(command));
    }
    net.run(Duration::from_secs(10));
    assert!(net.fetched() == Some(&content(4_000)), "{:?}", net.hosts[0].answers);
    let unknown = Guid([99; 16]);
    let (via, proxies) = (None, Vec::new());
    net.hosts[0].input(Input::Command(NodeCommand::Overlay(OverlayCommand::AskPush {
        servent: unknown,
        index,
        via,
        proxies,
    })));
    assert!(net.hosts[0].answers.contains(&NodeAnswer::NoWay { servent: unknown }));
}

#[test]
fn a_full_line_is_not_offered_and_a_busy_servent_says_so() {
    let mut net = Net::line(|config| config.queue.capacity = 0);
    assert!(net.search("file").len() == 1, "a free slot is room");
    let mut net = Net::line(|config| {
        config.queue.slots = 0;
        config.queue.capacity = 0;
    });
    assert_eq!(net.search("file"), [], "AQ-12");
    let mut net = Net::line(|config| config.queue.slots = 0);
    assert!(net.search("file")[0].busy);
}

#[test]
fn links_are_deflated_when_both_can_and_plain_when_one_cannot() {
    for (near, far) in [(true, true), (true, false), (false, true)] {
        let mut net = Net::line(|config| config.overlay.deflate = far);
        let mut plain = overlay(1);
        plain.overlay.deflate = near;
        net.hosts.truncate(3);
        assert_eq!(net.search("file").len(), 1, "{near} {far}");
    }
}

#[test]
fn goodbyes_are_said_and_another_neighbour_is_looked_for() {
    let mut net = Net::new(vec![overlay(1), overlay(1), overlay(1)], &[&[], &[], &[]]);
    net.hosts[0].input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(1) })));
    net.hosts[2].input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(1) })));
    net.run(Duration::from_secs(35));
    net.hosts[1].input(Input::Command(NodeCommand::Stop));
    net.run(Duration::from_secs(1));
    let bye = |event: &routing::Event| {
        matches!(
            event,
            routing::Event::Closed { why: NeighbourEnding::Bye { code: code::EXIT, .. }, .. }
        )
    };
    assert!(net.events(0).iter().any(bye));
    net.run(Duration::from_secs(60));
    let together = net.links.iter().any(|link| [link[0].0, link[1].0].iter().all(|n| *n != 1));
    let hosts = |node: usize| net.hosts[node].node.overlay().unwrap().links.len();
    assert!(together, "they know each other by pongs: {} {}", hosts(0), hosts(2));
}

#[test]
fn two_that_call_each_other_at_once_are_joined_once() {
    for chunk in [1, 5, 7, 1_000] {
        let mut net = Net::new(vec![overlay(1), overlay(1)], &[&[], &[]]);
        net.chunk = chunk;
        net.hosts[0]
            .input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(1) })));
        net.hosts[1]
            .input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(0) })));
        net.run(Duration::from_secs(5));
        let links = |node: usize| net.hosts[node].node.overlay().unwrap().links.len();
        assert_eq!((links(0), links(1), net.links.len()), (1, 1, 1), "{chunk}");
    }
}

#[test]
fn a_peer_that_is_one_too_many_is_told_of_others() {
    let mut full = overlay(0);
    full.overlay.neighbours = 1;
    let mut net = Net::new(vec![overlay(1), full, overlay(1)], &[&[], &[], &[]]);
    net.hosts[0].input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(1) })));
    net.run(Duration::from_secs(3));
    net.hosts[2].input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join { at: at(1) })));
    net.run(Duration::from_secs(5));
    let view = |node: usize| net.hosts[node].node.overlay().unwrap().links.len();
    assert_eq!(view(1), 1);
    assert!(view(2) <= 1);
}

#[test]
fn what_is_no_handshake_or_comes_too_slowly_is_closed() {
    let mut host = Host::new(overlay(0), &[]);
    let slow = host.accept("80.1.1.1:1");
    host.bytes(slow, b"GNUTELLA CONNECT/0.6\r\nUser-Agent: slo");
    let wrong = host.accept("80.1.1.2:1");
    host.bytes(wrong, b"GNUTELLA HELLO\r\n\r\n");
    assert!(host.hung_up.contains(&wrong));
    host.wait(Duration::from_secs(16));
    assert!(host.hung_up.contains(&slow));
    let half = host.accept("80.1.1.3:1");
    host.bytes(half, b"GNUTELLA CONNECT/0.6\r\nUser-Agent: half\r\n\r\n");
    host.wait(Duration::from_secs(16));
    assert!(host.hung_up.contains(&half), "the last word never came");
    let long = host.accept("80.1.1.4:1");
    host.bytes(long, &[&b"GNUTELLA CONNECT/0.6\r\nA: "[..], &[b'x'; 20_000]].concat());
    assert!(host.hung_up.contains(&long));
}

#[test]
fn a_bomb_and_an_impossible_message_end_the_link_with_the_right_word() {
    for (deflated, bytes, code) in [
        (
            true,
            servent_core::wire::gnutella::Deflater::new().push(&vec![0; 8 << 20]),
            code::DESYNCHRONISED,
        ),
        (false, [[0; 16].to_vec(), vec![0x77, 1, 0, 0, 0, 0, 0]].concat(), code::UNKNOWN),
        (false, [[0; 16].to_vec(), vec![0x80, 1, 0, 0, 0, 0, 1]].concat(), code::TOO_BIG),
    ] {
        let mut host = Host::new(overlay(0), &[]);
        let conn = host.accept("80.1.1.1:1");
        host.bytes(conn, b"GNUTELLA CONNECT/0.6\r\nBye-Packet: 0.1\r\n\r\n");
        let word = if deflated { "Content-Encoding: deflate\r\n" } else { "" };
        host.bytes(conn, format!("GNUTELLA/0.6 200 OK\r\n{word}\r\n").as_bytes());
        host.bytes(conn, &bytes);
        assert!(host.hung_up.contains(&conn), "{code}");
        let closed = |effect: &_| {
            matches!(
                effect,
                servent_core::engine::Effect::Event(Event::Routing(routing::Event::Closed {
                    why: NeighbourEnding::Given { code: given }, ..
                })) if *given == code
            )
        };
        assert!(host.log.iter().any(closed), "{code}");
    }
}

#[test]
fn version_0_4_is_answered() {
    let mut host = Host::new(overlay(0), &[]);
    let conn = host.accept("80.1.1.1:1");
    host.bytes(conn, b"GNUTELLA CONNECT/0.4\n\n");
    let said: Vec<u8> = host.wire[&conn].iter().copied().collect();
    assert!(said.starts_with(b"GNUTELLA OK\n\n"));
    assert_eq!(said.len(), 13 + 23, "and a ping");
}

#[test]
fn a_node_without_the_overlay_does_not_speak_it() {
    let mut host = Host::new(config(), &[]);
    let conn = host.accept("80.1.1.1:1");
    host.bytes(conn, b"GNUTELLA CONNECT/0.6\r\n\r\n");
    assert!(host.hung_up.contains(&conn));
    let garbage = |effect: &_| {
        matches!(effect, servent_core::engine::Effect::Event(Event::Conn(ConnEvent::Limit { .. })))
    };
    assert!(host.log.iter().any(garbage) && host.node.overlay().is_none());
}
