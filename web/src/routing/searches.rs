//! Searches and pushes, and the nodes that begin them.

use serde::Serialize;
use servent_core::id::Guid;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::routing::{Journey, RoutingAction, Scenario};

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

/// The role of each node in the scenario's script, as one word.
pub(super) fn roles(scenario: &Scenario) -> Vec<&'static str> {
    let mut roles = vec!["plain"; scenario.nodes as usize];
    for file in &scenario.files {
        roles[file.node.0 as usize] = "shares";
    }
    for step in scenario.script.iter().chain(&scenario.faults) {
        match step.act {
            RoutingAction::Search { node, .. } | RoutingAction::Push { node, .. } => {
                let role = &mut roles[node.0 as usize];
                *role = if matches!(*role, "shares" | "both") { "both" } else { "asks" };
            }
            RoutingAction::Flood { node, .. } => roles[node.0 as usize] = "floods",
            _ => {}
        }
    }
    for (first, second) in &scenario.twins {
        roles[first.0 as usize] = "twin";
        roles[second.0 as usize] = "twin";
    }
    roles
}
