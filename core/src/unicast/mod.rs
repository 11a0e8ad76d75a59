//! Reliable, ordered messages over datagrams (UNICAST3).
//!
//! # The protocol on one page
//!
//! A connection is one-way and has two halves. The **sender** numbers messages
//! from 1, keeps them, and knows two numbers: HA, up to which everything is
//! acknowledged, and HS, the highest one sent. The **receiver** delivers in
//! order and exactly once (UC-1), acknowledges cumulatively (UC-2), and
//! requests exactly what is missing (UC-5). Two peers that talk to each other
//! have two connections; their blocks share datagrams.
//!
//! | when | [`Profile::Unicast3`] | [`Profile::Adaptive`] |
//! |---|---|---|
//! | messages arrived | acknowledged at once, unless the last acknowledgement is less than `task_interval` old: then when it is that old (UC-3) | after `ack_delay` or `ack_bytes`, whichever is first; at once on a first message, a retransmission, a duplicate, a probe; or with data that is sent anyway |
//! | a quarter of the window was consumed | acknowledged at once | the same |
//! | numbers are missing | the task requests all of them, each time (UC-5) | requested once `reorder` datagrams have overtaken them or a round trip has passed; each again after an RTO, backing off |
//! | HA < HS without progress | the task retransmits HS when it finds the same pair twice (UC-4) | HS is retransmitted after about two round trips, backing off; first only a PROBE is sent where an acknowledgement may be delayed by longer than half a round trip |
//! | an unknown connection | the task requests the first message (UC-10) | requested at the end of the turn, again after a round trip |
//! | Close | CLOSING; CLOSE after `conn_close` (UC-8) | CLOSE as soon as all is acknowledged, at the latest after `conn_close` |
//!
//! The task runs at whole multiples of `task_interval`, for all connections,
//! and only while one of them needs it.
//!
//! **Turns.** `Send` numbers a message, `Packet` takes a received datagram;
//! full datagrams are sent at once, everything else at the end of the turn
//! ([`Input::Flush`], or the next `handle_timeout`, whose deadline is the
//! present while something waits). So the messages and acknowledgements of a
//! turn share datagrams, and a batch is answered with one acknowledgement.
//!
//! **Windows.** The sender buffers at most `send_messages` and `send_bytes`; a
//! message beyond that comes back as [`Output::Refused`], and
//! [`Output::Writable`] follows when half of what is not in flight is free. The
//! receiver announces how much room it has beyond its cumulative number; what it has
//! delivered counts until the host gives [`Input::Taken`]. Numbers beyond the
//! room are rejected.
//!
//! **Address validation.** A connection id is random and only compared. A first
//! message opens a window at once, unless another connection of that address is
//! open: then it must carry the token of our request, so that no host that merely
//! forges that source address can end the open one. With [`Config::prove`] this
//! is required of every peer, and nothing is remembered before (`proof`); one that
//! answers us shows an id of ours instead, in the same datagram. A peer that spoke
//! first, and has shown neither a token nor an id of ours, is sent at most three times
//! the bytes received from it; the rest waits behind a probe.
//!
//! **Keep-alive.** Messages, acknowledgements and requests of the other side
//! all keep a connection alive. An application that does not read for hours
//! keeps its connection, at a window of zero, which is probed about every
//! [`Config::rto_max`] (UC-13).
//!
//! **The end.** CLOSE carries the last number and is acknowledged. What was not
//! acknowledged by the deadline is reported ([`Event::Undelivered`]). A
//! receiver entry that is gone leaves a tombstone: its messages are
//! acknowledged again if it was finished, delivery continues where it was if
//! our side dropped the entry, and nothing happens if the peer replaced the
//! connection.
//!
//! # The parts
//!
//! `sender` buffers messages, fills datagrams and probes; `receiver` orders
//! messages (`line`), tracks gaps (`gaps`) and acknowledges (`acks`); `peer`
//! joins both halves; `state` is OPEN and CLOSING, `tombstones` what remains of
//! CLOSED; `rtt` and `congestion` control timing and rate. Blocks and bytes are
//! in [`crate::wire::unicast`].

mod clause;
mod config;
mod congestion;
mod counters;
mod cx;
mod event;
mod io;
mod memory;
mod packer;
mod peer;
mod peers;
mod proof;
mod receiver;
mod rtt;
mod sender;
mod state;
mod tombstones;
mod travel;
mod view;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher as _, Hasher as _};
use core::net::SocketAddr;

