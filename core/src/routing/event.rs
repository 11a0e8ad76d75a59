//! The events of the router.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{DropReason, RoutingVerdict};
use crate::id::{ConnId, Guid};
use crate::wire::gnutella::MessageKind;

/// Something that happened in the overlay. Events marked *traced* are only
/// emitted with [`super::Config::trace_messages`]; everything is counted in
/// [`super::RoutingCounters`] in any case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// There is a new neighbour.
    Opened { conn: ConnId, peer: SocketAddr, agent: String },
    /// A neighbour is gone.
    Closed { conn: ConnId, why: NeighbourEnding },
    /// Traced: the verdict on a message. `ttl` and `hops` are as received.
    Judged {
        conn: ConnId,
        guid: Guid,
        kind: MessageKind,
        ttl: u8,
        hops: u8,
        verdict: RoutingVerdict,
    },
    /// Traced: a message of our own was sent to these neighbours.
    Sent { guid: Guid, kind: MessageKind, ttl: u8, to: Vec<ConnId> },
    /// Traced: a message was dropped because its neighbour reads too slowly.
    Overflow { conn: ConnId, guid: Guid, kind: MessageKind },
    /// A servent's id came from another connection than the one we know it by:
    /// one of the two is wrong.
    Conflict { conn: ConnId, servent: Guid },
    /// A neighbour's keyword table is complete.
    Keywords { conn: ConnId, filled: u32, entries: u32 },
    /// The generations of a table changed: so many entries are in the older one
    /// now.
    Turned { table: Which, entries: u64 },
    /// A limit of the configuration was reached; reported once per generation
    /// of the tables.
    Limit { conn: ConnId, why: DropReason },
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

/// The tables of the router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// Queries: for duplicates, and for the routes of their hits.
    Queries,
    /// Servents: the routes of pushes.
    Servents,
    /// The servents seen on each connection, for pushes to all of them.
    Holders,
    Pings,
    Pongs,
    Hits,
    Pushes,
    /// How many hits each query has had.
    Answers,
    /// Queries that came with a TTL of 1 and may come again.
    Probed,
}

/// Why a neighbour is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NeighbourEnding {
    /// The connection broke or was closed.
    Lost,
    /// It sent a Bye.
    Bye { code: u16, text: String },
    /// We sent a Bye.
    Given { code: u16 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_connection_names_it() {
        let limit = Event::Limit { conn: ConnId(7), why: DropReason::Duplicate };
        assert_eq!(limit.conn(), Some(ConnId(7)));
        let turned = Event::Turned { table: super::super::Which::Queries, entries: 1 };
        assert_eq!(turned.conn(), None);
    }
}
