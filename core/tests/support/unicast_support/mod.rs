//! Endpoints joined by datagram links of a small world: a virtual clock, one
//! seed, and everything that can happen to a datagram.
//!
//! Every datagram goes through its bytes, so the codec is part of every test.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Digest;
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Endpoint, Event, Input, Output, PeerView, Profile,
    ReceiverView, SenderView, UnicastPayload,
};
use servent_core::wire::unicast::{ConnBlock, Packet, UnicastConnId};

pub const PROFILES: [Profile; 2] = [Profile::Unicast3, Profile::Adaptive];

/// What a link does to datagrams; probabilities are in thousandths.
#[derive(Debug, Clone)]
pub struct Link {
    pub delay: Duration,
    /// Added at random, so that datagrams overtake each other.
    pub jitter: Duration,
    pub loss: u64,
    pub twice: u64,
}

impl Default for Link {
    fn default() -> Self {
        Self { delay: Duration::from_millis(10), jitter: Duration::ZERO, loss: 0, twice: 0 }
    }
}

/// A delivered message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    pub at: Instant,
    pub from: usize,
    pub conn: UnicastConnId,
    pub order: DeliveryOrder,
    pub payload: UnicastPayload,
}

/// What becomes of a datagram; the hook may also change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives later by so much.
    Late(Duration),
}

type Hook = Box<dyn FnMut(usize, &mut Packet) -> Fate>;

pub struct Node {
    pub addr: SocketAddr,
    pub endpoint: Endpoint,
    pub got: Vec<Got>,
    pub events: Vec<(Instant, Event)>,
    pub refused: Vec<UnicastPayload>,
    pub writable: u32,
    /// Its application consumes what it gets.
    pub takes: bool,
    pub up: bool,
}

pub struct World {
    pub now: Instant,
    pub nodes: Vec<Node>,
    pub link: Link,
    pub config: Config,
    rng: Rng,
    hook: Option<Hook>,
    air: BTreeMap<(Instant, u64), (usize, usize, Vec<u8>)>,
    number: u64,
    pub datagrams: u64,
    pub lost: u64,
    /// Of everything the endpoints ever did, and of when they wanted to be
    /// called.
    pub digest: Digest,
    seed: u64,
}

/// Without congestion control: what is looked at are the repairs, and the
/// windows of both ends.
pub fn config(profile: Profile) -> Config {
    let congestion = Congestion::None;
    Config { profile, congestion, trace_messages: true, ..Config::default() }
}

pub fn addr(node: usize) -> SocketAddr {
    format!("10.0.0.{}:7000", node + 1).parse().unwrap()
}

/// The message with number `n`.
pub fn message(n: u64) -> UnicastPayload {
    UnicastPayload::copy_from_slice(&n.to_be_bytes())
}

/// Its number back.
pub fn number(payload: &UnicastPayload) -> u64 {
    u64::from_be_bytes(payload[..8].try_into().unwrap())
}

impl World {
    pub fn new(config: Config, nodes: usize, seed: u64) -> Self {
        let mut world = Self {
            now: Instant::from_secs(1_000),
            nodes: Vec::new(),
            link: Link::default(),
            config,
            rng: Rng::new(seed),
            hook: None,
            air: BTreeMap::new(),
            number: 0,
            datagrams: 0,
            lost: 0,
            digest: Digest::default(),
            seed,
        };
        for n in 0..nodes {
            let node = world.fresh(n);
            world.nodes.push(node);
        }
        world
    }

    /// Two nodes.
    pub fn pair(profile: Profile) -> Self {
        Self::new(config(profile), 2, 1)
    }

    fn fresh(&mut self, n: usize) -> Node {
        self.number += 1;
        let rng = Rng::new(self.seed).fork("node", self.number * 100 + n as u64);
        Node {
            addr: addr(n),
            endpoint: Endpoint::new(self.config.clone(), rng),
            got: Vec::new(),
            events: Vec::new(),
            refused: Vec::new(),
            writable: 0,
            takes: true,
            up: true,
        }
    }

    /// The process of a node ends and begins anew, knowing nothing.
    pub fn restart(&mut self, n: usize) {
        self.nodes[n] = self.fresh(n);
    }

    /// Everything a node sends goes through `hook` from now on.
    pub fn hook(&mut self, hook: impl FnMut(usize, &mut Packet) -> Fate + 'static) {
        self.hook = Some(Box::new(hook));
    }

    /// Nothing with data arrives any more from there; all else does.
    pub fn lose_data(&mut self, from: usize) {
        self.hook(
            move |n, packet| if n == from && has_data(packet) { Fate::Drop } else { Fate::Pass },
        );
    }

    pub fn unhook(&mut self) {
        self.hook = None;
    }

