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
        let place = place(when);
        self.free.push(place as u32);
        let due = self.dues[place].take()?;
        Some((Instant::from_micros((when >> 64) as u64), due))
    }

    /// All planned events in their order: a number, the instant, and what.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, Instant, &D)> {
        let mut all: Vec<u128> = self.heap.iter().map(|Reverse(when)| *when).collect();
        all.sort_unstable();
        all.into_iter().filter_map(|when| {
            let due = self.dues[place(when)].as_ref()?;
            Some((when as u64, Instant::from_micros((when >> 64) as u64), due))
        })
    }

    /// Removes the event with this number.
    pub(crate) fn take(&mut self, number: u64) -> Option<(Instant, D)> {
        let all = core::mem::take(&mut self.heap).into_vec();
        let is_it = |when: &&Reverse<u128>| when.0 as u64 == number;
        let found = all.iter().find(is_it).map(|Reverse(when)| *when);
        self.heap = all.into_iter().filter(|when| !is_it(&when)).collect();
        let when = found?;
        self.free.push(place(when) as u32);
        let due = self.dues[place(when)].take()?;
        Some((Instant::from_micros((when >> 64) as u64), due))
    }

    /// Removes all events but these.
    pub(crate) fn retain(&mut self, stays: impl Fn(&D) -> bool) {
        let goes = |(number, _, due): (u64, Instant, &D)| (!stays(due)).then_some(number);
        let gone: Vec<u64> = self.entries().filter_map(goes).collect();
        for number in gone {
            self.take(number);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}

/// The place of an event in `dues`.
const fn place(when: u128) -> usize {
    (when as u32 & ((1 << PLACE) - 1)) as usize
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

    #[test]
    fn what_is_taken_out_of_turn_is_gone_and_its_place_is_free() {
        let mut calendar = Calendar::default();
        for (at, due) in [(3, "late"), (1, "first"), (2, "second"), (2, "third")] {
            calendar.plan(Instant::from_secs(at), due);
        }
        let number = calendar.entries().find(|(.., due)| **due == "second").map(|(n, ..)| n);
        assert_eq!(calendar.take(number.unwrap()), Some((Instant::from_secs(2), "second")));
        assert_eq!(calendar.take(number.unwrap()), None);
        calendar.retain(|due| *due != "first");
        calendar.plan(Instant::from_secs(2), "fourth");
        let left: Vec<&str> = calendar.entries().map(|(.., due)| *due).collect();
        assert_eq!(left, ["third", "fourth", "late"]);
        assert_eq!(calendar.pop(), Some((Instant::from_secs(2), "third")));
    }
}
