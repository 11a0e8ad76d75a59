//! What happens in a swarm.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use serde::Serialize;

use super::scenario::Habit;
use servent_core::id::ConnId;
use servent_core::swarm::{self, client};
use servent_core::trace::NodeId;

/// Everything that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// The coordinator's. A record of the client it is about.
    Swarm(swarm::Event),
    /// A client's own word, as far as the coordinator's does not say the same.
    Client(client::Event),
    /// What comes and goes, and what goes wrong.
    World(Happening),
}

/// What comes and goes, and what goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Happening {
    /// A client comes, with so many pieces on its disk.
    Came { held: u32 },
    /// It goes as the scenario planned.
    Gone,
    /// It ended without a word.
    Killed,
    /// It runs again.
    Restarted,
    /// It stands still.
    Stalled,
    /// It goes on.
    Resumed,
    /// It accepts no connections any more.
    Passive,
    /// It accepts them.
    Active,
    /// It does something else than it should.
    Habit { habit: Habit },
    /// Nothing gets through to another client.
    Cut { to: NodeId },
    /// It does again.
    Healed { to: NodeId },
    /// The coordinator was killed and came back.
    Coordinator,
}

impl Event {
    /// True for what somebody did to the world.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        matches!(self, Self::World(event)
            if !matches!(event, Happening::Came { .. } | Happening::Gone))
    }

    /// The requirement behind it, and where the specification says so.
    #[must_use]
    pub const fn source(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Swarm(event) => Some((event.id(), event.clause())),
            Self::Client(client::Event::Wrong { .. }) => Some(("SW-24", "lines 192–197")),
            Self::Client(_) | Self::World(_) => None,
        }
    }

    /// True for a transfer from the source.
    #[must_use]
    pub const fn is_from_source(&self) -> bool {
        use swarm::Event as E;
        matches!(
            self,
            Self::Swarm(
                E::Assigned { up: None, .. }
                    | E::Arrived { up: None, .. }
                    | E::Confirmed { up: None, .. }
                    | E::Failed { up: None, .. }
                    | E::Refetch { up: None, .. }
            )
        )
    }

    /// The clients it is about: whose record it is, and the other one.
    #[must_use]
    pub fn clients(&self) -> (Option<u32>, Option<u32>) {
        let Self::Swarm(event) = self else {
            let other = match self {
                Self::World(Happening::Cut { to } | Happening::Healed { to }) => Some(to.0),
                _ => None,
            };
            return (None, other);
        };
        let (first, second) = event.clients();
        (first.map(client_of), second.map(client_of))
    }
}

/// The connection of a client in its so-manieth life.
pub(super) const fn connection(client: u32, life: u16) -> ConnId {
    ConnId((client as u64) << 16 | life as u64)
}

/// The client of a connection.
#[must_use]
pub const fn client_of(conn: ConnId) -> u32 {
    (conn.0 >> 16) as u32
}
