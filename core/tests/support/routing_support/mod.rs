//! Routers joined in memory: what one sends the others get, as bytes.
#![allow(dead_code, unreachable_pub)] // Every test uses a part of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::routing::{Config, Event, Input, Neighbour, Output, Router, RoutingVerdict};
use servent_core::time::{Duration, Instant};
use servent_core::trace::Digest;
use servent_core::wire::gnutella::{
    FrameLimits, Framer, HitBuilder, MessageBody, MessageKind, OverlayMessage, OverlayPayload,
    Pong, Push, Quality, Query, QueryHit, Wishes, matches,
};

/// What happened where.
#[derive(Debug, Clone)]
pub struct Told {
    pub node: usize,
    pub event: Event,
}

/// Routers and the wires between them.
pub struct Net {
    pub routers: Vec<Router>,
    pub now: Instant,
    /// Names shared by each.
    pub shared: Vec<Vec<&'static str>>,
    wires: BTreeMap<(usize, ConnId), (usize, ConnId)>,
    conns: u64,
    under_way: VecDeque<(usize, ConnId, Vec<u8>)>,
    pub told: Vec<Told>,
    /// Hits for searches: who got them, for what, from which servent.
    pub hits: Vec<(usize, Guid, Guid)>,
    /// Queries looked at: who, and which.
    pub seen: Vec<(usize, Guid)>,
    pub pushed: Vec<(usize, Push)>,
    pub hosts: BTreeSet<(usize, SocketAddr)>,
    pub no_way: Vec<usize>,
    /// Of everything the routers ever did, and of when they wanted to be called.
    pub digest: Digest,
}

pub fn config() -> Config {
    Config { trace_messages: true, ..Config::default() }
}

pub fn servent(node: usize) -> Guid {
    Guid([node as u8 + 100; 16])
}

pub fn address(node: usize) -> SocketAddr {
    SocketAddr::from(([80, 0, (node >> 8) as u8, node as u8], 6_346))
}

pub fn guid(n: u64) -> Guid {
    let mut id = [7; 16];
    id[..8].copy_from_slice(&n.to_le_bytes());
    Guid(id)
}

pub fn neighbour(node: usize) -> Neighbour {
    let agent = format!("node {node}");
    let listen = Some(address(node));
    Neighbour { agent, relays: true, ggep: true, bye: true, listen, ..Neighbour::default() }
}

pub fn query(words: &str) -> Query {
    Query::new(Wishes::default(), words, &[])
}

pub fn hit_of(node: usize, name: &str) -> QueryHit {
    let SocketAddr::V4(at) = address(node) else { unreachable!() };
    let mut hit = HitBuilder::new(at, 1, (*b"TEST", Quality::default()), servent(node), 4_096);
    assert!(hit.add(FileIndex(1), 10, name, None));
    hit.finish().expect("one file")
}

impl Net {
    pub fn new(nodes: usize, config: &Config) -> Self {
        let mut net = Self {
            routers: Vec::new(),
            now: Instant::from_secs(1_000),
            shared: vec![Vec::new(); nodes],
            wires: BTreeMap::new(),
            conns: 0,
            under_way: VecDeque::new(),
            told: Vec::new(),
            hits: Vec::new(),
            seen: Vec::new(),
            pushed: Vec::new(),
            hosts: BTreeSet::new(),
            no_way: Vec::new(),
            digest: Digest::default(),
        };
        for node in 0..nodes {
            net.routers.push(Router::new(config.clone(), Rng::new(5).fork("node", node as u64)));
            net.ourselves(node, servent(node));
        }
        net
    }

    pub fn ourselves(&mut self, node: usize, servent: Guid) {
        let SocketAddr::V4(at) = address(node) else { unreachable!() };
        let (files, kilobytes) = (1, 2);
        self.give(node, Input::Ourselves { servent, listen: Some(at), files, kilobytes });
    }

    pub fn line(nodes: usize, config: &Config) -> Self {
        let mut net = Self::new(nodes, config);
        (1..nodes).for_each(|node| _ = net.link(node - 1, node));
        net.run();
        net
    }

    pub fn ring(nodes: usize, config: &Config) -> Self {
        let mut net = Self::line(nodes, config);
        net.link(nodes - 1, 0);
        net.run();
        net
    }

    pub fn star(leaves: usize, config: &Config) -> Self {
        let mut net = Self::new(leaves + 1, config);
        (1..=leaves).for_each(|node| _ = net.link(0, node));
        net.run();
        net
    }

