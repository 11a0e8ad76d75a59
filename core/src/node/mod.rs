//! A node: the engines joined behind one byte boundary.
//!
//! Simulator, native driver, replayer, fuzzer and page are hosts of the very
//! same [`Node`] through the very same [`Input`] and [`Output`]. A node is a
//! pure function of its config, its seed and the instants and inputs it was
//! given.
//!
//! | file | what it holds |
//! |---|---|
//! | `io`, `config`, `event`, `view` | the boundary: plain data |
//! | `conn` | connections, their limits and deadlines |
//! | `catalog`, `parts`, `page` | what we share, and its list for browsers |
//! | `lines` | what the first line makes of a connection; dials of ours |
//! | `serve`, `answer`, `transfer` | the upload side: requests, replies, bodies |
//! | `download` | the download side |
//! | `datagrams` | reliable messages over datagrams |
//! | `overlay` | neighbours, what they ask and what we ask them |
//! | `boot`, `look` | start, stop, commands; views |

mod answer;
mod boot;
mod catalog;
mod config;
mod conn;
mod datagrams;
mod download;
mod event;
mod io;
mod lines;
mod look;
pub mod messenger;
mod overlay;
mod page;
mod parts;
mod serve;
mod transfer;
mod view;

use alloc::string::String;
use alloc::sync::Arc;
use core::net::SocketAddr;

pub use self::config::{Config, Limits};
pub use self::event::{ConnEvent, Event, Limit, WorldEvent};
pub use self::io::{
    Answer, Command, FileInfo, FileRef, Hit, HostRow, Input, Message, Op, Output, Restored,
};
pub use self::overlay::Config as Overlay;
pub use self::view::{Card, Kept, Lane, LaneTotals, NodeView, QueueView, SlotCard};
pub use crate::fetch::{
    DialError, FetchView, Get, PartRow, Source, SourceView, StoreError, Ticket,
};

use self::conn::{Phase, Purpose, Timer};
use self::datagrams::Datagrams;
use crate::engine::{Effect, Engine, Fx, FxOf, earlier};
use crate::fetch::{self, Fetches};
use crate::id::{ConnId, Guid};
use crate::queue::server::{self, Server};
use crate::rng::Rng;
use crate::time::Instant;
use crate::unicast;

/// The effect list of a node.
type Effects = FxOf<Node>;

/// A servent, whole.
#[derive(Debug, Clone)]
pub struct Node {
    /// Shared with the keyframes of a world and with the nodes like this one.
    config: Arc<Config>,
    root: Rng,
    now: Instant,
    state: State,
    servent: Guid,
    listen: Option<SocketAddr>,
    conns: conn::Table,
    files: catalog::Catalog,
    parts: parts::Parts,
    queue: Server,
    fetches: Fetches,
    overlay: overlay::Part,
    datagrams: Option<Datagrams>,
    /// The request the queue is deciding on; `None` between inputs.
    asked: Option<serve::Asked>,
}

/// Where a node is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    Stopped,
}