pub use self::config::{Config, Congestion, Profile};
pub use self::congestion::ControlPhase;
use self::cx::UnicastCx;
pub use self::event::{ConnEnding, Event, Rejection, RetransmitReason, Side, UnicastLimit};
pub use self::io::{Input, MessageRefusal, Output, Room};
use self::peer::UnicastPeer;
use self::peers::UnicastPeers;
use self::sender::SenderEntry;
use self::tombstones::Tombstones;
use crate::address::{hash_ip, owner};
use crate::engine::{Engine, Fx, FxOf};
use crate::keyed::Key;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::unicast::{ConnBlock, Data, Packet};
pub use crate::wire::unicast::{DeliveryOrder, UnicastConnId, UnicastPayload};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    counters::UnicastCounters,
    view::{PeerView, ReceiverView, SenderView, WindowView},
};

/// Peers handled in one [`Engine::handle_timeout`]; the rest follows a moment
/// later, so that even a thousand due at once do not block the host.
const BATCH: usize = 256;
/// Length of that moment.
const BREATH: Duration = Duration::from_micros(100);

type UnicastEffects = Fx<Output, Event>;

/// All connections of one of our addresses.
///
/// ```
/// use servent_core::engine::{Effect, Engine, Fx};
/// use servent_core::rng::Rng;
/// use servent_core::time::Instant;
/// use servent_core::unicast::{Config, Endpoint, Input, DeliveryOrder, Output, UnicastPayload};
/// use servent_core::wire::unicast::{Packet, Seal};
///
/// let (us, them) = ("192.0.2.1:7000".parse().unwrap(), "192.0.2.2:7000".parse().unwrap());
/// let mut sender = Endpoint::new(Config::default(), Rng::new(1));
/// let mut receiver = Endpoint::new(Config::default(), Rng::new(2));
/// let (now, mut sent, mut arrived) = (Instant::from_secs(1), Fx::new(), Fx::new());
///
/// let payload = UnicastPayload::from_static(b"hello");
/// sender.handle(now, Input::Send { peer: them, payload, order: DeliveryOrder::InOrder }, &mut sent);
/// sender.handle(now, Input::Flush, &mut sent);
/// for effect in sent.drain() {
///     let Effect::Output(Output::Packet { packet, .. }) = effect else { continue };
///     let mut datagram = Vec::new();
///     packet.encode(&Seal::None, &mut datagram); // To a socket, and from one:
///     let bytes = datagram.len() as u32;
///     let packet = Packet::parse(&datagram.into(), &Seal::None).unwrap();
///     receiver.handle(now, Input::Packet { peer: us, packet, bytes }, &mut arrived);
/// }
/// assert!(arrived.outputs().any(|output| {
///     matches!(output, Output::Deliver { payload, .. } if payload == "hello")
/// }));
/// ```
#[derive(Debug, Clone)]
pub struct Endpoint {
    config: Config,
    rng: Rng,
    key: Key,
    peers: UnicastPeers,
    tombstones: Tombstones,
    counters: UnicastCounters,
    /// Bytes buffered for all peers together, and numbers beyond the first missing
    /// one that have a place.
    held: u64,
    places: u64,
    /// Bytes by which all windows exceed what they are at first.
    grown: u64,
    /// Unknown addresses looked at in this turn, and its instant. A turn may end
    /// without a flush.
    looks: u32,
    looked_at: Instant,
    /// Peers that have something to send.
    dirty: Vec<u32>,
    dirty_since: Instant,
    /// The deadlines of the peers.
    agenda: BTreeSet<(Instant, u32)>,
    /// When the rest of the due peers is handled, if there are more than a
    /// batch.
    rest: Option<Instant>,
}

impl Endpoint {
    /// Without peers. `rng` draws the ids of connections and the key of the
    /// tokens.
    #[must_use]
    pub fn new(config: Config, mut rng: Rng) -> Self {
        Self {
            key: Key::new(&mut rng),
            config,
            rng,
            peers: UnicastPeers::default(),
            tombstones: Tombstones::default(),
            counters: UnicastCounters::default(),
            held: 0,
            places: 0,
            grown: 0,
            looks: 0,
            looked_at: Instant::ZERO,
            dirty: Vec::new(),
            dirty_since: Instant::ZERO,
            agenda: BTreeSet::new(),
            rest: None,
        }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// All that its future depends on besides its configuration, for
    /// exploration: two endpoints that print the same behave the same. Counters
    /// are no part of it.
    #[must_use]
    #[doc(hidden)]
    pub fn future(&self) -> impl fmt::Debug + '_ {
        let Self { rng, peers, tombstones, held, grown, looks, dirty, dirty_since, .. } = self;
        let Self { agenda, rest, .. } = self;
        (rng, peers, tombstones, held, grown, looks, dirty, dirty_since, (agenda, rest))
    }

