//! Choices: one generator of test cases for random, fuzzed and exhaustive
//! runs.
//!
//! Code that draws a scenario asks a [`Choose`] for numbers and does not know
//! where they come from.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::rng::Rng;

/// Where choices come from.
///
/// ```
/// use servent_core::choose::Choose;
///
/// // Every combination of a coin and a die, by the code that also draws one.
/// let (mut choose, mut runs) = (Choose::every(), 0);
/// loop {
///     let _drawn = (choose.below(2), choose.below(6));
///     runs += 1;
///     if !choose.advance() {
///         break;
///     }
/// }
/// assert_eq!(runs, 12);
/// ```
#[derive(Debug, Clone)]
pub struct Choose {
    source: SeededSource,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // One of it, for a whole run.
enum SeededSource {
    Dice(Box<Rng>),
    Bytes { bytes: Vec<u8>, at: usize },
    Every(Odometer),
}

/// The choices of an exhaustive run: which was taken, out of how many.
#[derive(Debug, Clone, Default)]
struct Odometer {
    digits: Vec<(u64, u64)>,
    at: usize,
}

impl Choose {
    /// Random choices.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        Self { source: SeededSource::Dice(Box::new(Rng::new(seed))) }
    }

    /// Choices from a fuzzer's bytes; when they run out, always the first
    /// choice.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { source: SeededSource::Bytes { bytes, at: 0 } }
    }

    /// The first of all possible combinations; see [`Choose::advance`].
    #[must_use]
    pub fn every() -> Self {
        Self { source: SeededSource::Every(Odometer::default()) }
    }

    /// Goes on to the next combination of an exhaustive run; false when all
    /// have been tried, and for the other sources.
    pub fn advance(&mut self) -> bool {
        let SeededSource::Every(odometer) = &mut self.source else { return false };
        odometer.at = 0;
        while let Some((taken, of)) = odometer.digits.pop() {
            if taken + 1 < of {
                odometer.digits.push((taken + 1, of));
                return true;
            }
        }
        false
    }

    /// A number in `0..n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n <= 1 {
            return 0;
        }
        match &mut self.source {
            SeededSource::Dice(dice) => dice.below(n),
            SeededSource::Bytes { bytes, at } => {
                let mut value = 0u64;
                let mut reach = 1u64;
                while reach < n {
                    let byte = bytes.get(*at).copied().unwrap_or(0);
                    *at += 1;
                    value = value << 8 | u64::from(byte);
                    reach = reach.saturating_mul(256);
                }
                value % n
            }
            SeededSource::Every(odometer) => {
                if odometer.at == odometer.digits.len() {
                    odometer.digits.push((0, n));
                }
                let (taken, _) = odometer.digits[odometer.at];
                odometer.at += 1;
                taken
            }
        }
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// One of `items`.
    ///
    /// # Panics
    /// When there are none.
    pub fn one<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let i = self.below(items.len() as u64);
        &items[usize::try_from(i).unwrap_or(0)]
    }

    /// True with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_had_once() {
        let mut choose = Choose::every();
        let mut seen = Vec::new();
        loop {
            let first = choose.below(3);
            // How many choices follow may depend on those before.
            let second = if first == 1 { choose.below(2) } else { 9 };
            seen.push((first, second));
            if !choose.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 9), (1, 0), (1, 1), (2, 9)]);
    }

    #[test]
    fn bytes_that_run_out_choose_the_first() {
        let mut choose = Choose::from_bytes(alloc::vec![7, 1, 2]);
        assert_eq!(choose.below(10), 7);
        assert_eq!(choose.below(1_000), 258);
        assert_eq!(choose.below(1_000), 0);
        assert!(!choose.advance());
    }

    #[test]
    fn random_choices_repeat_with_their_seed() {
        let draw = |seed| {
            let mut choose = Choose::random(seed);
            (choose.between(5, 9), choose.below(1 << 40))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