    pub fn input(&mut self, n: usize, input: Input) {
        let mut fx = Fx::new();
        self.nodes[n].endpoint.handle(self.now, input, &mut fx);
        self.carry_out(n, fx);
    }

    pub fn flush(&mut self, n: usize) {
        self.input(n, Input::Flush);
    }

    /// One message in a turn of its own.
    pub fn send(&mut self, from: usize, to: usize, n: u64) {
        self.queue(from, to, n);
        self.flush(from);
    }

    /// One message; the turn goes on.
    pub fn queue(&mut self, from: usize, to: usize, n: u64) {
        let input =
            Input::Send { peer: addr(to), payload: message(n), order: DeliveryOrder::InOrder };
        self.input(from, input);
    }

    /// Messages in one turn.
    pub fn send_all(&mut self, from: usize, to: usize, numbers: impl IntoIterator<Item = u64>) {
        for n in numbers {
            self.queue(from, to, n);
        }
        self.flush(from);
    }

    fn carry_out(&mut self, n: usize, mut fx: Fx<Output, Event>) {
        let mut taken: BTreeMap<SocketAddr, (u64, u64)> = BTreeMap::new();
        self.digest.add(&self.nodes[n].endpoint.poll_timeout());
        for effect in fx.drain() {
            self.digest.add(&effect);
            if let Effect::Event(event) = &effect {
                self.digest.add(&(event.id(), event.clause()));
            }
            match effect {
                Effect::Event(event) => self.nodes[n].events.push((self.now, event)),
                Effect::Output(Output::Packet { peer, packet }) => self.launch(n, peer, packet),
                Effect::Output(Output::Deliver { peer, conn, order, payload }) => {
                    let entry = taken.entry(peer).or_default();
                    *entry = (entry.0 + 1, entry.1 + payload.len() as u64);
                    let from = self.nodes.iter().position(|node| node.addr == peer).unwrap_or(99);
                    let got = Got { at: self.now, from, conn, order, payload };
                    self.nodes[n].got.push(got);
                }
                Effect::Output(Output::Refused { payload, .. }) => {
                    self.nodes[n].refused.push(payload);
                }
                Effect::Output(Output::Writable { .. }) => self.nodes[n].writable += 1,
            }
        }
        if self.nodes[n].takes {
            for (peer, (messages, bytes)) in taken {
                self.input(n, Input::Taken { peer, messages, bytes });
            }
        }
        self.check(n);
    }

    /// What must be true of every endpoint at every moment.
    fn check(&mut self, n: usize) {
        let endpoint = &self.nodes[n].endpoint;
        let config = endpoint.config();
        for PeerView { sender, receiver, .. } in endpoint.view() {
            if let Some(SenderView { highest_acked, highest_sent, last, bytes, flight, .. }) =
                sender
            {
                assert!(highest_acked <= highest_sent && highest_sent <= last, "HA ≤ HS ≤ last");
                assert!(last - highest_acked <= u64::from(config.send_messages));
                assert!(flight <= bytes && bytes <= config.send_bytes, "a bounded send window");
            }
            if let Some(receiver) = receiver {
                let ReceiverView { next, newest, shown, missing, held, untaken_bytes, .. } =
                    receiver;
                assert!(shown >= newest && newest + 1 >= next && missing <= shown + 1 - next);
                assert!(held <= config.recv_bytes && untaken_bytes <= config.recv_bytes);
            }
        }
        let held: u64 =
            endpoint.view().iter().filter_map(|p| p.receiver.as_ref()).map(|r| r.held).sum();
        assert_eq!(endpoint.held(), held, "what is held is counted");
    }

    fn launch(&mut self, from: usize, peer: SocketAddr, mut packet: Packet) {
        let mut late = Duration::ZERO;
        if let Some(hook) = &mut self.hook {
            match hook(from, &mut packet) {
                Fate::Drop => {
                    self.lost += 1;
                    return;
                }
                Fate::Late(by) => late = by,
                Fate::Pass => {}
            }
        }
        let mut bytes = Vec::new();
        packet.encode(&self.config.seal, &mut bytes);
        assert!(bytes.len() <= self.config.mtu as usize, "{} bytes in a datagram", bytes.len());
        let again = Packet::parse(&UnicastPayload::copy_from_slice(&bytes), &self.config.seal);
        assert_eq!(again.as_ref(), Ok(&packet), "what is written can be read");
        let Some(to) = self.nodes.iter().position(|node| node.addr == peer) else {
            self.lost += 1;
            return;
        };
        self.datagrams += 1;
        let copies = 1 + u64::from(self.rng.chance(self.link.twice, 1_000));
        for _ in 0..copies {
            if self.rng.chance(self.link.loss, 1_000) {
                self.lost += 1;
                continue;
            }
            let jitter = self.rng.below(self.link.jitter.as_micros() + 1);
            let at = self.now + self.link.delay + Duration::from_micros(jitter) + late;
            self.number += 1;
            self.air.insert((at, self.number), (from, to, bytes.clone()));
        }
    }

