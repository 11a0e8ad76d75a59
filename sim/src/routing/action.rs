//! Actions and faults in an overlay, at an instant.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::action::At;
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// An action at an instant.
pub type RoutingActionAt = At<RoutingAction>;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum RoutingAction {
    /// A node searches for files whose names contain these words.
    Search { node: NodeId, words: String },
    /// A node asks another one to connect to it, by push.
    Push { node: NodeId, of: NodeId },
    /// A node sends queries on its own account, each with a new GUID: `count`
    /// of them, `every` apart.
    Flood { node: NodeId, count: u32, every: Duration },
    /// A node dies without notice; its state is lost, and its links break.
    Kill { node: NodeId },
    /// It starts again, with its old neighbours; a running one is killed first.
    Restart { node: NodeId },
    /// A link breaks, with everything in transit on it.
    Cut { from: NodeId, to: NodeId },
    /// The link is restored, as a new connection.
    Heal { from: NodeId, to: NodeId },
    /// From now on no node can connect to this one, or all can again. What is
    /// connected stays so, and the node itself connects to others.
    Firewall { node: NodeId, closed: bool },
}

impl RoutingAction {
    /// The nodes it names.
    #[must_use]
    pub const fn nodes(&self) -> (NodeId, Option<NodeId>) {
        match self {
            Self::Push { node, of } => (*node, Some(*of)),
            Self::Cut { from, to } | Self::Heal { from, to } => (*from, Some(*to)),
            Self::Search { node, .. }
            | Self::Flood { node, .. }
            | Self::Kill { node }
            | Self::Restart { node }
            | Self::Firewall { node, .. } => (*node, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servent_core::time::Instant;

    #[test]
    fn every_act_comes_back_from_its_text() {
        let (node, from, to) = (NodeId(3), NodeId(1), NodeId(2));
        for act in [
            RoutingAction::Search { node, words: "some words".into() },
            RoutingAction::Push { node, of: to },
            RoutingAction::Flood { node, count: 7, every: Duration::from_millis(2) },
            RoutingAction::Kill { node },
            RoutingAction::Restart { node },
            RoutingAction::Cut { from, to },
            RoutingAction::Heal { from, to },
            RoutingAction::Firewall { node, closed: true },
        ] {
            let act = RoutingActionAt { at: Instant::from_secs(7), act };
            let text = serde_json::to_string(&act).unwrap();
            assert_eq!(RoutingActionAt::parse(&text), Ok(act), "{text}");
        }
        assert!(RoutingActionAt::parse(r#"{"at":1}"#).is_err());
    }
}
