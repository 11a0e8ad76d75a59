//! What the applications of a scenario do, and what goes wrong, at an instant.

use serde::{Deserialize, Serialize};

use crate::act::At;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::{Order, Side};

/// Something that is done at an instant.
pub type ActAt = At<Act>;

/// Messages to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Send {
    /// Who.
    pub from: NodeId,
    /// To whom.
    pub to: NodeId,
    /// How many.
    pub count: u32,
    /// Bytes of each; at least [`Send::LEAST`].
    pub size: u32,
    /// The time between two; all of them at once when zero.
    pub every: Duration,
    /// When they are delivered.
    pub order: Order,
}

impl Send {
    /// The shortest message: it holds its number.
    pub const LEAST: u32 = 8;
}

impl Default for Send {
    fn default() -> Self {
        let (from, to) = (NodeId(0), NodeId(1));
        Self { from, to, count: 1, size: 100, every: Duration::ZERO, order: Order::InOrder }
    }
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum Act {
    /// An application sends messages.
    Send(Send),
    /// An application ends its connection once everything is sent (UC-7).
    Close { from: NodeId, to: NodeId },
    /// An application stops reading, or goes on.
    Read { node: NodeId, on: bool },
    /// A node drops an entry as if it had never been.
    Forget { node: NodeId, peer: NodeId, side: Side },
    /// The `n`-th datagram of a direction never arrives.
    Drop { from: NodeId, to: NodeId, n: u32 },
    /// It arrives later.
    Delay { from: NodeId, to: NodeId, n: u32, by: Duration },
    /// It arrives twice, the second time so much later.
    Duplicate { from: NodeId, to: NodeId, n: u32, by: Duration },
    /// Nothing gets through in this direction.
    Cut { from: NodeId, to: NodeId },
    /// It does again.
    Heal { from: NodeId, to: NodeId },
    /// A node ends without a word; all it knows is gone.
    Crash { node: NodeId },
    /// It begins anew; one that runs crashes first.
    Restart { node: NodeId },
    /// A node stands still: it takes nothing in, and its timers wait.
    Stall { node: NodeId },
    /// It goes on.
    Resume { node: NodeId },
}

impl Act {
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
            Act::Send(Send { count: 9, order: Order::AtOnce, ..Send::default() }),
            Act::Close { from, to },
            Act::Read { node, on: false },
            Act::Forget { node, peer: to, side: Side::Receiver },
            Act::Drop { from, to, n: 7 },
            Act::Delay { from, to, n: 7, by },
            Act::Duplicate { from, to, n: 7, by },
            Act::Cut { from, to },
            Act::Heal { from, to },
            Act::Crash { node },
            Act::Restart { node },
            Act::Stall { node },
            Act::Resume { node },
        ] {
            let act = ActAt { at: Instant::from_secs(7), act };
            let text = serde_json::to_string(&act).unwrap();
            assert_eq!(ActAt::parse(&text), Ok(act), "{text}");
        }
        assert!(ActAt::parse(r#"{"at":1}"#).is_err());
    }
}
