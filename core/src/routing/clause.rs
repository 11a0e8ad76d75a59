//! Which requirement an event obeys, and where the specification says so.

use super::{Ending, Event, Verdict, Which, Why};
use crate::wire::gnutella::Kind;

crate::clause::obeys!(Event);

impl Event {
    const fn source(&self) -> (&'static str, &'static str) {
        match self {
            Self::Opened { .. } => ("RT-1", "Routing tables §3.6.1.1, the originator connection"),
            Self::Closed { why: Ending::Lost, .. } => {
                ("RT-2", "Routing tables §3.6.1.1, a route that is lost")
            }
            Self::Closed { .. } => ("RT-11", "Routing tables §3.6.2.6"),
            Self::Judged { kind, verdict, .. } => judged(*kind, verdict),
            Self::Sent { kind: Kind::Query | Kind::Hit, .. } => {
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

const fn judged(kind: Kind, verdict: &Verdict) -> (&'static str, &'static str) {
    match (kind, verdict) {
        (Kind::Ping, Verdict::Drop { why: Why::Duplicate }) => ("RT-6", "Routing tables §3.6.2.1"),
        (Kind::Pong, Verdict::Drop { why: Why::Duplicate }) => ("RT-7", "Routing tables §3.6.2.2"),
        (Kind::Query, Verdict::Drop { why: Why::Duplicate }) => ("RT-8", "Routing tables §3.6.2.3"),
        (Kind::Hit, Verdict::Drop { why: Why::Duplicate }) => ("RT-9", "Routing tables §3.6.2.4"),
        (Kind::Push, Verdict::Drop { why: Why::Duplicate }) => ("RT-10", "Routing tables §3.6.2.5"),
        (_, Verdict::Drop { why: Why::Quota | Why::ResultLimit | Why::Overflow }) => {
            ("RT-5", "Routing tables §3.6.1.1, size bounds are a last resort")
        }
        (Kind::Ping | Kind::Pong, _) => ("RT-13", "Routing tables §3.6.1, pong caching"),
        (Kind::Bye, _) => ("RT-11", "Routing tables §3.6.2.6"),
        (Kind::Qrp | Kind::Vendor | Kind::Standard, _) => {
            ("RT-14", "Routing tables §3.6.2.7 and 8, left open there")
        }
        (Kind::Push, _) => ("RT-3", "Routing tables §3.6.1.2.1"),
        (Kind::Query, _) => ("RT-1", "Routing tables §3.6.1.1"),
        (Kind::Hit, _) => ("RT-2", "Routing tables §3.6.1.1"),
    }
}
