//! The events of an overlay.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use servent_core::id::Guid;
use servent_core::routing::{self, DropReason};
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_core::wire::gnutella::MessageKind;

/// An event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// About a message.
    Message(MessageEvent),
    /// Of a router, except what message events already say.
    Routing(routing::Event),
    /// User actions and their results.
    App(SearchEvent),
    /// Faults.
    World(RoutingIncident),
}

/// What happens to a message. `sent` and `lost` are records of the node that
/// sent it, `judged` of the receiver. `id` counts messages in the order of
/// sending, from 0.
///
/// `of` is the node a hit comes from or a push is for. `set` is a fingerprint
/// of a hit's content without its private area; 0 for all other messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum MessageEvent {
    /// It was sent. `due` is when it will arrive.
    Sent {
        id: u64,
        to: NodeId,
        kind: MessageKind,
        guid: Guid,
        ttl: u8,
        hops: u8,
        bytes: u32,
        due: Instant,
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<NodeId>,
        #[serde(skip)]
        set: u32,
    },
    /// It arrived and was processed. `ttl` and `hops` are as received; it is
    /// forwarded to `on` neighbours.
    Judged {
        id: u64,
        from: NodeId,
        kind: MessageKind,
        guid: Guid,
        ttl: u8,
        hops: u8,
        verdict: MessageOutcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<DropReason>,
        on: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<NodeId>,
        #[serde(skip)]
        set: u32,
    },
    /// It was lost.
    Lost { id: u64, to: NodeId, kind: MessageKind, guid: Guid, why: MessageLoss },
}

/// The outcome for a message, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageOutcome {
    /// It is forwarded.
    Forwarded,
    /// It was for this node.
    Local,
    /// It is dropped.
    Dropped,
}

/// Why a message was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageLoss {
    /// The link is cut.
    Cut,
    /// The receiver is down.
    Down,
    /// The receiver has closed the connection.
    Closed,
}

/// User actions and their results.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum SearchEvent {
    /// The user searches.
    Searched { guid: Guid, words: String },
    /// This many files of the node match a query.
    Answered { guid: Guid, files: u32 },
    /// A hit arrived: this many files of a node, this many hops away.
    Found { guid: Guid, of: Option<NodeId>, files: u32, hops: u8 },
    /// The user asks a servent to connect, by push.
    Asked { guid: Guid, of: NodeId },
    /// There is no route to it.
    NoWay { of: NodeId },
    /// A push arrived for this node: it connects there.
    Obeyed { to: Option<NodeId> },
    /// A query of a flood is sent.
    Flooded { guid: Guid },
    /// A node could not connect to this one: a firewall lets no connection in.
    Refused { by: NodeId },
}

/// Faults and their ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum RoutingIncident {
    /// The node died without notice; its state is lost.
    Killed,
    /// It is running again.
    Restarted,
    /// The link to a node is broken.
    Cut { to: NodeId },
    /// The link is restored.
    Healed { to: NodeId },
    /// A firewall was closed, so that no other can connect to the node, or opened
    /// again.
    Firewall { closed: bool },
}
