//! One generation of a table: what was put in between two moments.
//!
//! A key is 96 bits of a keyed hash, so a stranger can neither choose where
//! it lands nor make two keys meet, and an entry is 16 bytes. A table is
//! cut into shards once it is large: growing and dropping go shard by shard
//! and never take long.

use alloc::vec;
use alloc::vec::Vec;

use super::route::Route;

/// Shards of a large table.
const SHARDS: usize = 256;
/// Entries from which a table is large.
const LARGE: usize = 4_096;
/// Slots of the smallest shard.
const SMALLEST: usize = 8;

/// What is remembered of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark([u32; 3]);

impl Mark {
    pub(super) const fn of(hash: u128) -> Self {
        Self([hash as u32, (hash >> 32) as u32, (hash >> 64) as u32])
    }

    /// Where it belongs among so many slots.
    const fn home(self, slots: usize) -> usize {
        ((self.0[0] as u64 * slots as u64) >> 32) as usize
    }

    const fn shard(self, shards: usize) -> usize {
        self.0[1] as usize % shards
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    mark: Mark,
    route: Option<Route>,
}

const EMPTY: Slot = Slot { mark: Mark([0; 3]), route: None };

/// Open addressing, at most three quarters full. Homes keep the order of the
/// hashes, so growing copies from front to back.
#[derive(Debug, Clone, Default)]
pub(super) struct Shard {
    slots: Vec<Slot>,
    used: usize,
}

impl Shard {
    fn find(&self, mark: Mark) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = mark.home(self.slots.len());
        loop {
            let slot = &self.slots[at];
            slot.route?;
            if slot.mark == mark {
                return Some(at);
            }
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
    }

    fn insert(&mut self, mark: Mark, route: Route) {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        self.place(Slot { mark, route: Some(route) });
        self.used += 1;
    }

    fn place(&mut self, slot: Slot) {
        let mut at = slot.mark.home(self.slots.len());
        while self.slots[at].route.is_some() {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        self.slots[at] = slot;
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 3 / 2).max(SMALLEST);
        let old = core::mem::replace(&mut self.slots, vec![EMPTY; slots]);
        for slot in old {
            if slot.route.is_some() {
                self.place(slot);
            }
        }
    }
}

/// What was put in between two moments.
#[derive(Debug, Clone, Default)]
pub(super) struct Generation {
    shards: Vec<Shard>,
    len: usize,
}

impl Generation {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes of its slots.
    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.shards.iter().map(|shard| shard.slots.len()).sum();
        slots * size_of::<Slot>() + self.shards.len() * size_of::<Shard>()
    }

    pub(super) fn get(&self, mark: Mark) -> Option<Route> {
        if self.shards.is_empty() {
            return None;
        }
        let shard = &self.shards[mark.shard(self.shards.len())];
        shard.find(mark).and_then(|at| shard.slots[at].route)
    }

    /// The route of a mark, to change.
    pub(super) fn get_mut(&mut self, mark: Mark) -> Option<&mut Route> {
        if self.shards.is_empty() {
            return None;
        }
        let shards = self.shards.len();
        let shard = &mut self.shards[mark.shard(shards)];
        let at = shard.find(mark)?;
        shard.slots[at].route.as_mut()
    }

    /// Puts in a mark that is not there.
    pub(super) fn insert(&mut self, mark: Mark, route: Route) {
        if self.shards.is_empty() {
            self.shards.push(Shard::default());
        }
        if self.shards.len() == 1 && self.len == LARGE {
            self.split();
        }
        let shards = self.shards.len();
        self.shards[mark.shard(shards)].insert(mark, route);
        self.len += 1;
    }

    fn split(&mut self) {
        let small = core::mem::replace(&mut self.shards, vec![Shard::default(); SHARDS]);
        for slot in small.into_iter().flat_map(|shard| shard.slots) {
            if let Some(route) = slot.route {
                self.shards[slot.mark.shard(SHARDS)].insert(slot.mark, route);
            }
        }
    }

    /// What is to be dropped, piece by piece.
    pub(super) fn into_shards(self) -> Vec<Shard> {
        self.shards
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::table::Table;

    #[test]
    fn it_is_a_map() {
        let mut rng = Rng::new(5);
        for size in [0, 1, 7, 100, 5_000, 40_000_u64] {
            let (mut ours, mut model) = (Generation::default(), Table::<u64, Route>::new());
            for n in 0..size {
                // Few different homes: long runs, around the end too.
                let low = if rng.chance(1, 2) { u64::from(u32::MAX) } else { rng.below(1 << 32) };
                let hash = u128::from(low) | u128::from(n) << 32;
                let route = Route::new(n as u32 % 4_000, n as u32 % 1_000);
                ours.insert(Mark::of(hash), route);
                model.insert(n << 32 | low, route);
                assert_eq!(ours.get(Mark::of(hash)), Some(route));
                if ours.len() > 3_000 {
                    break; // Runs of thousands are slow, and prove nothing more.
                }
            }
            for (key, route) in model.iter() {
                let hash = u128::from(key & 0xffff_ffff) | u128::from(key >> 32) << 32;
                assert_eq!(ours.get(Mark::of(hash)), Some(*route));
                assert_eq!(ours.get(Mark::of(hash | 1 << 80)), None);
            }
            assert_eq!(ours.len(), model.len());
        }
    }

    #[test]
    fn an_entry_costs_at_most_forty_bytes_at_any_size() {
        assert_eq!(size_of::<Slot>(), 16);
        let (mut table, mut rng) = (Generation::default(), Rng::new(6));
        for n in 1..=60_000_usize {
            let hash = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            table.insert(Mark::of(hash), Route::new(1, 1));
            if n > 10_000 && n % 100 == 0 {
                assert!(table.bytes() <= 40 * n, "{} at {n}", table.bytes() / n);
            }
        }
    }
}
