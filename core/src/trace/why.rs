//! The requirement and the clause that each kind of event follows.

use alloc::format;
use alloc::string::String;

use serde::Serialize;
use serde_json::Value;

use super::{Record, RecordCause};

/// Why a record is there. The page finds the sentence by the key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordReason {
    /// `engine.event`, or `engine.event.reason` where there are several.
    pub key: String,
    /// The event's fields.
    pub args: Value,
    /// The requirement, as in the table of requirements.
    pub id: Option<&'static str>,
    /// Where the specification says so.
    pub clause: Option<&'static str>,
    /// The record that caused it.
    pub cause: RecordCause,
}

/// Keys with their requirement and their clause. The longest matching key
/// applies.
const CLAUSES: &[(&str, &str, &str)] = &[
    ("conn.line", "PQ-8", "PARQ §4"),
    ("fetch.asked", "AQ-13", "Active Queueing, client"),
    ("fetch.called_back", "PQ-8", "PARQ §4"),
    ("fetch.queued", "AQ-13", "Active Queueing, client"),
    ("fetch.queued.parq", "PQ-4", "PARQ §4"),
    ("meet.asking", "PA-11", "addresses are local, and seen from outside"),
    ("meet.chosen", "PA-12", "both sides knock at once"),
    ("meet.heard", "PA-12", "both sides knock at once"),
    ("meet.introduced", "PA-10", "a place lets two others meet"),
    ("meet.knocked", "PA-12", "both sides knock at once"),
    ("meet.left", "PA-10", "a place remembers little, and not for long"),
    ("meet.located", "PA-11", "addresses are local, and seen from outside"),
    ("meet.malformed", "PA-10", "a place remembers little, and not for long"),
    ("meet.met", "PA-11", "addresses are local, and seen from outside"),
    ("meet.no_path", "PA-15", "it says why there is no path"),
    ("meet.relay_ended", "PA-13", "a relay passes on what it cannot read"),
    ("meet.seated", "PA-10", "a place lets two others meet"),
    ("meet.skipped", "PA-12", "no visitor is made to knock at a third party"),
    ("meet.turned_away", "PA-10", "a place remembers little, and not for long"),
    ("meet.unsigned", "PA-12", "no visitor is made to knock at a third party"),
    ("meet.waiting", "PA-10", "a place lets two others meet"),
    ("queue.arrived", "AQ-3", "Active Queueing, server"),
    ("queue.arrived.parq", "PQ-1", "PARQ §4"),
    ("queue.arrived.parq11", "PQ-1", "PARQ §4"),
    ("queue.arrived.passive", "PQ-3", "PARQ §5"),
    ("queue.asked", "PQ-6", "PARQ §4"),
    ("queue.away", "PQ-10", "PARQ §4"),
    ("queue.called", "PQ-8", "PARQ §4"),
    ("queue.continued", "AQ-9", "Active Queueing, server"),
    ("queue.entitled", "AQ-2", "Active Queueing, server"),
    ("queue.finished", "AQ-9", "Active Queueing, server"),
    ("queue.held", "QA-3", "Active Queueing, X-Features: hold"),
    ("queue.lost.broke_too_often", "PQ-10", "PARQ §4"),
    ("queue.lost.connection_lost", "AQ-7", "Active Queueing, server"),
    ("queue.lost.left", "QA-8", "PARQ §4, X-Features: leave"),
    ("queue.lost.overdue", "AQ-6", "Active Queueing, server"),
    ("queue.lost.too_early", "AQ-5", "Active Queueing, server"),
    ("queue.lost.unreachable", "PQ-8", "PARQ §4"),
    ("queue.lost.wrong_position", "PQ-6", "PARQ §4"),
    ("queue.moved", "AQ-8", "Active Queueing, server"),
    ("queue.passed", "PQ-16", "PARQ §7"),
    ("queue.refused.queue_full", "AQ-10", "Active Queueing, server"),
    ("queue.reserved", "PQ-14", "PARQ §4"),
    ("queue.restored", "PQ-12", "PARQ §4"),
    ("queue.returned", "QA-6", "PARQ §4"),
    ("queue.started", "AQ-2", "Active Queueing, server"),
    ("queue.told", "AQ-3", "Active Queueing, server"),
    ("queue.unreserved", "PQ-14", "PARQ §4"),
];

