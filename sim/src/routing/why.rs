//! The explanation of a record, and the other node it is about.

use super::event::{AppEvent, Event, Happening, Loss, MessageEvent, Outcome};
use super::world::World;
use servent_core::routing::{self, Verdict};
use servent_core::trace::why::{self, Why};
use servent_core::trace::{NodeId, Record};
use servent_core::wire::gnutella::Kind;

type Source = (&'static str, &'static str);

impl Event {
    /// The requirement behind it, and its place in the specification.
    #[must_use]
    #[doc(hidden)]
    pub fn source(&self) -> Option<Source> {
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
    fn source(&self) -> Option<Source> {
        match self {
            Self::Judged { kind, verdict, why, guid, ttl, hops, .. } => {
                let verdict = match (verdict, why) {
                    (_, Some(why)) => Verdict::Drop { why: *why },
                    (Outcome::Forwarded, _) => Verdict::Forward { to: alloc::vec::Vec::new() },
                    _ => Verdict::Local,
                };
                let (guid, kind, ttl, hops) = (*guid, *kind, *ttl, *hops);
                let conn = servent_core::id::ConnId(0);
                let event = routing::Event::Judged { conn, guid, kind, ttl, hops, verdict };
                Some((event.id(), event.clause()))
            }
            Self::Sent { kind: Kind::Query, .. } => Some(("RT-1", "Routing tables §3.6.1.1")),
            Self::Sent { kind: Kind::Hit, .. } => Some(("RT-2", "Routing tables §3.6.1.1")),
            Self::Sent { kind: Kind::Push, .. } => Some(("RT-3", "Routing tables §3.6.1.2.1")),
            Self::Sent { kind: Kind::Bye, .. } => Some(("RT-11", "Routing tables §3.6.2.6")),
            Self::Sent { kind: Kind::Ping | Kind::Pong, .. } => {
                Some(("RT-13", "Routing tables §3.6.1, pong caching"))
            }
            Self::Sent { .. } => Some(("RT-14", "Routing tables §3.6.2.7 and 8, left open there")),
            Self::Lost { why: Loss::Closed, .. } => Some(("RT-11", "Routing tables §3.6.2.6")),
            Self::Lost { .. } => None,
        }
    }
}

impl AppEvent {
    const fn source(&self) -> Option<Source> {
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
pub fn of(record: &Record<Event>) -> Why {
    let (id, clause) = record.event.source().unzip();
    Why { id, clause, ..why::named(&record.event, record.cause) }
}

impl World {
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
                AppEvent::Found { of, .. } => *of,
                AppEvent::Asked { of, .. } | AppEvent::NoWay { of } => Some(*of),
                AppEvent::Obeyed { to } => *to,
                AppEvent::Refused { by } => Some(*by),
                AppEvent::Searched { .. }
                | AppEvent::Answered { .. }
                | AppEvent::Flooded { .. } => None,
            },
            Event::World(Happening::Cut { to } | Happening::Healed { to }) => Some(*to),
            Event::World(_) => None,
            Event::Routing(event) => {
                let conn = event.conn()?;
                self.peer(record.node.0, conn).map(NodeId)
            }
        }
    }
}
