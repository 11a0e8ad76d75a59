//! The order of the line: position of an entry, entry at a position, bytes
//! ahead, all in O(log n) and a few bytes an entry.
//!
//! Entries get consecutive seats. A block of 256 seats knows by bits which
//! are taken; trees of partial sums over the blocks count those before. Seats
//! never move except when more than half of them stand empty: then everybody
//! moves up, which costs each newcomer less than two moves.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Seats of a block.
const SEATS: usize = 256;
const WORDS: usize = SEATS / 64;

/// The line. Entries are known by their number in the slab.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Apart from the blocks and close together: a position is found from
    /// these alone, and those of a million seats fit a processor's cache.
    bits: Vec<Bits>,
    blocks: Vec<Option<Box<Block>>>,
    taken: Sums,
    present: Sums,
    bytes: Sums,
    /// The next seat to give.
    next: u32,
}

#[derive(Debug, Clone)]
struct Block {
    entries: [u32; SEATS],
    /// What each asks for; 0 where nobody sits.
    bytes: [u64; SEATS],
}

#[derive(Debug, Clone, Copy, Default)]
struct Bits {
    taken: [u64; WORDS],
    /// Of those, the ones a free slot may be kept for.
    present: [u64; WORDS],
}

impl Line {
    pub(super) const fn new() -> Self {
        Self {
            bits: Vec::new(),
            blocks: Vec::new(),
            taken: Sums::new(),
            present: Sums::new(),
            bytes: Sums::new(),
            next: 0,
        }
    }

    /// How many stand in line.
    pub(super) fn len(&self) -> u32 {
        self.taken.total() as u32
    }

    /// How many of them are present.
    pub(super) fn present(&self) -> u32 {
        self.present.total() as u32
    }

    /// Adds an entry at the end, absent, and returns its seat.
    pub(super) fn push(&mut self, entry: u32, bytes: u64) -> u32 {
        let seat = self.next;
        self.next += 1;
        let (block, at) = split(seat);
        if block == self.blocks.len() {
            self.blocks.push(Some(Box::new(Block { entries: [0; SEATS], bytes: [0; SEATS] })));
            self.bits.push(Bits::default());
            for sums in [&mut self.taken, &mut self.present, &mut self.bytes] {
                sums.push();
            }
        }
        let it = self.blocks[block].as_mut().expect("the last block is kept");
        it.entries[at] = entry;
        it.bytes[at] = bytes;
        self.bits[block].taken[at / 64] |= 1 << (at % 64);
        self.taken.add(block, 1);
        self.bytes.add(block, bytes);
        seat
    }

    /// Takes the entry at `seat` out of the line.
    pub(super) fn remove(&mut self, seat: u32) {
        self.set_present(seat, false);
        self.set_bytes(seat, 0);
        let (block, at) = split(seat);
        let taken = &mut self.bits[block].taken;
        debug_assert!(taken[at / 64] >> (at % 64) & 1 == 1);
        taken[at / 64] &= !(1 << (at % 64));
        if *taken == [0; WORDS] && block + 1 < self.blocks.len() {
            self.blocks[block] = None;
        }
        self.taken.sub(block, 1);
    }

    /// The entry at `seat` asks for so many bytes now.
    pub(super) fn set_bytes(&mut self, seat: u32, bytes: u64) {
        let (block, at) = split(seat);
        let it = self.blocks[block].as_mut().expect("an entry keeps its block");
        let old = core::mem::replace(&mut it.bytes[at], bytes);
        self.bytes.add(block, bytes.wrapping_sub(old));
    }

    /// Marks the entry at `seat` as one a slot may be kept for, or not.
    pub(super) fn set_present(&mut self, seat: u32, present: bool) {
        let (block, at) = split(seat);
        let (word, bit) = (&mut self.bits[block].present[at / 64], 1 << (at % 64));
        match (*word & bit != 0, present) {
            (false, true) => {
                *word |= bit;
                self.present.add(block, 1);
            }
            (true, false) => {
                *word &= !bit;
                self.present.sub(block, 1);
            }
            _ => {}
        }
    }

    /// True when a slot may be kept for the entry at `seat`.
    pub(super) fn is_present(&self, seat: u32) -> bool {
        let (block, at) = split(seat);
        self.bits[block].present[at / 64] >> (at % 64) & 1 == 1
    }

    /// Its position: 1 is next.
    pub(super) fn position(&self, seat: u32) -> u32 {
        let (block, at) = split(seat);
        self.taken.before(block) as u32 + ones_before(&self.bits[block].taken, at) + 1
    }

    /// The entry at `position`.
    pub(super) fn at(&self, position: u32) -> Option<u32> {
        self.select(&self.taken, |bits| &bits.taken, position)
    }

