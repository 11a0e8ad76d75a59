//! The explanation of a record.

use super::event::Event;
use servent_core::trace::Record;
use servent_core::trace::why::{self, Why};

/// Explains a record.
#[must_use]
pub fn of(record: &Record<Event>) -> Why {
    let (id, clause) = record.event.source().unzip();
    Why { id, clause, ..why::named(&record.event, record.cause) }
}