    pub fn mesh(nodes: usize, config: &Config) -> Self {
        let mut net = Self::new(nodes, config);
        for a in 0..nodes {
            (a + 1..nodes).for_each(|b| _ = net.link(a, b));
        }
        net.run();
        net
    }

    /// A ring, so that all are reached, and as many links again at random.
    pub fn random(nodes: usize, seed: u64, config: &Config) -> Self {
        let (mut net, mut dice) = (Self::ring(nodes, config), Rng::new(seed));
        for _ in 0..nodes {
            let (a, b) = (dice.below(nodes as u64) as usize, dice.below(nodes as u64) as usize);
            if a != b {
                net.link(a, b);
            }
        }
        net.run();
        net
    }

    /// A ring of neighbours and their neighbours, one link in ten elsewhere.
    pub fn small_world(nodes: usize, seed: u64, config: &Config) -> Self {
        let (mut net, mut dice) = (Self::ring(nodes, config), Rng::new(seed));
        for a in 0..nodes {
            let far = dice.chance(1, 10);
            let b = if far { dice.below(nodes as u64) as usize } else { (a + 2) % nodes };
            if a != b {
                net.link(a, b);
            }
        }
        net.run();
        net
    }

    /// Joins two; the connection's number at both ends.
    pub fn link(&mut self, a: usize, b: usize) -> (ConnId, ConnId) {
        self.link_as((a, neighbour(a)), (b, neighbour(b)))
    }

    /// Joins two that say this about themselves.
    pub fn link_as(
        &mut self,
        (a, one): (usize, Neighbour),
        (b, other): (usize, Neighbour),
    ) -> (ConnId, ConnId) {
        let ends = (ConnId(self.conns), ConnId(self.conns + 1));
        self.conns += 2;
        self.wires.insert((a, ends.0), (b, ends.1));
        self.wires.insert((b, ends.1), (a, ends.0));
        let open = |conn, peer, neighbour| Input::Opened { conn, peer: address(peer), neighbour };
        self.give(a, open(ends.0, b, other));
        self.give(b, open(ends.1, a, one));
        ends
    }

    pub fn cut(&mut self, node: usize, conn: ConnId) {
        if let Some((peer, other)) = self.wires.remove(&(node, conn)) {
            self.wires.remove(&(peer, other));
            self.give(node, Input::Closed { conn });
            self.give(peer, Input::Closed { conn: other });
        }
    }

    /// The connection of one to another.
    pub fn conn(&self, from: usize, to: usize) -> ConnId {
        let found = self.wires.iter().find(|((a, _), (b, _))| (*a, *b) == (from, to));
        found.expect("they are joined").0.1
    }

    pub fn give(&mut self, node: usize, input: Input) {
        let mut fx = Fx::new();
        self.routers[node].handle(self.now, input, &mut fx);
        self.obey(node, fx);
    }

    /// A message from a neighbour, whatever that one would say.
    pub fn inject(
        &mut self,
        node: usize,
        conn: ConnId,
        message: &OverlayMessage,
    ) -> Option<RoutingVerdict> {
        let from = self.told.len();
        self.give(node, Input::Message { conn, message: message.clone() });
        self.told[from..].iter().find_map(|told| match &told.event {
            Event::Judged { verdict, .. } if told.node == node => Some(verdict.clone()),
            _ => None,
        })
    }

    fn obey(&mut self, node: usize, mut fx: Fx<Output, Event>) {
        self.digest.add(&self.routers[node].poll_timeout());
        for effect in fx.drain() {
            self.digest.add(&effect);
            if let Effect::Event(event) = &effect {
                self.digest.add(&(event.id(), event.clause()));
            }
            match effect {
                Effect::Event(event) => self.told.push(Told { node, event }),
                Effect::Output(output) => self.output(node, output),
            }
        }
    }

    fn output(&mut self, node: usize, output: Output) {
        match output {
            Output::Send { to, message } => {
                for conn in to {
                    self.under_way.push_back((node, conn, message.to_bytes()));
                    self.give(node, Input::Backlog { conn, bytes: 0 });
                }
            }
            Output::Close { conn } => self.cut(node, conn),
            Output::Query { guid, hops, query } => {
                self.seen.push((node, guid));
                let criteria = String::from_utf8_lossy(query.criteria()).into_owned();
                let names = self.shared[node].clone();
                if let Some(name) = names.into_iter().find(|name| matches(&criteria, name)) {
                    self.give(node, Input::Answer { guid, hops, hit: hit_of(node, name) });
                }
            }
            Output::Hit { guid, hit, .. } => self.hits.push((node, guid, hit.servent())),
            Output::Push { index, at } => {
                let servent = servent(node);
                self.pushed.push((node, Push { servent, index, at, ggep: OverlayPayload::new() }));
            }
            Output::NoWay { .. } => self.no_way.push(node),
            // Here all servents can be reached.
            Output::OffersDialBack { .. } | Output::DialBack { .. } => {}
            Output::Host { at } => _ = self.hosts.insert((node, SocketAddr::V4(at))),
        }
    }

