//! What can be done to a swarm while it runs.

use serde::{Deserialize, Serialize};

use super::scenario::Habit;
use crate::action::At;
use servent_core::trace::NodeId;

/// An action at an instant.
pub type SwarmActionAt = At<SwarmAction>;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum SwarmAction {
    /// A client dies without notice; what it has on disk stays.
    Kill { client: NodeId },
    /// It starts again with what it has on disk; a running one is killed first.
    Restart { client: NodeId },
    /// Stalls a client: it processes no input, its timers and its transfers
    /// wait.
    Stall { client: NodeId },
    /// Ends the stall.
    Resume { client: NodeId },
    /// It stops accepting connections, and says so (SW-17).
    Passive { client: NodeId },
    /// It accepts connections again, and says so (SW-17).
    Active { client: NodeId },
    /// It misbehaves in this way from now on.
    Habit { client: NodeId, habit: Habit },
    /// Breaks connectivity between two clients.
    Cut { from: NodeId, to: NodeId },
    /// Restores it.
    Heal { from: NodeId, to: NodeId },
    /// The coordinator is killed and restarts from its store.
    RestartCoordinator {},
    /// From now on no other can connect to a client, which does not know it, or
    /// all can again.
    Firewall { client: NodeId, closed: bool },
}

impl SwarmAction {
    /// The clients it names.
    #[must_use]
    pub const fn clients(&self) -> [Option<NodeId>; 2] {
        match self {
            Self::Kill { client }
            | Self::Restart { client }
            | Self::Stall { client }
            | Self::Resume { client }
            | Self::Passive { client }
            | Self::Active { client }
            | Self::Firewall { client, .. }
            | Self::Habit { client, .. } => [Some(*client), None],
            Self::Cut { from, to } | Self::Heal { from, to } => [Some(*from), Some(*to)],
            Self::RestartCoordinator {} => [None, None],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servent_core::time::Instant;

    #[test]
    fn every_act_comes_back_from_its_text() {
        let (client, from, to) = (NodeId(3), NodeId(1), NodeId(2));
        for act in [
            SwarmAction::Kill { client },
            SwarmAction::Restart { client },
            SwarmAction::Stall { client },
            SwarmAction::Resume { client },
            SwarmAction::Passive { client },
            SwarmAction::Active { client },
            SwarmAction::Habit { client, habit: Habit::Corrupt },
            SwarmAction::Cut { from, to },
            SwarmAction::Heal { from, to },
            SwarmAction::RestartCoordinator {},
            SwarmAction::Firewall { client, closed: true },
        ] {
            let act = SwarmActionAt { at: Instant::from_secs(7), act };
            let text = serde_json::to_string(&act).unwrap();
            assert_eq!(SwarmActionAt::parse(&text), Ok(act), "{text}");
        }
        assert!(SwarmActionAt::parse(r#"{"at":1}"#).is_err());
        assert!(SwarmActionAt::parse(r#"{"kill":{"client":1},"stall":{"client":1}}"#).is_err());
    }
}
