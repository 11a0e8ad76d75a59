//! Partial sums over a growing row of numbers (a Fenwick tree). Wraps, so
//! that absurd sizes can never panic.

use alloc::vec::Vec;

/// A growing row of numbers.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    tree: Vec<u64>,
    total: u64,
}

impl Sums {
    /// An empty row.
    pub(super) const fn new() -> Self {
        Self { tree: Vec::new(), total: 0 }
    }

    /// The sum of the whole row.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Adds a zero at the end of the row.
    pub(super) fn push(&mut self) {
        let i = self.tree.len() + 1;
        let low = i & i.wrapping_neg();
        let (all, before) = (self.before(i - 1), self.before(i - low));
        self.tree.push(all.wrapping_sub(before));
    }

    /// Cuts the row off after its first `len` numbers, the others being zero.
    pub(super) fn truncate(&mut self, len: usize) {
        self.tree.truncate(len);
        debug_assert_eq!(self.before(self.tree.len()), self.total);
    }

    /// Adds `n` to number `at`.
    pub(super) fn add(&mut self, at: usize, n: u64) {
        self.total = self.total.wrapping_add(n);
        let mut i = at + 1;
        while let Some(sum) = self.tree.get_mut(i - 1) {
            *sum = sum.wrapping_add(n);
            i += i & i.wrapping_neg();
        }
    }

    /// Takes `n` from number `at`.
    pub(super) fn sub(&mut self, at: usize, n: u64) {
        self.add(at, n.wrapping_neg());
    }

    /// The sum of everything before number `at`.
    pub(super) fn before(&self, at: usize) -> u64 {
        let (mut i, mut sum) = (at, 0_u64);
        while i > 0 {
            sum = sum.wrapping_add(self.tree[i - 1]);
            i &= i - 1;
        }
        sum
    }

    /// The number in which the running sum first exceeds `n`, and what is
    /// left of `n` there. `n` is below the total.
    pub(super) fn find(&self, mut n: u64) -> (usize, u64) {
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
