//! Counts the copies of each piece, and orders the pieces by rarity.

use alloc::vec::Vec;

use super::bits::Bits;
use crate::rng::Rng;

/// Pieces ordered by number of copies. One copy more or less moves a piece
/// across the border of its class, at a cost independent of the number of
/// pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Rarity {
    /// Copies of each piece.
    copies: Vec<u32>,
    /// The pieces, those with the fewest copies first.
    order: Vec<u32>,
    /// The position of each piece in `order`.
    place: Vec<u32>,
    /// Entry `n` is the position in `order` where the pieces with at least `n`
    /// copies begin.
    border: Vec<u32>,
}

/// Up to this many common pieces are compared one by one.
const FEW: u32 = 24;

impl Rarity {
    pub(super) fn new(pieces: u32) -> Self {
        let all: Vec<u32> = (0..pieces).collect();
        let copies = alloc::vec![0; pieces as usize];
        Self { copies, place: all.clone(), order: all, border: alloc::vec![0] }
    }

    pub(super) fn copies(&self, piece: u32) -> u32 {
        self.copies.get(piece as usize).copied().unwrap_or(0)
    }

    /// Where the class of `copies` begins.
    fn begin(&self, copies: u32) -> u32 {
        self.border.get(copies as usize).copied().unwrap_or(self.order.len() as u32)
    }

    fn swap(&mut self, a: u32, b: u32) {
        self.order.swap(a as usize, b as usize);
        self.place[self.order[a as usize] as usize] = a;
        self.place[self.order[b as usize] as usize] = b;
    }

    pub(super) fn more(&mut self, piece: u32) {
        let copies = self.copies[piece as usize];
        if self.border.len() == copies as usize + 1 {
            self.border.push(self.order.len() as u32);
        }
        // The last of its class becomes the first of the next.
        let last = self.begin(copies + 1) - 1;
        self.swap(self.place[piece as usize], last);
        self.border[copies as usize + 1] = last;
        self.copies[piece as usize] = copies + 1;
    }

    pub(super) fn fewer(&mut self, piece: u32) {
        let copies = self.copies[piece as usize];
        debug_assert!(copies > 0, "a copy that was not counted");
        let first = self.begin(copies);
        self.swap(self.place[piece as usize], first);
        self.border[copies as usize] = first + 1;
        self.copies[piece as usize] = copies - 1;
    }

    /// A random piece of those in both sets (SW-21).
    pub(super) fn random(a: &Bits, b: &Bits, rng: &mut Rng) -> Option<u32> {
        let count = a.common(b);
        a.both(b).nth(rng.below(count.into()) as usize)
    }

    /// A random piece of the rarest in both sets (SW-21).
    pub(super) fn rarest(&self, a: &Bits, b: &Bits, rng: &mut Rng) -> Option<u32> {
        let count = a.common(b);
        if count > FEW {
            self.walk(|piece| a.contains(piece) && b.contains(piece), rng)
        } else {
            self.least(a.both(b), rng)
        }
    }

    /// A random piece of those with the fewest copies.
    fn least(&self, pieces: impl Iterator<Item = u32>, rng: &mut Rng) -> Option<u32> {
        let (mut best, mut fewest, mut ties) = (None, u32::MAX, 0);
        for piece in pieces {
            let copies = self.copies(piece);
            if copies < fewest {
                (best, fewest, ties) = (Some(piece), copies, 1);
            } else if copies == fewest {
                ties += 1;
                if rng.chance(1, ties) {
                    best = Some(piece);
                }
            }
        }
        best
    }

    /// The first piece that fits, class by class, each from a random position.
    fn walk(&self, fits: impl Fn(u32) -> bool, rng: &mut Rng) -> Option<u32> {
        let mut from = 0;
        let end = self.order.len() as u32;
        while from < end {
            let class = self.copies(self.order[from as usize]);
            let to = self.begin(class + 1);
            let turn = rng.below((to - from).into()) as u32;
            let places = (from + turn..to).chain(from..from + turn);
            let mut pieces = places.map(|at| self.order[at as usize]);
            if let Some(piece) = pieces.find(|piece| fits(*piece)) {
                return Some(piece);
            }
            from = to;
        }
        None
    }

    /// A random needed piece that nobody has or is downloading.
    pub(super) fn unseen(&self, need: &Bits, rng: &mut Rng) -> Option<u32> {
        let to = self.begin(1);
        let turn = rng.below(to.into()) as u32;
        let mut places = (turn..to).chain(0..turn);
        places.find_map(|at| Some(self.order[at as usize]).filter(|piece| need.contains(*piece)))
    }

    /// True when there may be a piece that nobody has.
    pub(super) fn has_unseen(&self) -> bool {
        self.begin(1) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_follows_the_copies() {
        let (mut dice, mut rarity) = (Rng::new(3), Rarity::new(40));
        let mut all = Bits::none(40);
        (0..40).for_each(|piece| assert!(all.insert(piece)));
        for _ in 0..3_000 {
            let piece = dice.below(40) as u32;
            if rarity.copies(piece) > 0 && dice.chance(2, 5) {
                rarity.fewer(piece);
            } else {
                rarity.more(piece);
            }
            let sorted = rarity.order.windows(2);
            assert!(sorted.into_iter().all(|w| rarity.copies(w[0]) <= rarity.copies(w[1])));
            let least = (0..40).map(|piece| rarity.copies(piece)).min();
            let found = rarity.rarest(&all, &all, &mut dice).unwrap();
            assert_eq!(Some(rarity.copies(found)), least);
            let unseen = rarity.unseen(&all, &mut dice);
            assert_eq!(unseen.map(|p| rarity.copies(p)), Some(0).filter(|_| least == Some(0)));
        }
    }

    #[test]
    fn few_or_many_in_common_the_rarest_is_found() {
        let mut dice = Rng::new(4);
        for count in [3, 30] {
            let mut rarity = Rarity::new(64);
            let (mut a, mut b) = (Bits::none(64), Bits::none(64));
            for piece in 0..count {
                a.insert(piece);
                b.insert(piece);
                (0..=piece).for_each(|_| rarity.more(piece));
            }
            assert_eq!(rarity.rarest(&a, &b, &mut dice), Some(0));
            assert!(Rarity::random(&a, &b, &mut dice).is_some_and(|piece| piece < count));
            b.remove(0);
            assert_eq!(rarity.rarest(&a, &b, &mut dice), Some(1));
        }
    }

    #[test]
    fn none_of_the_rarest_is_preferred() {
        let (mut dice, mut rarity) = (Rng::new(5), Rarity::new(64));
        let mut common = Bits::none(64);
        for piece in 10..64 {
            common.insert(piece);
            (0..=u32::from(piece >= 40)).for_each(|_| rarity.more(piece));
        }
        let mut found = [0; 64];
        for _ in 0..600 {
            let piece = rarity.rarest(&common, &common, &mut dice).unwrap();
            assert_eq!(rarity.copies(piece), 1);
            found[piece as usize] += 1;
        }
        assert!(found[10..40].iter().all(|times| (1..60).contains(times)), "{found:?}");
    }
}
