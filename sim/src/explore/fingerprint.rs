//! The fingerprint of a state: what decides whether two states are one.

use core::fmt::{self, Debug, Write};
use core::hash::{Hash, Hasher};

/// Multipliers of the two halves of a fingerprint.
const PRIMES: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// Gathers what the future of a world depends on into 128 bits.
///
/// Two states that differ have the same fingerprint by chance only: with a million
/// states the chance that any two do is 1 in 10²⁶. The engines have no equality of
/// their own; what they print for debugging is all their fields, and that is what is
/// gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u64; 2]);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(PRIMES)
    }
}

impl Fingerprint {
    /// Adds a value by its fields.
    pub fn add(&mut self, value: &impl Hash) {
        value.hash(self);
    }

    /// Adds a value that has no hash, by what it prints for debugging.
    pub fn add_debug(&mut self, value: &impl Debug) {
        // Writing to a fingerprint cannot fail.
        let _ = write!(self, "{value:?}");
        self.word(u64::MAX);
    }

    /// Its 128 bits.
    #[must_use]
    pub const fn value(self) -> u128 {
        (self.0[0] as u128) << 64 | self.0[1] as u128
    }

    fn word(&mut self, word: u64) {
        let Self([a, b]) = self;
        *a = (*a ^ word).wrapping_mul(PRIMES[0]).rotate_left(31);
        *b = (b.rotate_left(29) ^ word).wrapping_mul(PRIMES[1]);
        *b ^= *b >> 32;
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(word) ^ (rest.len() as u64) << 56);
        }
    }

    fn finish(&self) -> u64 {
        self.0[0]
    }
}

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_has_another_fingerprint() {
        let of = |value: &dyn Debug| {
            let mut print = Fingerprint::default();
            print.add_debug(&value);
            print.value()
        };
        let mut all: alloc::vec::Vec<u128> =
            (0..20_000_u32).map(|n| of(&(n % 200, n / 200))).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 20_000);
        assert_ne!(of(&("a", "bc")), of(&("ab", "c")));
    }
}