    /// Totals since the start.
    #[must_use]
    #[doc(hidden)]
    pub const fn counters(&self) -> UnicastCounters {
        self.counters
    }

    /// The free space of the send window of a peer.
    #[must_use]
    pub fn room(&self, peer: SocketAddr) -> Room {
        let sender = self.peers.get(peer).and_then(|peer| peer.sender.as_ref());
        let Config { send_messages, send_bytes, send_start, .. } = self.config;
        let bytes = send_start.min(send_bytes);
        let all = Room { messages: u64::from(send_messages), bytes };
        sender.map_or(all, |sender| sender.room(&self.config))
    }

    /// What the send window of a peer holds: messages not acknowledged yet, and
    /// their bytes. The window grows, so that its free space does not tell.
    #[must_use]
    pub fn unacknowledged(&self, peer: SocketAddr) -> (u64, u64) {
        let sender = self.peers.get(peer).and_then(|peer| peer.sender.as_ref());
        sender.map_or((0, 0), SenderEntry::held)
    }

    /// The name of the peer that is now at an address: that address, unless the
    /// peer has moved there (PA-9).
    #[must_use]
    pub fn name_at(&self, addr: SocketAddr) -> SocketAddr {
        self.peers.name(addr)
    }

    /// How many datagrams of a connection with it have come from a peer; 0 for one that is
    /// not known. What any host may send in its name is not counted.
    #[must_use]
    pub fn heard(&self, peer: SocketAddr) -> u64 {
        self.peers.get(peer).map_or(0, |peer| peer.heard.0)
    }

    /// The smoothed round-trip time of a peer, once it was measured.
    #[must_use]
    pub fn rtt(&self, peer: SocketAddr) -> Option<Duration> {
        self.peers.get(peer).and_then(|peer| peer.rtt.measured())
    }

    /// The bytes of a full datagram to a peer, as far as its path is known (PA-6).
    #[must_use]
    pub fn datagram_size(&self, peer: SocketAddr) -> Option<u32> {
        self.peers.get(peer).map(UnicastPeer::datagram_size)
    }

    /// True when datagrams with messages for an address may say that they may be marked: their
    /// sender heeds marks, and the path neither clears them nor marks everything (PA-7).
    #[must_use]
    pub fn heeds_marks(&self, addr: SocketAddr) -> bool {
        let peer = self.peers.get(self.peers.name(addr));
        peer.and_then(|peer| peer.sender.as_ref()).is_some_and(SenderEntry::heeds_marks)
    }

