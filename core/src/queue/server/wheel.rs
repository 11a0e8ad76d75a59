//! Who has to be looked at when: lists of entries by deadline, each list one
//! tick wide. Linking and unlinking is O(1) beside the lookup of the list,
//! whose number is bounded by the longest interval, not by the entries.
//!
//! A list falls due at the end of its tick. That only delays the cleaning up:
//! whether a request is in time is judged by the entry's exact deadline.

use alloc::collections::BTreeMap;

use super::entry::Entry;
use super::slab::Slab;
use crate::time::{Duration, Instant};

/// The links of an entry in its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Links {
    prev: u32,
    next: u32,
}

/// Deadlines, rounded up to a tick.
#[derive(Debug, Clone)]
pub(super) struct Wheel {
    tick: u64,
    lists: BTreeMap<u64, List>,
}

#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Wheel {
    /// An empty wheel; a tick is at least a microsecond.
    pub(super) fn new(tick: Duration) -> Self {
        Self { tick: tick.as_micros().max(1), lists: BTreeMap::new() }
    }

    /// The end of the earliest tick somebody waits for.
    pub(super) fn next(&self) -> Option<Instant> {
        let (&tick, _) = self.lists.first_key_value()?;
        Some(Instant::from_micros(tick.saturating_mul(self.tick)))
    }

    /// One entry whose tick is over at `now`, in order of tick and of
    /// setting. It stays linked.
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        let (_, list) = self.lists.first_key_value()?;
        (self.next()? <= now).then_some(list.first)
    }

    /// Sets, moves or clears (`None`) the deadline of an entry.
    pub(super) fn set(&mut self, slab: &mut Slab<Entry>, key: u32, at: Option<Instant>) {
        let old = slab[key].wake;
        if old.map(|at| self.tick_of(at)) != at.map(|at| self.tick_of(at)) {
            if let Some(old) = old {
                self.unlink(slab, key, self.tick_of(old));
            }
            if let Some(at) = at {
                self.link(slab, key, self.tick_of(at));
            }
        }
        slab[key].wake = at;
    }

    fn tick_of(&self, at: Instant) -> u64 {
        at.as_micros().div_ceil(self.tick)
    }

    fn link(&mut self, slab: &mut Slab<Entry>, key: u32, tick: u64) {
        let list = self.lists.entry(tick).or_insert(List { first: key, last: key });
        // An end of a list points at itself.
        slab[key].links = Links { prev: key, next: key };
        if list.last != key {
            slab[list.last].links.next = key;
            slab[key].links.prev = list.last;
            list.last = key;
        }
    }

    fn unlink(&mut self, slab: &mut Slab<Entry>, key: u32, tick: u64) {
        let Links { prev, next } = slab[key].links;
        if prev == key && next == key {
            self.lists.remove(&tick);
            return;
        }
        if prev == key {
            slab[next].links.prev = next;
            self.list(tick).first = next;
        } else if next == key {
            slab[prev].links.next = prev;
            self.list(tick).last = prev;
        } else {
            slab[prev].links.next = next;
            slab[next].links.prev = prev;
        }
    }

    fn list(&mut self, tick: u64) -> &mut List {
        self.lists.get_mut(&tick).expect("a linked entry has a list")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_list(
            steps in prop::collection::vec((0_u32..20, prop::option::of(1_u64..50)), 0..300),
        ) {
            let mut slab = Slab::new();
            for _ in 0..20 {
                slab.insert(Entry::sample());
            }
            let mut wheel = Wheel::new(Duration::from_micros(4));
            let mut model: Vec<(u64, u32)> = Vec::new();
            for (key, at) in steps {
                wheel.set(&mut slab, key, at.map(Instant::from_micros));
                let tick = at.map(|at| at.div_ceil(4));
                if !tick.is_some_and(|tick| model.contains(&(tick, key))) {
                    model.retain(|one| one.1 != key);
                    model.extend(tick.map(|tick| (tick, key)));
                    model.sort_by_key(|one| one.0);
                }
                let first = model.first();
                prop_assert_eq!(wheel.next(), first.map(|one| Instant::from_micros(one.0 * 4)));
            }
            for (tick, key) in model {
                let now = Instant::from_micros(tick * 4);
                prop_assert_eq!(wheel.due(now - Duration::from_micros(1)), None);
                prop_assert_eq!(wheel.due(now), Some(key));
                wheel.set(&mut slab, key, None);
            }
            prop_assert_eq!(wheel.next(), None);
        }
    }
}
