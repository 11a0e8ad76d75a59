//! What will happen, and in which order.

use alloc::collections::BinaryHeap;
use core::cmp::Ordering;

use super::link::{LinkRef, Side};
use crate::id::{ConnId, FetchId};
use crate::node::DialError;
use crate::time::Instant;

/// Something that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A fault of the scenario, by its place in the list.
    Fault(u32),
    /// A node comes into the world.
    Arrive { host: u32 },
    /// A node's own timer.
    Timer { host: u32 },
    /// The next thing on the wire reaches the end that did not send it.
    Deliver { link: LinkRef, from: Side },
    /// A transfer has come to a point worth reporting.
    Progress { link: LinkRef, from: Side, generation: u32 },
    /// A dial reaches the node that listens.
    Knock { link: LinkRef },
    /// The dialer hears that it is connected.
    Opened { link: LinkRef },
    /// A dial failed.
    DialFailed { host: u32, conn: ConnId, why: DialError, boot: u32 },
    /// An end learns that it is gone.
    Gone { link: LinkRef, side: Side },
    /// Unsent bytes are reported.
    Backlog { link: LinkRef, side: Side },
    /// A finished download has been hashed.
    Hashed { host: u32, fetch: FetchId, boot: u32 },
}

/// Due things in order of their instants; those of one instant in the order
/// in which they were planned, but faults before everything else. So a fault
/// added while the world runs happens where it would have happened had it
/// been planned from the beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct Calendar {
    heap: BinaryHeap<Entry>,
    planned: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: Instant,
    order: u64,
    due: Due,
}

impl Ord for Entry {
    /// Reversed: the heap gives out its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

const AFTER_FAULTS: u64 = 1 << 63;

impl Calendar {
    pub(super) fn plan(&mut self, at: Instant, due: Due) {
        let class = if matches!(due, Due::Fault(_)) { 0 } else { AFTER_FAULTS };
        let order = self.planned | class;
        self.planned += 1;
        self.heap.push(Entry { at, order, due });
    }

    /// When the next thing is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|e| e.at)
    }

    pub(super) fn pop(&mut self) -> Option<(Instant, Due)> {
        self.heap.pop().map(|e| (e.at, e.due))
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_the_order_of_planning_and_faults_come_first() {
        let mut c = Calendar::default();
        let at = Instant::from_secs(1);
        c.plan(at, Due::Arrive { host: 1 });
        c.plan(at, Due::Arrive { host: 2 });
        c.plan(at, Due::Fault(0));
        c.plan(Instant::ZERO, Due::Arrive { host: 3 });
        let order: alloc::vec::Vec<Due> =
            core::iter::from_fn(|| c.pop()).map(|(_, due)| due).collect();
        let arrive = |host| Due::Arrive { host };
        assert_eq!(order, [arrive(3), Due::Fault(0), arrive(1), arrive(2)]);
    }
}
