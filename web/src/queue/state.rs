//! The state of a server's queue.

use core::net::{IpAddr, SocketAddr};

use serde::Serialize;
use servent_core::node::{FetchView, LaneTotals, Node, NodeView, QueueView};
use servent_core::queue::Dialect;
use servent_core::queue::server::Windows;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::queue::{NodeStanding, Queue, QueueWorld, Role};

use crate::lab::Lab;

/// How many finished clients are listed.
const DONE: usize = 24;

/// Everything that the queue view shows of one server.
#[derive(Default, Serialize)]
pub(crate) struct QueueState {
    /// The instant.
    pub(crate) at: Instant,
    /// Slots and queue.
    pub(crate) queue: QueueView,
    /// The clients in the part of the queue that is shown.
    pub(crate) clients: Vec<ClientInfo>,
    /// The states of all clients.
    pub(crate) tally: StateTally,
    /// The clients that finished most recently.
    pub(crate) done: Vec<Named>,
    /// How many requests are in each lane, when the queue was sorted into
    /// lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lanes: Option<LaneTotals>,
}

/// A client in the part that is shown.
#[derive(Serialize)]
pub(crate) struct ClientInfo {
    node: NodeId,
    name: String,
    dialect: Dialect,
    /// Its address, as in the queue entry.
    peer: String,
    /// Its download.
    fetch: Option<FetchView>,
}

/// How many clients are in each state.
#[derive(Default, Serialize)]
pub(crate) struct StateTally {
    absent: u32,
    waiting: u32,
    queued: u32,
    receiving: u32,
    done: u32,
    failed: u32,
}

/// A node and its name.
#[derive(Serialize)]
pub(crate) struct Named {
    node: NodeId,
    name: String,
}

/// The part of a queue to show.
#[derive(Clone, Copy)]
pub(crate) enum QueueSlice {
    /// Positions: the first one, and how many.
    Positions(u32, u32),
    /// A window of each lane.
    Lanes(Windows),
}

impl QueueSlice {
    /// A window of each lane (held connections, ids, and lapsed places), with
    /// `count` requests each.
    pub(crate) fn lanes([sync, asynchronous, grace]: [u32; 3], count: u32) -> Self {
        Self::Lanes(Windows {
            sync: (sync, count),
            asynchronous: (asynchronous, count),
            grace: (grace, count),
        })
    }
}

/// A node's view, with that part of its queue.
pub(crate) fn look(node: &Node, part: QueueSlice) -> (NodeView, Option<LaneTotals>) {
    match part {
        QueueSlice::Positions(from, count) => (node.view(from, count), None),
        QueueSlice::Lanes(windows) => {
            let mut view = node.view(1, 0);
            let (lanes, cards) = node.lanes(&windows);
            view.queue.cards = cards;
            (view, Some(lanes))
        }
    }
}

/// The state of a server in a simulated world.
pub(crate) fn read_state(lab: &Lab<Queue>, node: NodeId, part: QueueSlice) -> QueueState {
    let world = lab.world();
    let (view, lanes) = world.node(node).map(|n| look(n, part)).unwrap_or_default();
    let peers = view.queue.uploads.iter().map(|u| &u.peer);
    let peers = peers.chain(view.queue.cards.iter().map(|c| &c.peer));
    let peers = peers.chain(view.queue.kept.iter().map(|k| &k.peer));
    let clients = peers.filter_map(|peer| client(lab, peer)).collect();
    let (mut tally, mut done) = (StateTally::default(), Vec::new());
    for (id, profile) in (0..).map(NodeId).zip(world.profiles()) {
        if profile.role == Role::Server {
            continue;
        }
        match world.standing(id) {
            NodeStanding::Absent => tally.absent += 1,
            NodeStanding::Waiting => tally.waiting += 1,
            NodeStanding::Receiving => tally.receiving += 1,
            NodeStanding::Failed => tally.failed += 1,
            NodeStanding::Done => {
                tally.done += 1;
                done.push(Named { node: id, name: profile.name.clone() });
            }
        }
    }
    tally.queued = view.queue.length.min(tally.waiting);
    tally.waiting -= tally.queued;
    done.drain(..done.len().saturating_sub(DONE));
    QueueState { at: lab.timeline.now(), queue: view.queue, clients, tally, done, lanes }
}

/// The client with the address of a queue entry.
fn client(lab: &Lab<Queue>, peer: &str) -> Option<ClientInfo> {
    let ip = peer.parse::<SocketAddr>().map(|a| a.ip()).or_else(|_| peer.parse::<IpAddr>());
    let world: &QueueWorld = lab.world();
    let node = world.node_at(ip.ok()?)?;
    let profile = &world.profiles()[node.0 as usize];
    let fetch = world.view(node, 1, 0).and_then(|v| v.fetches.into_iter().next());
    let (name, dialect, peer) = (profile.name.clone(), profile.dialect, peer.to_owned());
    Some(ClientInfo { node, name, dialect, peer, fetch })
}
