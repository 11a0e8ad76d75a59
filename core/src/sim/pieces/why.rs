//! Why a record is there.

use super::event::Event;
use crate::json;
use crate::trace::Record;
use crate::trace::why::{self, Why};

/// Explains a record.
#[must_use]
pub fn of(record: &Record<Event>) -> Why {
    let (id, clause) = record.event.source().unzip();
    Why { id, clause, ..why::named(&json::print(&record.event), record.cause) }
}
