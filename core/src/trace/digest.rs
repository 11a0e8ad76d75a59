//! A running digest that is the same on every target.

use core::hash::{Hash, Hasher};

/// A 64-bit digest of everything hashed into it. Unlike the hashers of the
/// standard library it hashes pointer-sized integers and discriminants as 64
/// bits, so that 32-bit WebAssembly and 64-bit native agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0x5e72_e475_1e7a_c0de)
    }
}

impl Digest {
    /// Adds a value.
    pub fn add(&mut self, value: &impl Hash) {
        value.hash(self);
    }

    /// The digest so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        let x = self.0 ^ (self.0 >> 29);
        let x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 32)
    }

    const fn word(&mut self, word: u64) {
        let x = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = x ^ (x >> 32);
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.value()
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }
    fn write_u8(&mut self, v: u8) {
        self.word(u64::from(v));
    }
    fn write_u16(&mut self, v: u16) {
        self.word(u64::from(v));
    }
    fn write_u32(&mut self, v: u32) {
        self.word(u64::from(v));
    }
    fn write_u64(&mut self, v: u64) {
        self.word(v);
    }
    fn write_u128(&mut self, v: u128) {
        self.word(v as u64);
        self.word((v >> 64) as u64);
    }
    fn write_usize(&mut self, v: usize) {
        self.word(v as u64);
    }
    fn write_isize(&mut self, v: isize) {
        self.word(v as i64 as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_length_matter() {
        let of = |parts: &[&[u8]]| {
            let mut d = Digest::default();
            for p in parts {
                d.add(p);
            }
            d.value()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        assert_eq!(of(&[b"a"]), of(&[b"a"]));
    }

    #[test]
    fn the_fingerprint_is_pinned() {
        let mut d = Digest::default();
        d.add(&(1u8, 2usize, "three", Some(-4i64)));
        assert_eq!(d.value(), PINNED);
    }
    const PINNED: u64 = 5_102_978_340_191_449_624;
}
