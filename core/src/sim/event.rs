//! What the world around the nodes does to them.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use serde::{Deserialize, Serialize};

use crate::trace::NodeId;

/// A fault, or its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum WorldEvent {
    /// The wires between two nodes were cut.
    Cut { other: NodeId },
    /// The node was killed; what it had not flushed is lost.
    Crashed,
    /// The node runs again from its disk.
    Restarted,
    /// The node stands still.
    Stalled,
    /// It goes on.
    Resumed,
    /// Nobody can connect to it any more, or again.
    Firewall { closed: bool },
    /// Its clock is off by so many microseconds.
    Clock { offset: i64 },
    /// Its user pressed a button: `ask_now`, `sleep`, `get`, `cancel`.
    User { action: alloc::string::String },
}
