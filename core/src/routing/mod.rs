//! The overlay's router: where each message goes, and what is dropped.
//!
//! # The protocol on one page
//!
//! A query floods: it is forwarded to every neighbour except the one it came
//! from. Its hits are routed back along the same path, so a router has to
//! remember for a time where each query came from. A push follows the path of a
//! hit back to the servent that sent the hit.
//!
//! | message | remembered by | for | what is done |
//! |---|---|---|---|
//! | query | GUID | 10 min | to all others, and answered here (RT-1, RT-8) |
//! | hit | query's GUID, servent, result set | 10 min | to where the query came from; to us if we asked (RT-2, RT-9) |
//! | push | its own GUID | 10 min | to where a hit of that servent came from; to us if that is us (RT-3, RT-10) |
//! | – servent | its id | 30 min | the route of pushes; not changed by another connection while the first lives |
//! | ping | GUID | 10 min | answered with remembered pongs, never forwarded (RT-6, RT-13) |
//! | pong | GUID, address | 10 min | remembered (RT-7, RT-13) |
//! | bye | – | | the neighbour is gone (RT-11) |
//! | keyword table | – | | decides who gets which query at its last hop (RT-14) |
//! | vendor message | – | | for us alone: what else it supports, how many hops queries may have (RT-14) |
//!
//! **Tables** have two generations (RT-5): an entry lives for at least one life
//! and at most two, and a generation is dropped at once and freed in small
//! steps. Keys are hashed with a secret (RT-15). What is remembered is a slot
//! and the number of its use, so a slot that is used again never gets the
//! messages of its predecessor.
//!
//! **Quotas.** Each neighbour has a quota in every table. When it is used up,
//! its further messages are dropped; entries of others are never dropped early
//! for it.
//!
//! **One verdict.** `decide` decides and `carry` carries it out:
//! [`RoutingVerdict::Forward`], [`RoutingVerdict::Local`] or [`RoutingVerdict::Drop`] with its
//! reason. What is dropped is never forwarded.
//!
//! **Flow control.** The host reports how much of what it was given is unsent.
//! Up to [`Config::window`] is given to it at once, up to [`Config::queue`]
//! waits here, and beyond that the least valuable messages are dropped.
//!
//! # The parts
//!
//! `generation`, `memory`, `route` are the tables; `links`, `flow` the
//! neighbours; `decide` decides on the kinds that are forwarded, `pings` handles
//! those that are not; `peers` exchanges what concerns two neighbours only;
//! `pushes` limits the hosts we connect to for strangers; `proxies` handles push
//! proxies; `own` sends our own messages.

mod clause;
mod config;
mod counters;
mod decide;
mod deepen;
mod event;
mod flow;
mod future;
mod io;
mod links;
mod memories;
mod own;
mod peers;
mod pings;
mod proxies;
mod pushes;
mod view;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4};

pub use self::config::{Config, PushRouting};
pub use self::event::{Event, NeighbourEnding, Which};
pub use self::io::{Breakage, DropReason, Input, Neighbour, Output, RoutingVerdict};
use self::links::NeighbourLinks;
use self::memories::memory::RoutingEffects;
pub use self::view::Via;
use crate::engine::{Engine, FxOf};
use crate::id::{ConnId, Guid};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::gnutella::{
    Bye, Keywords, MessageBody, MessageFrameError, MessageKind, OverlayMessage, Qrp, Query, code,
};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    counters::{KindCount, RoutingCounters},
    future::RouterFuture,
    memories::generation::Mark,
    memories::memory::{Full, Marks, Memory},
    memories::route::Route,
    view::{LinkView, RouterView, TableEntryView, TableView},
};

