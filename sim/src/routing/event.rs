//! What happens in an overlay.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;

use serde::Serialize;

use servent_core::id::Guid;
use servent_core::routing::{self, Why};
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_core::wire::gnutella::Kind;

/// Everything that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// A message's.
    Message(MessageEvent),
    /// A router's own, but for what is told by messages.
    Routing(routing::Event),
    /// What the people at the nodes do, and get.
    App(AppEvent),
    /// What goes wrong.
    World(Happening),
}

/// What becomes of a message. `sent` and `lost` are records of the node that
/// sent it, `judged` of the other one. `id` counts messages as they leave,
/// from 0.
///
/// `of` is the node a hit comes from or a push wants. `set` is a fingerprint
/// of what a hit says, its private area left out; 0 for all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum MessageEvent {
    /// It left. `due` is when it will arrive.
    Sent {
        id: u64,
        to: NodeId,
        kind: Kind,
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
    /// It is here, and this is the verdict. `ttl` and `hops` as they came;
    /// `on` neighbours get it next.
    Judged {
        id: u64,
        from: NodeId,
        kind: Kind,
        guid: Guid,
        ttl: u8,
        hops: u8,
        verdict: Outcome,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<Why>,
        on: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        of: Option<NodeId>,
        #[serde(skip)]
        set: u32,
    },
    /// It will never arrive.
    Lost { id: u64, to: NodeId, kind: Kind, guid: Guid, why: Loss },
}

/// A verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It goes on.
    Forwarded,
    /// It ends here and was meant for us.
    Local,
    /// It ends here and is of no use.
    Dropped,
}

/// Why a message does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The link is cut.
    Cut,
    /// Nobody is there.
    Down,
    /// The other end has hung up.
    Closed,
}

/// What people do, and get.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum AppEvent {
    /// Somebody searches.
    Searched { guid: Guid, words: String },
    /// So many files of this node fit a query.
    Answered { guid: Guid, files: u32 },
    /// An answer is home: so many files of a node, so many links away.
    Found { guid: Guid, of: Option<NodeId>, files: u32, hops: u8 },
    /// Somebody asks a servent to connect.
    Asked { guid: Guid, of: NodeId },
    /// Nobody here knows the way to it.
    NoWay { of: NodeId },
    /// A push has come for this node: it connects there.
    Obeyed { to: Option<NodeId> },
    /// A query that nobody asked is made up.
    Flooded { guid: Guid },
}

/// What goes wrong, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Happening {
    /// The node ended without a word; all it knew is gone.
    Killed,
    /// It runs again.
    Restarted,
    /// The link to a node is gone.
    Cut { to: NodeId },
    /// It is there again.
    Healed { to: NodeId },
}
