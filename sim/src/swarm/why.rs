//! The explanation of a record.

use super::event::Event;
use servent_core::trace::Record;
use servent_core::trace::why::{self, RecordReason};

/// Explains a record.
#[must_use]
pub fn explain(record: &Record<Event>) -> RecordReason {
    let (id, clause) = record.event.source().unzip();
    RecordReason { id, clause, ..why::named(&record.event, record.cause) }
}
