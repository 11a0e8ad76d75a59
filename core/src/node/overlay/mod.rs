//! A node's part in the overlay: its neighbours, the queries it answers and
//! those it sends.
//!
//! The router knows messages and no bytes; the bytes are handled here:
//! handshakes (`greet`), framed and possibly compressed streams (`wire`), the
//! router's outputs (`obey`), and the search for enough neighbours (`hosts`,
//! `caches`); `keywords` tells neighbours what we share. `proxies` reaches
//! servents that cannot be connected to, outside of the overlay; `meeting` is where they are
//! met.

mod caches;
mod config;
mod greet;
mod hosts;
mod index;
mod keywords;
mod meeting;
mod obey;
mod proxies;
mod wall;
mod wire;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};

use self::caches::Caches;
pub use self::config::OverlayConfig as Config;
use self::hosts::Hosts;
use self::index::KeywordIndex;
use self::meeting::OverlayMeeting;
use self::proxies::ProxyRequest;
use self::wall::FoundFirewall;
use self::wire::OverlayWire;
use super::connections::{ExpiredTimer, NewDial, Owner};
use super::cx::NodeCx;
use super::service::{FollowUps, RunsEngine as _, Service};
use super::{ConnInput, FileInfo, HostRow, NodeLimit, NodeOp, Output, OverlayCommand};
use crate::address::{Reach, canonical, is_nearby, reach};
use crate::engine::Engine as _;
use crate::id::{ConnId, FileIndex, Guid, Sha1};
use crate::rng::Rng;
use crate::routing::{self, Router};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{HitMeeting, Query, Wishes};

/// Time between two dials in search of neighbours.
const BETWEEN: Duration = Duration::from_millis(250);
/// Neighbours of a leaf.
const LEAF: u32 = 6;
/// Hashes that one search may contain.
const URNS: usize = 8;
/// Searches that are remembered after they have ended.
const SEARCHES: usize = 64;

/// A node's part in the overlay. The files we share are read from the service
/// that serves them.
#[derive(Debug, Clone)]
pub(super) struct OverlayService {
    router: Router,
    follow_ups: FollowUps<routing::Input>,
    /// Neighbours with written bytes that are not counted as sent yet.
    written: VecDeque<ConnId>,
    rng: Rng,
    wires: BTreeMap<ConnId, OverlayWire>,
    hosts: Hosts,
    caches: Caches,
    index: KeywordIndex,
    /// When to look for the next neighbour.
    look: Option<Instant>,
    /// When to send neighbours our updated keyword table; `None` when they have
    /// it.
    keywords: Option<Instant>,
    /// A keyword table has been sent before.
    told: bool,
    /// Our address as our neighbours see it.
    seen: Option<IpAddr>,
    /// Whether others can connect to us.
    firewall: FoundFirewall,
    /// Searches of the user, by GUID.
    searches: BTreeMap<Guid, u32>,
    /// Proxies that are being asked for a push.
    asks: BTreeMap<ConnId, ProxyRequest>,
    /// Where clients meet us that no push helps.
    meeting: OverlayMeeting,
    /// Connections to neighbours that asked whether they can be reached.
    dialed_back: BTreeSet<ConnId>,
}

impl OverlayService {
    pub(super) fn new(config: &Config, root: &Rng) -> Self {
        Self {
            router: Router::new(config.router.clone(), root.fork("router", 0)),
            follow_ups: FollowUps::default(),
            written: VecDeque::new(),
            rng: root.fork("overlay", 0),
            wires: BTreeMap::new(),
            hosts: Hosts::default(),
            caches: Caches::default(),
            index: KeywordIndex::default(),
            look: None,
            keywords: Some(Instant::ZERO),
            told: false,
            seen: None,
            firewall: FoundFirewall::default(),
            searches: BTreeMap::new(),
            asks: BTreeMap::new(),
            meeting: OverlayMeeting::default(),
            dialed_back: BTreeSet::new(),
        }
    }

