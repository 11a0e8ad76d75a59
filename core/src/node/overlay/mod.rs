//! A node's part in the overlay: whom it has for neighbours, what it answers,
//! what it asks.
//!
//! The router knows messages and no bytes; here are the bytes: handshakes
//! (`greet`), framed and perhaps deflated streams (`wire`), the router's
//! wishes (`obey`), and neighbours looked for until there are enough
//! (`hosts`); `keywords` tells them what we have.

mod config;
mod greet;
mod hosts;
mod index;
mod keywords;
mod obey;
mod wire;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr, SocketAddrV4};
use core::ops::{Deref, DerefMut};

pub use self::config::Overlay as Config;
use self::hosts::Hosts;
use self::index::Index;
use self::wire::Wire;
use super::conn::Purpose;
use super::{Command, Effects, FileInfo, HostRow, Node, Op, Output};
use crate::address::is_nearby;
use crate::engine::{Engine as _, Fx};
use crate::id::{ConnId, FileIndex, Guid};
use crate::rng::Rng;
use crate::routing::{self, Router};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{Payload, Push, Query, Wishes};

/// Time between two dials that look for neighbours.
const BETWEEN: Duration = Duration::from_millis(250);
/// Searches that are remembered after they ended.
const SEARCHES: usize = 64;

/// A node's part in the overlay.
#[derive(Debug, Clone)]
pub(super) struct Overlay {
    router: Router,
    rng: Rng,
    wires: BTreeMap<ConnId, Wire>,
    hosts: Hosts,
    index: Index,
    /// When to look for a neighbour next.
    look: Option<Instant>,
    /// When to tell neighbours of the keywords of what we share; `None` when
    /// they know them.
    keywords: Option<Instant>,
    /// They have been told before.
    told: bool,
    /// Our address as neighbours see it.
    seen: Option<IpAddr>,
    /// Searches of the user, by GUID.
    searches: BTreeMap<Guid, u32>,
}

/// The overlay, if the servent takes part in it. What is called from outside
/// this module asks first.
#[derive(Debug, Clone)]
pub(super) struct Part(Option<Box<Overlay>>);

impl Part {
    pub(super) fn new(config: &Config, root: &Rng) -> Self {
        Self(config.enabled.then(|| Box::new(Overlay::new(config, root))))
    }

    const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn next(&self) -> Option<(Instant, &'static str)> {
        self.0.as_ref()?.next()
    }
}

impl Deref for Part {
    type Target = Overlay;
    fn deref(&self) -> &Overlay {
        self.0.as_ref().expect("the overlay is on")
    }
}
impl DerefMut for Part {
    fn deref_mut(&mut self) -> &mut Overlay {
        self.0.as_mut().expect("the overlay is on")
    }
}

impl Overlay {
    fn new(config: &Config, root: &Rng) -> Self {
        Self {
            router: Router::new(config.router.clone(), root.fork("router", 0)),
            rng: root.fork("overlay", 0),
            wires: BTreeMap::new(),
            hosts: Hosts::default(),
            index: Index::default(),
            look: None,
            keywords: Some(Instant::ZERO),
            told: false,
            seen: None,
            searches: BTreeMap::new(),
        }
    }

    fn next(&self) -> Option<(Instant, &'static str)> {
        let look = self.look.map(|at| (at, "neighbours"));
        // Nobody to tell, nothing to do.
        let keywords = self.keywords.filter(|_| self.router.links() > 0);
        let keywords = keywords.map(|at| (at, "keywords"));
        let router = self.router.poll_timeout();
        look.into_iter().chain(keywords).chain(router).min_by_key(|(at, _)| *at)
    }

    fn draw(&mut self) -> Guid {
        let mut id = self.rng.bytes::<16>();
        (id[8], id[15]) = (0xff, 0x00);
        Guid(id)
    }
}

impl Node {
    /// What the router looks like; `None` without one.
    #[must_use]
    pub fn overlay(&self) -> Option<routing::RouterView> {
        self.overlay.0.as_ref().map(|overlay| overlay.router.view())
    }

    /// A file is shared, or its entry changed.
    pub(super) fn overlay_shares(&mut self, file: &FileInfo) {
        if !self.overlay.is_on() {
            return;
        }
        if self.overlay.index.put(file.index, &file.name) {
            self.keywords_change();
        }
    }

    /// A file is shared no longer.
    pub(super) fn overlay_lacks(&mut self, index: FileIndex) {
        if !self.overlay.is_on() {
            return;
        }
        if self.overlay.index.remove(index) {
            self.keywords_change();
        }
    }

    /// Who we are, as far as known; told to the router before it speaks.
    pub(super) fn overlay_ourselves(&mut self, now: Instant, fx: &mut Effects) {
        let input = routing::Input::Ourselves {
            servent: self.servent,
            listen: self.reachable(),
            files: u32::try_from(self.files.len()).unwrap_or(u32::MAX),
            kilobytes: self.files.kilobytes(),
        };
        self.route(now, input, fx);
    }

    /// Where others reach us; `None` when they cannot.
    fn reachable(&self) -> Option<SocketAddrV4> {
        self.place().filter(|at| !at.ip().is_unspecified() && !self.config.overlay.firewalled)
    }

    /// Where we listen, at the address others see when it is not one.
    fn place(&self) -> Option<SocketAddrV4> {
        let listen = self.listen?;
        let ip = if listen.ip().is_unspecified() { self.overlay.seen? } else { listen.ip() };
        match ip.to_canonical() {
            IpAddr::V4(ip) => Some(SocketAddrV4::new(ip, listen.port())),
            IpAddr::V6(_) => None,
        }
    }

