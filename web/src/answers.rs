//! The shapes of what the page is told.

use std::borrow::Cow;

use serde::Serialize;
use servent_core::json::Json;
use servent_core::node::{FetchView, LaneTotals, Node, NodeView, QueueView};
use servent_core::queue::Dialect;
use servent_core::queue::server::Windows;
use servent_core::sim::Role;
use servent_core::time::Instant;
use servent_core::trace::{Cause, NodeId};

/// JSON text of anything. What we serialise has only text keys, so it cannot
/// fail; to print how it failed would be a dozen sentences in the module.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A node in a list.
#[derive(Serialize)]
pub(crate) struct NodeInfo<'a> {
    pub(crate) id: u32,
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    pub(crate) dialect: Dialect,
    pub(crate) up: bool,
}

/// Everything the queue board shows of one server.
#[derive(Default, Serialize)]
pub(crate) struct Board {
    pub(crate) at: Instant,
    pub(crate) queue: QueueView,
    pub(crate) clients: Vec<Client>,
    pub(crate) tally: Tally,
    pub(crate) done: Vec<Named>,
    /// When the line was sorted into its lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lanes: Option<LaneTotals>,
}

/// Which part of a line a board is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// So many positions from one on.
    Positions(u32, u32),
    /// A window of each lane.
    Lanes(Windows),
}

/// What a node looks like, with that part of its line.
pub(crate) fn look(node: &Node, part: Part) -> (NodeView, Option<LaneTotals>) {
    match part {
        Part::Positions(from, count) => (node.view(from, count), None),
        Part::Lanes(windows) => {
            let mut view = node.view(1, 0);
            let (lanes, cards) = node.lanes(&windows);
            view.queue.cards = cards;
            (view, Some(lanes))
        }
    }
}

/// A client that stands on the board.
#[derive(Serialize)]
pub(crate) struct Client {
    pub(crate) node: u32,
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
    pub(crate) peer: String,
    pub(crate) fetch: Option<FetchView>,
}

/// How many clients are at what.
#[derive(Default, Serialize)]
pub(crate) struct Tally {
    pub(crate) absent: u32,
    pub(crate) waiting: u32,
    pub(crate) queued: u32,
    pub(crate) receiving: u32,
    pub(crate) done: u32,
    pub(crate) failed: u32,
}

/// A node and its name.
#[derive(Serialize)]
pub(crate) struct Named {
    pub(crate) node: u32,
    pub(crate) name: String,
}

/// A record with the names a person wants.
pub(crate) struct NamedRecord<'a> {
    pub(crate) seq: u64,
    pub(crate) at: Instant,
    pub(crate) node: NodeId,
    pub(crate) cause: Cause,
    /// JSON.
    pub(crate) event: Cow<'a, str>,
    pub(crate) node_name: &'a str,
    pub(crate) who: Option<&'a str>,
}

impl NamedRecord<'_> {
    pub(crate) fn json(&self) -> String {
        format!(
            r#"{{"seq":{},"at":{},"node":{},"cause":{},"event":{},"node_name":{},"who":{}}}"#,
            self.seq,
            self.at.as_micros(),
            self.node.0,
            json(&self.cause),
            self.event,
            json(&self.node_name),
            json(&self.who),
        )
    }
}

/// A mark on the timeline.
#[derive(Clone, Serialize)]
pub(crate) struct Pin {
    pub(crate) at: Instant,
    pub(crate) seq: u64,
    pub(crate) kind: &'static str,
    pub(crate) key: String,
    pub(crate) args: Json,
}

/// A branch in a list.
#[derive(Serialize)]
pub(crate) struct BranchInfo<'a> {
    pub(crate) id: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) at: Instant,
    pub(crate) name: &'a str,
}

/// How far a trace has been verified.
#[derive(Default, Serialize)]
pub(crate) struct Verified {
    pub(crate) checked: u64,
    pub(crate) total: u64,
    pub(crate) diverged_at: Option<Instant>,
    /// The whole finding as one sentence.
    pub(crate) text: String,
}

/// A value that changed.
#[derive(Serialize)]
pub(crate) struct Change {
    path: String,
    before: Json,
    after: Json,
}

/// Where two views differ.
pub(crate) fn diff(before: &impl Serialize, after: &impl Serialize) -> Vec<Change> {
    // By way of text: one writer for all types keeps the module small.
    let tree = |text: String| Json::parse(&text).unwrap_or_default();
    let mut changes = Vec::new();
    compare(String::new(), tree(json(before)), tree(json(after)), &mut changes);
    changes
}

/// A list as an object: its items by their numbers.
fn numbered(list: Vec<Json>) -> Json {
    Json::Object(list.into_iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect())
}

fn compare(path: String, before: Json, after: Json, changes: &mut Vec<Change>) {
    if before == after {
        return;
    }
    let join =
        |key: &str| if path.is_empty() { key.to_owned() } else { [&path, ".", key].concat() };
    match (before, after) {
        (Json::List(before), Json::List(after)) => {
            compare(path, numbered(before), numbered(after), changes);
        }
        (Json::Object(mut before), Json::Object(after)) => {
            for (key, after) in after {
                let old = before.iter().position(|(k, _)| *k == key);
                let old = old.map(|i| before.remove(i).1).unwrap_or_default();
                compare(join(&key), old, after, changes);
            }
            for (key, old) in before {
                compare(join(&key), old, Json::Null, changes);
            }
        }
        (before, after) => changes.push(Change { path, before, after }),
    }
}

/// True when every word of a filter is in what a person sees of a record.
pub(crate) fn fits(filter: &str, named: &NamedRecord<'_>) -> bool {
    if filter.is_empty() {
        return true;
    }
    let who = named.who.unwrap_or_default();
    let text = format!("{} {} {who}", named.event, named.node_name).to_ascii_lowercase();
    filter.to_ascii_lowercase().split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_the_paths_that_changed() {
        let before = Json::parse(r#"{"a":1,"b":[1,{"c":2}],"d":0}"#).unwrap();
        let after = Json::parse(r#"{"a":1,"b":[1,{"c":3},4],"e":0}"#).unwrap();
        let paths: Vec<String> = diff(&before, &after).into_iter().map(|c| c.path).collect();
        assert_eq!(paths, ["b.1.c", "b.2", "e", "d"]);
    }
}
