//! The calendar: what will happen, and in which order.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use servent_core::time::Instant;

/// Planned events in order of their instants; those of one instant in the order
/// in which they were planned, but faults before everything else. So a fault
/// added while the world runs happens where it would have happened if it had
/// been planned from the start.
#[derive(Debug, Clone)]
pub(crate) struct Calendar<D> {
    /// The instant, the order and the place in `dues`, packed into one number
    /// each, so that little has to be moved and compared.
    heap: BinaryHeap<Reverse<u128>>,
    dues: Vec<Option<D>>,
    free: Vec<u32>,
    planned: u64,
}

const AFTER_FAULTS: u64 = 1 << 63;
/// Bits for the place in `dues`, which limit how many events can be planned at
/// a time.
const PLACE: u32 = 24;

impl<D> Default for Calendar<D> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), dues: Vec::new(), free: Vec::new(), planned: 0 }
    }
}

impl<D> Calendar<D> {
    /// Plans an event.
    pub(crate) fn plan(&mut self, at: Instant, due: D) {
        self.insert(at, AFTER_FAULTS, due);
    }

    /// Plans an event that happens before all others of its instant.
    pub(crate) fn plan_first(&mut self, at: Instant, due: D) {
        self.insert(at, 0, due);
    }

    fn insert(&mut self, at: Instant, class: u64, due: D) {
        let order = self.planned << PLACE | class;
        self.planned += 1;
        let place = match self.free.pop() {
            Some(free) => {
                self.dues[free as usize] = Some(due);
                free
            }
            None => {
                self.dues.push(Some(due));
                (self.dues.len() - 1) as u32
            }
        };
        assert!(place >> PLACE == 0, "more is planned than the calendar holds");
        let when = u128::from(at.as_micros()) << 64 | u128::from(order | u64::from(place));
        self.heap.push(Reverse(when));
    }

    /// The instant of the next event.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(when)| Instant::from_micros((when >> 64) as u64))
    }

    /// Removes the next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, D)> {
        let Reverse(when) = self.heap.pop()?;
        let place = when as u32 & ((1 << PLACE) - 1);
        self.free.push(place);
        let due = self.dues[place as usize].take()?;
        Some((Instant::from_micros((when >> 64) as u64), due))
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_the_order_of_planning_and_faults_come_first() {
        let mut calendar = Calendar::default();
        let at = Instant::from_secs(1);
        calendar.plan(at, "one");
        calendar.plan(at, "two");
        calendar.plan_first(at, "fault");
        calendar.plan(Instant::ZERO, "early");
        let order: Vec<&str> = core::iter::from_fn(|| calendar.pop()).map(|(_, due)| due).collect();
        assert_eq!(order, ["early", "fault", "one", "two"]);
    }
}
