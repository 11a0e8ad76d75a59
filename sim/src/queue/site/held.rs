//! Outputs that wait until the store has what they promise.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use servent_core::id::ConnId;
use servent_core::node::Output;
use servent_core::trace::Cause;

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// How many changes were made before it.
    pub(super) after: u64,
    /// One of them was made by the same input.
    pub(super) promises: bool,
    pub(super) output: Output,
    pub(super) cause: Cause,
}

/// Those of one member, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    list: VecDeque<Waiting>,
    /// While the store is away: connections on which something is promised.
    conns: BTreeSet<ConnId>,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.list.push_back(waiting);
    }

    /// Those whose changes the store has.
    pub(super) fn ready(&mut self, saved: u64) -> Vec<Waiting> {
        let count = self.list.iter().take_while(|one| one.after <= saved).count();
        self.conns.clear();
        self.list.drain(..count).collect()
    }

    /// The store is away: what promises nothing is not held back, unless it
    /// follows a promise on the same connection.
    pub(super) fn away(&mut self) -> Vec<Waiting> {
        let all = core::mem::take(&mut self.list);
        let mut free = Vec::new();
        for one in all {
            free.extend(self.keep(one));
        }
        free
    }

    /// Holds an output back while the store is away, if it must be.
    pub(super) fn keep(&mut self, one: Waiting) -> Option<Waiting> {
        let conn = conn_of(&one.output);
        if !one.promises && !conn.is_some_and(|conn| self.conns.contains(&conn)) {
            return Some(one);
        }
        self.conns.extend(conn);
        self.list.push_back(one);
        None
    }
}

/// The connection an output is about.
fn conn_of(output: &Output) -> Option<ConnId> {
    match output {
        Output::Dial { conn, .. }
        | Output::Write { conn, .. }
        | Output::Close { conn, .. }
        | Output::Serve { conn, .. }
        | Output::Store { conn, .. } => Some(*conn),
        _ => None,
    }
}