/// Explains a record.
#[must_use]
pub fn explain(record: &Record) -> RecordReason {
    explained(&record.event, record.cause)
}

/// Explains an event given as text.
#[must_use]
pub fn of_event(event: &str, cause: RecordCause) -> RecordReason {
    explained(&serde_json::from_str::<Value>(event).unwrap_or_default(), cause)
}

fn explained(event: &impl Serialize, cause: RecordCause) -> RecordReason {
    let why = named(event, cause);
    let dialect = why.args.get("dialect").and_then(Value::as_str);
    let by_dialect = dialect.map(|d| format!("{}.{d}", why.key));
    let (id, clause) = clause(by_dialect.as_deref().unwrap_or(&why.key)).unzip();
    RecordReason { id, clause, ..why }
}

/// The key and the fields of an event, without requirement and clause.
#[must_use]
pub fn named(event: &impl Serialize, cause: RecordCause) -> RecordReason {
    let (space, fields) = parts(event);
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let mut key = format!("{space}.{}", text("what").unwrap_or_default());
    if let Some(why) = text("why") {
        key = format!("{key}.{why}");
    }
    RecordReason { key, args: fields, id: None, clause: None, cause }
}

/// The engine of an event `{"queue":{"what":"told",…}}`, and its fields.
pub(super) fn parts(event: &impl Serialize) -> (String, Value) {
    match serde_json::to_value(event) {
        Ok(Value::Object(outer)) => outer.into_iter().next().unwrap_or_default(),
        _ => Default::default(),
    }
}

fn clause(key: &str) -> Option<(&'static str, &'static str)> {
    let fits = |known: &str| {
        key.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let fitting = CLAUSES.iter().filter(|(known, ..)| fits(known));
    fitting.max_by_key(|(known, ..)| known.len()).map(|(_, id, clause)| (*id, *clause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Guid;
    use crate::queue::{Event, PositionLoss};
    use crate::time::Instant;
    use crate::trace::{Event as Any, NodeId};

    #[test]
    fn a_lost_place_names_its_reason_and_its_requirement() {
        let event = Event::Lost { ticket: Guid([1; 16]), why: PositionLoss::TooEarly, length: 2 };
        let event = Any::Queue(event);
        let record = Record { seq: 4, at: Instant::ZERO, node: NodeId(0), cause: Some(2), event };
        let why = explain(&record);
        assert_eq!((why.key.as_str(), why.id), ("queue.lost.too_early", Some("AQ-5")));
        assert_eq!(why.args.get("length").and_then(Value::as_u64), Some(2));
        assert_eq!(why.cause, Some(2));
    }

    #[test]
    fn what_happens_at_a_meeting_is_explained_as_the_engine_does() {
        use crate::meet::{Event as Meeting, KnockStep};
        let peer = "192.0.2.1:6349".parse().unwrap();
        for event in [
            Meeting::Asking { peer },
            Meeting::Knocked { peer, step: KnockStep::Ask },
            Meeting::Heard { peer, step: KnockStep::Answer },
            Meeting::Chosen { peer },
            Meeting::Unsigned { peer },
            Meeting::RelayEnded { peer, bytes: 1 },
            Meeting::Left { peer, silent: true },
        ] {
            let said = (Some(event.id()), Some(event.clause()));
            let event = Any::Meet(event);
            let record = Record { seq: 1, at: Instant::ZERO, node: NodeId(0), cause: None, event };
            let why = explain(&record);
            assert_eq!((why.id, why.clause), said, "{}", why.key);
        }
    }

    #[test]
    fn the_longest_key_that_fits_is_the_one() {
        assert_eq!(clause("queue.arrived.passive"), Some(("PQ-3", "PARQ §5")));
        assert_eq!(clause("queue.arrived.active").map(|c| c.0), Some("AQ-3"));
        assert_eq!(clause("queue.arrivedx"), None);
    }
}
