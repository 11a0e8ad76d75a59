//! What every view says alike.

mod columns;
pub(crate) mod lists;
pub(crate) mod room;
pub(crate) mod watch;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use servent_core::time::Instant;
use servent_core::trace::{Cause, NodeId};

pub(crate) use self::columns::Columns;

/// An instant as the page knows it.
pub(crate) fn us(at: Instant) -> f64 {
    at.as_micros() as f64
}

/// An instant from the page; what is no instant is the beginning.
pub(crate) fn instant(us: f64) -> Instant {
    Instant::from_micros(us as u64)
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
    pub(crate) args: Value,
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

/// The JSON of a value.
pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("names and whole numbers are JSON")
}

/// A value that changed.
#[derive(Serialize)]
pub(crate) struct Change {
    path: String,
    before: Value,
    after: Value,
}

/// Where two views differ.
pub(crate) fn diff(before: &impl Serialize, after: &impl Serialize) -> Vec<Change> {
    diff_of(&json(before), &json(after))
}

/// Where two views differ that are text already.
pub(crate) fn diff_of(before: &str, after: &str) -> Vec<Change> {
    let tree = |text| serde_json::from_str(text).unwrap_or_default();
    let mut changes = Vec::new();
    compare(String::new(), tree(before), tree(after), &mut changes);
    changes
}

/// A list as an object: its items by their numbers.
fn numbered(list: Vec<Value>) -> Value {
    let items = list.into_iter().enumerate().map(|(i, item)| (i.to_string(), item));
    Value::Object(items.collect())
}

fn compare(path: String, before: Value, after: Value, changes: &mut Vec<Change>) {
    if before == after {
        return;
    }
    let join =
        |key: &str| if path.is_empty() { key.to_owned() } else { [&path, ".", key].concat() };
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            compare(path, numbered(before), numbered(after), changes);
        }
        (Value::Object(mut before), Value::Object(after)) => {
            for (key, after) in after {
                let old = before.remove(&key).unwrap_or_default();
                compare(join(&key), old, after, changes);
            }
            for (key, old) in before {
                compare(join(&key), old, Value::Null, changes);
            }
        }
        (before, after) => changes.push(Change { path, before, after }),
    }
}

/// The most records one question is answered with.
const RECORDS: u32 = 10_000;

/// Records from one on, at most so many, that fit a filter.
pub(crate) fn listed<'a>(
    filter: &str,
    count: u32,
    mut i: u32,
    named: &dyn Fn(u32) -> Option<NamedRecord<'a>>,
) -> String {
    let fitting = core::iter::from_fn(|| {
        loop {
            let named = named(i)?;
            i += 1;
            if fits(filter, &named) {
                return Some(named.json());
            }
        }
    });
    lists::list(fitting.take(count.min(RECORDS) as usize))
}

/// True when every word of a filter is in what a person sees of a record.
fn fits(filter: &str, named: &NamedRecord<'_>) -> bool {
    if filter.is_empty() {
        return true;
    }
    let who = named.who.unwrap_or_default();
    let text = format!("{} {} {who}", named.event, named.node_name).to_ascii_lowercase();
    filter.to_ascii_lowercase().split_ascii_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_names_the_paths_that_changed() {
        let before = r#"{"a":1,"b":[1,{"c":2}],"d":0}"#;
        let after = r#"{"a":1,"b":[1,{"c":3},4],"e":0}"#;
        let paths: Vec<String> = diff_of(before, after).into_iter().map(|c| c.path).collect();
        assert_eq!(paths, ["b.1.c", "b.2", "e", "d"]);
    }
}
