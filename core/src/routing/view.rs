//! The state of the router as plain data.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::Serialize;

use super::memories::memory::Memory;
use super::{KindCount, Router, Which};
use crate::id::{ConnId, Guid};
use crate::time::{Duration, Instant};

/// The state of the router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouterView {
    pub links: Vec<LinkView>,
    pub tables: Vec<TableView>,
    pub messages: Vec<KindCount>,
    pub searches: u32,
}

/// The state of a neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkView {
    pub conn: ConnId,
    pub peer: SocketAddr,
    pub agent: String,
    pub relays: bool,
    pub received: u64,
    pub sent: u64,
    pub dropped: u64,
    /// Bytes queued for it.
    pub waiting: u64,
    pub strikes: u32,
    /// How many more of its queries may be remembered until the generations
    /// change.
    pub quota_left: u32,
    /// How many entries of its keyword table are set, and how many there are.
    pub keywords: Option<(u32, u32)>,
}

/// The state of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableView {
    pub table: Which,
    pub life: Duration,
    /// Entries of the newer generation, and of the older one.
    pub young: u64,
    pub old: u64,
    /// When the older one is dropped; `None` when the table is empty.
    pub turns: Option<Instant>,
    pub bytes: u64,
}

/// An entry of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableEntryView {
    pub via: Via,
    /// It is in the newer generation.
    pub young: bool,
    /// When its generation is dropped.
    pub until: Option<Instant>,
}

/// Where the route of an entry leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// To ourselves.
    Ourselves,
    Neighbour(ConnId),
    /// To a connection that is gone.
    Gone,
}

impl Router {
    /// What is remembered about a GUID, in one of the tables keyed by GUIDs:
    /// queries, servents, pings and pushes.
    #[must_use]
    #[doc(hidden)]
    pub fn recall(&self, table: Which, id: Guid) -> Option<TableEntryView> {
        let memory = match table {
            Which::Queries => &self.queries,
            Which::Servents => &self.servents,
            Which::Pings => &self.pings,
            Which::Pushes => &self.pushes,
            Which::Holders | Which::Pongs | Which::Hits | Which::Probed | Which::Answers => {
                return None;
            }
        };
        let (route, young, until) = memory.find(self.marks.of_id(id))?;
        let via = match (route.slot(), self.links.by_route(route)) {
            (None, _) => Via::Ourselves,
            (_, Some(link)) => Via::Neighbour(link.conn),
            (_, None) => Via::Gone,
        };
        Some(TableEntryView { via, young, until })
    }

    /// The state of the router.
    #[must_use]
    #[doc(hidden)]
    pub fn view(&self) -> RouterView {
        let links = self.links.iter().map(|link| LinkView {
            conn: link.conn,
            peer: link.peer,
            agent: link.neighbour.agent.clone(),
            relays: link.neighbour.relays,
            received: link.received,
            sent: link.sent,
            dropped: link.dropped,
            waiting: link.flow.bytes(),
            strikes: link.strikes,
            quota_left: link.route.slot().map_or(0, |slot| {
                self.config.queries_per_link.saturating_sub(self.queries.spent(slot))
            }),
            keywords: link.keywords.as_ref().map(|table| table.filled()),
        });
        let table = |(table, memory): (Which, &Memory)| {
            let (young, old) = memory.len();
            TableView {
                table,
                life: memory.life(),
                young: young as u64,
                old: old as u64,
                turns: memory.turn(),
                bytes: memory.bytes() as u64,
            }
        };
        RouterView {
            links: links.collect(),
            tables: self.tables().into_iter().map(table).collect(),
            messages: self.counters.by_kind(),
            searches: self.searches.len() as u32,
        }
    }

    /// Memory of its tables, in bytes.
    #[must_use]
    #[doc(hidden)]
    pub fn table_bytes(&self) -> usize {
        self.tables().into_iter().map(|(_, memory)| memory.bytes()).sum()
    }
}
