//! What can go wrong, and what a user can do, at an instant.

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Instant};
use crate::trace::NodeId;

/// A fault with its instant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FaultAt {
    /// When.
    #[serde(default)]
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub fault: Fault,
}

/// A fault, its end, or something a user does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Every connection between two nodes breaks.
    Cut {
        /// One of them.
        a: NodeId,
        /// The other.
        b: NodeId,
    },
    /// A node is killed; what it had not flushed is lost.
    Crash {
        /// Which.
        node: NodeId,
    },
    /// A killed node runs again from its disk; a running one is killed first.
    Restart {
        /// Which.
        node: NodeId,
    },
    /// A node stands still: it takes nothing in, and its timers wait.
    Stall {
        /// Which.
        node: NodeId,
    },
    /// It goes on.
    Resume {
        /// Which.
        node: NodeId,
    },
    /// Nobody can connect to a node any more, or again.
    Firewall {
        /// Which.
        node: NodeId,
        /// Closed, or open again.
        closed: bool,
    },
    /// A node's clock goes wrong by so many microseconds.
    Clock {
        /// Which.
        node: NodeId,
        /// Positive is fast.
        offset: i64,
    },
    /// A client asks all its sources now, allowed or not.
    AskNow {
        /// Which.
        node: NodeId,
    },
    /// A client asks nobody for so long.
    Sleep {
        /// Which.
        node: NodeId,
        /// How long.
        length: Duration,
    },
}

impl Fault {
    /// The nodes it names.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let (first, second) = match self {
            Self::Cut { a, b } => (*a, Some(*b)),
            Self::Crash { node }
            | Self::Restart { node }
            | Self::Stall { node }
            | Self::Resume { node }
            | Self::Firewall { node, .. }
            | Self::Clock { node, .. }
            | Self::AskNow { node }
            | Self::Sleep { node, .. } => (*node, None),
        };
        [Some(first), second].into_iter().flatten()
    }
}
