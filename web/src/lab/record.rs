//! Records with the names that people want to see.

use serde::Serialize;
use servent_core::time::Instant;
use servent_core::trace::{NodeId, RecordCause};

use crate::value::{QueryResult, give};

/// The most records in one answer.
const MOST: u32 = 10_000;

/// A record with names.
#[derive(Serialize)]
pub(crate) struct NamedRecord<'a, E> {
    /// Its number.
    pub(crate) seq: u64,
    /// When.
    pub(crate) at: Instant,
    /// Its node.
    pub(crate) node: NodeId,
    /// The record that caused it.
    pub(crate) cause: RecordCause,
    /// The event: its area, and in it `what`.
    pub(crate) event: E,
    /// The node's name.
    pub(crate) node_name: &'a str,
    /// The name of the other node it is about.
    pub(crate) who: Option<&'a str>,
}

/// Records from `from` on, at most `count`, that contain every word of a
/// filter.
pub(crate) fn fitting<'a, E: Serialize>(
    filter: &str,
    count: u32,
    from: u32,
    named: impl Fn(u32) -> Option<NamedRecord<'a, E>>,
) -> QueryResult {
    let words: Vec<String> = filter.split_whitespace().map(str::to_ascii_lowercase).collect();
    let known = (from..).map_while(named);
    let fitting = known.filter(|named| words.is_empty() || holds(named, &words));
    give(&fitting.take(count.min(MOST) as usize).collect::<Vec<_>>())
}

/// True when a record with its names contains every word.
fn holds<E: Serialize>(named: &NamedRecord<'_, E>, words: &[String]) -> bool {
    let event = serde_json::to_string(&named.event).unwrap_or_default();
    let text = [&event, " ", named.node_name, " ", named.who.unwrap_or_default()].concat();
    let text = text.to_ascii_lowercase();
    words.iter().all(|word| text.contains(word))
}
