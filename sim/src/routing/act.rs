//! What is done in an overlay, and what goes wrong there, at an instant.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::act::At;
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// Something that is done at an instant.
pub type ActAt = At<Act>;

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum Act {
    /// A node asks everybody for files whose names have these words.
    Search { node: NodeId, words: String },
    /// A node asks another one by push to connect to it.
    Push { node: NodeId, of: NodeId },
    /// A node sends queries that nobody ever asked, each with a GUID of its
    /// own: so many, so far apart.
    Flood { node: NodeId, count: u32, every: Duration },
    /// A node ends without a word; all it knows is gone, and so are its links.
    Kill { node: NodeId },
    /// It begins anew, with its old neighbours; one that runs is killed first.
    Restart { node: NodeId },
    /// A link is gone, with everything on it.
    Cut { from: NodeId, to: NodeId },
    /// It is there again, as a new connection.
    Heal { from: NodeId, to: NodeId },
}

impl Act {
    /// The nodes it names.
    #[must_use]
    pub const fn nodes(&self) -> (NodeId, Option<NodeId>) {
        match self {
            Self::Push { node, of } => (*node, Some(*of)),
            Self::Cut { from, to } | Self::Heal { from, to } => (*from, Some(*to)),
            Self::Search { node, .. }
            | Self::Flood { node, .. }
            | Self::Kill { node }
            | Self::Restart { node } => (*node, None),
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
            Act::Search { node, words: "some words".into() },
            Act::Push { node, of: to },
            Act::Flood { node, count: 7, every: Duration::from_millis(2) },
            Act::Kill { node },
            Act::Restart { node },
            Act::Cut { from, to },
            Act::Heal { from, to },
        ] {
            let act = ActAt { at: Instant::from_secs(7), act };
            let text = serde_json::to_string(&act).unwrap();
            assert_eq!(ActAt::parse(&text), Ok(act), "{text}");
        }
        assert!(ActAt::parse(r#"{"at":1}"#).is_err());
    }
}