/// The router of one servent.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::id::{ConnId, Guid};
/// use servent_core::rng::Rng;
/// use servent_core::routing::{Config, Input, Neighbour, Output, Router};
/// use servent_core::time::Instant;
/// use servent_core::wire::gnutella::{MessageBody, OverlayMessage, Query, Wishes};
///
/// let mut router = Router::new(Config::default(), Rng::new(42));
/// let (now, mut fx) = (Instant::from_secs(1_000), Fx::new());
/// let (left, right) = (ConnId(0), ConnId(2));
/// for (conn, peer) in [(left, "192.0.2.1:6346"), (right, "192.0.2.2:6346")] {
///     let neighbour = Neighbour { relays: true, ..Neighbour::default() };
///     let peer = peer.parse().unwrap();
///     router.handle(now, Input::Opened { conn, peer, neighbour }, &mut fx);
/// }
/// // What the left neighbour asks goes on to the right one, a link older.
/// let body = MessageBody::Query(Query::new(Wishes::default(), "blue moon", &[]));
/// let message = OverlayMessage { guid: Guid([7; 16]), ttl: 3, hops: 0, body };
/// fx.drain().for_each(drop);
/// router.handle(now, Input::Message { conn: left, message }, &mut fx);
/// assert!(fx.outputs().any(|output| match output {
///     Output::Send { to, message } => *to == [right] && (message.ttl, message.hops) == (2, 1),
///     _ => false,
/// }));
/// ```
#[derive(Debug, Clone)]
pub struct Router {
    config: Config,
    rng: Rng,
    marks: Marks,
    links: NeighbourLinks,
    counters: RoutingCounters,
    servent: Guid,
    listen: Option<SocketAddrV4>,
    files: u32,
    kilobytes: u32,
    queries: Memory,
    servents: Memory,
    holders: Memory,
    pings: Memory,
    pongs: Memory,
    hits: Memory,
    pushes: Memory,
    answers: Memory,
    targets: pushes::Targets,
    /// Queries that came with a TTL of 1 and may come again.
    probed: Memory,
    searches: Vec<(Guid, Query)>,
    /// Dynamic queries of ours and of our leaves.
    deepenings: deepen::Deepenings,
    /// The keyword table of what we share.
    shared: Option<Box<Keywords>>,
    /// What neighbours are told: that table and, for an ultrapeer, its leaves'
    /// keywords; and the messages that carry it.
    keywords: Option<Box<(Keywords, Vec<Qrp>)>>,
    /// The keywords of leaves have changed since they were last told.
    leaves_changed: bool,
    told_leaves: Instant,
    /// When each neighbour is checked next.
    agenda: BTreeSet<(Instant, u32)>,
}

impl Router {
    /// Without neighbours. `rng` draws the secret of the tables and the GUIDs
    /// of pings.
    #[must_use]
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let (some, many) = (config.entries_per_link, config.queries_per_link);
        let memory = |life: Duration, quota| Memory::new(life.scaled(config.time_scale), quota);
        let twice = config.duplicate_life;
        Self {
            marks: Marks::new(&mut rng),
            rng,
            links: NeighbourLinks::default(),
            counters: RoutingCounters::default(),
            servent: Guid::default(),
            listen: None,
            files: 0,
            kilobytes: 0,
            queries: memory(config.query_life, many),
            servents: memory(config.push_life, some),
            holders: memory(config.push_life, some),
            pings: memory(twice, some),
            pongs: memory(twice, some),
            hits: memory(twice, some),
            pushes: memory(twice, some),
            answers: memory(config.query_life, u32::MAX),
            targets: pushes::Targets::default(),
            probed: memory(config.query_life, some),
            searches: Vec::new(),
            deepenings: deepen::Deepenings::default(),
            shared: None,
            keywords: None,
            leaves_changed: false,
            told_leaves: Instant::ZERO,
            agenda: BTreeSet::new(),
            config,
        }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Totals since the start.
    #[must_use]
    #[doc(hidden)]
    pub const fn counters(&self) -> &RoutingCounters {
        &self.counters
    }

    /// How many neighbours there are.
    #[must_use]
    pub fn links(&self) -> usize {
        self.links.len()
    }

