//! Routers of a small overlay, leaves and ultrapeers, whose neighbours also say
//! what none of them would.

use std::fmt::Write as _;
use std::net::{SocketAddr, SocketAddrV4};

use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Breakage, Config, Input, Neighbour, PushRouting, Router, Which};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{
    Bye, HitBuilder, Keywords, MessageBody, MessageFrameError, MessageKind, OverlayMessage,
    OverlayPayload, PayloadError, Ping, Pong, Push, Qrp, Quality, Query, QueryHit, Vendor, Wishes,
};

use crate::routing_support::{Net, address, guid, neighbour, servent};

const WORDS: [&str; 6] = ["amber", "birch", "cedar", "delta", "ember", "fjord"];
const TABLES: [Which; 9] = [
    Which::Queries,
    Which::Servents,
    Which::Holders,
    Which::Pings,
    Which::Pongs,
    Which::Hits,
    Which::Pushes,
    Which::Probed,
    Which::Answers,
];

struct Life {
    net: Net,
    dice: Rng,
    nodes: u64,
    ends: Vec<(usize, ConnId)>,
    guids: u64,
    conns: u64,
}

fn config(dice: &mut Rng) -> Config {
    Config {
        dynamic: dice.chance(1, 2),
        enough: dice.between(2, 6) as u32,
        enough_rare: dice.between(1, 3) as u32,
        deep_ttl: dice.between(1, 4) as u8,
        probe_links: dice.between(1, 3) as u32,
        search_life: Duration::from_secs(dice.between(8, 40)),
        deepenings: dice.between(2, 6) as u32,
        deepenings_per_leaf: dice.between(1, 2) as u32,
        push_routing: *dice.pick(&[PushRouting::Standard, PushRouting::Broadcast]).unwrap(),
        links: dice.between(3, 6) as u32,
        query_life: Duration::from_secs(60),
        push_life: Duration::from_secs(90),
        duplicate_life: Duration::from_secs(60),
        queries_per_link: dice.between(6, 40) as u32,
        queries_at_once: *dice.pick(&[0, 3, 9]).unwrap(),
        entries_per_link: dice.between(6, 40) as u32,
        relayed_query: 60,
        relayed_hit: dice.between(150, 400) as u32,
        relayed: dice.between(40, 400) as u32,
        hits_per_query: dice.between(1, 4) as u32,
        hit_bytes_per_query: dice.between(150, 500) as u32,
        window: dice.between(100, 600) as u32,
        queue: dice.between(100, 900) as u32,
        pongs: dice.between(1, 4) as u32,
        pongs_per_ping: dice.between(1, 4) as u32,
        strikes: dice.between(1, 6) as u32,
        pushes_per_target: dice.between(1, 2) as u32,
        push_targets: dice.between(1, 3) as u32,
        tables_at_once: *dice.pick(&[0, 3]).unwrap(),
        searches: 3,
        trace_messages: true,
        time_scale: if dice.chance(1, 5) { 2 } else { 1 },
        ..Config::default()
    }
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut dice = Rng::new(seed);
        let (config, nodes) = (config(&mut dice), dice.between(4, 7));
        let mut net = Net::new(nodes as usize, &config);
        for node in (0..nodes as usize).filter(|node| node % 3 == 2) {
            let leaf = Config { relay: false, ..config.clone() };
            net.routers[node] = Router::new(leaf, Rng::new(seed).fork("leaf", node as u64));
        }
        let mut life = Self { net, dice, nodes, ends: Vec::new(), guids: 1_000, conns: 10_000 };
        for node in 0..nodes as usize {
            life.ourselves(node);
        }
        for node in 1..nodes as usize {
            life.joins(node, node - 1);
        }
        life
    }

    fn node(&mut self) -> usize {
        self.dice.below(self.nodes) as usize
    }

    fn guid(&mut self) -> Guid {
        self.guids += 1;
        let old = self.dice.below(12);
        guid(if self.dice.chance(1, 3) { self.guids - old } else { self.guids })
    }

    fn words(&mut self) -> String {
        let count = self.dice.between(1, 2);
        let words: Vec<&str> = (0..count).map(|_| *self.dice.pick(&WORDS).unwrap()).collect();
        words.join(" ")
    }

    fn ourselves(&mut self, node: usize) {
        let SocketAddr::V4(at) = address(node) else { unreachable!() };
        let listen = Some(at).filter(|_| self.dice.chance(2, 3));
        let name = *self.dice.pick(&WORDS).unwrap();
        self.net.shared[node] = vec![name];
        let (servent, files, kilobytes) = (servent(node), 1, 2);
        self.net.give(node, Input::Ourselves { servent, listen, files, kilobytes });
        self.keywords(node);
    }

    fn keywords(&mut self, node: usize) {
        let mut table = Keywords::new(8);
        table.add(self.net.shared[node][0]);
        self.net.give(node, Input::Keywords { table });
    }

    fn neighbour(&mut self, node: usize) -> Neighbour {
        Neighbour {
            relays: node % 3 != 2,
            ggep: self.dice.chance(1, 2),
            bye: self.dice.chance(1, 2),
            vendor: self.dice.chance(2, 3),
            keywords: self.dice.chance(2, 3),
            probes: self.dice.chance(2, 3),
            degree: Some(self.dice.below(40) as u32).filter(|_| self.dice.chance(1, 2)),
            max_ttl: Some(self.dice.between(1, 5) as u8).filter(|_| self.dice.chance(1, 2)),
            ..neighbour(node)
        }
    }

    fn joins(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        let (us, them) = (self.neighbour(a), self.neighbour(b));
        let (x, y) = self.net.link_as((a, us), (b, them));
        self.ends.extend([(a, x), (b, y)]);
        self.net.run();
    }

    /// A neighbour that is no router of ours: what it says is drawn.
    fn stranger(&mut self) {
        let node = self.node();
        self.conns += 1;
        let (conn, number) = (ConnId(self.conns), self.dice.below(5) as usize + 30);
        let (peer, neighbour) = (address(number), self.neighbour(number));
        self.net.give(node, Input::Opened { conn, peer, neighbour });
        self.ends.push((node, conn));
    }

    fn end(&mut self) -> (usize, ConnId) {
        self.dice.pick(&self.ends).copied().unwrap_or((0, ConnId(0)))
    }

    fn place(&mut self) -> SocketAddrV4 {
        let ips = [[80, 1, 1, 1], [80, 1, 1, 2], [80, 1, 2, 1], [10, 0, 0, 1]];
        let ip = *self.dice.pick(&ips).unwrap();
        let port = *self.dice.pick(&[6_346, 6_347, 80, 0]).unwrap();
        SocketAddrV4::new(ip.into(), port)
    }

    fn hit(&mut self) -> QueryHit {
        let at = self.place();
        let id = servent(self.dice.below(self.nodes + 3) as usize);
        let mut hit = HitBuilder::new(at, 1, (*b"TEST", Quality::default()), id, 4_096);
        for index in 0..self.dice.between(1, 3) {
            let name = format!("{} {}", self.words(), "x".repeat(self.dice.below(90) as usize));
            assert!(hit.add(FileIndex(index as u32), 10, &name, None));
        }
        hit.finish().expect("a file or more")
    }

    fn body(&mut self) -> MessageBody {
        match self.dice.below(24) {
            0..6 => {
                let long = if self.dice.chance(1, 8) { "z".repeat(80) } else { String::new() };
                let words = if self.dice.chance(1, 10) { "    ".into() } else { self.words() };
                MessageBody::Query(Query::new(Wishes::default(), &(words + &long), &[]))
            }
            6..11 => MessageBody::Hit(self.hit()),
            11..14 => {
                let servent = servent(self.dice.below(self.nodes + 3) as usize);
                let (at, index) = (self.place(), FileIndex(1));
                MessageBody::Push(Push { servent, index, at, ggep: OverlayPayload::new() })
            }
            14 | 15 => MessageBody::Ping(Ping::default()),
            16..19 => {
                let ggep = vec![0xc3; self.dice.below(2) as usize * 30].into();
                MessageBody::Pong(Pong { at: self.place(), files: 1, kilobytes: 1, ggep })
            }
            19 => {
                let mut table = Keywords::new(8);
                table.add(self.dice.pick(&WORDS).unwrap());
                let mut messages = table.messages();
                MessageBody::Qrp(
                    messages.swap_remove(self.dice.below(messages.len() as u64) as usize),
                )
            }
            20 => MessageBody::Qrp(Qrp::Reset { length: 64 << self.dice.below(3), infinity: 7 }),
            21 | 22 => self.vendor(),
            _ => MessageBody::Bye(Bye { code: 200, text: String::new() }),
        }
    }

    fn vendor(&mut self) -> MessageBody {
        let names = [([0; 4], 0), (*b"BEAR", 4), (*b"LIME", 21), (*b"LIME", 22), (*b"NOPE", 1)];
        let (vendor, selector) = *self.dice.pick(&names).unwrap();
        let data = match self.dice.below(5) {
            0 => vec![1, 0, b'L', b'I', b'M', b'E', 21, 0, 2, 0],
            1 => vec![self.dice.below(4) as u8],
            2 => vec![202, 24],
            3 => vec![80, 1, 1, 1, 202, 24],
            _ => Vec::new(),
        };
        let version = self.dice.below(4) as u16;
        MessageBody::Vendor(Vendor {
            standard: false,
            vendor,
            selector,
            version,
            data: data.into(),
        })
    }

    /// Any neighbour says something.
    fn says(&mut self) {
        let (node, conn) = self.end();
        let body = self.body();
        let ours = self.dice.chance(1, 3);
        let guid = match &body {
            MessageBody::Pong(_) if ours => self.net.find_ping(node, conn).unwrap_or_default(),
            MessageBody::Vendor(_) if ours => servent(node),
            MessageBody::Vendor(_) => servent(self.dice.below(40) as usize),
            MessageBody::Hit(_) => guid(self.guids - self.dice.below(5)),
            _ => self.guid(),
        };
        let (ttl, hops) = match self.dice.below(12) {
            0 => (self.dice.below(20) as u8, self.dice.below(20) as u8),
            1 | 2 => (1, 0),
            3 | 4 => (2, 0),
            _ => (self.dice.between(0, 6) as u8, self.dice.below(5) as u8),
        };
        // A query may come with a TTL of 1 first, and anything twice.
        let first = if matches!(body, MessageBody::Query(_)) { 1 } else { ttl };
        let ttls = if self.dice.chance(1, 5) { vec![first, ttl] } else { vec![ttl] };
        for ttl in ttls {
            let message = OverlayMessage { guid, ttl, hops, body: body.clone() };
            self.net.give(node, Input::Message { conn, message });
        }
        self.net.run();
    }

    fn searches(&mut self) {
        let (node, guid) = (self.node(), self.guid());
        match self.dice.below(9) {
            0 => self.net.give(node, Input::EndSearch { guid }),
            1 | 2 => {
                let hit = self.hit();
                let hops = self.dice.below(6) as u8;
                self.net.give(node, Input::Answer { guid, hops, hit });
            }
            3 | 4 => {
                let servent = servent(self.dice.below(self.nodes + 3) as usize);
                let (at, index) = (self.place(), FileIndex(1));
                let push = Push { servent, index, at, ggep: OverlayPayload::new() };
                let via = Some(self.end().1).filter(|_| self.dice.chance(1, 2));
                let proxied = self.dice.chance(1, 3);
                let asked = Input::Push { guid, push: push.clone(), via };
                let input = if proxied { Input::Proxied { guid, push } } else { asked };
                self.net.give(node, input);
            }
            _ => {
                let query = Query::new(Wishes::default(), &self.words(), &[]);
                self.net.give(node, Input::Search { guid, query });
            }
        }
        self.net.run();
    }

    fn line(&mut self) {
        let (node, conn) = self.end();
        match self.dice.below(14) {
            0..5 => {
                let bytes = self.dice.below(700);
                self.net.give(node, Input::Backlog { conn, bytes });
            }
            5 => self.net.give(node, Input::Closed { conn }),
            6 => self.net.cut(node, conn),
            7 => {
                let kinds = [MessageFrameError::Kind(9), MessageFrameError::TooLong(9)];
                let frame = Breakage::Frame(*self.dice.pick(&kinds).unwrap());
                let why = if self.dice.chance(1, 3) { Breakage::Deflate } else { frame };
                self.net.give(node, Input::Broken { conn, why });
            }
            8 | 9 => {
                let (kind, why) = (MessageKind::Hit, PayloadError::Short);
                self.net.give(node, Input::Improper { conn, kind, why });
            }
            10 => self.ourselves(node),
            11 if self.dice.chance(1, 4) => self.net.give(node, Input::Shutdown),
            12 => self.stranger(),
            _ => {
                let (a, b) = (self.node(), self.node());
                self.joins(a, b);
            }
        }
        self.net.run();
    }

    fn look(&mut self) {
        let ids: Vec<Guid> = (0..9).map(|n| guid(self.guids - n)).collect();
        let place: SocketAddrV4 = "80.1.1.1:6346".parse().expect("an address");
        for node in 0..self.nodes as usize {
            let router = &self.net.routers[node];
            let digest = &mut self.net.digest;
            let mut view = router.view();
            let bytes: u64 = view.tables.iter().map(|table| table.bytes).sum();
            assert_eq!(router.table_bytes() as u64, bytes);
            // How much memory that takes depends on the machine.
            view.tables.iter_mut().for_each(|table| table.bytes = 0);
            digest.add(&serde_json::to_string(&view).expect("a view is data"));
            digest.add(&(router.links(), router.proxies()));
            digest.add(router.config());
            for table in TABLES {
                ids.iter().for_each(|id| digest.add(&format!("{:?}", router.recall(table, *id))));
                digest.add(&format!("{:?}", router.recall(table, servent(node))));
            }
            for other in 0..4 {
                let (servent, index, ggep) = (servent(other), FileIndex(1), OverlayPayload::new());
                let push = Push { servent, index, at: place, ggep };
                digest.add(&format!("{:?}", router.passes(self.net.now, &push)));
            }
        }
    }

    fn live(mut self, steps: u64) -> u64 {
        (0..3).for_each(|_| self.stranger());
        for step in 0..steps {
            match self.dice.below(30) {
                0..15 => self.says(),
                15..20 => self.searches(),
                20..23 => self.line(),
                23 => {
                    let time = Duration::from_secs(self.dice.below(80));
                    self.net.wait(time);
                }
                _ => {
                    let time = Duration::from_millis(self.dice.below(2_500));
                    self.net.wait(time);
                }
            }
            if step % 25 == 0 {
                self.look();
            }
        }
        self.net.digest.value()
    }
}

#[test]
fn drawn_overlays_are_routed_as_they_were() {
    let mut now = String::new();
    for seed in 0..24 {
        writeln!(now, "{seed} {:016x}", Life::new(seed).live(400)).unwrap();
    }
    super::compare("routing", include_str!("routing.txt"), &now);
}
