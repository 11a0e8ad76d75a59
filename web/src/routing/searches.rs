//! Searches and pushes, and the nodes that begin them.

use serde::Serialize;
use servent_core::id::Guid;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::routing::Journey;

/// A search or a push.
#[derive(Serialize)]
pub(crate) struct Search<'a> {
    pub(crate) guid: u32,
    pub(crate) id: Guid,
    pub(crate) kind: &'static str,
    pub(crate) node: u32,
    pub(crate) name: &'a str,
    pub(crate) words: &'a str,
    pub(crate) of: Option<NodeId>,
    pub(crate) at: Instant,
    pub(crate) seq: u64,
    pub(crate) messages: u32,
    pub(crate) duplicates: u32,
    pub(crate) reached: u32,
    pub(crate) hits: u32,
}

impl<'a> Search<'a> {
    pub(crate) fn describe(guid: u32, journey: &'a Journey, names: &'a [String]) -> Self {
        Self {
            guid,
            id: journey.id,
            kind: if journey.of.is_some() { "push" } else { "query" },
            node: journey.node,
            name: names.get(journey.node as usize).map_or("", String::as_str),
            words: &journey.words,
            of: journey.of,
            at: journey.at,
            seq: journey.seq,
            messages: journey.messages,
            duplicates: journey.duplicates,
            reached: journey.reached,
            hits: journey.found,
        }
    }
}