    /// The `nth` present entry from the front, counted from 1.
    pub(super) fn present_at(&self, nth: u32) -> Option<u32> {
        self.select(&self.present, |bits| &bits.present, nth)
    }

    /// Bytes asked for by everybody before `seat`.
    pub(super) fn bytes_before(&self, seat: u32) -> u64 {
        let (block, at) = split(seat);
        let it = self.blocks[block].as_ref().expect("an entry keeps its block");
        it.bytes[..at].iter().fold(self.bytes.before(block), |sum, &n| sum.wrapping_add(n))
    }

    /// True when more than half of the seats stand empty.
    pub(super) fn is_sparse(&self) -> bool {
        self.blocks.len() > 2 * (self.len() as usize).div_ceil(SEATS) + 4
    }

    /// Moves everybody up; `moved` hears each entry's new seat.
    pub(super) fn close_up(&mut self, mut moved: impl FnMut(u32, u32)) {
        let old = core::mem::replace(self, Self::new());
        for (bits, block) in old.bits.into_iter().zip(old.blocks) {
            let Some(it) = block else { continue };
            for at in 0..SEATS {
                if bits.taken[at / 64] >> (at % 64) & 1 == 1 {
                    let seat = self.push(it.entries[at], it.bytes[at]);
                    moved(it.entries[at], seat);
                    self.set_present(seat, bits.present[at / 64] >> (at % 64) & 1 == 1);
                }
            }
        }
    }

    fn select(&self, sums: &Sums, words: impl Fn(&Bits) -> &[u64; WORDS], nth: u32) -> Option<u32> {
        if nth == 0 || u64::from(nth) > sums.total() {
            return None;
        }
        let (block, mut skip) = sums.find(u64::from(nth) - 1);
        let it = self.blocks[block].as_ref().expect("a counted entry keeps its block");
        for (word, &bits) in words(&self.bits[block]).iter().enumerate() {
            let here = u64::from(bits.count_ones());
            if skip < here {
                let mut bits = bits;
                for _ in 0..skip {
                    bits &= bits - 1;
                }
                return Some(it.entries[word * 64 + bits.trailing_zeros() as usize]);
            }
            skip -= here;
        }
        unreachable!("the sums agree with the bits")
    }
}

const fn split(seat: u32) -> (usize, usize) {
    (seat as usize / SEATS, seat as usize % SEATS)
}

/// The bits of word number `word` that lie before bit `at` of the block.
const fn mask_before(at: usize, word: usize) -> u64 {
    if word < at / 64 {
        u64::MAX
    } else if word == at / 64 {
        (1 << (at % 64)) - 1
    } else {
        0
    }
}

fn ones_before(words: &[u64; WORDS], at: usize) -> u32 {
    words.iter().enumerate().map(|(w, bits)| (bits & mask_before(at, w)).count_ones()).sum()
}

/// Partial sums over a growing row of numbers (a Fenwick tree). Wraps, so
/// that absurd sizes can never panic.
#[derive(Debug, Clone)]
struct Sums {
    tree: Vec<u64>,
    total: u64,
}

impl Sums {
    const fn new() -> Self {
        Self { tree: Vec::new(), total: 0 }
    }

    const fn total(&self) -> u64 {
        self.total
    }

    /// Adds a zero at the end of the row.
    fn push(&mut self) {
        let i = self.tree.len() + 1;
        let low = i & i.wrapping_neg();
        let (all, before) = (self.before(i - 1), self.before(i - low));
        self.tree.push(all.wrapping_sub(before));
    }

    fn add(&mut self, at: usize, n: u64) {
        self.total = self.total.wrapping_add(n);
        let mut i = at + 1;
        while let Some(sum) = self.tree.get_mut(i - 1) {
            *sum = sum.wrapping_add(n);
            i += i & i.wrapping_neg();
        }
    }

    fn sub(&mut self, at: usize, n: u64) {
        self.add(at, n.wrapping_neg());
    }

    /// The sum of everything before number `at`.
    fn before(&self, at: usize) -> u64 {
        let (mut i, mut sum) = (at, 0_u64);
        while i > 0 {
            sum = sum.wrapping_add(self.tree[i - 1]);
            i &= i - 1;
        }
        sum
    }

    /// The number in which the running sum first exceeds `n`, and what is
    /// left of `n` there. `n` is below the total.
    fn find(&self, mut n: u64) -> (usize, u64) {
        let mut at = 0;
        let mut step = self.tree.len().next_power_of_two();
        while step > 0 {
            if let Some(&sum) = self.tree.get(at + step - 1)
                && sum <= n
            {
                n -= sum;
                at += step;
            }
            step /= 2;
        }
        (at, n)
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
