//! What will happen, and in which order.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::link::{LinkRef, Side};
use servent_core::id::{ConnId, FetchId};
use servent_core::node::DialError;
use servent_core::time::Instant;

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
    /// The instant, the order and the place in `dues`, in one number each: so
    /// little has to be moved and compared.
    heap: BinaryHeap<Reverse<u128>>,
    dues: Vec<Due>,
    free: Vec<u32>,
    planned: u64,
}

const AFTER_FAULTS: u64 = 1 << 63;
/// Bits for the place in `dues`: so many things can be planned at a time.
const PLACE: u32 = 24;

impl Calendar {
    pub(super) fn plan(&mut self, at: Instant, due: Due) {
        let class = if matches!(due, Due::Fault(_)) { 0 } else { AFTER_FAULTS };
        let order = self.planned << PLACE | class;
        self.planned += 1;
        let place = match self.free.pop() {
            Some(free) => {
                self.dues[free as usize] = due;
                free
            }
            None => {
                self.dues.push(due);
                (self.dues.len() - 1) as u32
            }
        };
        assert!(place >> PLACE == 0, "more is planned than the calendar holds");
        let when = u128::from(at.as_micros()) << 64 | u128::from(order | u64::from(place));
        self.heap.push(Reverse(when));
    }

    /// When the next thing is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(when)| Instant::from_micros((when >> 64) as u64))
    }

    pub(super) fn pop(&mut self) -> Option<(Instant, Due)> {
        let Reverse(when) = self.heap.pop()?;
        let place = when as u32 & ((1 << PLACE) - 1);
        self.free.push(place);
        Some((Instant::from_micros((when >> 64) as u64), self.dues[place as usize]))
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