    fn opened(
        &mut self,
        now: Instant,
        conn: ConnId,
        (peer, neighbour): (SocketAddr, Neighbour),
        fx: &mut RoutingEffects,
    ) {
        if self.links.slot(conn).is_some() {
            return;
        }
        let agent = neighbour.agent.clone();
        let says_bye = neighbour.bye;
        let spent = |slot| self.queries.spent(slot);
        let slot = self.links.open(now, (conn, peer, neighbour), self.config.links, spent);
        let Some(slot) = slot else {
            if says_bye {
                let bye = self.bye(code::NO_SLOT);
                fx.output(Output::Send { to: alloc::vec![conn], message: bye });
            }
            return fx.output(Output::Close { conn });
        };
        fx.event(Event::Opened { conn, peer, agent });
        self.introduce(now, slot, fx);
        self.ping(now, slot, fx);
        self.ask_newcomer(now, slot, fx);
    }

    /// Removes a neighbour, for whatever reason.
    fn forget(&mut self, conn: ConnId, why: NeighbourEnding, fx: &mut RoutingEffects) {
        let Some(slot) = self.links.slot(conn) else { return };
        self.agenda_remove(slot);
        let gone = self.links.close(conn);
        self.leaves_changed |= gone.is_some_and(|link| link.is_leaf_with_keywords());
        fx.event(Event::Closed { conn, why });
    }

    /// Disconnects a neighbour, with a Bye if it understands one.
    fn give_up(&mut self, conn: ConnId, code: u16, fx: &mut RoutingEffects) {
        let Some(link) = self.links.slot(conn).and_then(|slot| self.links.at(slot)) else { return };
        if link.neighbour.bye {
            let message = self.bye(code);
            self.counters.sent(MessageKind::Bye, 1);
            fx.output(Output::Send { to: alloc::vec![conn], message });
        }
        fx.output(Output::Close { conn });
        self.forget(conn, NeighbourEnding::Given { code }, fx);
    }

    fn bye(&mut self, code: u16) -> OverlayMessage {
        let body = MessageBody::Bye(Bye { code, text: String::from(reason(code)) });
        OverlayMessage { guid: self.draw(), ttl: 1, hops: 0, body }
    }

    /// Draws a GUID for a message of ours.
    fn draw(&mut self) -> Guid {
        let mut id = self.rng.bytes::<16>();
        (id[8], id[15]) = (0xff, 0x00);
        Guid(id)
    }

    /// Counts a fault of a neighbour; too many of them disconnect it.
    fn strike(&mut self, slot: u32, code: u16, fx: &mut RoutingEffects) {
        let Some(link) = self.links.at_mut(slot) else { return };
        link.strikes += 1;
        if link.strikes >= self.config.strikes {
            let conn = link.conn;
            self.give_up(conn, code, fx);
        }
    }

    fn improper(&mut self, now: Instant, conn: ConnId, kind: MessageKind, fx: &mut RoutingEffects) {
        let Some(slot) = self.links.slot(conn) else { return };
        self.counters.received(kind);
        self.counters.dropped(kind, DropReason::Improper);
        if let Some(link) = self.links.at_mut(slot) {
            (link.heard, link.received, link.dropped) = (now, link.received + 1, link.dropped + 1);
        }
        self.strike(slot, code::IMPROPER, fx);
    }

    /// The host has sent something; more may follow.
    fn backlog(&mut self, now: Instant, conn: ConnId, bytes: u64, fx: &mut RoutingEffects) {
        let window = self.config.window;
        let Some(link) = self.links.slot(conn).and_then(|slot| self.links.at_mut(slot)) else {
            return;
        };
        if link.flow.backlog(bytes) {
            link.took = now;
        }
        while let Some(message) = link.flow.next(window) {
            link.sent += 1;
            self.counters.sent(message.kind(), 1);
            fx.output(Output::Send { to: alloc::vec![conn], message });
        }
    }

    fn agenda_remove(&mut self, slot: u32) {
        let due = self.agenda.iter().find(|(_, other)| *other == slot).copied();
        if let Some(due) = due {
            self.agenda.remove(&due);
        }
    }
}

