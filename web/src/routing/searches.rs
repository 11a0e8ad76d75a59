//! Searches and pushes, and the nodes that begin them.

use serde::Serialize;
use servent_core::id::Guid;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::routing::{Act, Journey, Scenario};

/// A search or a push.
#[derive(Serialize)]
pub(super) struct Search<'a> {
    pub(super) guid: u32,
    pub(super) id: Guid,
    pub(super) kind: &'static str,
    pub(super) node: u32,
    pub(super) name: &'a str,
    pub(super) words: &'a str,
    pub(super) of: Option<NodeId>,
    pub(super) at: Instant,
    pub(super) seq: u64,
    pub(super) messages: u32,
    pub(super) duplicates: u32,
    pub(super) reached: u32,
    pub(super) hits: u32,
}

impl<'a> Search<'a> {
    pub(super) fn of(guid: u32, journey: &'a Journey, names: &'a [String]) -> Self {
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

/// The role of each node in the scenario's script, as one word.
pub(super) fn roles(scenario: &Scenario) -> Vec<&'static str> {
    let mut roles = vec!["plain"; scenario.nodes as usize];
    for file in &scenario.files {
        roles[file.node.0 as usize] = "shares";
    }
    for step in scenario.script.iter().chain(&scenario.faults) {
        match step.act {
            Act::Search { node, .. } | Act::Push { node, .. } => {
                let role = &mut roles[node.0 as usize];
                *role = if matches!(*role, "shares" | "both") { "both" } else { "asks" };
            }
            Act::Flood { node, .. } => roles[node.0 as usize] = "floods",
            _ => {}
        }
    }
    for (first, second) in &scenario.twins {
        roles[first.0 as usize] = "twin";
        roles[second.0 as usize] = "twin";
    }
    roles
}
