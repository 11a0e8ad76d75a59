//! What can go wrong, and what a user can do, at an instant.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::time::{Duration, Instant};
use crate::trace::NodeId;

/// A fault with its instant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct FaultAt {
    /// When.
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub fault: Fault,
}

impl<'de> Deserialize<'de> for FaultAt {
    /// `{"at": µs, "cut": {…}}`; without `at` it is the beginning.
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(d)?;
        let at = match fields.remove("at") {
            Some(at) => at.as_u64().ok_or_else(|| D::Error::custom("`at` is no instant"))?,
            None => 0,
        };
        let fault = serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(Self { at: Instant::from_micros(at), fault })
    }
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
