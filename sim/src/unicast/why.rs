//! The explanation of a record, and the other node it is about.

use super::event::{DatagramEvent, Event, MessagingEvent, UnicastIncident};
use super::world::UnicastWorld;
use crate::links::datagram::DatagramLoss;
use servent_core::node::ConnEvent;
use servent_core::trace::why::{self, RecordReason};
use servent_core::trace::{NodeId, Record};

impl Event {
    /// The requirement behind it, and its place in the specification.
    #[must_use]
    #[doc(hidden)]
    pub const fn source(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Unicast(event) => Some((event.id(), event.clause())),
            Self::Conn(ConnEvent::Garbled { .. }) => Some(("UC-12", "a stranger's datagrams")),
            _ => None,
        }
    }

    /// True for what was done to the world from outside.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        match self {
            Self::World(_) => true,
            Self::Datagram(event) => matches!(
                event,
                DatagramEvent::Lost { why: DatagramLoss::Drop, .. } | DatagramEvent::Delayed { .. }
            ),
            _ => false,
        }
    }
}

/// Explains a record.
#[must_use]
pub fn explain(record: &Record<Event>) -> RecordReason {
    let (id, clause) = record.event.source().unzip();
    RecordReason { id, clause, ..why::named(&record.event, record.cause) }
}

impl UnicastWorld {
    /// The other node a record is about.
    #[must_use]
    #[doc(hidden)]
    pub fn other(&self, event: &Event) -> Option<NodeId> {
        match event {
            Event::Unicast(event) => self.node_at(event.peer()),
            Event::Conn(ConnEvent::Garbled { from, .. }) => self.node_at(*from),
            Event::Datagram(event) => Some(match event {
                DatagramEvent::Arrived { from, .. } => *from,
                DatagramEvent::Sent { to, .. }
                | DatagramEvent::Lost { to, .. }
                | DatagramEvent::Duplicated { to, .. }
                | DatagramEvent::Delayed { to, .. } => *to,
            }),
            Event::App(event) => match event {
                MessagingEvent::Wrote { to, .. }
                | MessagingEvent::Waits { to, .. }
                | MessagingEvent::Closes { to } => Some(*to),
                MessagingEvent::Read { from, .. } => Some(*from),
                MessagingEvent::Reads { .. } => None,
            },
            Event::World(event) => match event {
                UnicastIncident::Cut { to } | UnicastIncident::Healed { to } => Some(*to),
                UnicastIncident::Forgot { peer, .. } => Some(*peer),
                _ => None,
            },
            Event::Conn(_) => None,
        }
    }
}
