//! The events of a swarm.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use serde::{Deserialize, Serialize};

use super::scenario::Habit;
use servent_core::id::ConnId;
use servent_core::swarm::{self, client};
use servent_core::trace::NodeId;

/// An event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// Of the coordinator, recorded for the client it is about.
    Swarm(swarm::Event),
    /// Of a client, unless the coordinator reports the same.
    Client(client::Event),
    /// Arrivals, departures and faults.
    World(SwarmIncident),
}

/// Arrivals, departures and faults.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum SwarmIncident {
    /// A client arrives, with this many pieces on its disk.
    Came { held: u32 },
    /// It leaves as planned in the scenario.
    Gone,
    /// It died without notice.
    Killed,
    /// It is running again.
    Restarted,
    /// It is stalled.
    Stalled,
    /// The stall has ended.
    Resumed,
    /// It stops accepting connections.
    Passive,
    /// It accepts connections again.
    Active,
    /// It starts misbehaving in this way.
    Habit { habit: Habit },
    /// Connectivity with another client is broken.
    Cut { to: NodeId },
    /// It is restored.
    Healed { to: NodeId },
    /// The coordinator was killed and restarted.
    Coordinator,
    /// A firewall was closed, so that no other can connect to the client, or
    /// opened again.
    Firewall { closed: bool },
}

impl Event {
    /// True for what was done to the world from outside.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        matches!(self, Self::World(event)
            if !matches!(event, SwarmIncident::Came { .. } | SwarmIncident::Gone))
    }

    /// The requirement behind it, and its place in the specification.
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

    /// The clients it is about: the one it is recorded for, and the other one.
    #[must_use]
    pub fn clients(&self) -> (Option<u32>, Option<u32>) {
        let Self::Swarm(event) = self else {
            let other = match self {
                Self::World(SwarmIncident::Cut { to } | SwarmIncident::Healed { to }) => Some(to.0),
                _ => None,
            };
            return (None, other);
        };
        let (first, second) = event.clients();
        (first.map(client_of), second.map(client_of))
    }
}

/// The connection id of a client in its `life`-th session.
#[must_use]
pub const fn connection(client: u32, life: u16) -> ConnId {
    ConnId((client as u64) << 16 | life as u64)
}

/// The client with a connection id.
#[must_use]
pub const fn client_of(conn: ConnId) -> u32 {
    (conn.0 >> 16) as u32
}
