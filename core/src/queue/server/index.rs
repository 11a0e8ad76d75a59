//! Numbers of entries under keyed hashes of whatever they are found by.
//!
//! What is compared lies in the entries; here are only their numbers, with
//! eight bits of each hash beside them, so that few entries are looked at in
//! vain. That makes about eight bytes an entry.
//!
//! Growing moves everything a table holds. Here that is never more than one
//! shard, about a thousand numbers, so that a million entries cause no pause.

use alloc::vec::Vec;

/// Numbers a shard holds when the index is as full as expected: five eighths
/// of its cells.
const SHARD: u32 = 1_280;
/// Shards at most; what they weigh when empty is 56 bytes each.
const SHARDS: u32 = 4_096;

/// The tag of a cell in which nothing ever was.
const EMPTY: u8 = 0;
/// The tag of a cell whose number was taken out.
const GONE: u8 = 1;

/// Numbers to be found by hashes. Nothing in it is generic, so that it is
/// compiled once.
#[derive(Debug, Clone)]
pub(super) struct Index {
    /// None as long as nothing was put in: most servents of a world only
    /// download.
    shards: Vec<Shard>,
    expected: u32,
    len: u32,
}

impl Index {
    /// An empty one for about so many numbers; it may hold more.
    pub(super) const fn new(expected: u32) -> Self {
        Self { shards: Vec::new(), expected, len: 0 }
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    /// The shard of a hash, by bits that the shard itself does not look at.
    fn shard(&self, hash: u64) -> usize {
        (((hash >> 32) * self.shards.len() as u64) >> 32) as usize
    }

    /// The number under a hash that is the one looked for.
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let shard = self.shards.get(self.shard(hash))?;
        shard.numbers.get(shard.seek(hash, &is)?).copied()
    }

    /// Puts another number in the place of one.
    pub(super) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        let shard = self.shard(hash);
        let Some(shard) = self.shards.get_mut(shard) else { return };
        if let Some(at) = shard.seek(hash, &|n| n == old) {
            shard.numbers[at] = new;
        }
    }

    /// Adds a number; `hasher` repeats the hashes of those that have to move.
    pub(super) fn insert(&mut self, hash: u64, number: u32, hasher: impl Fn(u32) -> u64) {
        if self.shards.is_empty() {
            let count = self.expected.div_ceil(SHARD).clamp(1, SHARDS);
            self.shards.resize(count as usize, Shard::default());
        }
        let shard = self.shard(hash);
        self.shards[shard].insert(hash, number, &hasher);
        self.len += 1;
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, hash: u64, number: u32) {
        let shard = self.shard(hash);
        let Some(shard) = self.shards.get_mut(shard) else { return };
        if let Some(at) = shard.seek(hash, &|n| n == number) {
            shard.tags[at] = GONE;
            self.len -= 1;
        }
    }
}

/// A table of a power of two of cells, searched from where the hash says to
/// the next empty one.
#[derive(Debug, Clone, Default)]
struct Shard {
    tags: Vec<u8>,
    numbers: Vec<u32>,
    /// Cells that may still be filled before all are too many.
    room: u32,
}

/// Eight bits of the hash that are none of the two that mean something else.
const fn tag(hash: u64) -> u8 {
    let tag = hash as u8;
    if tag > GONE { tag } else { tag + 2 }
}

