//! Random numbers: one seed, and a named stream for each part that draws.
//!
//! The integer helpers are ours because traces must live longer than the
//! sampling code of a general library.

use alloc::boxed::Box;
use core::fmt;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A stream of random numbers that depends on nothing but its seed and name.
///
/// ```
/// use servent_core::rng::Rng;
///
/// let root = Rng::new(42);
/// let mut dice = root.fork("dice", 0);
/// assert!((1..=6).contains(&dice.between(1, 6)));
/// assert_eq!(root.fork("dice", 0).next_u64(), Rng::new(42).fork("dice", 0).next_u64());
/// ```
#[derive(Clone)]
pub struct Rng {
    seed: u64,
    /// Created when the first number is drawn: a stream takes three hundred
    /// bytes, and many are only forked from.
    stream: Option<Box<ChaCha8Rng>>,
}

/// Shows how far the stream was read, too: two streams that print the same give
/// the same numbers.
impl fmt::Debug for Rng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = self.stream.as_ref().map(|stream| stream.get_word_pos());
        f.debug_struct("Rng").field("seed", &self.seed).field("drawn", &drawn).finish()
    }
}

impl Rng {
    /// The root stream of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, stream: None }
    }

    /// An independent stream for `name` and `index`. Forking draws nothing, so
    /// a new fork never changes the numbers of other streams.
    #[must_use]
    pub fn fork(&self, name: &str, index: u64) -> Self {
        let mut h = self.seed ^ 0x5eed_0f5e_17e2_7d1c;
        for b in name.bytes() {
            h = mix(h ^ u64::from(b));
        }
        Self::new(mix(h ^ mix(index)))
    }

    fn stream(&mut self) -> &mut ChaCha8Rng {
        self.stream.get_or_insert_with(|| Box::new(ChaCha8Rng::seed_from_u64(self.seed)))
    }

    /// Any `u64`.
    pub fn next_u64(&mut self) -> u64 {
        self.stream().next_u64()
    }

    /// A uniform number in `0..n` (Lemire's method); 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            let low = wide as u64;
            if low >= n || low >= n.wrapping_neg() % n.max(1) {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high);
        match (high - low).checked_add(1) {
            Some(n) => low + self.below(n),
            None => self.next_u64(),
        }
    }

    /// True with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        self.stream().fill_bytes(&mut out);
        out
    }

    /// One of `items`, or `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(usize::try_from(self.below(items.len() as u64)).unwrap_or(usize::MAX))
    }
}

/// SplitMix64's finaliser: every input bit affects every output bit.
const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_do_not_disturb_each_other() {
        let root = Rng::new(7);
        let (mut a, mut b) = (root.fork("link", 1), root.fork("link", 2));
        let first = a.next_u64();
        assert_ne!(first, b.next_u64());
        assert_eq!(root.fork("link", 1).next_u64(), first);
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 7];
        for _ in 0..1_000 {
            seen[rng.below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.between(5, 5), 5);
        assert_eq!(rng.pick::<u8>(&[]), None);
    }
}
