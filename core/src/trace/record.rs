//! Records: an event with its number, instant, node and cause.

use alloc::vec::Vec;
use core::hash::Hash;

use serde::{Deserialize, Serialize};

use super::Digest;
pub use crate::id::NodeId;
pub use crate::node::Event;
use crate::time::Instant;

/// The record that caused this one; `None` for what has no cause, such as a
/// start.
pub type RecordCause = Option<u64>;

/// One line of a trace; each kind of world has its own events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record<E = Event> {
    /// Its number; the first is 0.
    pub seq: u64,
    /// When it happened.
    pub at: Instant,
    /// The node it happened to.
    pub node: NodeId,
    /// The record that caused it, also across links.
    pub cause: RecordCause,
    /// The event.
    pub event: E,
}

/// Numbers events, links them to their causes, and keeps the running digest.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    next: u64,
    digest: Digest,
}

impl Recorder {
    /// The number the next record will get.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The digest of everything recorded so far.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Records one event and appends it to `into`; its number is the cause of
    /// whatever follows from it.
    pub fn record<E: Hash>(
        &mut self,
        at: Instant,
        node: NodeId,
        cause: RecordCause,
        event: E,
        into: &mut Vec<Record<E>>,
    ) -> u64 {
        let seq = self.next;
        self.next += 1;
        into.push(Record { seq, at, node, cause, event });
        // Hashed in place: moving a record twice costs more than this.
        if let Some(record) = into.last() {
            self.digest.add(record);
        }
        seq
    }
}