    fn draw(&mut self) -> Guid {
        let mut id = self.rng.bytes::<16>();
        (id[8], id[15]) = (0xff, 0x00);
        Guid(id)
    }

    /// The state of the router.
    pub(super) fn view(&self) -> routing::RouterView {
        self.router.view()
    }

    /// A file is shared, or its entry changed.
    pub(super) fn shares(&mut self, cx: &NodeCx<'_>, file: &FileInfo) {
        if self.index.put(file.index, &file.name, file.sha1) {
            self.keywords_change(cx);
        }
    }

    /// A file is no longer shared.
    pub(super) fn lacks(&mut self, cx: &NodeCx<'_>, index: FileIndex) {
        if self.index.remove(index) {
            self.keywords_change(cx);
        }
    }

    /// Tells the router our identity, as far as known, before it sends
    /// anything.
    fn introduce(&mut self, cx: &mut NodeCx<'_>) {
        let input = routing::Input::Ourselves {
            servent: cx.us.servent,
            listen: self.reachable(cx),
            files: u32::try_from(cx.shelf.files.len()).unwrap_or(u32::MAX),
            kilobytes: cx.shelf.files.kilobytes(),
        };
        self.route(cx, input);
    }

    /// Where others can reach us; `None` when they cannot.
    fn reachable(&self, cx: &NodeCx<'_>) -> Option<SocketAddrV4> {
        self.place(cx).filter(|at| !at.ip().is_unspecified() && !self.is_walled(cx))
    }

    /// True when others cannot connect to us, as the user said or as was found out.
    fn is_walled(&self, cx: &NodeCx<'_>) -> bool {
        self.is_walled_at(cx.config, cx.now)
    }

    pub(super) fn is_walled_at(&self, config: &super::Config, now: Instant) -> bool {
        config.overlay.firewalled || self.firewall.stands(now)
    }

    /// A peer sees us at this address; of several, the one that can be reached
    /// from farthest away is kept.
    fn seen_at(&mut self, ip: IpAddr) {
        let ip = ip.to_canonical();
        if self.seen.is_none_or(|seen| reach(ip) > reach(seen)) {
            self.seen = Some(ip).filter(|ip| reach(*ip) != Reach::Nowhere);
        }
    }

    /// Our listening address, with the IP address others see if we listen on
    /// all addresses.
    fn place(&self, cx: &NodeCx<'_>) -> Option<SocketAddrV4> {
        let listen = cx.us.listen?;
        let ip = if listen.ip().is_unspecified() { self.seen? } else { listen.ip() };
        match ip.to_canonical() {
            IpAddr::V4(ip) => Some(SocketAddrV4::new(ip, listen.port())),
            IpAddr::V6(_) => None,
        }
    }

    /// The same where it is one of IPv6, which old servents cannot read.
    fn place_six(&self, cx: &NodeCx<'_>) -> Option<SocketAddrV6> {
        let listen = cx.us.listen.filter(|_| !self.is_walled(cx))?;
        let ip = if listen.ip().is_unspecified() { self.seen? } else { listen.ip() };
        match ip.to_canonical() {
            IpAddr::V6(ip) => Some(SocketAddrV6::new(ip, listen.port(), 0, 0)),
            IpAddr::V4(_) => None,
        }
    }

    /// Learns of a possible host.
    fn hear_of(&mut self, cx: &mut NodeCx<'_>, at: SocketAddr, named: bool) {
        let at = canonical(at);
        let most = cx.config.overlay.hosts;
        let hosts::Changed { put, gone } = self.hosts.learn(cx.now, at, named, most);
        for op in put.map(NodeOp::Host).into_iter().chain(gone.map(NodeOp::HostGone)) {
            cx.fx.output(Output::Persist(op));
        }
    }

    /// How many hosts are known, neighbours included.
    pub(super) const fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// We did not run for a while, or could reach no host: what failed meanwhile
    /// says nothing.
    pub(super) fn woke(&mut self, cx: &mut NodeCx<'_>) {
        self.hosts.forgive(cx.now);
        self.look_around(cx);
    }

