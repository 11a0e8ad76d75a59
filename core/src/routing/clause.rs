//! Which requirement an event obeys, and where the specification says so.

use super::{DropReason, Event, NeighbourEnding, RoutingVerdict, Which};
use crate::wire::gnutella::MessageKind;

crate::clause::obeys!(Event);

impl Event {
    const fn source(&self) -> (&'static str, &'static str) {
        match self {
            Self::Opened { .. } => ("RT-1", "Routing tables §3.6.1.1, the originator connection"),
            Self::Closed { why: NeighbourEnding::Lost, .. } => {
                ("RT-2", "Routing tables §3.6.1.1, a route that is lost")
            }
            Self::Closed { .. } => ("RT-11", "Routing tables §3.6.2.6"),
            Self::Judged { kind, verdict, .. } => verdict_clause(*kind, verdict),
            Self::Sent { kind: MessageKind::Query | MessageKind::Hit, .. } => {
                ("RT-2", "Routing tables §3.6.1.1, own queries")
            }
            Self::Sent { .. } | Self::Keywords { .. } => {
                ("RT-13", "Routing tables §3.6.1, pong caching")
            }
            Self::Overflow { .. } | Self::Limit { .. } => {
                ("RT-5", "Routing tables §3.6.1.1, size bounds are a last resort")
            }
            Self::Conflict { .. } => ("RT-3", "Routing tables §3.6.1.2.1"),
            Self::Turned { table, .. } => match table {
                Which::Queries | Which::Probed | Which::Answers => {
                    ("RT-1", "Routing tables §3.6.1.1, ten minutes")
                }
                Which::Servents => ("RT-3", "Routing tables §3.6.1.2, thirty minutes"),
                Which::Holders => ("RT-4", "Routing tables §3.6.1.2.2"),
                Which::Pings | Which::Pongs | Which::Hits | Which::Pushes => {
                    ("RT-12", "Routing tables §3.6.2, ten minutes")
                }
            },
        }
    }
}

const fn verdict_clause(
    kind: MessageKind,
    verdict: &RoutingVerdict,
) -> (&'static str, &'static str) {
    match (kind, verdict) {
        (MessageKind::Ping, RoutingVerdict::Drop { why: DropReason::Duplicate }) => {
            ("RT-6", "Routing tables §3.6.2.1")
        }
        (MessageKind::Pong, RoutingVerdict::Drop { why: DropReason::Duplicate }) => {
            ("RT-7", "Routing tables §3.6.2.2")
        }
        (MessageKind::Query, RoutingVerdict::Drop { why: DropReason::Duplicate }) => {
            ("RT-8", "Routing tables §3.6.2.3")
        }
        (MessageKind::Hit, RoutingVerdict::Drop { why: DropReason::Duplicate }) => {
            ("RT-9", "Routing tables §3.6.2.4")
        }
        (MessageKind::Push, RoutingVerdict::Drop { why: DropReason::Duplicate }) => {
            ("RT-10", "Routing tables §3.6.2.5")
        }
        (
            _,
            RoutingVerdict::Drop {
                why: DropReason::Quota | DropReason::ResultLimit | DropReason::Overflow,
            },
        ) => ("RT-5", "Routing tables §3.6.1.1, size bounds are a last resort"),
        (MessageKind::Ping | MessageKind::Pong, _) => {
            ("RT-13", "Routing tables §3.6.1, pong caching")
        }
        (MessageKind::Bye, _) => ("RT-11", "Routing tables §3.6.2.6"),
        (MessageKind::Qrp | MessageKind::Vendor | MessageKind::Standard, _) => {
            ("RT-14", "Routing tables §3.6.2.7 and 8, left open there")
        }
        (MessageKind::Push, _) => ("RT-3", "Routing tables §3.6.1.2.1"),
        (MessageKind::Query, _) => ("RT-1", "Routing tables §3.6.1.1"),
        (MessageKind::Hit, _) => ("RT-2", "Routing tables §3.6.1.1"),
    }
}
