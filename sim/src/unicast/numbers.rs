//! The numbers behind the actions of both ends of a connection: HA and HS, and
//! when a message was first sent.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{DatagramEvent, Event, Unicast};
use crate::Timeline;
use serde_json::{Value, json};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Event as Told;

/// The numbers behind a record.
pub(crate) fn list_numbers(timeline: &Timeline<Unicast>, i: u64) -> Option<Value> {
    let record = timeline.record(i)?;
    let Event::Unicast(told) = &record.event else { return None };
    let earlier = || {
        let of_node = |old: &&Record<Event>| old.node == record.node;
        (0..i).rev().filter_map(|j| timeline.record(j)).filter(of_node).filter_map(|old| {
            let Event::Unicast(told) = &old.event else { return None };
            Some((old.at, told))
        })
    };
    let pair = |conn| {
        earlier().find_map(|(_, old)| match old {
            Told::Acked { conn: of, highest_acked, highest_sent, .. } if of == conn => {
                Some((*highest_acked, *highest_sent))
            }
            _ => None,
        })
    };
    Some(match told {
        Told::Acked { conn, highest_acked, highest_sent, .. } => {
            let before = pair(conn).map_or(0, |(acked, _)| acked);
            json!({"key": "acked", "before": before, "ha": highest_acked, "hs": highest_sent})
        }
        Told::Resent { conn, from, .. } => {
            let first = earlier().find_map(|(at, old)| match old {
                Told::Sent { conn: of, from: first, to, .. }
                    if of == conn && (*first..=*to).contains(from) =>
                {
                    Some(at)
                }
                _ => None,
            })?;
            json!({"key": "resent", "first": first, "after": record.at.since(first),
                "ha": pair(conn).map_or(0, |(acked, _)| acked)})
        }
        Told::Received { from, to, .. } | Told::Sent { from, to, .. } => {
            json!({"key": "range", "from_number": from, "to_number": to})
        }
        Told::Delivered { conn, number, .. } => {
            let came = earlier().find_map(|(at, old)| match old {
                Told::Received { conn: of, from, to, .. }
                    if of == conn && (*from..=*to).contains(number) =>
                {
                    Some(at)
                }
                _ => None,
            })?;
            json!({"key": "delivered", "number": number, "came": came,
                "held": record.at.since(came)})
        }
        Told::AckSent { upto, newest, .. } => {
            json!({"key": "ack_sent", "upto": upto, "newest": newest})
        }
        Told::Requested { from, to, count, .. } => {
            json!({"key": "requested", "from_number": from, "to_number": to, "count": count})
        }
        Told::Duplicate { from, to, .. } => {
            json!({"key": "range", "from_number": from, "to_number": to})
        }
        Told::Rtt { smoothed, variation, timeout, .. } => {
            json!({"key": "rtt", "smoothed": smoothed, "variation": variation, "timeout": timeout})
        }
        Told::Controlled { conn, .. } => {
            let before = earlier()
                .map(|(_, old)| old)
                .find(|old| matches!(old, Told::Controlled { conn: of, .. } if of == conn));
            controlled(told, before, &carried(timeline, i).unwrap_or_default())?
        }
        _ => return None,
    })
}

/// What a controller allows, and what it allowed before; and what the line carried for
/// each that shares it.
fn controlled(told: &Told, before: Option<&Told>, carried: &[(&str, u64)]) -> Option<Value> {
    let Told::Controlled { window, rate, trip, least, lost, .. } = told else { return None };
    let (window_before, rate_before) = match before {
        Some(Told::Controlled { window, rate, .. }) => (Some(window), *rate),
        _ => (None, None),
    };
    Some(json!({"key": "controlled", "window": window, "window_before": window_before,
        "rate": rate, "rate_before": rate_before, "lost": lost,
        "trip": trip, "least": least, "queued": *trip - *least, "carried": carried}))
}

/// What the line that a controlled sender shares carried within the round trip before a
/// decision: the bytes of each that sends there, in the order of the nodes.
fn carried(timeline: &Timeline<Unicast>, i: u64) -> Option<Vec<(&str, u64)>> {
    let Record { at, event, .. } = timeline.record(i)?;
    let Event::Unicast(Told::Controlled { peer, trip, .. }) = event else { return None };
    let world = timeline.world();
    let there = world.node_at(*peer).filter(|_| world.scenario().shared)?;
    let (mut sums, mut lost) = (BTreeMap::new(), BTreeSet::new());
    let before = (0..i).rev().filter_map(|j| timeline.record(j));
    // What has arrived since then was sent no longer than another round trip earlier.
    for record in before.take_while(|record| record.at + *trip + *trip >= *at) {
        match &record.event {
            // Backwards a loss comes before what it is the loss of.
            Event::Datagram(DatagramEvent::Lost { id, .. }) => {
                lost.insert(*id);
            }
            Event::Datagram(DatagramEvent::Sent { id, to, bytes, due, .. })
                if *to == there && due <= at && *due + *trip > *at && !lost.contains(id) =>
            {
                *sums.entry(record.node).or_insert(0) += u64::from(*bytes);
            }
            _ => {}
        }
    }
    let named = |(node, bytes): (NodeId, u64)| {
        (world.scenario().nodes[node.0 as usize].name.as_str(), bytes)
    };
    Some(sums.into_iter().map(named).collect())
}