    /// Says goodbye to all neighbours.
    pub(super) fn stop(&mut self, cx: &mut NodeCx<'_>) {
        self.look = None;
        self.route(cx, routing::Input::Shutdown);
    }

    /// Looks for a neighbour when there are too few.
    fn look_around(&mut self, cx: &mut NodeCx<'_>) {
        let config = &cx.config.overlay;
        for gone in self.hosts.expire(cx.now, config.host_life) {
            cx.fx.output(Output::Persist(NodeOp::HostGone(gone)));
        }
        let most = if config.router.relay { config.degree } else { config.degree.min(LEAF) };
        if self.count(false) >= most as usize {
            self.look = None;
            return;
        }
        let place = self.place(cx).map(SocketAddr::V4);
        let wires = &self.wires;
        let ourselves = |at| Some(at) == cx.us.listen || Some(at) == place;
        let known = |at: SocketAddr| ourselves(at) || wires.values().any(|wire| wire.is(at));
        let found = self.hosts.take(cx.now, config.retry, known);
        let next = self.hosts.next(|at| known(at) || Some(at) == found);
        self.look = next.map(|at| at.max(cx.now + BETWEEN));
        if let Some(at) = found {
            self.call(cx, at);
        }
    }

    /// How many neighbours there are or may soon be: leaves, or others.
    fn count(&self, leaves: bool) -> usize {
        self.wires.values().filter(|wire| wire.leaf == leaves).count()
    }

    fn call(&mut self, cx: &mut NodeCx<'_>, at: SocketAddr) {
        // While few hosts are known, anyone we connect to may know others.
        if self.hosts.len() <= cx.config.overlay.degree as usize {
            self.ask_cache(cx, at);
        }
        let conn = cx.io.number();
        let dial = NewDial { conn, to: at, owner: Owner::Overlay };
        let calls = if self.hosts.is_named(at) {
            cx.io.dial(dial, cx.fx)
        } else {
            cx.io.dial_for_stranger(cx.now, dial, cx.fx)
        };
        if calls {
            self.wires.insert(conn, OverlayWire::calling(at));
        }
    }

    /// The keywords of what we share have changed. Neighbours are told soon,
    /// the first time at once.
    fn keywords_change(&mut self, cx: &NodeCx<'_>) {
        let every = if self.told { cx.config.overlay.keywords_every } else { Duration::ZERO };
        self.keywords.get_or_insert(cx.now + every);
    }

    /// Sends neighbours our keyword table.
    fn tell_keywords(&mut self, cx: &mut NodeCx<'_>) {
        let table = keywords::table(&self.index);
        (self.keywords, self.told) = (None, true);
        self.route(cx, routing::Input::Keywords { table });
    }
}

impl Service for OverlayService {
    type Command = OverlayCommand;
    /// Hosts; the first of them is tried at once.
    type Restored = Vec<HostRow>;

    fn restore(&mut self, cx: &mut NodeCx<'_>, hosts: Vec<HostRow>) {
        let limits = (cx.config.overlay.host_life, cx.config.overlay.hosts);
        for gone in self.hosts.restore(cx.now, hosts, limits) {
            cx.fx.output(Output::Persist(NodeOp::HostGone(gone)));
        }
        self.look_around(cx);
    }

