//! What can go wrong, and what a user can do, at an instant.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::act::at_and_what;
use servent_core::json::{Fill, FromJson, Json, Wrong, enum_from_json};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// A fault with its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FaultAt {
    /// When.
    pub at: Instant,
    /// What.
    pub fault: Fault,
}

/// A fault, its end, or something a user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

enum_from_json!(Fault, Self::Crash { node: NodeId(0) }, {
    "cut" => Cut { a, b },
    "crash" => Crash { node },
    "restart" => Restart { node },
    "stall" => Stall { node },
    "resume" => Resume { node },
    "firewall" => Firewall { node, closed },
    "clock" => Clock { node, offset },
    "ask_now" => AskNow { node },
    "sleep" => Sleep { node, length },
});

/// `{"at": µs, "cut": {…}}`; without `at` it is the beginning.
impl Fill for FaultAt {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        (self.at, self.fault) = at_and_what(from, "one fault, and `at`")?;
        Ok(())
    }
}
impl FromJson for FaultAt {
    fn blank() -> Self {
        Self { at: Instant::ZERO, fault: Fault::blank() }
    }
}

impl Serialize for FaultAt {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let number = |node: &NodeId| Json::Whole(node.0.into());
        let one = |name, node: &NodeId| (name, [Some(("node", number(node))), None]);
        let two = |name, node: &NodeId, what, value| {
            (name, [Some(("node", number(node))), Some((what, value))])
        };
        let (name, fields) = match &self.fault {
            Fault::Cut { a, b } => ("cut", [Some(("a", number(a))), Some(("b", number(b)))]),
            Fault::Crash { node } => one("crash", node),
            Fault::Restart { node } => one("restart", node),
            Fault::Stall { node } => one("stall", node),
            Fault::Resume { node } => one("resume", node),
            Fault::Firewall { node, closed } => {
                two("firewall", node, "closed", Json::Bool(*closed))
            }
            Fault::Clock { node, offset } => {
                let whole = u64::try_from(*offset).map(Json::Whole);
                two("clock", node, "offset", whole.unwrap_or(Json::Negative(*offset)))
            }
            Fault::AskNow { node } => one("ask_now", node),
            Fault::Sleep { node, length } => {
                two("sleep", node, "length", Json::Whole(length.as_micros()))
            }
        };
        let mut entries = s.serialize_map(None)?;
        entries.serialize_entry("at", &self.at)?;
        entries.serialize_entry(name, &Fields(fields))?;
        entries.end()
    }
}

/// What is told of a fault, each under a name.
struct Fields([Option<(&'static str, Json)>; 2]);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut entries = s.serialize_map(None)?;
        for (name, value) in self.0.iter().flatten() {
            entries.serialize_entry(name, value)?;
        }
        entries.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servent_core::json;

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
        ] {
            let fault = FaultAt { at: Instant::from_secs(7), fault };
            let text = serde_json::to_string(&fault).unwrap();
            assert_eq!(json::read(&Json::parse(&text).unwrap()), Ok(fault), "{text}");
        }
        let early = Json::parse(r#"{"stall":{"node":1}}"#).unwrap();
        assert_eq!(json::read::<FaultAt>(&early).unwrap().at, Instant::ZERO);
        for (text, what) in [
            (r#"{"at":1}"#, "one fault"),
            (r#"{"at":1,"stall":{}}"#, "missing field `node`"),
            (r#"{"at":-1,"stall":{"node":1}}"#, "`at`"),
            (r#"{"flood":{"node":1}}"#, "unknown variant `flood`"),
        ] {
            let why = json::read::<FaultAt>(&Json::parse(text).unwrap()).unwrap_err();
            assert!(alloc::format!("{why}").contains(what), "{text}: {why}");
        }
    }
}