impl Node {
    /// A node that has not been started; give it [`Input::Start`] first.
    #[must_use]
    pub fn new(config: impl Into<Arc<Config>>, seed: u64) -> Self {
        let config = config.into();
        let root = Rng::new(seed);
        Self {
            overlay: overlay::Part::new(&config.overlay, &root),
            datagrams: config
                .datagrams
                .as_ref()
                .map(|unicast| Datagrams::new(unicast, root.fork("datagrams", 0))),
            queue: Server::new(config.queue, root.fork("queue", 0)),
            fetches: Fetches::new(config.fetch, config.agent.clone(), config.dialect),
            root,
            now: Instant::ZERO,
            state: State::New,
            servent: Guid::default(),
            listen: None,
            conns: conn::Table::default(),
            files: catalog::Catalog::default(),
            parts: parts::Parts::default(),
            asked: None,
            config,
        }
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its servent id; all zeros before the start.
    #[must_use]
    pub const fn servent(&self) -> Guid {
        self.servent
    }

    /// Its messages over datagrams, to be looked at; `None` when it is
    /// configured without.
    #[must_use]
    pub fn datagrams(&self) -> Option<&unicast::Endpoint> {
        self.datagrams.as_ref().map(Datagrams::endpoint)
    }

    /// Lets somebody in, unless a limit forbids it.
    fn accepted(&mut self, now: Instant, conn: ConnId, peer: SocketAddr, fx: &mut Effects) {
        // The last number is none: engines keep connections in less room.
        if self.conns.get(conn).is_some() || conn == ConnId(u64::MAX) {
            return;
        }
        match self.conns.admit(conn, peer, &self.config.limits) {
            Ok(()) => {
                tell(fx, ConnEvent::Accepted { conn, peer });
                self.await_request(now, conn, false);
            }
            Err(limit) => {
                tell(fx, ConnEvent::Limit { conn, limit });
                fx.output(Output::Close { conn, flush: false });
            }
        }
    }

    /// A connection is gone.
    fn closed(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let Some(gone) = self.conns.remove(conn) else { return };
        tell(fx, ConnEvent::Closed { conn });
        self.left(now, conn, &gone.phase, true, fx);
    }

    /// Closes a connection. The engines learn of it now, not when the host
    /// reports it gone.
    fn close(&mut self, now: Instant, conn: ConnId, flush: bool, why: &str, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        let phase = core::mem::replace(&mut state.phase, Phase::Closing);
        state.unread = alloc::vec::Vec::new();
        self.conns.rest(conn);
        tell(fx, ConnEvent::Closing { conn, why: String::from(why) });
        fx.output(Output::Close { conn, flush });
        self.left(now, conn, &phase, false, fx);
    }

    /// Tells whoever is concerned that a connection is of no use any more.
    /// `broke`: not by our will.
    fn left(&mut self, now: Instant, conn: ConnId, was: &Phase, broke: bool, fx: &mut Effects) {
        match was {
            Phase::Sending(_) if broke => self.queue(now, server::Input::Broken { conn }, fx),
            Phase::Fresh | Phase::Serving { .. } | Phase::Sending(_) => {
                self.queue(now, server::Input::Gone { conn }, fx);
            }
            Phase::Dialing(Purpose::Call(ticket)) => {
                self.queue(now, server::Input::CallDone { ticket: *ticket, ok: false }, fx);
            }
            Phase::Fetching(_) | Phase::Dialing(Purpose::Fetch) => {
                self.fetch(now, fetch::Input::Closed { conn }, fx);
            }
            Phase::Overlay | Phase::Dialing(Purpose::Neighbour) => {
                self.overlay_gone(now, conn, fx);
            }
            Phase::Dialing(Purpose::Giv(_)) | Phase::Closing => {}
        }
    }

    /// Gives the queue an input and carries out what it wants.
    fn queue(&mut self, now: Instant, input: server::Input, fx: &mut Effects) {
        let mut said = Fx::new();
        self.queue.handle(now, input, &mut said);
        self.obey_queue(now, said, fx);
    }

    /// In the queue's own order, so that what is saved before a reply is
    /// persisted before it is written.
    fn obey_queue(&mut self, now: Instant, mut said: FxOf<Server>, fx: &mut Effects) {
        for effect in said.drain() {
            match effect {
                Effect::Event(event) => fx.event(Event::Queue(event)),
                Effect::Output(server::Output::Save(row)) => {
                    fx.output(Output::Persist(Op::Queue(row)));
                }
                Effect::Output(server::Output::Forget(ticket)) => {
                    fx.output(Output::Persist(Op::QueueGone(ticket)));
                }
                Effect::Output(server::Output::Reply { conn, verdict }) => {
                    self.verdict(now, conn, verdict, fx);
                }
                Effect::Output(server::Output::Call { ticket, to }) => {
                    self.call(now, ticket, to, fx);
                }
                Effect::Output(server::Output::Hangup { conn, why }) => {
                    self.close(now, conn, true, loss(why), fx);
                }
            }
        }
    }

    /// A timer of a connection has run out.
    fn run_out(&mut self, now: Instant, conn: ConnId, timer: Timer, at: Instant, fx: &mut Effects) {
        let silent = self
            .conns
            .get(conn)
            .is_none_or(|c| c.unread.is_empty() || matches!(c.phase, Phase::Overlay));
        match timer {
            Timer::Rate => self.judge_reader(now, conn, at, fx),
            Timer::Head if silent => self.refuse(now, conn, Limit::RequestDeadline, None, fx),
            Timer::Head => {
                let answer = Some((408, "Request Timeout"));
                self.refuse(now, conn, Limit::RequestDeadline, answer, fx);
            }
            Timer::Idle => self.refuse(now, conn, Limit::IdleDeadline, None, fx),
        }
    }
}

impl Engine for Node {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        self.now = now;
        if let Input::Start(restored) = input {
            return self.start(now, restored, fx);
        }
        if self.state != State::Running {
            return;
        }
        match input {
            Input::Start(_) => {}
            Input::Accepted { conn, peer } => self.accepted(now, conn, peer, fx),
            Input::Dialed { conn, local } => self.dialed(now, conn, local, fx),
            Input::DialFailed { conn, why } => self.dial_failed(now, conn, why, fx),
            Input::Bytes { conn, data } => match self.conns.open(conn).map(|c| &c.phase) {
                None | Some(Phase::Dialing(_) | Phase::Closing) => {}
                Some(Phase::Fetching(_)) => self.fetching_bytes(now, conn, data, fx),
                Some(Phase::Overlay) => self.overlay_bytes(now, conn, data, fx),
                Some(Phase::Fresh | Phase::Serving { .. } | Phase::Sending(_)) => {
                    self.serving_bytes(now, conn, data, fx);
                }
            },
            Input::Closed { conn } => self.closed(now, conn, fx),
            Input::Backlog { conn, bytes } => self.backlog(now, conn, bytes, fx),
            Input::Served { conn, bytes } => self.served(now, conn, bytes, fx),
            Input::Stored { conn, bytes } => self.stored(now, conn, bytes, fx),
            Input::DiskFailed { conn, why } => self.disk_failed(now, conn, why, fx),
            Input::Verified { fetch, sha1 } => {
                self.fetch(now, fetch::Input::Verified { fetch, sha1 }, fx);
            }
            Input::VerifyFailed { fetch, why } => {
                self.fetch(now, fetch::Input::VerifyFailed { fetch, why }, fx);
            }
            Input::Shared(info) => {
                self.overlay_shares(&info);
                self.files.put(info);
            }
            Input::Unshared { index } => {
                self.overlay_lacks(index);
                self.files.remove(index);
            }
            Input::Command(command) => self.command(now, command, fx),
            Input::Datagrams { from, segment, data } => {
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.arrived(now, (from, segment, &data), fx);
                }
            }
            Input::Flush => {
                if let Some(datagrams) = &mut self.datagrams {
                    datagrams.flush(now, fx);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.now = now;
        if self.state != State::Running {
            return;
        }
        while let Some((conn, timer, at)) = self.conns.expired(now) {
            self.run_out(now, conn, timer, at, fx);
        }
        if self.queue.poll_timeout().is_some_and(|(at, _)| at <= now) {
            let mut said = Fx::new();
            self.queue.handle_timeout(now, &mut said);
            self.obey_queue(now, said, fx);
        }
        if self.fetches.poll_timeout().is_some_and(|(at, _)| at <= now) {
            let mut said = Fx::new();
            self.fetches.handle_timeout(now, &mut said);
            self.obey_fetch(now, said, fx);
        }
        if self.overlay.next().is_some_and(|(at, _)| at <= now) {
            self.overlay_timeout(now, fx);
        }
        if let Some(datagrams) = &mut self.datagrams
            && datagrams.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            datagrams.handle_timeout(now, fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.state != State::Running {
            return None;
        }
        let first = earlier(self.conns.next_due(), self.queue.poll_timeout());
        let first = earlier(earlier(first, self.fetches.poll_timeout()), self.overlay.next());
        earlier(first, self.datagrams.as_ref().and_then(Datagrams::poll_timeout))
    }
}

/// Adds an event of our own.
fn tell(fx: &mut Effects, event: ConnEvent) {
    fx.event(Event::Conn(event));
}

/// Why the queue hangs up, in words.
const fn loss(why: crate::queue::Loss) -> &'static str {
    use crate::queue::Loss;
    match why {
        Loss::TooEarly => "asked too early",
        Loss::Overdue => "did not ask in time",
        Loss::ConnectionLost => "the place is lost",
        Loss::WrongPosition => "claimed a position it was never told",
        Loss::BrokeTooOften => "broke its connection too often",
        Loss::Unreachable => "did not answer the calls",
        Loss::Replaced => "took another place instead",
    }
}
