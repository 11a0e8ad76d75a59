//! What can be done to a swarm while it runs.

use alloc::string::String;

use serde::Serialize;

use super::scenario::Habit;
use crate::json::{self, Fill, FromJson, Json, Wrong, enum_from_json};
use crate::time::Instant;
use crate::trace::NodeId;

/// Something that is done at an instant. In JSON `{"at": µs, "kill": {…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct ActAt {
    /// When.
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub act: Act,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum Act {
    /// A client ends without a word; what it has on disk stays.
    Kill { client: NodeId },
    /// It begins anew with what it has on disk; one that runs ends first.
    Restart { client: NodeId },
    /// A client stands still: it takes nothing in, its timers and its bytes
    /// wait.
    Stall { client: NodeId },
    /// It goes on.
    Resume { client: NodeId },
    /// It accepts no connections any more, and says so (SW-17).
    Passive { client: NodeId },
    /// It accepts connections, and says so (SW-17).
    Active { client: NodeId },
    /// It does something else than it should from now on.
    Habit { client: NodeId, habit: Habit },
    /// Nothing gets through between two clients.
    Cut { from: NodeId, to: NodeId },
    /// It does again.
    Heal { from: NodeId, to: NodeId },
    /// The coordinator is killed and comes back with its store.
    RestartCoordinator {},
}

impl Act {
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
            | Self::Habit { client, .. } => [Some(*client), None],
            Self::Cut { from, to } | Self::Heal { from, to } => [Some(*from), Some(*to)],
            Self::RestartCoordinator {} => [None, None],
        }
    }
}

enum_from_json!(Act, Self::RestartCoordinator {}, {
    "kill" => Kill { client },
    "restart" => Restart { client },
    "stall" => Stall { client },
    "resume" => Resume { client },
    "passive" => Passive { client },
    "active" => Active { client },
    "habit" => Habit { client, habit },
    "cut" => Cut { from, to },
    "heal" => Heal { from, to },
    "restart_coordinator" => RestartCoordinator {},
});

impl Fill for ActAt {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        let Json::Object(entries) = from else { return Err(json::expected("an object")) };
        let mut others = entries.iter().filter(|(name, _)| name != "at");
        let (Some((name, content)), None) = (others.next(), others.next()) else {
            return Err(json::expected("one thing to do, and `at`"));
        };
        self.act = Act::from_variant(name, content).map_err(|wrong| wrong.within(name))?;
        self.at = Instant::ZERO;
        from.get("at").map_or(Ok(()), |at| self.at.fill(at).map_err(|wrong| wrong.within("at")))
    }
}
impl FromJson for ActAt {
    fn blank() -> Self {
        Self { at: Instant::ZERO, act: Act::blank() }
    }
}

impl ActAt {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence that says what makes no sense.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(json::read(&Json::parse(text)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_comes_back_from_its_text() {
        let (client, from, to) = (NodeId(3), NodeId(1), NodeId(2));
        for act in [
            Act::Kill { client },
            Act::Restart { client },
            Act::Stall { client },
            Act::Resume { client },
            Act::Passive { client },
            Act::Active { client },
            Act::Habit { client, habit: Habit::Corrupt },
            Act::Cut { from, to },
            Act::Heal { from, to },
            Act::RestartCoordinator {},
        ] {
            let act = ActAt { at: Instant::from_secs(7), act };
            let text = serde_json::to_string(&act).unwrap();
            assert_eq!(ActAt::parse(&text), Ok(act), "{text}");
        }
        assert!(ActAt::parse(r#"{"at":1}"#).is_err());
        assert!(ActAt::parse(r#"{"kill":{"client":1},"stall":{"client":1}}"#).is_err());
    }
}
