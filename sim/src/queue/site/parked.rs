//! Outputs that wait until the store has what they promise.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use servent_core::id::ConnId;
use servent_core::node::{ConnOutput, Output};
use servent_core::time::Instant;
use servent_core::trace::RecordCause;

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// How many changes were made before it.
    pub(super) after: u64,
    /// One of them was made by the same input.
    pub(super) promises: bool,
    pub(super) output: Output,
    pub(super) cause: RecordCause,
    /// When it was decided.
    pub(super) at: Instant,
}

/// Those of one member, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct ParkedEffects {
    list: VecDeque<Waiting>,
    /// While the store is away: connections on which something is promised.
    conns: BTreeSet<ConnId>,
}

impl ParkedEffects {
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
            free.extend(self.park(one));
        }
        free
    }

    /// Connections on which something was to be said at `before` or earlier.
    pub(super) fn late(&self, before: Instant) -> BTreeSet<ConnId> {
        let writes = self.list.iter().filter(|one| one.at <= before);
        writes
            .filter_map(|one| match one.output {
                Output::Connection(conn, ConnOutput::Write { .. }) => Some(conn),
                _ => None,
            })
            .collect()
    }

    /// Gives up what waits on a connection; returns how many writes that were.
    pub(super) fn give_up(&mut self, conn: ConnId) -> usize {
        self.conns.remove(&conn);
        let before = self.writes();
        self.list.retain(|one| conn_of(&one.output) != Some(conn));
        before - self.writes()
    }

    fn writes(&self) -> usize {
        self.list
            .iter()
            .filter(|one| matches!(one.output, Output::Connection(_, ConnOutput::Write { .. })))
            .count()
    }

    /// Holds an output back while the store is away, if it must be.
    pub(super) fn park(&mut self, one: Waiting) -> Option<Waiting> {
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
        Output::Connection(conn, _) => Some(*conn),
        _ => None,
    }
}
