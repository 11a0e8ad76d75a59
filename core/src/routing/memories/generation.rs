//! One generation of a table: what was inserted between two instants.
//!
//! A key is 96 bits of a keyed hash, so a stranger can neither choose its
//! position nor make two keys collide, and an entry is 16 bytes. A large table
//! is split into shards, so that growing and dropping it takes only short
//! steps. Whether something is *not* there, which is looked up for every new
//! message and in both generations, is answered by one control byte per entry,
//! and rarely requires reading the entries.

use alloc::vec;
use alloc::vec::Vec;

use hashbrown::HashTable;

use super::route::Route;

/// Shards of a large table.
const SHARDS: usize = 256;
/// Entries from which a table is split.
const LARGE: usize = 4_096;

/// The key of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark([u32; 3]);

impl Mark {
    pub(crate) const fn from_hash(hash: u128) -> Self {
        Self([hash as u32, (hash >> 32) as u32, (hash >> 64) as u32])
    }

    /// Its position within a shard.
    const fn home(self) -> u64 {
        self.0[0] as u64 | (self.0[1] as u64) << 32
    }

    const fn shard(self, shards: usize) -> usize {
        self.0[2] as usize % shards
    }
}

/// A key and the route it came by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteEntry {
    mark: Mark,
    route: Route,
}

/// A part of a table. Never iterated, except to split it.
pub(crate) type Shard = HashTable<RouteEntry>;

/// What was inserted between two instants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Generation {
    shards: Vec<Shard>,
    len: usize,
}

impl Generation {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Memory of its entries and of their tables, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let entries: usize = self.shards.iter().map(HashTable::allocation_size).sum();
        entries + self.shards.len() * size_of::<Shard>()
    }

    /// The shard of a key. There is one, or there are [`SHARDS`].
    fn shard(&self, mark: Mark) -> Option<&Shard> {
        self.shards.get(mark.shard(self.shards.len().max(1)))
    }

    pub(crate) fn get(&self, mark: Mark) -> Option<Route> {
        let found = self.shard(mark)?.find(mark.home(), |entry| entry.mark == mark)?;
        Some(found.route)
    }

    /// The route of a key, mutable.
    pub(crate) fn get_mut(&mut self, mark: Mark) -> Option<&mut Route> {
        let at = mark.shard(self.shards.len().max(1));
        let found = self.shards.get_mut(at)?.find_mut(mark.home(), |entry| entry.mark == mark)?;
        Some(&mut found.route)
    }

    /// Inserts a key that is not there.
    pub(crate) fn insert(&mut self, mark: Mark, route: Route) {
        if self.shards.is_empty() {
            self.shards.push(Shard::new());
        }
        if self.shards.len() == 1 && self.len == LARGE {
            self.split();
        }
        let at = mark.shard(self.shards.len());
        put(&mut self.shards[at], RouteEntry { mark, route });
        self.len += 1;
    }

    fn split(&mut self) {
        let small = core::mem::replace(&mut self.shards, vec![Shard::new(); SHARDS]);
        for entry in small.into_iter().flatten() {
            put(&mut self.shards[entry.mark.shard(SHARDS)], entry);
        }
    }

    /// Its entries in order of their keys.
    pub(crate) fn sorted(&self) -> Vec<(Mark, Route)> {
        let mut all: Vec<_> =
            self.shards.iter().flatten().map(|entry| (entry.mark, entry.route)).collect();
        all.sort_unstable_by_key(|(mark, _)| mark.0);
        all
    }

    /// Its shards, to be freed one by one.
    pub(crate) fn into_shards(self) -> Vec<Shard> {
        self.shards
    }
}

fn put(shard: &mut Shard, entry: RouteEntry) {
    shard.insert_unique(entry.mark.home(), entry, |entry| entry.mark.home());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::BTreeMap;

    #[test]
    fn it_is_a_map() {
        let mut rng = Rng::new(5);
        for size in [0, 1, 7, 100, 5_000, 40_000_u64] {
            let (mut ours, mut model) = (Generation::default(), BTreeMap::<u64, Route>::new());
            for n in 0..size {
                // Few different positions: long runs, also across the end of
                // the table.
                let low = if rng.chance(1, 2) { u64::from(u32::MAX) } else { rng.below(1 << 32) };
                let hash = u128::from(low) | u128::from(n) << 32;
                let route = Route::new(n as u32 % 4_000, n as u32 % 1_000);
                ours.insert(Mark::from_hash(hash), route);
                model.insert(n << 32 | low, route);
                assert_eq!(ours.get(Mark::from_hash(hash)), Some(route));
                if ours.len() > 3_000 {
                    break; // Runs of thousands are slow, and prove nothing more.
                }
            }
            for (key, route) in model.iter() {
                let hash = u128::from(key & 0xffff_ffff) | u128::from(key >> 32) << 32;
                assert_eq!(ours.get(Mark::from_hash(hash)), Some(*route));
                assert_eq!(ours.get(Mark::from_hash(hash | 1 << 80)), None);
            }
            assert_eq!(ours.len(), model.len());
        }
    }

    #[test]
    fn an_entry_costs_at_most_forty_bytes_at_any_size() {
        assert_eq!(size_of::<RouteEntry>(), 16);
        let (mut table, mut rng) = (Generation::default(), Rng::new(6));
        for n in 1..=60_000_usize {
            let hash = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            table.insert(Mark::from_hash(hash), Route::new(1, 1));
            if n > 10_000 && n % 100 == 0 {
                assert!(table.bytes() <= 40 * n, "{} at {n}", table.bytes() / n);
            }
            if n % 1_000 == 0 {
                let shards = if n <= LARGE { 1 } else { SHARDS };
                assert_eq!((table.len(), table.shards.len()), (n, shards));
                let entries: usize = table.shards.iter().map(HashTable::allocation_size).sum();
                assert!(entries >= 16 * n);
                assert_eq!(table.bytes() - entries, shards * size_of::<Shard>());
            }
        }
    }

    #[test]
    fn keys_are_spread_by_64_bits_of_their_hash_and_over_shards_by_others() {
        let mark = Mark::from_hash(7 << 64 | 0x0123_4567_89ab_cdef);
        assert_eq!(mark.home(), 0x0123_4567_89ab_cdef);
        assert_eq!((mark.shard(1), mark.shard(4), mark.shard(256)), (0, 3, 7));
    }
}
