//! What a queue board shows, and the class the page asks for it.

mod class;

use serde::Serialize;
use servent_core::node::{FetchView, LaneTotals, Node, NodeView, QueueView};
use servent_core::queue::Dialect;
use servent_core::queue::server::Windows;
use servent_core::time::Instant;
use servent_sim::queue::Role;

pub(crate) use self::class::board_class;

/// A node in a list.
#[derive(Serialize)]
pub(crate) struct NodeInfo<'a> {
    pub(crate) id: u32,
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    pub(crate) dialect: Dialect,
    pub(crate) up: bool,
}

/// Everything the queue board shows of one server.
#[derive(Default, Serialize)]
pub(crate) struct Board {
    pub(crate) at: Instant,
    pub(crate) queue: QueueView,
    pub(crate) clients: Vec<Client>,
    pub(crate) tally: Tally,
    pub(crate) done: Vec<Named>,
    /// When the line was sorted into its lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lanes: Option<LaneTotals>,
}

/// Which part of a line a board is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// So many positions from one on.
    Positions(u32, u32),
    /// A window of each lane.
    Lanes(Windows),
}

/// A window of each lane (those of held connections, of ids and of lapsed
/// places), each of so many cards.
pub(crate) fn lanes([sync, asynchronous, grace]: [u32; 3], count: u32) -> Part {
    Part::Lanes(Windows {
        sync: (sync, count),
        asynchronous: (asynchronous, count),
        grace: (grace, count),
    })
}

/// What a node looks like, with that part of its line.
pub(crate) fn look(node: &Node, part: Part) -> (NodeView, Option<LaneTotals>) {
    match part {
        Part::Positions(from, count) => (node.view(from, count), None),
        Part::Lanes(windows) => {
            let mut view = node.view(1, 0);
            let (lanes, cards) = node.lanes(&windows);
            view.queue.cards = cards;
            (view, Some(lanes))
        }
    }
}

/// A client that stands on the board.
#[derive(Serialize)]
pub(crate) struct Client {
    pub(crate) node: u32,
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
    pub(crate) peer: String,
    pub(crate) fetch: Option<FetchView>,
}

/// How many clients are at what.
#[derive(Default, Serialize)]
pub(crate) struct Tally {
    pub(crate) absent: u32,
    pub(crate) waiting: u32,
    pub(crate) queued: u32,
    pub(crate) receiving: u32,
    pub(crate) done: u32,
    pub(crate) failed: u32,
}

/// A node and its name.
#[derive(Serialize)]
pub(crate) struct Named {
    pub(crate) node: u32,
    pub(crate) name: String,
}
