//! Prefix sums of a growing sequence of numbers (a Fenwick tree). Arithmetic
//! wraps, so that absurd sizes cannot panic.

use alloc::vec::Vec;

/// A growing sequence of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    tree: Vec<u64>,
    total: u64,
}

impl Sums {
    /// An empty sequence.
    pub(crate) const fn new() -> Self {
        Self { tree: Vec::new(), total: 0 }
    }

    /// The sum of all numbers.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// How many numbers there are.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.tree.len()
    }

    /// Appends a zero.
    pub(crate) fn push(&mut self) {
        let i = self.tree.len() + 1;
        let low = i & i.wrapping_neg();
        let (all, before) = (self.before(i - 1), self.before(i - low));
        self.tree.push(all.wrapping_sub(before));
    }

    /// Cuts the sequence off after `len` numbers; those removed must be zero.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.tree.truncate(len);
        debug_assert_eq!(self.before(self.tree.len()), self.total);
    }

    /// Adds `n` to number `at`.
    pub(crate) fn add(&mut self, at: usize, n: u64) {
        self.total = self.total.wrapping_add(n);
        let mut i = at + 1;
        while let Some(sum) = self.tree.get_mut(i - 1) {
            *sum = sum.wrapping_add(n);
            i += i & i.wrapping_neg();
        }
    }

    /// Subtracts `n` from number `at`.
    pub(crate) fn sub(&mut self, at: usize, n: u64) {
        self.add(at, n.wrapping_neg());
    }

    /// The sum of the numbers before `at`.
    pub(crate) fn before(&self, at: usize) -> u64 {
        let (mut i, mut sum) = (at, 0_u64);
        while i > 0 {
            sum = sum.wrapping_add(self.tree[i - 1]);
            i &= i - 1;
        }
        sum
    }

    /// The number at which the running sum first exceeds `n`, and the remainder
    /// of `n` there. `n` must be below the total.
    pub(crate) fn find(&self, mut n: u64) -> (usize, u64) {
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