    /// Until nothing is under way.
    pub fn run(&mut self) {
        while let Some((from, conn, bytes)) = self.under_way.pop_front() {
            let Some(&(to, conn)) = self.wires.get(&(from, conn)) else { continue };
            let mut framer = Framer::new(FrameLimits { payload: 65_536 });
            framer.push(bytes.into());
            while let Some(frame) = framer.next_frame().expect("our own bytes") {
                let message = OverlayMessage::parse(frame).expect("our own payload");
                self.give(to, Input::Message { conn, message });
            }
        }
    }

    /// Lets time pass, every timer in its turn.
    pub fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let due = |node: usize, router: &Router| Some((router.poll_timeout()?.0, node));
            let next = self.routers.iter().enumerate().filter_map(|(n, r)| due(n, r)).min();
            let Some((at, node)) = next.filter(|(at, _)| *at <= until) else { break };
            self.now = at.max(self.now);
            let mut fx = Fx::new();
            self.routers[node].handle_timeout(self.now, &mut fx);
            self.obey(node, fx);
            self.run();
        }
        self.now = until;
    }

    pub fn search(&mut self, node: usize, id: u64, words: &str) -> Guid {
        let guid = guid(id);
        self.give(node, Input::Search { guid, query: query(words) });
        self.run();
        guid
    }

    pub fn push(&mut self, node: usize, id: u64, target: usize) {
        let SocketAddr::V4(at) = address(node) else { unreachable!() };
        let push =
            Push { servent: servent(target), index: FileIndex(1), at, ggep: OverlayPayload::new() };
        self.give(node, Input::Push { guid: guid(id), push, via: None });
        self.run();
    }

    /// The id of the ping that is out to a neighbour.
    pub fn ping_out(&self, node: usize, conn: ConnId) -> Guid {
        self.find_ping(node, conn).expect("it was pinged")
    }

    /// The same, if it was ever pinged.
    pub fn find_ping(&self, node: usize, conn: ConnId) -> Option<Guid> {
        let ping = |told: &Told| match &told.event {
            Event::Sent { guid, kind: MessageKind::Ping, to, .. }
                if told.node == node && to.contains(&conn) =>
            {
                Some(*guid)
            }
            _ => None,
        };
        self.told.iter().rev().find_map(ping)
    }

    /// A pong of a host for that ping.
    pub fn pong(&mut self, node: usize, conn: ConnId, at: &str) -> Option<RoutingVerdict> {
        let at = at.parse().expect("an address");
        let pong = Pong { at, files: 1, kilobytes: 1, ggep: OverlayPayload::new() };
        let guid = self.ping_out(node, conn);
        self.inject(
            node,
            conn,
            &OverlayMessage { guid, ttl: 5, hops: 2, body: MessageBody::Pong(pong) },
        )
    }

    /// What became of a message at the routers it came to.
    pub fn verdicts(&self, wanted: Guid) -> Vec<(usize, RoutingVerdict)> {
        let verdict = |told: &Told| match &told.event {
            Event::Judged { guid, verdict, .. } if *guid == wanted => {
                Some((told.node, verdict.clone()))
            }
            _ => None,
        };
        self.told.iter().filter_map(verdict).collect()
    }

    /// Holds of every flood: no node looks at a query twice, none passes it
    /// on twice, and what is dropped is not passed on.
    pub fn check_flood(&self, guid: Guid) {
        let mut looked = BTreeSet::new();
        let mut passed = BTreeSet::new();
        for (node, seen) in &self.seen {
            assert!(*seen != guid || looked.insert(*node), "node {node} looks at it twice");
        }
        for told in &self.told {
            if let Event::Judged { guid: id, kind: MessageKind::Query, verdict, .. } = &told.event
                && (*id, matches!(verdict, RoutingVerdict::Forward { .. })) == (guid, true)
            {
                let node = told.node;
                assert!(passed.insert(node), "node {node} passes it on twice");
            }
        }
        for node in &passed {
            assert!(looked.contains(node), "node {node} passes on what it did not look at");
        }
    }
}

pub fn message(id: u64, ttl: u8, hops: u8, body: MessageBody) -> OverlayMessage {
    OverlayMessage { guid: guid(id), ttl, hops, body }
}
