//! A node: the engines joined behind one byte boundary.
//!
//! Simulator, native driver, replayer, fuzzer and page are hosts of the very
//! same [`Node`] through the very same [`Input`] and [`Output`]. A node is a
//! pure function of its config, its seed and the instants and inputs it was
//! given.
//!
//! An input takes one path: [`Node`] finds the service it belongs to, and the
//! service does the rest, with the connections as an argument. No service calls
//! another; what it needs of another is passed to it by reference.
//!
//! | file | what it holds |
//! |---|---|
//! | `io`, `config`, `event`, `view` | the boundary: plain data |
//! | `connections` | the layer below all services: bytes, limits, deadlines |
//! | `cx` | the context every service gets in a call |
//! | `lines` | the first line decides which service a connection belongs to |
//! | `http` | the service that serves files: the upload queue and its replies |
//! | `downloads` | the download service |
//! | `datagrams` | the service that sends and receives messages over datagrams |
//! | `overlay` | neighbours, their queries and ours |
//! | `swarm` | pieces of files exchanged by many peers: coordinator and client |
//! | `inbox` | what visitors may upload |
//! | `catalog`, `parts`, `hits` | what we share, whole or in parts, and its hits |
//! | `boot`, `look` | start, stop, commands; views |

mod boot;
mod catalog;
mod config;
mod connections;
mod cx;
mod datagrams;
mod downloads;
mod event;
mod gate;
mod hits;
mod http;
mod inbox;
mod io;
mod lines;
mod look;
mod overlay;
mod parts;
pub mod swarm;
mod view;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

pub use self::config::{Config, NodeLimits};
pub use self::event::{ConnEvent, Event, Minor, Misuse, NodeLimit, WorldEvent};
pub use self::inbox::{Arriving, InboxLimits, InboxMessage, InboxView};
pub use self::io::{
    FileInfo, FileRef, HostRow, InboxEntry, Input, NodeAnswer, NodeCommand, NodeOp, Output,
    RestoredNode, SearchHit, Service,
};
pub use self::overlay::Config as OverlayConfig;
pub use self::view::{Card, NodeView, QueueView, ReservedSlot, SlotCard};
pub use crate::fetch::{
    DialError, DownloadSource, FetchView, Get, PartRow, SourceView, StoreError, Ticket,
};

use self::connections::{ConnPhase, Connections, Owner, Purpose, Timer};
use self::cx::{NodeCx, Ourselves};
use self::datagrams::Datagrams;
use self::downloads::Downloads;
use self::http::Http;
use self::look::Look;
use self::swarm::Swarm;
use crate::engine::{Engine, FxOf, earlier};
use crate::fetch;
use crate::id::{ConnId, FileIndex, Guid};
use crate::queue::server;
use crate::rng::Rng;
use crate::routing;
use crate::time::Instant;
use crate::unicast;

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::view::{LaneTotals, LaneView};

/// The effect list of a node.
type NodeEffects = FxOf<Node>;

/// A whole servent.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::node::{NodeAnswer, NodeCommand, Config, Input, Node, Output, RestoredNode};
/// use servent_core::time::Instant;
///
/// let (mut node, mut fx) = (Node::new(Config::default(), 42), Fx::new());
/// let now = Instant::from_secs(1_000);
/// node.handle(now, Input::Start(RestoredNode::default()), &mut fx);
/// node.handle(now, Input::Command(NodeCommand::Stop), &mut fx);
/// assert!(fx.outputs().any(|output| *output == Output::Answer(NodeAnswer::Stopped)));
/// ```
#[derive(Debug, Clone)]
pub struct Node {
    /// Shared with the keyframes of a world and with other nodes of the same
    /// configuration.
    config: Arc<Config>,
    root: Rng,
    now: Instant,
    state: State,
    us: Ourselves,
    io: Connections,
    http: Http,
    downloads: Downloads,
    /// `None` when not configured; the next two as well.
    overlay: Option<Box<overlay::OverlayService>>,
    datagrams: Option<Datagrams>,
    swarm: Option<Box<Swarm>>,
}

