//! The numbers behind the verdict on a message: how far it has travelled, and
//! what was seen of it before.

use crate::Timeline;
use crate::routing::{Event, MessageEvent, MessageOutcome, Routing, SearchEvent};
use serde_json::{Value, json};
use servent_core::routing::DropReason;
use servent_core::trace::NodeId;
use servent_core::wire::gnutella::MessageKind;

/// The numbers behind a record.
pub(crate) fn list_numbers(timeline: &Timeline<Routing>, i: u64) -> Option<Value> {
    let record = timeline.record(i)?;
    let earlier = || (0..i).rev().filter_map(|j| timeline.record(j));
    match &record.event {
        Event::Message(MessageEvent::Judged { kind, guid, ttl, hops, why, on, .. }) => {
            // The copy that was accepted, or the query whose return route a hit
            // needs.
            let wanted = if *kind == MessageKind::Hit { MessageKind::Query } else { *kind };
            let taken = |node: NodeId| {
                earlier().find_map(|old| match &old.event {
                    Event::Message(MessageEvent::Judged {
                        kind, guid: of, verdict, from, ..
                    }) if old.node == node
                        && (*kind, of) == (wanted, guid)
                        && *verdict != MessageOutcome::Dropped =>
                    {
                        Some((old.at, *from))
                    }
                    _ => None,
                })
            };
            let first = match why {
                Some(DropReason::Duplicate) if *kind != MessageKind::Hit => taken(record.node),
                Some(DropReason::NoRoute | DropReason::RouteGone) if *kind == MessageKind::Hit => {
                    taken(record.node)
                }
                _ => None,
            };
            let travel = json!({"key": "travel", "ttl": ttl, "hops": hops, "on": on});
            let known = |(first, from): (_, NodeId)| {
                let name = timeline.world().scenario().name(from);
                let key = if wanted == *kind { "copy" } else { "route" };
                json!({"key": key, "first": first, "from": name, "at": record.at,
                    "after": record.at.since(first), "ttl": ttl, "hops": hops})
            };
            Some(first.map_or(travel, known))
        }
        Event::Message(MessageEvent::Sent { ttl, hops, bytes, due, .. }) => {
            let takes = due.since(record.at);
            Some(json!({"key": "sent", "ttl": ttl, "hops": hops, "bytes": bytes, "takes": takes}))
        }
        Event::App(SearchEvent::Found { guid, hops, .. }) => {
            let asked = earlier().find_map(|old| match &old.event {
                Event::App(SearchEvent::Searched { guid: of, .. }) if of == guid => Some(old.at),
                _ => None,
            })?;
            Some(json!({"key": "found", "hops": hops, "after": record.at.since(asked)}))
        }
        _ => None,
    }
}
