//! What the nodes of a world of meetings run: servents and routers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::net::SocketAddr;

use servent_core::engine::{Effect, Engine, Fx, FxOf};
use servent_core::meet::{self, NatMapping};
use servent_core::node::{Config, Event as NodeEvent, Input, Node, Output};
use servent_core::time::Instant;
use servent_core::unicast;

use super::event::{Event, RouterEvent};
use super::router::NatRouter;
use super::scenario::Scenario;

/// The engine of a node.
#[derive(Debug, Clone)]
pub enum MeetHost {
    /// A person's servent.
    Person(Box<Node>),
    /// The meeting place, a servent for each of its two ports.
    Place(Box<[Node; 2]>),
    /// A router.
    Router(NatRouter),
}

/// An input or output of one of a node's ports; people have the first only.
#[derive(Debug, Clone)]
pub struct AtPort<T> {
    /// Which port.
    pub port: usize,
    /// What happens there.
    pub what: T,
}

impl MeetHost {
    pub(super) fn person(scenario: &Scenario, seed: u64) -> Self {
        let datagrams = Some(unicast::Config { prove: true, ..unicast::Config::default() });
        Self::Person(Box::new(Node::new(config(datagrams, meet_config(scenario, false)), seed)))
    }

    pub(super) fn place(scenario: &Scenario, seed: u64) -> Self {
        let node = |port: u64| Node::new(config(None, meet_config(scenario, true)), seed ^ port);
        Self::Place(Box::new([node(0), node(1)]))
    }

    /// The servent at a port.
    #[must_use]
    pub fn servent(&self, port: usize) -> Option<&Node> {
        match self {
            Self::Person(node) => Some(node),
            Self::Place(nodes) => nodes.get(port),
            Self::Router(_) => None,
        }
    }

    fn servents(&mut self) -> &mut [Node] {
        match self {
            Self::Person(node) => core::slice::from_mut(node),
            Self::Place(nodes) => &mut nodes[..],
            Self::Router(_) => &mut [],
        }
    }
}

fn meet_config(scenario: &Scenario, place: bool) -> meet::Config {
    let relay_rate = if place && scenario.relay { 10_000_000 } else { 0 };
    meet::Config { place, relay_rate, ..meet::Config::default() }
}

fn config(datagrams: Option<unicast::Config>, meet: meet::Config) -> Config {
    Config { http: false, download: false, datagrams, meet: Some(meet), ..Config::default() }
}

impl Engine for MeetHost {
    type Input = AtPort<Input>;
    type Output = AtPort<Output>;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: AtPort<Input>, fx: &mut FxOf<Self>) {
        let AtPort { port, what } = input;
        let Some(node) = self.servents().get_mut(port) else { return };
        let mut own = Fx::new();
        node.handle(now, what, &mut own);
        pass(port, &mut own, fx);
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        if let Self::Router(router) = self {
            for row in router.expire(now) {
                let (inside, outside) = (row.inside, row.outside);
                fx.event(Event::Router(RouterEvent::Expired { inside, outside }));
            }
        }
        for (port, node) in self.servents().iter_mut().enumerate() {
            if node.poll_timeout().is_some_and(|(at, _)| at <= now) {
                let mut own = Fx::new();
                node.handle_timeout(now, &mut own);
                pass(port, &mut own, fx);
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self {
            Self::Person(node) => node.poll_timeout(),
            Self::Place(nodes) => nodes.iter().filter_map(Engine::poll_timeout).min(),
            Self::Router(router) => router.next_expiry().map(|at| (at, "mapping")),
        }
    }
}

fn pass(port: usize, own: &mut Fx<Output, NodeEvent>, fx: &mut FxOf<MeetHost>) {
    for effect in own.drain() {
        match effect {
            Effect::Output(what) => fx.output(AtPort { port, what }),
            // What the connection does after a meeting is shown in worlds of its own.
            Effect::Event(NodeEvent::Meet(event)) => fx.event(Event::Meet(event)),
            Effect::Event(_) => {}
        }
    }
}

/// How a meeting ended for one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeetOutcome {
    /// The place has not answered.
    #[default]
    Silent,
    /// The other side did not come.
    Waiting,
    /// A direct path.
    Direct,
    /// Through the place.
    Relayed,
    /// No path.
    Unreachable,
}

impl MeetOutcome {
    /// True when the side has a path.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        matches!(self, Self::Direct | Self::Relayed)
    }

    /// True when the side seeks no longer.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Direct | Self::Relayed | Self::Unreachable)
    }
}

/// One of many sockets that has heard a peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct HearingSocket {
    pub(super) at: SocketAddr,
    /// A path was chosen on it.
    pub(super) chosen: bool,
}

/// What a world keeps for a node beside its engine.
#[derive(Debug, Clone, Default)]
pub struct MeetSite {
    /// Datagrams that it has sent.
    pub(super) sent: u32,
    /// Those of them that a fault has named.
    pub(super) doomed: alloc::collections::BTreeSet<u32>,
    /// Which of a person's many sockets has heard a peer last.
    pub(super) hears: BTreeMap<SocketAddr, HearingSocket>,
    /// The person has come.
    pub(super) came: bool,
    /// How far it is.
    pub outcome: MeetOutcome,
    /// How the place sees the person, and how the router maps.
    pub located: Option<(SocketAddr, NatMapping)>,
    /// The name of the other side, and where it is reached.
    pub peer: Option<SocketAddr>,
    /// Where that is reached now.
    pub path: Option<SocketAddr>,
    /// Messages sent and read.
    pub wrote: u64,
    /// The highest message read.
    pub read: u64,
}
