//! Hash tables from keyed hashes to entry numbers.
//!
//! The keys to compare are in the entries; the index holds only their numbers,
//! so it costs six to eleven bytes per place.
//!
//! A hash table moves everything it holds when it grows. Many small tables move
//! about a thousand numbers at a time, so that a queue of a million causes no
//! pause that a client would notice.

use alloc::vec::Vec;

use hashbrown::HashTable;

/// Numbers in one table when the index is as full as expected.
const SHARD: u32 = 1_280;
/// Maximum number of tables.
const SHARDS: u32 = 4_096;

/// Entry numbers, found by hash.
#[derive(Debug, Clone)]
pub(crate) struct HashIndex {
    /// Empty as long as nothing was inserted: most servents of a world only
    /// download.
    shards: Vec<HashTable<u32>>,
    expected: u32,
}

impl HashIndex {
    /// An empty index for about so many numbers; it may hold more.
    pub(crate) const fn new(expected: u32) -> Self {
        Self { shards: Vec::new(), expected }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.shards.iter().all(HashTable::is_empty)
    }

    /// The table of a hash, chosen by bits from its middle: those at both ends
    /// decide where in the table to look.
    fn shard(&self, hash: u64) -> usize {
        let middle = u64::from((hash >> 16) as u32);
        ((middle * self.shards.len() as u64) >> 32) as usize
    }

    /// The number with this hash that `is` accepts.
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.shards.get(self.shard(hash))?.find(hash, |n| is(*n)).copied()
    }

    /// Replaces a number by another.
    pub(crate) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        let shard = self.shard(hash);
        let shard = self.shards.get_mut(shard);
        if let Some(number) = shard.and_then(|shard| shard.find_mut(hash, |n| *n == old)) {
            *number = new;
        }
    }

    /// Adds a number; `hasher` gives the hashes of numbers that have to be
    /// moved.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hasher: impl Fn(u32) -> u64) {
        if self.shards.is_empty() {
            let count = self.expected.div_ceil(SHARD).clamp(1, SHARDS);
            self.shards.resize(count as usize, HashTable::new());
        }
        let shard = self.shard(hash);
        self.shards[shard].insert_unique(hash, number, |n| hasher(*n));
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let shard = self.shard(hash);
        let Some(shard) = self.shards.get_mut(shard) else { return };
        if let Ok(found) = shard.find_entry(hash, |n| *n == number) {
            found.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::BuildHasher;

    use crate::keyed::Key;
    use crate::rng::Rng;

    #[test]
    fn no_table_holds_much_more_than_its_share() {
        let key = Key::new(&mut Rng::new(1));
        let hash = |n: u32| key.hash_one(n);
        let mut index = HashIndex::new(16 * SHARD);
        for n in 0..16 * SHARD {
            index.insert(hash(n), n, hash);
        }
        assert_eq!(index.shards.len(), 16);
        for shard in &index.shards {
            assert!((1_100..1_500).contains(&shard.len()), "{}", shard.len());
        }
        for n in 0..16 * SHARD {
            assert_eq!(index.find(hash(n), |found| found == n), Some(n));
            index.remove(hash(n), n);
        }
        assert!(index.is_empty());
    }
}
