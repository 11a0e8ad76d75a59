//! The order of the queue: the position of an entry, the entry at a position,
//! and the bytes ahead of it, each in O(log n) and with a few bytes per entry.
//!
//! Entries get consecutive seats. A block of 256 seats has a bit for each seat
//! that is taken; Fenwick trees over the blocks count the taken seats before
//! each. Seats do not move, except when more than half of them are empty: then
//! the entries are moved up to close the gaps, a few with each arrival, so that
//! there is no long pause.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::sums::Sums;

/// Seats of a block.
const SEATS: usize = 256;
const WORDS: usize = SEATS / 64;
/// Entries moved up with each arrival: more than one, so that closing the gaps
/// reaches the end of the queue before the queue has grown by half.
const MOVES: usize = 4;

/// The queue. Entries are known by their number in the slab.
#[derive(Debug, Clone)]
pub(crate) struct WaitingLine {
    /// Separate from the blocks and contiguous: a position is computed from
    /// these alone, and for a million seats they fit into a processor's cache.
    bits: Vec<LaneBits>,
    blocks: Vec<Option<Box<LineBlock>>>,
    taken: Sums,
    present: Sums,
    bytes: Sums,
    /// The next seat to assign.
    next: u32,
    closing: Option<Closing>,
}

/// Seats before the first one assigned, for entries that are put back at the
/// front.
const FRONT: u32 = 64;

/// The progress of closing the gaps. All seats from `to` up to `from` are
/// empty, so the entries behind can move up without passing another.
#[derive(Debug, Clone, Copy)]
struct Closing {
    /// The first seat that may be empty.
    to: u32,
    /// The next entry to move is in this seat or behind it.
    from: u32,
}

impl Closing {
    const BEGIN: Self = Self { to: FRONT, from: FRONT };
}

#[derive(Debug, Clone, Copy)]
struct LineBlock {
    entries: [u32; SEATS],
    /// The bytes requested by each entry; 0 for empty seats.
    bytes: [u64; SEATS],
}

