//! Counts the copies of each piece, and orders the pieces by rarity.

use alloc::vec::Vec;

use super::bits::PieceSet;
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
    pub(super) fn random(a: &PieceSet, b: &PieceSet, rng: &mut Rng) -> Option<u32> {
        let count = a.common(b);
        a.both(b).nth(rng.below(count.into()) as usize)
    }

    /// A random piece of the rarest in both sets (SW-21).
    pub(super) fn rarest(&self, a: &PieceSet, b: &PieceSet, rng: &mut Rng) -> Option<u32> {
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
        while let Some(first) = self.order.get(from as usize) {
            let to = self.begin(self.copies(*first) + 1);
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

    /// A random needed piece that no client has or is downloading.
    pub(super) fn unseen(&self, need: &PieceSet, rng: &mut Rng) -> Option<u32> {
        let to = self.begin(1);
        let turn = rng.below(to.into()) as u32;
        let mut places = (turn..to).chain(0..turn);
        places.find_map(|at| Some(self.order[at as usize]).filter(|piece| need.contains(*piece)))
    }

    /// True when there may be a piece that no client has.
    pub(super) fn has_unseen(&self) -> bool {
        self.begin(1) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of both sets that have the fewest copies, looked up one by one.
    fn rarest_of(rarity: &Rarity, a: &PieceSet, b: &PieceSet) -> Vec<u32> {
        let both: Vec<u32> = (0..PIECES).filter(|n| a.contains(*n) && b.contains(*n)).collect();
        let least = both.iter().map(|piece| rarity.copies(*piece)).min();
        both.into_iter().filter(|piece| Some(rarity.copies(*piece)) == least).collect()
    }

    const PIECES: u32 = 40;

    #[test]
    fn the_order_follows_the_copies() {
        let (mut dice, mut rarity) = (Rng::new(3), Rarity::new(PIECES));
        let mut copies = [0; PIECES as usize];
        let draw = |dice: &mut Rng, tenths: u64| {
            let mut set = PieceSet::none(PIECES);
            (0..PIECES).filter(|_| dice.chance(tenths, 10)).for_each(|n| _ = set.insert(n));
            set
        };
        for _ in 0..3_000 {
            let piece = dice.below(PIECES.into()) as u32;
            if copies[piece as usize] > 0 && dice.chance(2, 5) {
                rarity.fewer(piece);
                copies[piece as usize] -= 1;
            } else {
                rarity.more(piece);
                copies[piece as usize] += 1;
            }
            assert!((0..PIECES).all(|piece| rarity.copies(piece) == copies[piece as usize]));
            assert!(rarity.order.is_sorted_by_key(|piece| copies[*piece as usize]));
            for class in 0..copies.iter().max().unwrap() + 3 {
                let fewer = copies.iter().filter(|copies| **copies < class).count();
                assert_eq!(rarity.begin(class) as usize, fewer, "{class} copies begin there");
            }
            let tenths = dice.between(1, 10);
            let (a, b) = (draw(&mut dice, tenths), draw(&mut dice, 9));
            let rarest = rarest_of(&rarity, &a, &b);
            let found = rarity.rarest(&a, &b, &mut dice);
            assert_eq!(found.is_some(), !rarest.is_empty());
            assert!(found.is_none_or(|piece| rarest.contains(&piece)));
            let any = Rarity::random(&a, &b, &mut dice);
            assert_eq!(any.is_some(), !rarest.is_empty());
            assert!(any.is_none_or(|piece| a.contains(piece) && b.contains(piece)));
            let fresh: Vec<u32> = a.iter().filter(|piece| rarity.copies(*piece) == 0).collect();
            let unseen = rarity.unseen(&a, &mut dice);
            assert_eq!(unseen.is_some(), !fresh.is_empty());
            assert!(unseen.is_none_or(|piece| fresh.contains(&piece)));
            assert_eq!(rarity.has_unseen(), copies.contains(&0));
        }
        assert_eq!(rarity.copies(PIECES), 0, "a piece that is not there has no copies");
    }

    #[test]
    fn few_or_many_in_common_the_rarest_is_found() {
        let mut dice = Rng::new(4);
        for count in [3, 30] {
            let mut rarity = Rarity::new(64);
            let (mut a, mut b) = (PieceSet::none(64), PieceSet::none(64));
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

    /// How often each piece is drawn.
    fn times(mut draw: impl FnMut() -> Option<u32>) -> [u32; 64] {
        let mut found = [0; 64];
        (0..900).for_each(|_| found[draw().unwrap() as usize] += 1);
        found
    }

    #[test]
    fn none_of_the_rarest_is_preferred() {
        // Many in common, and few: the order is walked, or all are compared.
        for (from, to) in [(10, 64), (30, 50)] {
            let (mut dice, mut rarity) = (Rng::new(5), Rarity::new(64));
            let mut common = PieceSet::none(64);
            for piece in from..to {
                common.insert(piece);
                (0..=u32::from(piece >= 40)).for_each(|_| rarity.more(piece));
            }
            let found = times(|| rarity.rarest(&common, &common, &mut dice));
            let each = 900 / (40 - from);
            let (rare, rest) = found[from as usize..].split_at((40 - from) as usize);
            assert!(rare.iter().all(|times| (each / 3..2 * each).contains(times)), "{found:?}");
            assert!(rest.iter().all(|times| *times == 0));
            let found = times(|| Rarity::random(&common, &common, &mut dice));
            let each = 900 / (to - from);
            let drawn = &found[from as usize..to as usize];
            assert!(drawn.iter().all(|times| (each / 3..2 * each).contains(times)), "{found:?}");
        }
    }

    #[test]
    fn any_piece_that_no_client_has_may_be_the_next_from_the_source() {
        let (mut dice, mut rarity, mut need) = (Rng::new(6), Rarity::new(64), PieceSet::none(64));
        (0..64).for_each(|piece| _ = need.insert(piece));
        (0..34).for_each(|piece| rarity.more(piece));
        let found = times(|| rarity.unseen(&need, &mut dice));
        assert!(found[..34].iter().all(|times| *times == 0));
        assert!(found[34..].iter().all(|times| (15..60).contains(times)), "{found:?}");
        (34..64).for_each(|piece| rarity.more(piece));
        assert_eq!((rarity.unseen(&need, &mut dice), rarity.has_unseen()), (None, false));
    }
}