    /// Bytes from all peers that wait for earlier ones.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.held
    }

    /// Bytes by which all windows exceed what they are at first (PA-3).
    #[must_use]
    #[doc(hidden)]
    pub const fn grown(&self) -> u64 {
        self.grown
    }

    /// Ended connections that are remembered.
    #[must_use]
    #[doc(hidden)]
    pub fn tombstones(&self) -> usize {
        self.tombstones.len()
    }

    /// The state of all peers, by address.
    #[must_use]
    #[doc(hidden)]
    pub fn view(&self) -> Vec<PeerView> {
        let views = self.peers.iter().map(|(addr, peer)| view::peer(addr, peer));
        views.filter(|view| view.sender.is_some() || view.receiver.is_some()).collect()
    }

    /// What has arrived from a peer beyond the first missing number: at most
    /// `most` numbers.
    #[must_use]
    #[doc(hidden)]
    pub fn window(&self, peer: SocketAddr, most: usize) -> Option<WindowView> {
        let receiver = self.peers.get(peer)?.receiver.as_ref()?;
        Some(view::window(receiver, most))
    }

    /// The connection that sends messages to a peer, and the last number it has
    /// assigned.
    #[must_use]
    #[doc(hidden)]
    pub fn sending(&self, peer: SocketAddr) -> Option<(UnicastConnId, u64)> {
        let sender = self.peers.get(peer)?.sender.as_ref()?;
        Some((sender.conn, sender.last()))
    }

    /// A peer, and the parts of the endpoint it uses.
    fn lend<'a>(
        &'a mut self,
        now: Instant,
        at: u32,
        fx: &'a mut UnicastEffects,
    ) -> (&'a mut UnicastPeer, UnicastCx<'a>, &'a Key) {
        let (addr, peer) = self.peers.at(at);
        let cx = UnicastCx {
            now,
            peer: addr,
            has_heard_us: false,
            config: &self.config,
            counters: &mut self.counters,
            tombstones: &mut self.tombstones,
            rng: &mut self.rng,
            held: &mut self.held,
            places: &mut self.places,
            grown: &mut self.grown,
            fx,
        };
        (peer, cx, &self.key)
    }

    /// Runs a step for a peer, if it exists.
    fn with(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        fx: &mut UnicastEffects,
        act: impl FnOnce(&mut UnicastPeer, &mut UnicastCx<'_>),
    ) {
        if let Some(at) = self.peers.find(peer) {
            let (peer, mut cx, _) = self.lend(now, at, fx);
            act(peer, &mut cx);
            self.mark(now, at);
        }
    }

    fn send(
        &mut self,
        now: Instant,
        (addr, order, payload): (SocketAddr, DeliveryOrder, UnicastPayload),
        fx: &mut UnicastEffects,
    ) {
        let refuse = |payload, why, fx: &mut UnicastEffects| {
            fx.output(Output::Refused { peer: addr, order, payload, why });
        };
        if payload.len() > self.config.max_message as usize {
            return refuse(payload, MessageRefusal::TooLong, fx);
        }
        let Some(at) = self.peers.find_or_add(addr, None, &self.config) else {
            fx.event(Event::Limit { peer: addr, limit: UnicastLimit::Peers });
            return refuse(payload, MessageRefusal::TooManyPeers, fx);
        };
        let (peer, mut cx, _) = self.lend(now, at, fx);
        peer.invited(now, cx.config);
        peer.send(payload, order, &mut cx);
        peer.flush_full(&mut cx);
        self.mark(now, at);
    }

    fn packet(
        &mut self,
        now: Instant,
        (addr, mut packet, bytes): (SocketAddr, Packet, u32),
        fx: &mut UnicastEffects,
    ) {
        self.counters.packets_in += 1;
        let from = addr;
        let Some(addr) = self.name_of(now, (addr, &packet, bytes), fx) else { return };
        let later = |block: &ConnBlock| !matches!(block, ConnBlock::Data(data) if data.first);
        let welcome = |block: &ConnBlock| {
            matches!(block, ConnBlock::Data(_) | ConnBlock::Probe { .. } | ConnBlock::Close(_))
        };
        let known = self.peers.find(addr);
        // One that can have no peers, such as a meeting place, asks for no proof either: a
        // peer that was reached through it would take the question for a sign of life.
        let asks = self.config.prove && self.config.peers > 0;
        if known.is_none() && asks && !self.is_proven(addr, &packet) {
            return self.challenge(now, (from, addr), (&packet, bytes), fx);
        }
        let at = if known.is_none() && packet.blocks.iter().any(welcome) {
            self.peers.find_or_add(addr, Some(owner(from.ip())), &self.config)
        } else {
            known
        };
        let Some(at) = at else {
            let why = if packet.blocks.iter().any(welcome) {
                Rejection::TooManyPeers
            } else {
                Rejection::UnknownConnection
            };
            let conn = packet.blocks.first().map(ConnBlock::conn).unwrap_or_default();
            self.counters.rejected += 1;
            return fx.event(Event::Rejected { peer: addr, conn, why });
        };
        // The message that opens a window goes first, wherever it is in the
        // datagram (UC-11).
        packet.blocks.sort_by_key(later);
        let payloads: usize = packet.blocks.iter().map(payload_bytes).sum();
        let thin = (payloads as u64) < u64::from(bytes) / 4;
        let (peer, mut cx, key) = self.lend(now, at, fx);
        peer.received(bytes, now);
        cx.has_heard_us = packet.blocks.iter().any(|block| peer.is_about_ours(block));
        let (mut counted, mut ours) = (None, false);
        for block in packet.blocks {
            if let ConnBlock::Data(Data { conn, .. }) = &block
                && counted.replace(*conn) != Some(*conn)
            {
                peer.datagram(*conn);
            }
            let conn = block.conn();
            // Any host that knows nothing of a connection asks for its first message.
            let knows = !matches!(block, ConnBlock::Request(_));
            ours |= knows && peer.has(conn);
            peer.block(block, thin, || token(key, addr, conn), &mut cx);
            ours |= knows && peer.has(conn);
        }
        if ours {
            peer.heard.0 += 1;
            peer.spoke(now);
        }
        self.mark(now, at);
    }

    /// Marks a peer as having something to send at the end of the turn.
    fn mark(&mut self, now: Instant, at: u32) {
        if self.dirty.is_empty() {
            self.dirty_since = now;
        }
        let (_, peer) = self.peers.at(at);
        if !peer.dirty {
            peer.dirty = true;
            self.dirty.push(at);
        }
    }

    /// The end of a turn: sends what all marked peers have to send.
    fn flush(&mut self, now: Instant, fx: &mut UnicastEffects) {
        self.looks = 0;
        let mut dirty = core::mem::take(&mut self.dirty);
        for at in dirty.drain(..) {
            self.look_for(now, at, fx);
            let (peer, mut cx, key) = self.lend(now, at, fx);
            peer.dirty = false;
            peer.run(&mut cx);
            let addr = cx.peer;
            peer.flush(|conn| token(key, addr, conn), &mut cx);
            let (wake, next) = (peer.wake, peer.next_wake(now, cx.config));
            let over = peer.is_over(now, cx.config);
            self.rearm(now, at, wake, next.filter(|_| !over));
            if over {
                self.peers.remove(at);
            }
        }
        self.dirty = dirty;
    }

    /// Moves a peer's deadline, if it is earlier than before; one that is woken
    /// too early just waits again.
    fn rearm(&mut self, now: Instant, at: u32, wake: Option<Instant>, next: Option<Instant>) {
        let next = next.map(|next| next.max(now + Duration::from_micros(1)));
        if wake.zip(next).is_some_and(|(wake, next)| wake <= next) {
            return;
        }
        if let Some(wake) = wake {
            self.agenda.remove(&(wake, at));
        }
        if let Some(next) = next {
            self.agenda.insert((next, at));
        }
        self.peers.at(at).1.wake = next;
    }
}

