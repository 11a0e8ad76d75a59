//! What is said about a database that is away: one sentence for each kind of trouble,
//! and one when it is over.

use std::mem::{Discriminant, discriminant};

use super::Database;
use crate::error::StoreFailure;

/// What was said last, and is not over.
#[derive(Debug, Clone, Default)]
pub(super) struct LogDedup(Option<Discriminant<StoreFailure>>);

impl LogDedup {
    /// Says why the database cannot be used and what follows from that, unless the
    /// same was said before. A server that is restarted gives several reasons for
    /// being away, which is one trouble.
    pub(super) fn report_unavailable(&mut self, why: &StoreFailure, so: &str) {
        let kind = discriminant(why);
        if self.0.replace(kind) != Some(kind) {
            tracing::warn!("{why}; {so}");
        }
    }

    /// Logs that it is over, for a reader who saw that it began.
    pub(super) fn report_available(&mut self, database: &Database) {
        if self.0.take().is_some() {
            tracing::warn!("the database {database} is back");
        }
    }
}