    fn on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, input: ConnInput) {
        match input {
            ConnInput::Dialed { local } if self.asks_on(conn) => {
                self.proxy_dialed(cx, conn, local);
            }
            ConnInput::Dialed { .. } if self.dialed_back.contains(&conn) => {
                self.dialed_back(cx, conn);
            }
            ConnInput::Dialed { .. } => self.dialed(cx, conn),
            ConnInput::DialFailed { .. } | ConnInput::Closed => self.left(cx, conn),
            ConnInput::Backlog { bytes } => self.backlog(cx, conn, bytes),
            // No bodies are sent or received here; the rest is for the layer
            // below.
            ConnInput::Accepted { .. }
            | ConnInput::Bytes { .. }
            | ConnInput::Served { .. }
            | ConnInput::Stored { .. }
            | ConnInput::BodyEnded { .. }
            | ConnInput::DiskFailed { .. }
            | ConnInput::Authenticated { .. }
            | ConnInput::Committed { .. }
            | ConnInput::Retracted { .. } => {}
        }
    }

    fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        if self.asks_on(conn) {
            self.read_proxy(cx, conn);
        } else {
            self.read_neighbour(cx, conn);
        }
    }

    fn run_out(&mut self, cx: &mut NodeCx<'_>, expired: ExpiredTimer) {
        self.refuse(cx, expired.conn, NodeLimit::RequestDeadline);
    }

    fn command(&mut self, cx: &mut NodeCx<'_>, command: OverlayCommand) {
        match command {
            OverlayCommand::Join { at } => {
                self.hear_of(cx, at, true);
                self.look_around(cx);
            }
            OverlayCommand::Nearby { at } if is_nearby(at.ip()) => {
                self.hear_of(cx, at, false);
                if self.look.is_none() {
                    self.look_around(cx);
                }
            }
            OverlayCommand::Nearby { .. } => {}
            OverlayCommand::Search { search, words } => {
                let guid = self.draw();
                if self.searches.len() >= SEARCHES {
                    self.searches.pop_first();
                }
                self.searches.insert(guid, search);
                let wishes =
                    Wishes { firewalled: self.reachable(cx).is_none(), ..Wishes::default() };
                let query = asking(wishes, &words);
                self.route(cx, routing::Input::Search { guid, query });
            }
            OverlayCommand::EndSearch { search } => {
                let ended = self.searches.iter().find(|(_, other)| **other == search);
                if let Some(guid) = ended.map(|(guid, _)| *guid) {
                    self.route(cx, routing::Input::EndSearch { guid });
                }
            }
            OverlayCommand::Meets { at, code } => {
                self.meeting.hits = Some(HitMeeting { at, code });
            }
            OverlayCommand::RunsPlace { port } => self.meeting.port = Some(port),
            OverlayCommand::OtherPlace => self.other_place(cx),
            OverlayCommand::AskPush { servent, index, via, proxies } => {
                self.ask_push(cx, (servent, index), (via, proxies));
            }
        }
    }

    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        let now = cx.now;
        if self.router.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.feed_timeout(cx);
            self.settle(cx);
        }
        let due = self.keywords.is_some_and(|at| at <= now);
        if due && self.router.links() > 0 {
            self.tell_keywords(cx);
        }
        if self.look.is_some_and(|at| at <= now) {
            self.look = None;
            self.look_around(cx);
        }
        if self.firewall.tested().is_some_and(|at| at <= now) {
            self.end_test(cx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let look = self.look.map(|at| (at, "neighbours"));
        // Without neighbours there is no receiver for it.
        let keywords = self.keywords.filter(|_| self.router.links() > 0);
        let keywords = keywords.map(|at| (at, "keywords"));
        let router = self.router.poll_timeout();
        let tested = self.firewall.tested().map(|at| (at, "dial back"));
        look.into_iter().chain(keywords).chain(tested).chain(router).min_by_key(|(at, _)| *at)
    }
}

/// The query for a search of the user: words, and files by hash. A hash is a
/// keyword too, so that keyword tables show where it may match.
fn asking(wishes: Wishes, text: &str) -> Query {
    let urn = |word: &str| Sha1::parse_urn(word.as_bytes());
    let urns: Vec<Sha1> = text.split_whitespace().filter_map(urn).take(URNS).collect();
    if urns.is_empty() {
        return Query::new(wishes, text, &[]);
    }
    let word = |word| urn(word).map_or_else(|| String::from(word), |sha1| format!("{sha1}"));
    let words: Vec<String> = text.split_whitespace().map(word).collect();
    Query::new(wishes, &words.join(" "), &urns)
}
