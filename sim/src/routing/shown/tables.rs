//! The routing tables of a node, for display: which entries, from which neighbour, until
//! when.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::chart::{Chart, Thing};
use crate::routing::world::RoutingWorld;
use servent_core::id::Guid;
use servent_core::routing::{Config, TableEntryView, TableView, Via, Which};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// The tables of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tables {
    pub at: Instant,
    pub up: bool,
    /// The number of entries.
    pub total: u32,
    pub life: Lives,
    pub tables: Vec<TableView>,
    /// Newest first.
    pub rows: Vec<TableRow>,
}

/// The shortest lifetimes of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lives {
    pub query: Duration,
    pub push: Duration,
    pub duplicate: Duration,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// `query`: the route back for its hits. `servent`: the route for pushes to
    /// it. `push`: that it has passed here.
    pub kind: &'static str,
    /// The number of the search or push.
    pub guid: Option<u32>,
    pub id: Guid,
    /// The words of a search; the name of a servent, or of the one a push is
    /// for.
    pub words: String,
    /// The neighbour it came from; `None` for this node itself.
    pub via: Option<NodeId>,
    pub name: Option<String>,
    /// That connection has closed.
    pub gone: bool,
    pub born_at: Instant,
    /// When its generation is dropped.
    pub expires_at: Option<Instant>,
    pub generation: &'static str,
}

impl Tables {
    /// The entries of a node's tables now, from number `from` on, at most
    /// `count`. `None` when there is no such node.
    #[must_use]
    pub fn read(
        world: &RoutingWorld,
        chart: &Chart,
        node: NodeId,
        from: u32,
        count: u32,
    ) -> Option<Self> {
        let slot = world.nodes.get(node.0 as usize)?;
        let config = &world.net.stage.config;
        let lives = |config: &Config| Lives {
            query: config.query_life.scaled(config.time_scale),
            push: config.push_life.scaled(config.time_scale),
            duplicate: config.duplicate_life.scaled(config.time_scale),
        };
        let tables = slot.engine.as_ref().map(|router| router.view().tables);
        let mut known: BTreeSet<(u64, u64)> = BTreeSet::new();
        let (mut total, mut rows) = (0, Vec::new());
        for seen in chart.seen(node.0, world.now()).iter().rev() {
            let key = match seen.what {
                Thing::Query(number) => (0, number.into()),
                Thing::Push(number) => (1, number.into()),
                Thing::Servent(of) => (2, of.into()),
            };
            if !known.insert(key) {
                continue;
            }
            let Some(row) = row(world, chart, node.0, (seen.at, seen.what)) else { continue };
            if total >= from && total < from.saturating_add(count) {
                rows.push(row);
            }
            total += 1;
        }
        let (at, up) = (world.now(), slot.engine.is_some());
        let tables = tables.unwrap_or_default();
        Some(Self { at, up, total, life: lives(config), tables, rows })
    }
}

fn row(
    world: &RoutingWorld,
    chart: &Chart,
    node: u32,
    (at, thing): (Instant, Thing),
) -> Option<TableRow> {
    let router = world.node(NodeId(node))?;
    let name = |node: u32| world.scenario().name(NodeId(node));
    let (kind, table, guid) = match thing {
        Thing::Query(number) => ("query", Which::Queries, Some(number)),
        Thing::Push(number) => ("push", Which::Pushes, Some(number)),
        Thing::Servent(_) => ("servent", Which::Servents, None),
    };
    let journey = guid.and_then(|number| chart.journeys().get(number as usize));
    let (id, words) = match (thing, journey) {
        (Thing::Servent(of), _) => (world.net.stage.servents[of as usize], name(of)),
        (_, Some(journey)) => {
            let wanted = journey.of.map(|of| name(of.0));
            (journey.id, wanted.unwrap_or_else(|| journey.words.clone()))
        }
        _ => return None,
    };
    let TableEntryView { via, young, until } = router.recall(table, id)?;
    let (via, gone) = match via {
        Via::Ourselves => (None, false),
        Via::Neighbour(conn) => (world.peer(node, conn), false),
        Via::Gone => (None, true),
    };
    Some(TableRow {
        kind,
        guid,
        id,
        words,
        via: via.map(NodeId),
        name: via.map(name),
        gone,
        born_at: at,
        expires_at: until,
        generation: if young { "young" } else { "old" },
    })
}
