//! Effects of a node as the records of a recording: numbered, and each with its cause.

use alloc::vec::Vec;

use super::{Causes, Event, NodeId, Record, Recorder};
use crate::engine::Effect;
use crate::id::ConnId;
use crate::node::Output;
use crate::time::Instant;

/// Numbers the events of one node, and links each to its cause.
#[derive(Debug, Clone, Default)]
pub(super) struct EventNumbers {
    node: NodeId,
    recorder: Recorder,
    causes: Causes,
}

impl EventNumbers {
    /// For a node that has said nothing yet.
    pub(super) fn new(node: NodeId) -> Self {
        Self { node, ..Self::default() }
    }

    /// The number of the next record.
    pub(super) const fn next(&self) -> u64 {
        self.recorder.next()
    }

    /// The events among the effects of an input, which was about this connection.
    pub(super) fn records(
        &mut self,
        at: Instant,
        about: Option<ConnId>,
        effects: &[Effect<Output, Event>],
    ) -> Vec<Record> {
        let (mut records, mut first) = (Vec::new(), None);
        for effect in effects {
            let Effect::Event(event) = effect else { continue };
            let cause = match event {
                // The end of a turn concerns many peers at once.
                Event::Unicast(_) => self.causes.find_cause(event),
                _ => first
                    .or_else(|| about.and_then(|c| self.causes.of_conn(c)))
                    .or_else(|| self.causes.find_cause(event)),
            };
            let seq = self.recorder.record(at, self.node, cause, event.clone(), &mut records);
            self.causes.note(seq, event);
            first = first.or(Some(seq));
        }
        records
    }
}
