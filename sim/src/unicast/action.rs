//! Actions of applications, and faults, at an instant.

use serde::{Deserialize, Serialize};

use crate::action::At;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::{DeliveryOrder, Side};

/// An action at an instant.
pub type UnicastActionAt = At<UnicastAction>;

/// Messages to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Send {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// How many.
    pub count: u32,
    /// The size of each in bytes; at least [`Send::LEAST`].
    pub size: u32,
    /// The time between two; all of them at once when zero.
    pub every: Duration,
    /// The order of delivery.
    pub order: DeliveryOrder,
}

impl Send {
    /// The shortest message: it contains its number.
    pub const LEAST: u32 = 8;
}

impl Default for Send {
    fn default() -> Self {
        let (from, to) = (NodeId(0), NodeId(1));
        Self { from, to, count: 1, size: 100, every: Duration::ZERO, order: DeliveryOrder::InOrder }
    }
}

/// An action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum UnicastAction {
    /// An application sends messages.
    Send(Send),
    /// An application ends its connection once everything is sent (UC-7).
    Close { from: NodeId, to: NodeId },
    /// An application stops reading, or goes on.
    Read { node: NodeId, on: bool },
    /// A node drops an entry as if it had never existed.
    Forget { node: NodeId, peer: NodeId, side: Side },
    /// The `n`-th datagram of a direction is lost.
    Drop { from: NodeId, to: NodeId, n: u32 },
    /// It is delayed.
    Delay { from: NodeId, to: NodeId, n: u32, by: Duration },
    /// It arrives twice, the second time later by `by`.
    Duplicate { from: NodeId, to: NodeId, n: u32, by: Duration },
    /// Breaks connectivity in this direction.
    Cut { from: NodeId, to: NodeId },
    /// Restores it.
    Heal { from: NodeId, to: NodeId },
    /// A node dies without notice; its state is lost.
    Crash { node: NodeId },
    /// It starts again; a running one crashes first.
    Restart { node: NodeId },
    /// Stalls a node: it processes no input, and its timers wait.
    Stall { node: NodeId },
    /// Ends the stall.
    Resume { node: NodeId },
}

impl UnicastAction {
    /// The nodes it names.
    #[must_use]
    pub const fn nodes(&self) -> (NodeId, Option<NodeId>) {
        match self {
            Self::Send(Send { from, to, .. })
            | Self::Close { from, to }
            | Self::Drop { from, to, .. }
            | Self::Delay { from, to, .. }
            | Self::Duplicate { from, to, .. }
            | Self::Cut { from, to }
            | Self::Heal { from, to } => (*from, Some(*to)),
            Self::Forget { node, peer, .. } => (*node, Some(*peer)),
            Self::Read { node, .. }
            | Self::Crash { node }
            | Self::Restart { node }
            | Self::Stall { node }
            | Self::Resume { node } => (*node, None),
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
        let by = Duration::from_millis(5);
        for act in [
            UnicastAction::Send(Send { count: 9, order: DeliveryOrder::AtOnce, ..Send::default() }),
            UnicastAction::Close { from, to },
            UnicastAction::Read { node, on: false },
            UnicastAction::Forget { node, peer: to, side: Side::Receiver },
            UnicastAction::Drop { from, to, n: 7 },
            UnicastAction::Delay { from, to, n: 7, by },
            UnicastAction::Duplicate { from, to, n: 7, by },
            UnicastAction::Cut { from, to },
            UnicastAction::Heal { from, to },
            UnicastAction::Crash { node },
            UnicastAction::Restart { node },
            UnicastAction::Stall { node },
            UnicastAction::Resume { node },
        ] {
            let act = UnicastActionAt { at: Instant::from_secs(7), act };
            let text = serde_json::to_string(&act).unwrap();
            assert_eq!(UnicastActionAt::parse(&text), Ok(act), "{text}");
        }
        assert!(UnicastActionAt::parse(r#"{"at":1}"#).is_err());
    }
}
