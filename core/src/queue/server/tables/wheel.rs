//! Timers of the entries: lists of entries by deadline, each list one tick
//! wide. Linking and unlinking is O(1) apart from finding the list; the number
//! of lists is bounded by the longest interval, not by the number of entries.
//!
//! A deadline that moves later leaves the entry in its list until that list is
//! due; only then the entry is moved. So a poll touches no other entry, and a
//! client that polls ten times costs one move each time its list is due.
//!
//! A list is due at the end of its tick. That only delays the removal: whether
//! a request is in time is decided by the entry's exact deadline.

use alloc::collections::BTreeMap;
use core::num::NonZeroU64;

use super::entry::QueueEntry;
use super::slab::Slab;
use crate::time::{Duration, Instant};

/// The links of an entry in its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WheelLinks {
    /// The list it is in: the number of its tick plus one.
    tick: Option<NonZeroU64>,
    /// Its deadline, while it is in a list.
    wake: Instant,
    prev: u32,
    next: u32,
}

/// Deadlines, rounded up to a tick.
#[derive(Debug, Clone)]
pub(crate) struct Wheel {
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
    pub(crate) fn new(tick: Duration) -> Self {
        Self { tick: tick.as_micros().max(1), lists: BTreeMap::new() }
    }

    /// The end of the earliest tick that has a list. No entry's deadline,
    /// rounded up to a tick, is earlier.
    pub(crate) fn next(&self) -> Option<Instant> {
        let (&tick, _) = self.lists.first_key_value()?;
        Some(Instant::from_micros(tick.saturating_mul(self.tick)))
    }

    /// The first entry of a list whose tick is over at `now`. It remains in the
    /// list.
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        let (_, list) = self.lists.first_key_value()?;
        (self.next()? <= now).then_some(list.first)
    }

    /// True when the deadline of a due entry had moved later; the entry is now
    /// in the right list.
    pub(crate) fn postpone(&mut self, slab: &mut Slab<QueueEntry>, key: u32, now: Instant) -> bool {
        let WheelLinks { tick, wake, .. } = slab[key].links;
        let right = self.tick_of(wake);
        if Instant::from_micros(right.saturating_mul(self.tick)) <= now {
            return false;
        }
        if let Some(tick) = tick {
            self.unlink(slab, key, tick.get() - 1);
        }
        self.link(slab, key, right, wake);
        true
    }

    /// True while an entry has a deadline.
    pub(crate) fn has(entry: &QueueEntry) -> bool {
        entry.links.tick.is_some()
    }

    /// The deadline of an entry.
    pub(crate) fn deadline(entry: &QueueEntry) -> Option<Instant> {
        Self::has(entry).then_some(entry.links.wake)
    }

    /// Sets, moves or clears (`None`) the deadline of an entry.
    pub(crate) fn set(&mut self, slab: &mut Slab<QueueEntry>, key: u32, at: Option<Instant>) {
        let linked = slab[key].links.tick.map(|tick| tick.get() - 1);
        let wanted = at.map(|at| (self.tick_of(at), at));
        match (linked, wanted) {
            (Some(old), Some((new, at))) if old <= new => slab[key].links.wake = at,
            (linked, wanted) => {
                if let Some(old) = linked {
                    self.unlink(slab, key, old);
                }
                if let Some((new, at)) = wanted {
                    self.link(slab, key, new, at);
                }
            }
        }
    }

    fn tick_of(&self, at: Instant) -> u64 {
        at.as_micros().div_ceil(self.tick).min(u64::MAX - 1)
    }

    fn link(&mut self, slab: &mut Slab<QueueEntry>, key: u32, tick: u64, wake: Instant) {
        let list = self.lists.entry(tick).or_insert_with(|| List { first: key, last: key });
        // The ends of a list point at themselves.
        slab[key].links =
            WheelLinks { tick: NonZeroU64::new(tick + 1), wake, prev: key, next: key };
        if list.last != key {
            slab[list.last].links.next = key;
            slab[key].links.prev = list.last;
            list.last = key;
        }
    }

    fn unlink(&mut self, slab: &mut Slab<QueueEntry>, key: u32, tick: u64) {
        let WheelLinks { prev, next, .. } = slab[key].links;
        slab[key].links.tick = None;
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
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_sorted_list(
            steps in prop::collection::vec((0_u32..20, prop::option::of(1_u64..50)), 0..300),
        ) {
            let mut slab = Slab::new();
            for _ in 0..20 {
                slab.insert(QueueEntry::sample());
            }
            let mut wheel = Wheel::new(Duration::from_micros(4));
            let mut model = BTreeMap::new();
            for (key, at) in steps {
                wheel.set(&mut slab, key, at.map(Instant::from_micros));
                match at {
                    Some(at) => drop(model.insert(key, at.div_ceil(4) * 4)),
                    None => drop(model.remove(&key)),
                }
                let first = model.values().min().map(|&at| Instant::from_micros(at));
                prop_assert!(wheel.next().is_none() == first.is_none() && wheel.next() <= first);
            }
            while let Some(now) = wheel.next() {
                prop_assert_eq!(wheel.due(now - Duration::from_micros(1)), None);
                while let Some(key) = wheel.due(now) {
                    if !wheel.postpone(&mut slab, key, now) {
                        prop_assert_eq!(model.remove(&key), Some(now.as_micros()));
                        wheel.set(&mut slab, key, None);
                    }
                }
                prop_assert!(model.values().all(|&at| at > now.as_micros()));
            }
            prop_assert!(model.is_empty());
        }
    }

    #[test]
    fn the_end_of_all_time_is_a_deadline_like_any_other() {
        let mut slab = Slab::new();
        let key = slab.insert(QueueEntry::sample());
        let mut wheel = Wheel::new(Duration::from_micros(1));
        wheel.set(&mut slab, key, Some(Instant::MAX));
        assert!(wheel.next() >= Some(Instant::MAX - Duration::from_micros(1)));
        wheel.set(&mut slab, key, Some(Instant::from_secs(1)));
        assert_eq!(wheel.next(), Some(Instant::from_secs(1)));
        wheel.set(&mut slab, key, None);
        assert_eq!(wheel.next(), None);
    }
}