    /// Somebody may be there.
    fn hear_of(&mut self, now: Instant, at: SocketAddr, named: bool, fx: &mut Effects) {
        let most = self.config.overlay.hosts;
        let hosts::Changed { put, gone } = self.overlay.hosts.hear(now, at, named, most);
        for op in put.map(Op::Host).into_iter().chain(gone.map(Op::HostGone)) {
            fx.output(Output::Persist(op));
        }
    }

    /// What the store remembered of others; the first of them is tried.
    pub(super) fn overlay_knows(&mut self, now: Instant, hosts: Vec<HostRow>, fx: &mut Effects) {
        if !self.overlay.is_on() {
            return;
        }
        let limits = (self.config.overlay.host_life, self.config.overlay.hosts);
        for gone in self.overlay.hosts.restore(now, hosts, limits) {
            fx.output(Output::Persist(Op::HostGone(gone)));
        }
        self.look_around(now, fx);
    }

    /// How many others are known, neighbours or not.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.overlay.0.as_ref().map_or(0, |overlay| overlay.hosts.len())
    }

    /// What the user wants of the overlay.
    pub(super) fn overlay_command(&mut self, now: Instant, command: Command, fx: &mut Effects) {
        if !self.overlay.is_on() {
            return;
        }
        match command {
            Command::Join { at } => {
                self.hear_of(now, at, true, fx);
                self.look_around(now, fx);
            }
            Command::Nearby { at } if is_nearby(at.ip()) => {
                self.hear_of(now, at, false, fx);
                if self.overlay.look.is_none() {
                    self.look_around(now, fx);
                }
            }
            Command::Search { search, words } => {
                let guid = self.overlay.draw();
                if self.overlay.searches.len() >= SEARCHES {
                    self.overlay.searches.pop_first();
                }
                self.overlay.searches.insert(guid, search);
                let wishes = Wishes { firewalled: self.reachable().is_none(), ..Wishes::default() };
                let query = Query::new(wishes, &words, &[]);
                self.route(now, routing::Input::Search { guid, query }, fx);
            }
            Command::EndSearch { search } => {
                let ended = self.overlay.searches.iter().find(|(_, other)| **other == search);
                if let Some(guid) = ended.map(|(guid, _)| *guid) {
                    self.route(now, routing::Input::EndSearch { guid }, fx);
                }
            }
            Command::AskPush { servent, index, via } => {
                let guid = self.overlay.draw();
                let Some(at) = self.reachable() else { return };
                let push = Push { servent, index, at, ggep: Payload::new() };
                let wires = self.overlay.wires.iter();
                let via = wires
                    .filter(|(_, wire)| via.is_some_and(|at| wire.is(at)))
                    .map(|(conn, _)| *conn)
                    .next();
                self.route(now, routing::Input::Push { guid, push, via }, fx);
            }
            _ => {}
        }
    }

    /// Goodbye to all neighbours.
    pub(super) fn overlay_stop(&mut self, now: Instant, fx: &mut Effects) {
        if !self.overlay.is_on() {
            return;
        }
        self.overlay.look = None;
        self.route(now, routing::Input::Shutdown, fx);
    }

    /// Runs what is due.
    pub(super) fn overlay_timeout(&mut self, now: Instant, fx: &mut Effects) {
        if !self.overlay.is_on() {
            return;
        }
        if self.overlay.router.poll_timeout().is_some_and(|(at, _)| at <= now) {
            let mut said = Fx::new();
            self.overlay.router.handle_timeout(now, &mut said);
            self.obey_router(now, said, fx);
        }
        let due = self.overlay.keywords.is_some_and(|at| at <= now);
        if due && self.overlay.router.links() > 0 {
            self.tell_keywords(now, fx);
        }
        if self.overlay.look.is_some_and(|at| at <= now) {
            self.overlay.look = None;
            self.look_around(now, fx);
        }
    }

    /// Looks for a neighbour when there are too few.
    pub(super) fn look_around(&mut self, now: Instant, fx: &mut Effects) {
        let config = &self.config.overlay;
        let (enabled, degree, retry) = (config.enabled, config.degree, config.retry);
        for gone in self.overlay.hosts.expire(now, config.host_life) {
            fx.output(Output::Persist(Op::HostGone(gone)));
        }
        let place = self.place().map(SocketAddr::V4);
        let overlay = &mut *self.overlay;
        if !enabled || overlay.wires.len() >= degree as usize {
            overlay.look = None;
            return;
        }
        let wires = &overlay.wires;
        let own = self.listen;
        let ourselves = |at| Some(at) == own || Some(at) == place;
        let known = |at: SocketAddr| ourselves(at) || wires.values().any(|wire| wire.is(at));
        let found = overlay.hosts.take(now, retry, known);
        let next = overlay.hosts.next(|at| known(at) || Some(at) == found);
        overlay.look = next.map(|at| at.max(now + BETWEEN));
        if let Some(at) = found {
            self.call_neighbour(at, fx);
        }
    }

    fn call_neighbour(&mut self, at: SocketAddr, fx: &mut Effects) {
        let conn = self.conns.number();
        if self.dial_as(conn, at, Purpose::Neighbour, fx) {
            self.overlay.wires.insert(conn, Wire::calling(at));
        }
    }
}
