//! The explanation of a record, and the other node it is about.

use crate::routing::event::{
    Event, MessageEvent, MessageLoss, MessageOutcome, RoutingIncident, SearchEvent,
};
use crate::routing::world::RoutingWorld;
use servent_core::routing::{self, RoutingVerdict};
use servent_core::trace::why::{self, RecordReason};
use servent_core::trace::{NodeId, Record};
use servent_core::wire::gnutella::MessageKind;

type ReasonTable = (&'static str, &'static str);

impl Event {
    /// The requirement behind it, and its place in the specification.
    #[must_use]
    #[doc(hidden)]
    pub fn source(&self) -> Option<ReasonTable> {
        match self {
            Self::Routing(event) => Some((event.id(), event.clause())),
            Self::Message(event) => event.source(),
            Self::App(event) => event.source(),
            Self::World(_) => None,
        }
    }

    /// True for what was done to the world from outside.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        matches!(self, Self::World(_))
    }
}

impl MessageEvent {
    fn source(&self) -> Option<ReasonTable> {
        match self {
            Self::Judged { kind, verdict, why, guid, ttl, hops, .. } => {
                let verdict = match (verdict, why) {
                    (_, Some(why)) => RoutingVerdict::Drop { why: *why },
                    (MessageOutcome::Forwarded, _) => {
                        RoutingVerdict::Forward { to: alloc::vec::Vec::new() }
                    }
                    _ => RoutingVerdict::Local,
                };
                let (guid, kind, ttl, hops) = (*guid, *kind, *ttl, *hops);
                let conn = servent_core::id::ConnId(0);
                let event = routing::Event::Judged { conn, guid, kind, ttl, hops, verdict };
                Some((event.id(), event.clause()))
            }
            Self::Sent { kind: MessageKind::Query, .. } => {
                Some(("RT-1", "Routing tables §3.6.1.1"))
            }
            Self::Sent { kind: MessageKind::Hit, .. } => Some(("RT-2", "Routing tables §3.6.1.1")),
            Self::Sent { kind: MessageKind::Push, .. } => {
                Some(("RT-3", "Routing tables §3.6.1.2.1"))
            }
            Self::Sent { kind: MessageKind::Bye, .. } => Some(("RT-11", "Routing tables §3.6.2.6")),
            Self::Sent { kind: MessageKind::Ping | MessageKind::Pong, .. } => {
                Some(("RT-13", "Routing tables §3.6.1, pong caching"))
            }
            Self::Sent { .. } => Some(("RT-14", "Routing tables §3.6.2.7 and 8, left open there")),
            Self::Lost { why: MessageLoss::Closed, .. } => {
                Some(("RT-11", "Routing tables §3.6.2.6"))
            }
            Self::Lost { .. } => None,
        }
    }
}

impl SearchEvent {
    const fn source(&self) -> Option<ReasonTable> {
        match self {
            Self::Searched { .. } | Self::Found { .. } => {
                Some(("RT-2", "Routing tables §3.6.1.1, own queries"))
            }
            Self::Answered { .. } => Some(("RT-1", "Routing tables §3.6.1.1")),
            Self::Asked { .. }
            | Self::NoWay { .. }
            | Self::Obeyed { .. }
            | Self::Refused { .. } => Some(("RT-3", "Routing tables §3.6.1.2.1")),
            Self::Flooded { .. } => None,
        }
    }
}

/// Explains a record.
#[must_use]
pub fn explain(record: &Record<Event>) -> RecordReason {
    let (id, clause) = record.event.source().unzip();
    RecordReason { id, clause, ..why::named(&record.event, record.cause) }
}

impl RoutingWorld {
    /// The other node a record is about.
    #[must_use]
    #[doc(hidden)]
    pub fn other(&self, record: &Record<Event>) -> Option<NodeId> {
        match &record.event {
            Event::Message(event) => Some(match event {
                MessageEvent::Judged { from, .. } => *from,
                MessageEvent::Sent { to, .. } | MessageEvent::Lost { to, .. } => *to,
            }),
            Event::App(event) => match event {
                SearchEvent::Found { of, .. } => *of,
                SearchEvent::Asked { of, .. } | SearchEvent::NoWay { of } => Some(*of),
                SearchEvent::Obeyed { to } => *to,
                SearchEvent::Refused { by } => Some(*by),
                SearchEvent::Searched { .. }
                | SearchEvent::Answered { .. }
                | SearchEvent::Flooded { .. } => None,
            },
            Event::World(RoutingIncident::Cut { to } | RoutingIncident::Healed { to }) => Some(*to),
            Event::World(_) => None,
            Event::Routing(event) => {
                let conn = event.conn()?;
                self.peer(record.node.0, conn).map(NodeId)
            }
        }
    }
}
