//! A node: the engines joined behind one byte boundary.
//!
//! Simulator, native driver, replayer, fuzzer and page are hosts of the very
//! same [`Node`] through the very same [`Input`] and [`Output`]. A node is a
//! pure function of its config, its seed and the instants and inputs it was
//! given.
//!
//! An input takes one path: [`Node`] finds the service it belongs to, and the
//! service does the rest. No service calls another; what they share is in the
//! context of the call (`cx`), and what one wants of another it leaves there.
//!
//! | file | what it holds |
//! |---|---|
//! | `io`, `config`, `event`, `view` | the boundary: plain data |
//! | `connections`, `gate` | the layer below all services: bytes, limits, deadlines |
//! | `cx`, `shelf` | the context every service gets in a call; what we have for others |
//! | `service` | the shape of a service, and the one way to run an engine |
//! | `services` | all of them: who is told what |
//! | `lines` | the first line decides which service a connection belongs to |
//! | `http` | the service that serves files: the upload queue and its replies |
//! | `downloads` | the download service |
//! | `datagrams` | the service that sends and receives messages over datagrams |
//! | `meet` | the service by which servents find each other through a place |
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
mod meet;
mod overlay;
mod parts;
mod service;
mod services;
mod shelf;
pub mod swarm;
mod view;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use self::config::{Config, NodeLimits};
pub use self::event::{ConnEvent, Event, Minor, Misuse, NodeLimit, WorldEvent};
pub use self::inbox::{Arriving, InboxLimits, InboxUsage, InboxView};
pub use self::io::{
    ConnInput, ConnOutput, DiskInput, FetchCommand, FetchInput, FetchOutput, FileInfo, FileRef,
    HostRow, HttpCommand, Input, MeetAnswer, MeetCommand, MessageCommand, MessageInput,
    MessageOutput, NodeAnswer, NodeCommand, NodeOp, Output, OverlayCommand, PathNews, RestoredNode,
    RunBit, SearchHit, ServiceName, SiteInput, UnicastMessage,
};
pub use self::overlay::Config as OverlayConfig;
pub use self::view::{Card, NodeView, QueueView, ReservedSlot, SlotCard};
pub use crate::fetch::{
    DialError, DownloadSource, FetchView, Get, PartRow, SourceView, StoreError, Ticket,
};

use self::connections::Connections;
use self::cx::{NodeCx, Ourselves};
use self::look::Look;
use self::service::RunsEngine as _;
use self::services::Services;
use self::shelf::Shelf;
use crate::engine::{Engine, FxOf, earlier};
use crate::id::{ConnId, Guid};
use crate::meet::PlaceCounters;
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
    shelf: Shelf,
    services: Services,
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
        let services = Services::new(&config, &root);
        Self {
            shelf: Shelf { queue: services.http.room(), ..Shelf::default() },
            services,
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
        self.services.overlay.as_ref().map(|overlay| overlay.view())
    }

    /// Whether others of the overlay cannot connect to us, as the user said or as was
    /// found out.
    #[must_use]
    pub fn is_firewalled(&self) -> bool {
        let overlay = self.services.overlay.as_ref();
        overlay.is_some_and(|overlay| overlay.is_walled_at(&self.config, self.now))
    }

    /// How many hosts of the overlay are known, neighbours included.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.services.overlay.as_ref().map_or(0, |overlay| overlay.hosts())
    }

    /// The endpoint of messages over datagrams, read-only; `None` when
    /// datagrams are not configured.
    #[must_use]
    pub fn datagrams(&self) -> Option<&unicast::Endpoint> {
        self.services.datagrams.as_ref().map(|datagrams| datagrams.endpoint())
    }

    /// What it has done as a meeting place; `None` when it is none.
    #[must_use]
    pub fn meetings(&self) -> Option<PlaceCounters> {
        self.services.meetings.as_ref().and_then(|meetings| meetings.counters())
    }

    /// The state of its part in swarms, with at most `clients` clients of each
    /// file it coordinates.
    #[must_use]
    #[doc(hidden)]
    pub fn swarm(&self, clients: u32) -> swarm::SwarmView {
        let swarm = self.services.swarm.as_ref();
        swarm.map(|swarm| swarm.view(clients, self.now)).unwrap_or_default()
    }

    /// True for a connection on which requests are answered: what waits there
    /// until it is saved may be given up, and the node says something else
    /// ([`ConnInput::Retracted`]).
    #[must_use]
    pub fn may_retract(&self, conn: ConnId) -> bool {
        self.io.get(conn).is_some_and(|state| state.answers())
    }

    fn look(&self) -> Look<'_> {
        let Self { now, io, shelf, services, config, .. } = self;
        Look { now: *now, io, shelf, services, inbox: &config.inbox }
    }

    /// Runs a step of the services, and then what they left to do.
    fn step(&mut self, fx: &mut NodeEffects, step: impl FnOnce(&mut Services, &mut NodeCx<'_>)) {
        let Self { now, config, us, io, shelf, services, .. } = self;
        let wishes = VecDeque::new();
        let cx = &mut NodeCx { now: *now, config, us, io, shelf, fx, wishes };
        step(services, cx);
        services.settle(cx);
    }

    /// Handles one input of a running node.
    fn input(&mut self, input: Input, fx: &mut NodeEffects) {
        if let Input::Command(command) = input {
            return self.command(command, fx);
        }
        self.step(fx, |services, cx| match input {
            Input::Connection(conn, input) => services.connection(cx, conn, input),
            Input::Disk(input) => services.disk(cx, input),
            Input::Fetch(input) => services.downloads.feed(cx, input.into()),
            Input::Messages(input) => services.messages(cx, input),
            Input::Swarm(input) => {
                if let Some(swarm) = &mut services.swarm {
                    swarm.input(cx, input);
                }
            }
            Input::Site(input) => services.site(cx, input),
            // Both are handled above this.
            Input::Start(_) | Input::Command(_) => {}
        });
    }
}

impl Engine for Node {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input, fx: &mut FxOf<Self>) {
        self.now = now;
        match (self.state, input) {
            (_, Input::Start(restored)) => self.start(restored, fx),
            (State::New, _) => tell(fx, ConnEvent::Misuse { fault: Misuse::NotStarted }),
            (State::Running, input) => self.input(input, fx),
            // Inputs that were already under way when it stopped.
            (State::Stopped, _) => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.now = now;
        if self.state == State::Running {
            self.step(fx, Services::handle_timeout);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.state != State::Running {
            return None;
        }
        earlier(self.io.next_due(), self.services.poll_timeout())
    }
}

/// Adds an event of the node itself.
fn tell(fx: &mut NodeEffects, event: ConnEvent) {
    fx.event(Event::Conn(event));
}