impl LineBlock {
    fn new() -> Box<Self> {
        Box::new(Self { entries: [0; SEATS], bytes: [0; SEATS] })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct LaneBits {
    taken: [u64; WORDS],
    /// Those of them that a free slot may be reserved for.
    present: [u64; WORDS],
}

impl WaitingLine {
    pub(crate) const fn new() -> Self {
        Self {
            bits: Vec::new(),
            blocks: Vec::new(),
            taken: Sums::new(),
            present: Sums::new(),
            bytes: Sums::new(),
            next: FRONT,
            closing: None,
        }
    }

    /// The length of the queue.
    pub(crate) fn len(&self) -> u32 {
        self.taken.total() as u32
    }

    /// How many entries are present.
    pub(crate) fn present(&self) -> u32 {
        self.present.total() as u32
    }

    /// Adds an entry at the end, absent, and returns its seat.
    pub(crate) fn push(&mut self, entry: u32, bytes: u64) -> u32 {
        let seat = self.next;
        self.next += 1;
        if split(seat).0 == self.blocks.len() {
            self.blocks.push(None);
            self.bits.push(LaneBits::default());
            for sums in [&mut self.taken, &mut self.present, &mut self.bytes] {
                sums.push();
            }
        }
        self.take(seat, entry, bytes);
        seat
    }

    /// Puts an entry at the front, absent, and returns its seat; `None` when
    /// there is no room.
    pub(crate) fn push_front(&mut self, entry: u32, bytes: u64) -> Option<u32> {
        let Some(first) = self.taken_from(0) else { return Some(self.push(entry, bytes)) };
        // All seats before the first entry are empty, also those whose gap has
        // been closed.
        let before = match self.closing {
            Some(Closing { to, .. }) if to <= first => to,
            _ => first,
        };
        let seat = before.checked_sub(1)?;
        self.take(seat, entry, bytes);
        Some(seat)
    }

    /// Swaps the seats of two entries.
    pub(crate) fn swap(&mut self, a: u32, b: u32) {
        let of = |line: &Self, seat: u32| {
            let (block, at) = split(seat);
            let it = line.blocks[block].as_ref().expect("an entry keeps its block");
            (it.entries[at], it.bytes[at], line.is_present(seat))
        };
        let (one, other) = (of(self, a), of(self, b));
        for (seat, (entry, bytes, present)) in [(a, other), (b, one)] {
            let (block, at) = split(seat);
            self.blocks[block].as_mut().expect("an entry keeps its block").entries[at] = entry;
            self.set_bytes(seat, bytes);
            self.set_present(seat, present);
        }
    }

    /// Puts an entry into an empty seat.
    fn take(&mut self, seat: u32, entry: u32, bytes: u64) {
        let (block, at) = split(seat);
        let it = self.blocks[block].get_or_insert_with(LineBlock::new);
        it.entries[at] = entry;
        it.bytes[at] = bytes;
        self.bits[block].taken[at / 64] |= 1 << (at % 64);
        self.taken.add(block, 1);
        self.bytes.add(block, bytes);
    }

    /// Removes the entry at `seat` from the queue.
    pub(crate) fn remove(&mut self, seat: u32) {
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

    /// Sets the bytes that the entry at `seat` wants.
    pub(crate) fn set_bytes(&mut self, seat: u32, bytes: u64) {
        let (block, at) = split(seat);
        let it = self.blocks[block].as_mut().expect("an entry keeps its block");
        let old = core::mem::replace(&mut it.bytes[at], bytes);
        if old != bytes {
            self.bytes.add(block, bytes.wrapping_sub(old));
        }
    }

    /// The bytes that the entry at `seat` wants.
    pub(crate) fn bytes_of(&self, seat: u32) -> u64 {
        let (block, at) = split(seat);
        self.blocks[block].as_ref().map_or(0, |it| it.bytes[at])
    }

    /// Sets whether a free slot may be reserved for the entry at `seat`.
    pub(crate) fn set_present(&mut self, seat: u32, present: bool) {
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

    /// True when a free slot may be reserved for the entry at `seat`.
    pub(crate) fn is_present(&self, seat: u32) -> bool {
        let (block, at) = split(seat);
        self.bits[block].present[at / 64] >> (at % 64) & 1 == 1
    }

    /// All entries, from the front.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let seats = self.bits.iter().enumerate().flat_map(|(block, bits)| {
            let taken = move |at: &usize| bits.taken[at / 64] >> (at % 64) & 1 == 1;
            (0..SEATS).filter(taken).map(move |at| (block * SEATS + at) as u32)
        });
        seats.map(|seat| self.entry(seat))
    }

    /// The position of a seat: 1 is next.
    pub(crate) fn position(&self, seat: u32) -> u32 {
        let (block, at) = split(seat);
        self.taken.before(block) as u32 + ones_before(&self.bits[block].taken, at) + 1
    }

    /// The entry at `position`.
    pub(crate) fn at(&self, position: u32) -> Option<u32> {
        self.select(&self.taken, |bits| &bits.taken, position).map(|seat| self.entry(seat))
    }

    /// The `nth` present entry from the front, counted from 1.
    pub(crate) fn present_at(&self, nth: u32) -> Option<u32> {
        self.select(&self.present, |bits| &bits.present, nth).map(|seat| self.entry(seat))
    }

    /// Total bytes requested by the entries before `seat`.
    pub(crate) fn bytes_before(&self, seat: u32) -> u64 {
        let (block, at) = split(seat);
        let it = self.blocks[block].as_ref().expect("an entry keeps its block");
        it.bytes[..at].iter().fold(self.bytes.before(block), |sum, &n| sum.wrapping_add(n))
    }

    /// True when more than half of the seats are empty.
    fn is_sparse(&self) -> bool {
        self.blocks.len() > 2 * (self.len() as usize).div_ceil(SEATS) + 4
    }

    /// Moves a few entries up if gaps are to be closed; `moved` gets the new
    /// seat of each.
    pub(crate) fn close_up(&mut self, mut moved: impl FnMut(u32, u32)) {
        let begun = self.closing.or_else(|| self.is_sparse().then_some(Closing::BEGIN));
        let Some(Closing { mut to, mut from }) = begun else { return };
        for _ in 0..MOVES {
            let Some(seat) = self.taken_from(from) else {
                self.cut(to);
                self.closing = None;
                return;
            };
            if seat != to {
                moved(self.move_up(seat, to), to);
            }
            (to, from) = (to + 1, seat + 1);
        }
        self.closing = Some(Closing { to, from });
    }

    /// Moves the entry at `seat` to the empty seat `to`, and returns the entry.
    fn move_up(&mut self, seat: u32, to: u32) -> u32 {
        let (block, at) = split(seat);
        let it = self.blocks[block].as_ref().expect("an entry keeps its block");
        let (entry, bytes, present) = (it.entries[at], it.bytes[at], self.is_present(seat));
        self.remove(seat);
        self.take(to, entry, bytes);
        self.set_present(to, present);
        entry
    }

    /// Drops all seats from `end` on, which are empty.
    fn cut(&mut self, end: u32) {
        let blocks = (end as usize).div_ceil(SEATS);
        self.blocks.truncate(blocks);
        self.bits.truncate(blocks);
        for sums in [&mut self.taken, &mut self.present, &mut self.bytes] {
            sums.truncate(blocks);
        }
        self.next = end;
    }

    /// The first taken seat at or after `seat`.
    fn taken_from(&self, seat: u32) -> Option<u32> {
        let (block, at) = split(seat);
        let bits = self.bits.get(block)?;
        let before = self.taken.before(block) as u32 + ones_before(&bits.taken, at);
        self.select(&self.taken, |bits| &bits.taken, before + 1)
    }

    fn entry(&self, seat: u32) -> u32 {
        let (block, at) = split(seat);
        self.blocks[block].as_ref().expect("an entry keeps its block").entries[at]
    }

    /// The seat of the `nth` bit among those that `sums` counts.
    fn select(
        &self,
        sums: &Sums,
        words: impl Fn(&LaneBits) -> &[u64; WORDS],
        nth: u32,
    ) -> Option<u32> {
        if nth == 0 || u64::from(nth) > sums.total() {
            return None;
        }
        let (block, mut skip) = sums.find(u64::from(nth) - 1);
        for (word, &bits) in words(&self.bits[block]).iter().enumerate() {
            let here = u64::from(bits.count_ones());
            if skip < here {
                let mut bits = bits;
                for _ in 0..skip {
                    bits &= bits - 1;
                }
                return Some((block * SEATS + word * 64) as u32 + bits.trailing_zeros());
            }
            skip -= here;
        }
        unreachable!("the sums agree with the bits")
    }
}

const fn split(seat: u32) -> (usize, usize) {
    (seat as usize / SEATS, seat as usize % SEATS)
}

/// The bits of word `word` that precede bit `at` of the block.
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

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
