//! The order of a table: ranks, and in which slot each one's value is.
//!
//! Sorted runs of at most [`RUN`] pairs, one after the other. Nearly every
//! table of a node has a handful of keys: then there is the first run alone,
//! one flat list that is searched and copied in no time. With many keys a run
//! is found by halving; a new one moves only the list of runs.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Pairs a run holds before it is split.
const RUN: usize = 64;

/// A rank and the slot of its value. As two words, a pair takes 24 bytes.
#[derive(Debug, Clone, Copy)]
struct Pair {
    rank: (u64, u64),
    slot: u32,
}

const fn words(rank: u128) -> (u64, u64) {
    ((rank >> 64) as u64, rank as u64)
}

/// A place among the pairs: which run, and where in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct At {
    run: u32,
    at: u32,
}

const START: At = At { run: 0, at: 0 };

/// Ranks in order, each with a slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    first: Vec<Pair>,
    /// Apart, because few tables need it and a node has many tables.
    rest: Option<Box<Rest>>,
    len: u32,
    /// Where a rank was looked for last to change something: most are looked
    /// for several times in a row. It only ever saves a search.
    last: At,
}

#[derive(Debug, Clone, Default)]
struct Rest {
    /// The runs after the first. None of these is empty.
    more: Vec<Vec<Pair>>,
    /// Slots to use again.
    free: Vec<u32>,
}

/// How many come first of which something holds, as it does of none behind
/// those. The standard library's search is made for large tables.
#[inline(always)]
fn halve<T>(list: &[T], holds: impl Fn(&T) -> bool) -> u32 {
    let (mut from, mut to) = (0, list.len());
    while from < to {
        let middle = (from + to) / 2;
        if holds(&list[middle]) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from as u32
}

// None of these is generic, so each is compiled once. The page's module is
// built for size and would still copy them into every caller.
impl Order {
    pub(super) const fn new() -> Self {
        Self { first: Vec::new(), rest: None, len: 0, last: START }
    }

    pub(super) const fn len(&self) -> usize {
        self.len as usize
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    fn more(&self) -> &[Vec<Pair>] {
        self.rest.as_ref().map_or(&[], |rest| &rest.more)
    }

    #[inline(always)]
    fn run(&self, run: u32) -> &[Pair] {
        match run.checked_sub(1) {
            None => &self.first,
            Some(run) => self.more().get(run as usize).map_or(&[], Vec::as_slice),
        }
    }

    fn run_mut(&mut self, run: u32) -> &mut Vec<Pair> {
        match run.checked_sub(1) {
            None => &mut self.first,
            Some(run) => &mut self.rest().more[run as usize],
        }
    }

    fn end_of(&self, run: u32) -> At {
        At { run, at: self.run(run).len() as u32 }
    }

    /// Where the first pair is whose rank is not below `rank`, or would be.
    fn seek(&self, rank: (u64, u64)) -> At {
        if self.pair(self.last).is_some_and(|pair| pair.rank == rank) {
            return self.last;
        }
        let run = halve(self.more(), |run| run[0].rank <= rank);
        At { run, at: halve(self.run(run), |pair| pair.rank < rank) }
    }

    #[inline(always)]
    fn seek_mut(&mut self, rank: (u64, u64)) -> At {
        self.last = self.seek(rank);
        self.last
    }

    #[inline(always)]
    fn pair(&self, At { run, at }: At) -> Option<&Pair> {
        self.run(run).get(at as usize)
    }

    /// The slot of a rank.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn find(&self, rank: u128) -> Option<usize> {
        let rank = words(rank);
        let pair = self.pair(self.seek(rank))?;
        (pair.rank == rank).then_some(pair.slot as usize)
    }

    /// The same, for who will look there again.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn find_mut(&mut self, rank: u128) -> Option<usize> {
        self.seek_mut(words(rank));
        self.find(rank)
    }

    /// The slot of a rank that may be new, `fresh` being the number of slots.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn place(&mut self, rank: u128, fresh: usize) -> usize {
        let rank = words(rank);
        let here = self.seek_mut(rank);
        if let Some(pair) = self.pair(here).filter(|pair| pair.rank == rank) {
            return pair.slot as usize;
        }
        let free = self.rest.as_mut().and_then(|rest| rest.free.pop());
        let slot = free.unwrap_or(fresh as u32);
        self.len += 1;
        let run = self.run_mut(here.run);
        run.insert(here.at as usize, Pair { rank, slot });
        if run.len() > RUN {
            // Whoever counts upwards leaves full runs behind.
            let tail = run.split_off(if here.at as usize == RUN { RUN } else { RUN / 2 });
            self.rest().more.insert(here.run as usize, tail);
        }
        slot as usize
    }

    /// Takes a rank out; the slot it had, of `slots` in all. The last slot is
    /// given up with it, any other is kept for a new rank.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn remove(&mut self, rank: u128, slots: usize) -> Option<usize> {
        let rank = words(rank);
        let here = self.seek_mut(rank);
        let slot = self.pair(here).filter(|pair| pair.rank == rank)?.slot as usize;
        self.run_mut(here.run).remove(here.at as usize);
        self.len -= 1;
        if slot + 1 != slots {
            self.rest().free.push(slot as u32);
        }
        self.tidy(here.run);
        Some(slot)
    }

    /// After a removal: no run but a lonely first one stays empty, and two
    /// that are few become one.
    fn tidy(&mut self, run: u32) {
        let Some(next) = self.more().get(run as usize).map(Vec::len) else {
            if run > 0 && self.run(run).is_empty() {
                self.rest().more.pop();
            }
            return;
        };
        let here = self.run(run).len();
        if here == 0 || here + next <= RUN / 2 {
            let mut next = self.rest().more.remove(run as usize);
            self.run_mut(run).append(&mut next);
        }
    }

    fn slots(&self, from: At, to: At) -> Slots<'_> {
        Slots { order: self, from, to }
    }

    /// The slots of all ranks between two, both included.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn range(&self, from: u128, to: u128) -> Slots<'_> {
        let mut end = self.seek(words(to));
        if self.pair(end).is_some_and(|pair| pair.rank == words(to)) {
            end.at += 1;
        }
        self.slots(self.seek(words(from)), end)
    }

    /// All slots.
    pub(super) fn all(&self) -> Slots<'_> {
        self.slots(START, self.end_of(self.more().len() as u32))
    }

    /// None.
    pub(super) fn none(&self) -> Slots<'_> {
        self.slots(START, START)
    }

    /// The slot of the smallest rank.
    pub(super) fn first(&self) -> Option<usize> {
        self.first.first().map(|pair| pair.slot as usize)
    }
}

/// Slots in the order of their ranks.
#[derive(Debug, Clone)]
pub(super) struct Slots<'a> {
    order: &'a Order,
    from: At,
    to: At,
}

impl Iterator for Slots<'_> {
    type Item = usize;
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn next(&mut self) -> Option<usize> {
        if self.from.run < self.to.run && self.from == self.order.end_of(self.from.run) {
            self.from = At { run: self.from.run + 1, at: 0 };
        }
        if self.from == self.to {
            return None;
        }
        let pair = self.order.pair(self.from)?;
        self.from.at += 1;
        Some(pair.slot as usize)
    }
}

impl DoubleEndedIterator for Slots<'_> {
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn next_back(&mut self) -> Option<usize> {
        if self.from == self.to {
            return None;
        }
        if self.to.at == 0 {
            self.to = self.order.end_of(self.to.run - 1);
            if self.from == self.to {
                return None;
            }
        }
        self.to.at -= 1;
        Some(self.order.pair(self.to)?.slot as usize)
    }
}
