//! Faults and user actions, at an instant.

use serde::{Deserialize, Serialize};

use crate::action::At;
use crate::error::{self, ScenarioMistake};
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// A fault at an instant. In JSON `{"at": µs, "cut": {…}}`; without `at` it
/// happens at the start.
pub type FaultAt = At<Fault>;

/// A fault, its end, or a user action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Breaks every connection between two nodes.
    Cut {
        /// One of them.
        a: NodeId,
        /// The other.
        b: NodeId,
    },
    /// Kills a node; what it had not flushed is lost.
    Crash {
        /// Which.
        node: NodeId,
    },
    /// Starts a killed node again from its disk; a running one is killed first.
    Restart {
        /// Which.
        node: NodeId,
    },
    /// Stalls a node: it processes no input, and its timers wait.
    Stall {
        /// Which.
        node: NodeId,
    },
    /// Ends the stall.
    Resume {
        /// Which.
        node: NodeId,
    },
    /// Makes a node unreachable for incoming connections, or reachable again.
    Firewall {
        /// Which.
        node: NodeId,
        /// Unreachable, or reachable again.
        closed: bool,
    },
    /// Sets a node's clock wrong by that many microseconds.
    Clock {
        /// Which.
        node: NodeId,
        /// Positive is fast.
        offset: i64,
    },
    /// A client asks all its sources now, whether allowed or not.
    AskNow {
        /// Which.
        node: NodeId,
    },
    /// A client asks no server for this long.
    Sleep {
        /// Which.
        node: NodeId,
        /// How long.
        length: Duration,
    },
    /// The store of the site is gone, or there again.
    Store {
        /// Gone, or there again.
        away: bool,
        /// While it is gone no client is refused: it answers when it is back.
        #[serde(default)]
        silent: bool,
    },
    /// Cuts the way between a member of the site and the store, or mends it.
    Apart {
        /// Which.
        node: NodeId,
        /// Cut, or mended.
        apart: bool,
    },
    /// The files that a node shares become others of the same names.
    Change {
        /// Which.
        node: NodeId,
        /// Their size from now on; the same without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
}

impl Fault {
    /// Checks that the nodes it names exist.
    pub(super) fn check(&self, nodes: u64) -> Result<(), ScenarioMistake> {
        self.nodes().try_for_each(|node| error::there("node", node.0, nodes))
    }

    /// The nodes it names.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let (first, second) = match self {
            Self::Store { .. } => return [None, None].into_iter().flatten(),
            Self::Cut { a, b } => (*a, Some(*b)),
            Self::Crash { node }
            | Self::Restart { node }
            | Self::Stall { node }
            | Self::Resume { node }
            | Self::Firewall { node, .. }
            | Self::Clock { node, .. }
            | Self::AskNow { node }
            | Self::Apart { node, .. }
            | Self::Change { node, .. }
            | Self::Sleep { node, .. } => (*node, None),
        };
        [Some(first), second].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;
    use servent_core::time::Instant;

    #[test]
    fn every_fault_comes_back_from_its_text() {
        let node = NodeId(3);
        for fault in [
            Fault::Cut { a: node, b: NodeId(4) },
            Fault::Crash { node },
            Fault::Restart { node },
            Fault::Stall { node },
            Fault::Resume { node },
            Fault::Firewall { node, closed: true },
            Fault::Clock { node, offset: -5 },
            Fault::Clock { node, offset: 5 },
            Fault::AskNow { node },
            Fault::Sleep { node, length: Duration::from_secs(1) },
            Fault::Store { away: true, silent: true },
            Fault::Apart { node, apart: true },
            Fault::Change { node, size: None },
            Fault::Change { node, size: Some(0) },
        ] {
            let fault = FaultAt { at: Instant::from_secs(7), act: fault };
            let text = serde_json::to_string(&fault).unwrap();
            assert_eq!(serde_json::from_str::<FaultAt>(&text).unwrap(), fault, "{text}");
        }
        let early = serde_json::from_str::<FaultAt>(r#"{"stall":{"node":1}}"#).unwrap();
        assert_eq!(early.at, Instant::ZERO);
        for (text, what) in [
            (r#"{"at":1}"#, "one thing to do"),
            (r#"{"at":1,"stall":{"node":1},"crash":{"node":1}}"#, "one thing to do"),
            (r#"{"stall":{"node":1,"at":1}}"#, "`stall`: unknown field `at`"),
            (r#"{"at":1,"stall":{}}"#, "missing field `node`"),
            (r#"{"at":-1,"stall":{"node":1}}"#, "`at`"),
            (r#"{"flood":{"node":1}}"#, "unknown variant `flood`"),
        ] {
            let why = serde_json::from_str::<FaultAt>(text).unwrap_err().to_string();
            assert!(why.contains(what), "{text}: {why}");
        }
    }
}