/// The life cycle of a node.
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
        let overlay = config.overlay.enabled;
        let overlay =
            overlay.then(|| Box::new(overlay::OverlayService::new(&config.overlay, &root)));
        let datagrams = config.datagrams.as_ref();
        let datagrams = datagrams.map(|of| Datagrams::new(of, root.fork("datagrams", 0)));
        let swarm = config.swarm.is_on().then(|| Box::new(Swarm::new(&config.swarm, &root)));
        Self {
            overlay,
            datagrams,
            swarm,
            http: Http::new(config.queue, &root),
            downloads: Downloads::new(&config),
            root,
            now: Instant::ZERO,
            state: State::New,
            us: Ourselves::default(),
            io: Connections::new(config.limits),
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
        self.us.servent
    }

    /// The state of the node after its last input or timeout, with `count`
    /// places of the queue starting at position `from` (the first is 1).
    #[must_use]
    pub fn view(&self, from: u32, count: u32) -> NodeView {
        self.look().node(from, count)
    }

    /// The queue sorted into lanes: how many places are in each, and the cards
    /// inside the windows, in queue order.
    #[must_use]
    #[doc(hidden)]
    pub fn lanes(&self, windows: &server::Windows) -> (LaneTotals, Vec<Card>) {
        self.look().lanes(windows)
    }

    /// The state of the overlay's router; `None` without one.
    #[must_use]
    #[doc(hidden)]
    pub fn overlay(&self) -> Option<routing::RouterView> {
        self.overlay.as_ref().map(|overlay| overlay.view())
    }

    /// How many hosts of the overlay are known, neighbours included.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.overlay.as_ref().map_or(0, |overlay| overlay.hosts())
    }

    /// The endpoint of messages over datagrams, read-only; `None` when
    /// datagrams are not configured.
    #[must_use]
    pub fn datagrams(&self) -> Option<&unicast::Endpoint> {
        self.datagrams.as_ref().map(Datagrams::endpoint)
    }

    /// The state of its part in swarms, with at most `clients` clients of each
    /// file it coordinates.
    #[must_use]
    #[doc(hidden)]
    pub fn swarm(&self, clients: u32) -> swarm::SwarmView {
        self.swarm.as_ref().map(|swarm| swarm.view(clients, self.now)).unwrap_or_default()
    }

    /// True for a connection on which requests are answered: what waits there
    /// until it is saved may be given up, and the node says something else
    /// ([`Input::Unsaid`]).
    #[must_use]
    pub fn may_unsay(&self, conn: ConnId) -> bool {
        self.io.get(conn).is_some_and(|state| match state.phase {
            ConnPhase::Dialing(_) => false,
            ConnPhase::Closing => state.answered,
            ref phase => phase.owner() == Owner::Http,
        })
    }

    fn look(&self) -> Look<'_> {
        let Self { now, io, http, downloads, config, .. } = self;
        Look { now: *now, io, http, downloads, inbox: &config.inbox }
    }

    /// Handles one input of a running node.
    fn input(&mut self, now: Instant, input: Input, fx: &mut NodeEffects) {
        let Self { config, us, io, http, downloads, overlay, datagrams, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        match input {
            Input::Served { conn, bytes } => match swarm_of(cx.io, conn, swarm) {
                Some(swarm) => swarm.served(cx, conn, bytes),
                None => {
                    http.served(cx, conn, bytes);
                    lines::serve(cx, conn, http, &downloads.parts, overlay.as_deref_mut());
                }
            },
            Input::Judged { conn, good } => {
                http.finish_authentication(cx, conn, good);
                lines::serve(cx, conn, http, &downloads.parts, overlay.as_deref_mut());
            }
            Input::Stored { conn, bytes } => match swarm_of(cx.io, conn, swarm) {
                Some(swarm) => swarm.stored(cx, conn, bytes),
                None if receives(cx.io, conn) => http.stored(cx, conn, bytes),
                None => downloads.stored(cx, conn, bytes),
            },
            Input::BodyEnded { conn, unread } if receives(cx.io, conn) => {
                http.upload_ended(cx, conn, unread);
            }
            Input::BodyEnded { conn, unread } => downloads.body_ended(cx, conn, unread),
            Input::Inbox { held } => http.inbox(held),
            Input::Kept { conn, name } => {
                http.upload_committed(cx, conn, name);
                lines::serve(cx, conn, http, &downloads.parts, overlay.as_deref_mut());
            }
            Input::Swarm(input) => {
                if let Some(swarm) = swarm {
                    swarm.input(cx, input);
                }
            }
            Input::Verified { fetch, sha1 } => {
                downloads.handle(cx, fetch::Input::Verified { fetch, sha1 });
            }
            Input::Hashed { fetch, start, tth } => {
                downloads.handle(cx, fetch::Input::Hashed { fetch, start, tth });
            }
            Input::VerifyFailed { fetch, why } => {
                downloads.handle(cx, fetch::Input::VerifyFailed { fetch, why });
            }
            Input::Accepted { conn, peer, local } => self.accepted(now, conn, (peer, local), fx),
            Input::Dialed { conn, local } => self.dialed(now, conn, local, fx),
            Input::DialFailed { conn, why } => self.dial_failed(now, conn, why, fx),
            Input::Bytes { conn, data } => self.bytes(now, conn, data, fx),
            Input::Closed { conn } => self.closed(now, conn, fx),
            Input::Backlog { conn, bytes } => self.backlog(now, conn, bytes, fx),
            Input::DiskFailed { conn, why } => self.disk_failed(now, conn, why, fx),
            Input::Shared(info) => self.shared(now, info, fx),
            Input::Unshared { index } => self.unshared(now, index, fx),
            Input::Command(command) => self.command(now, command, fx),
            Input::Datagrams { from, segment, data } => match (datagrams, overlay) {
                (Some(datagrams), _) => datagrams.arrived(now, (from, segment, &data), fx),
                (None, Some(overlay)) => overlay.receive(cx, http, from, &data),
                (None, None) => {}
            },
            Input::Flush => datagrams.iter_mut().for_each(|it| it.flush(now, fx)),
            Input::StoreAway => http.store(cx, false),
            Input::StoreBack => http.store(cx, true),
            Input::Unsaid { conn, several } => {
                http.retract_replies(cx, conn, several);
                lines::serve(cx, conn, http, &downloads.parts, overlay.as_deref_mut());
            }
            Input::Divided { .. } | Input::Leads { .. } => of_site(cx, http, swarm, input),
            Input::Start(_) => {}
        }
    }

    /// A peer connected.
    fn accepted(
        &mut self,
        now: Instant,
        conn: ConnId,
        ends: (SocketAddr, Option<SocketAddr>),
        fx: &mut NodeEffects,
    ) {
        let wrong = if !conn.0.is_multiple_of(2) {
            Some(Misuse::Parity { conn })
        } else {
            self.io.get(conn).map(|_| Misuse::Repeated { conn })
        };
        match wrong {
            Some(fault) => tell(fx, ConnEvent::Misuse { fault }),
            None => self.io.accept(now, conn, ends, fx),
        }
    }

    /// A dial succeeded: the service that asked for it goes on.
    fn dialed(&mut self, now: Instant, conn: ConnId, local: SocketAddr, fx: &mut NodeEffects) {
        let Self { config, us, io, http, downloads, overlay, swarm, .. } = self;
        let Some(purpose) = dialing(io, conn, fx) else { return };
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        if let Some(state) = cx.io.open(conn) {
            state.phase = ConnPhase::Fresh;
        }
        cx.tell(ConnEvent::Dialed { conn });
        match (purpose, overlay) {
            (Purpose::Call(ticket), _) => http.call_dialed(cx, conn, ticket, local),
            (Purpose::Giv(index), _) => http.give_dialed(cx, conn, index),
            (Purpose::Fetch, _) => downloads.dialed(cx, conn, local.ip()),
            (Purpose::Neighbour, Some(overlay)) => overlay.dialed(cx, conn),
            (Purpose::Proxy, Some(overlay)) => overlay.proxy_dialed(cx, http, conn, local),
            (Purpose::Neighbour | Purpose::Proxy, None) => {}
            (Purpose::Swarm, _) => {
                if let Some(swarm) = swarm {
                    swarm.dialed(cx, conn);
                }
            }
        }
    }

    /// A dial failed.
    fn dial_failed(&mut self, now: Instant, conn: ConnId, why: DialError, fx: &mut NodeEffects) {
        if matches!(self.io.get(conn).map(|c| &c.phase), Some(ConnPhase::Closing)) {
            // Closed by us while the dial was under way.
            return self.closed(now, conn, fx);
        }
        let Self { config, us, io, http, downloads, overlay, swarm, .. } = self;
        let Some(purpose) = dialing(io, conn, fx) else { return };
        io.remove(conn);
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        cx.tell(ConnEvent::DialFailed { conn, why });
        match (purpose, overlay) {
            (Purpose::Fetch, _) => downloads.handle(cx, fetch::Input::DialFailed { conn, why }),
            (Purpose::Neighbour | Purpose::Proxy, Some(overlay)) => overlay.left(cx, http, conn),
            (Purpose::Swarm, _) => {
                if let Some(swarm) = swarm {
                    swarm.left(cx, conn);
                }
            }
            (purpose, _) => http.left(cx, conn, &ConnPhase::Dialing(purpose), true),
        }
    }

    /// Bytes were received: passes them to the service that owns the
    /// connection.
    fn bytes(&mut self, now: Instant, conn: ConnId, data: Vec<u8>, fx: &mut NodeEffects) {
        let Self { config, us, io, http, downloads, overlay, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        match (cx.io.receive(conn, data), overlay) {
            (Some(Owner::Http), overlay) => {
                let others = (overlay.as_deref_mut(), swarm.as_deref_mut());
                lines::read(cx, conn, http, downloads, others);
            }
            (Some(Owner::Swarm), _) => {
                if let Some(swarm) = swarm {
                    swarm.read(cx, conn);
                }
            }
            (Some(Owner::Downloads), _) => downloads.read(cx, conn),
            (Some(Owner::Overlay), Some(overlay)) => overlay.read(cx, http, conn),
            (Some(Owner::Overlay | Owner::Nobody) | None, _) => {}
        }
    }

    /// A connection is gone.
    fn closed(&mut self, now: Instant, conn: ConnId, fx: &mut NodeEffects) {
        let Some(gone) = self.io.remove(conn) else { return };
        tell(fx, ConnEvent::Closed { conn });
        let Self { config, us, io, http, downloads, overlay, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        match (gone.phase.owner(), overlay) {
            (Owner::Http, _) => http.left(cx, conn, &gone.phase, true),
            (Owner::Downloads, _) => downloads.left(cx, conn),
            (Owner::Overlay, Some(overlay)) => overlay.left(cx, http, conn),
            (Owner::Swarm, _) => {
                if let Some(swarm) = swarm {
                    swarm.left(cx, conn);
                }
            }
            (Owner::Overlay | Owner::Nobody, _) => {}
        }
    }

    /// Bytes written to a connection pile up because the peer does not read
    /// them.
    fn backlog(&mut self, now: Instant, conn: ConnId, bytes: u64, fx: &mut NodeEffects) {
        let Self { config, us, io, http, downloads, overlay, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        if let Some(swarm) = swarm_of(cx.io, conn, swarm) {
            return swarm.backlog(cx, conn, bytes);
        }
        let Some(owner) = cx.io.open(conn).map(|c| c.phase.owner()) else { return };
        if let (Owner::Overlay, Some(overlay)) = (owner, overlay) {
            return overlay.backlog(cx, http, conn, bytes);
        }
        if http.list_behind(cx, conn, bytes) || bytes <= cx.config.limits.backlog {
            return;
        }
        cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::Backlog });
        let why = "replies pile up unread";
        if owner == Owner::Http {
            http.close(cx, conn, false, why);
        } else if cx.close(conn, false, why).is_some() {
            downloads.left(cx, conn);
        }
    }

    /// A disk error of a connection: of a part file, or of a file being served.
    fn disk_failed(&mut self, now: Instant, conn: ConnId, why: StoreError, fx: &mut NodeEffects) {
        let Self { config, us, io, http, downloads, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        if let Some(swarm) = swarm_of(cx.io, conn, swarm) {
            return swarm.disk_failed(cx, conn, why);
        }
        match cx.io.open(conn).map(|c| &c.phase) {
            Some(ConnPhase::Fetching(_)) => downloads.disk_failed(cx, conn, why),
            Some(ConnPhase::Sending(_)) => http.unreadable(cx, conn, why),
            Some(ConnPhase::Receiving) => http.not_kept(cx, conn, why),
            _ => {}
        }
    }

    /// A file is shared, or its entry changed.
    fn shared(&mut self, now: Instant, info: FileInfo, fx: &mut NodeEffects) {
        let Self { config, us, io, http, overlay, .. } = self;
        if let Some(overlay) = overlay {
            overlay.shares(&NodeCx::new(now, config, us, io, fx), &info);
        }
        http.files.put(info);
    }

    /// A file is no longer shared.
    fn unshared(&mut self, now: Instant, index: FileIndex, fx: &mut NodeEffects) {
        let Self { config, us, io, http, overlay, .. } = self;
        if http.files.get(index).is_none() {
            return tell(fx, ConnEvent::Misuse { fault: Misuse::UnknownFile { index } });
        }
        if let Some(overlay) = overlay {
            overlay.lacks(&NodeCx::new(now, config, us, io, fx), index);
        }
        http.files.remove(index);
    }

    /// A timer of a connection expired.
    fn run_out(
        &mut self,
        now: Instant,
        conn: ConnId,
        timer: Timer,
        at: Instant,
        fx: &mut NodeEffects,
    ) {
        let Self { config, us, io, http, downloads, overlay, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        let owner = cx.io.get(conn).map(|c| c.phase.owner());
        match (owner, overlay.as_deref_mut()) {
            (Some(Owner::Overlay), Some(overlay)) => {
                overlay.refuse(cx, http, conn, NodeLimit::RequestDeadline);
            }
            (_, overlay) => {
                http.run_out(cx, conn, timer, at);
                if timer == Timer::List {
                    lines::serve(cx, conn, http, &downloads.parts, overlay);
                }
            }
        }
    }
}

/// What a dial was for, if it is still under way; one that we gave up in the
/// meantime is no fault of the host.
fn dialing(io: &Connections, conn: ConnId, fx: &mut NodeEffects) -> Option<Purpose> {
    match io.get(conn).map(|c| &c.phase) {
        Some(ConnPhase::Dialing(purpose)) => return Some(*purpose),
        Some(ConnPhase::Closing) => {}
        _ => tell(fx, ConnEvent::Misuse { fault: Misuse::NotDialing { conn } }),
    }
    None
}

impl Engine for Node {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        self.now = now;
        match (self.state, input) {
            (_, Input::Start(restored)) => self.start(now, restored, fx),
            (State::New, _) => tell(fx, ConnEvent::Misuse { fault: Misuse::NotStarted }),
            (State::Running, input) => self.input(now, input, fx),
            // Inputs that were already under way when it stopped.
            (State::Stopped, _) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.now = now;
        if self.state != State::Running {
            return;
        }
        while let Some((conn, timer, at)) = self.io.expired(now) {
            self.run_out(now, conn, timer, at, fx);
        }
        let Self { config, us, io, http, downloads, overlay, datagrams, swarm, .. } = self;
        let cx = &mut NodeCx::new(now, config, us, io, fx);
        if http.poll_timeout().is_some_and(|(at, _)| at <= now) {
            http.handle_timeout(cx);
        }
        if downloads.poll_timeout().is_some_and(|(at, _)| at <= now) {
            downloads.handle_timeout(cx);
        }
        if let Some(overlay) = overlay
            && overlay.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            overlay.handle_timeout(cx, http);
        }
        if let Some(swarm) = swarm
            && swarm.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            swarm.handle_timeout(cx);
        }
        if let Some(datagrams) = datagrams
            && datagrams.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            datagrams.handle_timeout(now, fx);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.state != State::Running {
            return None;
        }
        let first = earlier(self.io.next_due(), self.http.poll_timeout());
        let overlay = self.overlay.as_ref().and_then(|overlay| overlay.poll_timeout());
        let first = earlier(earlier(first, self.downloads.poll_timeout()), overlay);
        let first = earlier(first, self.datagrams.as_ref().and_then(Datagrams::poll_timeout));
        earlier(first, self.swarm.as_ref().and_then(|swarm| swarm.poll_timeout()))
    }
}

/// Who leads which part of our site has changed.
fn of_site(cx: &mut NodeCx<'_>, http: &mut Http, swarm: &mut Option<Box<Swarm>>, input: Input) {
    match (input, swarm.as_deref_mut()) {
        (Input::Divided { leaders }, swarm) => {
            swarm.into_iter().for_each(|swarm| swarm.divided(cx, &leaders));
            http.divided(cx, leaders);
        }
        (Input::Leads { parts, queue }, swarm) => {
            swarm.into_iter().for_each(|swarm| swarm.leads(cx, &parts));
            http.leads(cx, &parts, queue);
        }
        _ => {}
    }
}

/// The swarm service, when an open connection belongs to it.
fn swarm_of<'a>(
    io: &mut Connections,
    conn: ConnId,
    swarm: &'a mut Option<Box<Swarm>>,
) -> Option<&'a mut Swarm> {
    let its = io.open(conn).is_some_and(|c| c.phase.owner() == Owner::Swarm);
    swarm.as_deref_mut().filter(|_| its)
}

/// True while a file for the inbox is received on a connection.
fn receives(io: &Connections, conn: ConnId) -> bool {
    matches!(io.get(conn).map(|c| &c.phase), Some(ConnPhase::Receiving))
}

/// Adds an event of the node itself.
fn tell(fx: &mut NodeEffects, event: ConnEvent) {
    fx.event(Event::Conn(event));
}