impl Shard {
    /// The cells in the order in which a hash's are looked at.
    fn walk(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.tags.len().wrapping_sub(1);
        let from = (hash >> 8) as usize;
        (0..self.tags.len()).map(move |step| from.wrapping_add(step) & mask)
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn seek(&self, hash: u64, is: &dyn Fn(u32) -> bool) -> Option<usize> {
        let wanted = tag(hash);
        for at in self.walk(hash) {
            match self.tags[at] {
                EMPTY => return None,
                tag if tag == wanted && is(self.numbers[at]) => return Some(at),
                _ => {}
            }
        }
        None
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn insert(&mut self, hash: u64, number: u32, hasher: &dyn Fn(u32) -> u64) {
        if self.room == 0 {
            self.rebuild(hasher);
        }
        self.put(hash, number);
    }

    fn put(&mut self, hash: u64, number: u32) {
        let free = self.walk(hash).find(|at| self.tags[*at] <= GONE);
        let Some(at) = free else { unreachable!("a quarter of the cells is free") };
        self.room -= u32::from(self.tags[at] == EMPTY);
        (self.tags[at], self.numbers[at]) = (tag(hash), number);
    }

    /// Moves everything into new cells, of which two thirds are filled then, or
    /// fewer. A table that was full of gaps does not grow by that.
    fn rebuild(&mut self, hasher: &dyn Fn(u32) -> u64) {
        let filled = self.tags.iter().filter(|tag| **tag > GONE).count();
        let cells = ((filled + 1) * 3 / 2).max(4).next_power_of_two();
        let tags = core::mem::replace(&mut self.tags, alloc::vec![EMPTY; cells]);
        let numbers = core::mem::replace(&mut self.numbers, alloc::vec![0; cells]);
        self.room = (cells / 4 * 3) as u32;
        for (tag, number) in tags.into_iter().zip(numbers) {
            if tag > GONE {
                self.put(hasher(number), number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use core::hash::BuildHasher;
    use proptest::prelude::*;

    use crate::keyed::Key;
    use crate::rng::Rng;

    fn hashes() -> impl Fn(u32) -> u64 {
        let key = Key::new(&mut Rng::new(1));
        move |n| key.hash_one(n)
    }

    #[test]
    fn finds_what_is_in_it_and_spreads_it_over_its_shards() {
        let hash = hashes();
        let mut index = Index::new(16 * SHARD);
        for n in 0..16 * SHARD {
            index.insert(hash(n), n, &hash);
        }
        assert_eq!((index.len(), index.shards.len()), (16 * SHARD, 16));
        for shard in &index.shards {
            let filled = shard.tags.iter().filter(|tag| **tag > GONE).count();
            assert!((1_100..1_500).contains(&filled), "{filled}");
            assert_eq!(shard.tags.len(), 2_048);
        }
        for n in 0..16 * SHARD {
            assert_eq!(index.find(hash(n), |found| found == n), Some(n));
        }
    }

    #[test]
    fn what_comes_and_goes_takes_no_more_room() {
        let hash = hashes();
        for (filled, cells) in [(100, 256), (SHARD, 2_048)] {
            let mut index = Index::new(1);
            for n in 0..100_000 {
                index.insert(hash(n), n, &hash);
                if let Some(old) = n.checked_sub(filled) {
                    index.remove(hash(old), old);
                }
            }
            assert_eq!(index.len(), filled);
            assert_eq!(index.shards[0].tags.len(), cells);
        }
    }

    proptest! {
        /// With hashes of which many are alike.
        #[test]
        fn behaves_like_a_map(
            steps in prop::collection::vec((0_u8..3, 0_u64..40), 0..300), expected in 0_u32..5_000,
        ) {
            let spread = |n: u64| (n % 7) << 60 | (n % 3) << 8 | (n % 2);
            let mut index = Index::new(expected);
            let mut model: BTreeMap<u64, u32> = BTreeMap::new();
            let mut keys: Vec<u64> = Vec::new();
            for (step, key) in steps {
                match (step, model.get(&key).copied()) {
                    (0, None) => {
                        let number = keys.len() as u32;
                        keys.push(key);
                        model.insert(key, number);
                        index.insert(spread(key), number, |n| spread(keys[n as usize]));
                    }
                    (1, Some(number)) => {
                        model.remove(&key);
                        index.remove(spread(key), number);
                    }
                    (2, Some(number)) => {
                        let new = keys.len() as u32;
                        keys.push(key);
                        model.insert(key, new);
                        index.replace(spread(key), number, new);
                    }
                    _ => index.remove(spread(key), u32::MAX),
                }
                prop_assert_eq!(index.len() as usize, model.len());
                for key in 0..40 {
                    let found = index.find(spread(key), |n| keys[n as usize] == key);
                    prop_assert_eq!(found, model.get(&key).copied());
                }
            }
        }
    }
}
