//! Sets of small numbers as bits: pieces of a file, clients of a file.

use alloc::vec::Vec;

use crate::rng::Rng;

/// A set of numbers. Grows as needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PieceSet {
    words: Vec<u64>,
}

impl PieceSet {
    /// An empty set with room for `0..count`.
    #[must_use]
    pub fn none(count: u32) -> Self {
        Self { words: alloc::vec![0; count.div_ceil(64) as usize] }
    }

    /// Adds a number; true when it was not in the set.
    pub fn insert(&mut self, n: u32) -> bool {
        let (word, bit) = ((n / 64) as usize, 1 << (n % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let was = self.words[word];
        self.words[word] = was | bit;
        was & bit == 0
    }

    /// Removes a number; true when it was in the set.
    pub fn remove(&mut self, n: u32) -> bool {
        let Some(word) = self.words.get_mut((n / 64) as usize) else { return false };
        let was = *word;
        *word = was & !(1 << (n % 64));
        was != *word
    }

    /// True when the number is in the set.
    #[must_use]
    pub fn contains(&self, n: u32) -> bool {
        self.words.get((n / 64) as usize).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// How many numbers are in the set.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// True when the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Adds all numbers of another set.
    pub fn add(&mut self, other: &Self) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// True when the sets have a number in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// How many numbers the sets have in common.
    #[must_use]
    pub fn common(&self, other: &Self) -> u32 {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones()).sum()
    }

    /// All numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.words).flat_map(|(at, word)| ones(at, *word))
    }

    /// The intersection, in ascending order.
    pub fn both<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> + 'a {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b);
        (0..).zip(words).flat_map(|(at, word)| ones(at, word))
    }

    /// A number that all of the sets have: the first at or after a random
    /// position.
    #[must_use]
    pub(crate) fn some_of(&self, with: &Self, rng: &mut Rng) -> Option<u32> {
        let count = self.words.len().min(with.words.len());
        let from = rng.below(count as u64) as usize;
        (from..count).chain(0..from).find_map(|at| {
            let word = self.words[at] & with.words[at];
            (word != 0).then(|| at as u32 * 64 + word.trailing_zeros())
        })
    }

    /// The words, 64 numbers each, for a view.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

fn ones(at: u32, mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(at * 64 + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    /// The same numbers as bits and as the set of the standard library, drawn
    /// from `0..span`.
    fn drawn(dice: &mut Rng, count: u64, span: u64) -> (PieceSet, BTreeSet<u32>) {
        let (mut bits, mut model) = (PieceSet::default(), BTreeSet::new());
        for _ in 0..count {
            let n = dice.below(span) as u32;
            assert_eq!(bits.insert(n), model.insert(n));
        }
        (bits, model)
    }

    #[test]
    fn a_set_of_bits_is_a_set() {
        let (mut dice, mut bits, mut model) = (Rng::new(1), PieceSet::none(10), BTreeSet::new());
        for _ in 0..2_000 {
            let n = dice.below(300) as u32;
            if dice.chance(1, 2) {
                assert_eq!(bits.insert(n), model.insert(n));
            } else {
                assert_eq!(bits.remove(n), model.remove(&n));
            }
            assert_eq!(bits.contains(n), model.contains(&n));
        }
        assert!(bits.iter().eq(model.iter().copied()));
        assert!((0..400).all(|n| bits.contains(n) == model.contains(&n)));
        for n in 0..300 {
            assert_eq!((bits.len() as usize, bits.is_empty()), (model.len(), model.is_empty()));
            assert_eq!(bits.remove(n), model.remove(&n));
        }
        assert!(bits.is_empty() && !bits.remove(9_000) && !bits.contains(9_000));
    }

    #[test]
    fn two_sets_of_any_size_are_joined_and_compared_as_sets_are() {
        let mut dice = Rng::new(2);
        for _ in 0..300 {
            let (count, span) = (dice.below(60), dice.between(1, 400));
            let (a, left) = drawn(&mut dice, count, span);
            let (count, span) = (dice.below(60), dice.between(1, 400));
            let (b, right) = drawn(&mut dice, count, span);
            let both: BTreeSet<u32> = left.intersection(&right).copied().collect();
            assert!(a.both(&b).eq(both.iter().copied()));
            assert_eq!((a.common(&b) as usize, a.meets(&b)), (both.len(), !both.is_empty()));
            let found = a.some_of(&b, &mut dice);
            assert_eq!(found.is_some(), !both.is_empty());
            assert!(found.is_none_or(|n| both.contains(&n)), "{found:?} of {both:?}");
            let mut all = a.clone();
            all.add(&b);
            assert!(all.iter().eq(left.union(&right).copied()));
        }
    }

    #[test]
    fn some_number_of_two_sets_is_in_any_word_of_them() {
        let (mut dice, mut bits) = (Rng::new(3), PieceSet::default());
        [5, 70, 191].into_iter().for_each(|n| assert!(bits.insert(n)));
        let found: BTreeSet<u32> =
            (0..100).filter_map(|_| bits.some_of(&bits, &mut dice)).collect();
        assert!(found.into_iter().eq([5, 70, 191]));
    }

    #[test]
    fn a_view_shows_a_word_for_every_64_pieces_of_the_file() {
        for (pieces, words) in [(0, 0), (1, 1), (64, 1), (65, 2), (300, 5)] {
            assert_eq!(PieceSet::none(pieces).words(), alloc::vec![0; words]);
        }
        let mut bits = PieceSet::none(65);
        bits.insert(64);
        bits.insert(3);
        assert_eq!(bits.words(), [8, 1]);
    }
}