/// The reason of a Bye, in words.
const fn reason(code: u16) -> &'static str {
    match code {
        code::EXIT => "Closing",
        code::TOO_BIG => "A message too large",
        code::DUPLICATES => "Too many duplicates",
        code::IMPROPER => "Too many improper messages",
        code::TTL_TOO_LARGE => "A TTL too large",
        code::UNKNOWN => "An unknown message",
        code::NO_PONG => "Pings unanswered",
        code::DESYNCHRONISED => "The stream cannot be read",
        code::OVERFLOW => "The connection takes too little",
        code::NO_SLOT => "Enough neighbours",
        _ => "Over",
    }
}

impl Engine for Router {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        match input {
            Input::Opened { conn, peer, neighbour } => {
                self.opened(now, conn, (peer, neighbour), fx);
            }
            Input::Message { conn, message } => self.message(now, conn, message, fx),
            Input::Improper { conn, kind, .. } => self.improper(now, conn, kind, fx),
            Input::Broken { conn, why } => {
                let code = match why {
                    Breakage::Frame(MessageFrameError::TooLong(_)) => code::TOO_BIG,
                    Breakage::Frame(MessageFrameError::Kind(_)) => code::UNKNOWN,
                    Breakage::Deflate => code::DESYNCHRONISED,
                };
                self.give_up(conn, code, fx);
            }
            Input::Backlog { conn, bytes } => self.backlog(now, conn, bytes, fx),
            Input::Closed { conn } => self.forget(conn, NeighbourEnding::Lost, fx),
            Input::Ourselves { servent, listen, files, kilobytes } => {
                (self.servent, self.listen) = (servent, listen);
                (self.files, self.kilobytes) = (files, kilobytes);
            }
            Input::Keywords { table } => self.share_keywords(now, table, fx),
            Input::Search { guid, query } => self.search(now, guid, query, fx),
            Input::EndSearch { guid } => {
                self.searches.retain(|(other, _)| *other != guid);
                self.deepenings.end(guid);
            }
            Input::Answer { guid, hops, hit } => self.answer(now, (guid, hops), hit, fx),
            Input::Push { guid, push, via } => self.ask_push(now, (guid, via), push, fx),
            Input::Proxied { guid, push } => self.pass_push(now, guid, push, fx),
            Input::AskDialBack { conn, port } => self.ask_dial_back(now, conn, port, fx),
            Input::Shutdown => {
                let conns: Vec<ConnId> = self.links.iter().map(|link| link.conn).collect();
                for conn in conns {
                    self.give_up(conn, code::EXIT, fx);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        let mut turned = false;
        for (table, memory) in self.tables_mut() {
            if memory.run(now) {
                let (_, old) = memory.len();
                fx.event(Event::Turned { table, entries: old as u64 });
                turned |= table == Which::Queries;
            }
        }
        if turned {
            for at in 0..self.links.slots().len() {
                let slot = self.links.slots()[at];
                if let Some(link) = self.links.at_mut(slot) {
                    link.turn();
                }
            }
        }
        self.deepen(now, fx);
        if self.leaves_due().is_some_and(|at| at <= now) {
            self.tell_keywords(now, fx);
        }
        while let Some((due, slot)) = self.agenda.first().copied().filter(|(due, _)| *due <= now) {
            self.agenda.remove(&(due, slot));
            self.look_after(now, slot, fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let next = self.tables().into_iter().filter_map(|(_, memory)| memory.next()).min();
        let turn = next.map(|at| (at, "tables"));
        let link = self.agenda.first().map(|(at, _)| (*at, "neighbour"));
        let search = self.deepenings.next().map(|at| (at, "search"));
        let leaves = self.leaves_due().map(|at| (at, "keywords of leaves"));
        let all = turn.into_iter().chain(link).chain(search).chain(leaves);
        all.min_by_key(|(at, _)| *at)
    }
}
