//! A hash table that grows in small pieces.
//!
//! Growing moves everything a table holds. Here that is never more than one
//! shard, about a thousand things, so that a million entries cause no pause.

use alloc::vec::Vec;

use hashbrown::HashTable;

/// Things a shard holds when the table is as full as expected.
const SHARD: u32 = 1_024;
/// Shards at most; what they weigh when empty is 32 bytes each.
const SHARDS: u32 = 4_096;

/// Small things under keyed hashes of whatever they are found by.
#[derive(Debug, Clone)]
pub(super) struct Table<T> {
    /// A power of two of them, or none as long as nothing was put in: most
    /// servents of a world only download.
    shards: Vec<HashTable<T>>,
    expected: u32,
    len: usize,
}

impl<T> Table<T> {
    /// An empty table for about so many things; it may hold more.
    pub(super) const fn new(expected: u32) -> Self {
        Self { shards: Vec::new(), expected, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The shard of a hash, by bits that the shard itself does not look at.
    const fn shard(&self, hash: u64) -> usize {
        (hash >> 40) as usize & self.shards.len().wrapping_sub(1)
    }

    pub(super) fn find(&self, hash: u64, is: impl FnMut(&T) -> bool) -> Option<&T> {
        self.shards.get(self.shard(hash))?.find(hash, is)
    }

    pub(super) fn find_mut(&mut self, hash: u64, is: impl FnMut(&T) -> bool) -> Option<&mut T> {
        let shard = self.shard(hash);
        self.shards.get_mut(shard)?.find_mut(hash, is)
    }

    /// Adds a thing; `hasher` repeats the hash of those that have to move.
    pub(super) fn insert(&mut self, hash: u64, thing: T, hasher: impl Fn(&T) -> u64) {
        if self.shards.is_empty() {
            let count = self.expected.div_ceil(SHARD).clamp(1, SHARDS).next_power_of_two();
            self.shards = (0..count).map(|_| HashTable::new()).collect();
        }
        let shard = self.shard(hash);
        self.shards[shard].insert_unique(hash, thing, hasher);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, hash: u64, is: impl FnMut(&T) -> bool) {
        let shard = self.shard(hash);
        let Some(shard) = self.shards.get_mut(shard) else { return };
        if let Ok(found) = shard.find_entry(hash, is) {
            found.remove();
            self.len -= 1;
        }
    }

    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.shards.iter_mut().for_each(HashTable::clear);
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::Key;
    use crate::rng::Rng;
    use core::hash::BuildHasher;

    #[test]
    fn finds_what_is_in_it_and_spreads_it_over_its_shards() {
        let key = Key::new(&mut Rng::new(1));
        let hash = |n: &u32| key.hash_one(n);
        let mut table = Table::new(16 * SHARD);
        for n in 0..16 * SHARD {
            table.insert(hash(&n), n, hash);
        }
        assert_eq!(table.len(), 16 * SHARD as usize);
        assert!(table.shards.iter().all(|shard| (800..1_250).contains(&shard.len())));
        for n in 0..100 {
            table.remove(hash(&n), |&found| found == n);
            assert_eq!(table.find(hash(&n), |&found| found == n), None);
        }
        assert_eq!(table.find(hash(&100), |&found| found == 100), Some(&100));
        assert_eq!(table.len(), 16 * SHARD as usize - 100);
        table.clear();
        assert_eq!(table.find(hash(&100), |&found| found == 100), None);
    }
}
