//! What the router says of itself.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Verdict, Why};
use crate::id::{ConnId, Guid};
use crate::wire::gnutella::Kind;

/// Something that happened in the overlay. Those marked *traced* are only
/// told when [`super::Config::trace_messages`] asks; everything is counted in
/// [`super::Counters`] in any case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// There is a new neighbour.
    Opened { conn: ConnId, peer: SocketAddr, agent: String },
    /// It is gone.
    Closed { conn: ConnId, why: Ending },
    /// Traced: what became of a message. `ttl` and `hops` as they came.
    Judged { conn: ConnId, guid: Guid, kind: Kind, ttl: u8, hops: u8, verdict: Verdict },
    /// Traced: a message of our own left for these.
    Sent { guid: Guid, kind: Kind, ttl: u8, to: Vec<ConnId> },
    /// Traced: a message was dropped because its neighbour takes too little.
    Overflow { conn: ConnId, guid: Guid, kind: Kind },
    /// Another connection than the one we know the servent by brings its id:
    /// one of the two is wrong about it.
    Conflict { conn: ConnId, servent: Guid },
    /// A neighbour's keyword table is whole.
    Keywords { conn: ConnId, filled: u32, entries: u32 },
    /// The generations of a table changed: so many entries are in the older
    /// one now.
    Turned { table: Which, entries: u64 },
    /// A limit of the configuration was reached; told once for each turn of
    /// the tables.
    Limit { conn: ConnId, why: Why },
}

impl Event {
    /// The connection it is about.
    #[must_use]
    pub const fn conn(&self) -> Option<ConnId> {
        match self {
            Self::Opened { conn, .. }
            | Self::Closed { conn, .. }
            | Self::Judged { conn, .. }
            | Self::Overflow { conn, .. }
            | Self::Conflict { conn, .. }
            | Self::Keywords { conn, .. }
            | Self::Limit { conn, .. } => Some(*conn),
            Self::Sent { .. } | Self::Turned { .. } => None,
        }
    }
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// Queries: duplicates, and the ways of their hits.
    Queries,
    /// Servents: the ways of pushes.
    Servents,
    /// Every connection's own servents, for pushes to all of them.
    Holders,
    Pings,
    Pongs,
    Hits,
    Pushes,
    /// How much was answered to a query.
    Answers,
    /// Queries that came with a single link to go, and may come again.
    Probed,
}

/// Why a neighbour is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The connection broke or was closed.
    Lost,
    /// It said goodbye.
    Bye { code: u16, text: String },
    /// We did.
    Given { code: u16 },
}