impl Engine for Endpoint {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Send { peer, payload, order } => self.send(now, (peer, order, payload), fx),
            Input::Packet { peer, packet, bytes } => self.packet(now, (peer, packet, bytes), fx),
            Input::Flush => self.flush(now, fx),
            Input::Taken { peer, messages, bytes } => {
                self.with(now, peer, fx, |peer, cx| peer.taken(messages, bytes, cx));
            }
            Input::Close { peer } => self.with(now, peer, fx, UnicastPeer::close),
            Input::Marked { peer, datagrams } => {
                let peer = self.peers.name(peer);
                self.with(now, peer, fx, |peer, _| peer.marked(datagrams));
            }
            Input::TestMarks { peer, datagrams } => {
                let peer = self.peers.name(peer);
                self.with(now, peer, fx, |peer, _| peer.test_marks(datagrams));
            }
            Input::TooLarge { peer, bytes } => {
                let peer = self.peers.name(peer);
                self.with(now, peer, fx, |peer, cx| peer.refused(bytes, cx));
            }
            Input::Route { peer, to } => self.route(now, peer, to, fx),
            Input::Forget { peer, side } => {
                self.with(now, peer, fx, |peer, cx| peer.forget(side, cx));
            }
            Input::Abandon { peer } => self.with(now, peer, fx, UnicastPeer::abandon),
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.rest = None;
        for _ in 0..BATCH {
            let Some(&(due, at)) = self.agenda.first().filter(|(due, _)| *due <= now) else {
                break;
            };
            self.agenda.remove(&(due, at));
            self.peers.at(at).1.wake = None;
            self.mark(now, at);
        }
        self.flush(now, fx);
        if self.agenda.first().is_some_and(|(due, _)| *due <= now) {
            self.rest = Some(now + BREATH);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if !self.dirty.is_empty() {
            return Some((self.dirty_since, "flush"));
        }
        let rest = self.rest.map(|at| (at, "rest"));
        rest.or_else(|| self.agenda.first().map(|(at, _)| (*at, "connection")))
    }
}

fn payload_bytes(block: &ConnBlock) -> usize {
    match block {
        ConnBlock::Data(data) => data.messages.iter().map(|message| message.payload.len()).sum(),
        _ => 0,
    }
}

/// The token a peer has to send back: the same on every machine, and known to
/// no other.
fn token(key: &Key, peer: SocketAddr, conn: UnicastConnId) -> u64 {
    let mut hasher = key.build_hasher();
    hash_ip(peer.ip(), &mut hasher);
    hasher.write(&peer.port().to_be_bytes());
    hasher.write(&conn.0.to_be_bytes());
    hasher.finish()
}