    /// Hands a datagram to a node as if it had come from `from`.
    pub fn inject(&mut self, to: usize, from: SocketAddr, packet: Packet) {
        let mut bytes = Vec::new();
        packet.encode(&self.config.seal, &mut bytes);
        let bytes = bytes.len() as u32;
        self.input(to, Input::Packet { peer: from, packet, bytes });
        self.flush(to);
    }

    /// When something happens next.
    fn next(&self) -> Option<Instant> {
        let timers = self.nodes.iter().filter(|n| n.up).filter_map(|n| n.endpoint.poll_timeout());
        let timers = timers.map(|(at, _)| at);
        let air = self.air.keys().next().map(|(at, _)| *at);
        timers.chain(air).min()
    }

    /// Lets the next thing happen; false when nothing is left before `until`.
    pub fn step(&mut self, until: Instant) -> bool {
        let Some(at) = self.next().filter(|at| *at <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(at);
        while let Some(entry) = self.air.first_entry()
            && entry.key().0 <= self.now
        {
            let (from, to, bytes) = entry.remove();
            if self.nodes[to].up {
                let datagram = UnicastPayload::from(bytes);
                let bytes = datagram.len() as u32;
                let packet = Packet::parse(&datagram, &self.config.seal).expect("our own datagram");
                let input = Input::Packet { peer: self.nodes[from].addr, packet, bytes };
                self.input(to, input);
            }
        }
        for n in 0..self.nodes.len() {
            let due = self.nodes[n].endpoint.poll_timeout().is_some_and(|(at, _)| at <= self.now);
            if due && self.nodes[n].up {
                let mut fx = Fx::new();
                self.nodes[n].endpoint.handle_timeout(self.now, &mut fx);
                let next = self.nodes[n].endpoint.poll_timeout();
                assert!(next.is_none_or(|(at, _)| at > self.now), "time must move: {next:?}");
                self.carry_out(n, fx);
            }
        }
        true
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    pub fn run_secs(&mut self, seconds: u64) {
        self.run(Duration::from_secs(seconds));
    }

    pub fn run_ms(&mut self, ms: u64) {
        self.run(Duration::from_millis(ms));
    }

    /// Runs until `done`, at most `limit` long: how long it took.
    pub fn run_until(&mut self, limit: Duration, done: impl Fn(&Self) -> bool) -> Duration {
        let (begin, until) = (self.now, self.now + limit);
        while !done(self) {
            assert!(self.step(until), "not done within {limit:?}");
        }
        self.now.since(begin)
    }

    /// Numbers of the messages node `at` got from `from`.
    pub fn numbers(&self, at: usize, from: usize) -> Vec<u64> {
        let got = self.nodes[at].got.iter().filter(|got| got.from == from);
        got.map(|got| number(&got.payload)).collect()
    }

    pub fn peer_view(&self, at: usize, of: usize) -> Option<PeerView> {
        self.nodes[at].endpoint.view().into_iter().find(|view| view.peer == addr(of))
    }

    pub fn sender(&self, at: usize, to: usize) -> Option<SenderView> {
        self.peer_view(at, to)?.sender
    }

    pub fn receiver(&self, at: usize, from: usize) -> Option<ReceiverView> {
        self.peer_view(at, from)?.receiver
    }

    /// Messages that the peer has not acknowledged.
    pub fn unacked(&self, at: usize, to: usize) -> u64 {
        self.sender(at, to).map_or(0, |s| s.last - s.highest_acked)
    }

    /// What `pick` finds in the events of a node, with its instant.
    pub fn found<T>(&self, at: usize, pick: impl Fn(&Event) -> Option<T>) -> Vec<(Instant, T)> {
        let events = self.nodes[at].events.iter();
        events.filter_map(|(at, event)| pick(event).map(|found| (*at, found))).collect()
    }

    /// How often an event happened at a node.
    pub fn count(&self, at: usize, what: impl Fn(&Event) -> bool) -> usize {
        self.nodes[at].events.iter().filter(|(_, event)| what(event)).count()
    }
}

/// True when a datagram holds message `seq` of a connection.
pub fn carries(packet: &Packet, seq: u64) -> bool {
    packet
        .blocks
        .iter()
        .any(|block| matches!(block, ConnBlock::Data(d) if (d.seq..=d.last()).contains(&seq)))
}

pub fn has_ack(packet: &Packet) -> bool {
    packet.blocks.iter().any(|block| matches!(block, ConnBlock::Ack(_)))
}

pub fn has_data(packet: &Packet) -> bool {
    packet.blocks.iter().any(|block| matches!(block, ConnBlock::Data(_)))
}
