//! Hash maps for the few places where a benchmark asks for one: keyed from
//! our own seed, because strangers choose the keys, and never iterated,
//! because their order must not decide anything.

use core::hash::BuildHasher;

use siphasher::sip::SipHasher13;
use siphasher::sip128::{self, Hasher128 as _};

use crate::rng::Rng;

/// Builds SipHash-1-3 with a key drawn from the node's own dice.
#[derive(Clone, Debug)]
pub struct Key(u64, u64);

impl Key {
    /// Draws a key.
    pub fn new(rng: &mut Rng) -> Self {
        Self(rng.next_u64(), rng.next_u64())
    }

    /// The hash of 128 bits of two words: what [`Key::wide`] makes of the same
    /// sixteen bytes, in a tenth of the time. Every message needs it.
    #[must_use]
    pub fn pair(&self, first: u64, second: u64) -> u128 {
        let mut v = [
            self.0 ^ 0x736f_6d65_7073_6575,
            self.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            self.0 ^ 0x6c79_6765_6e65_7261,
            self.1 ^ 0x7465_6462_7974_6573,
        ];
        for word in [first, second, 16 << 56] {
            v[3] ^= word;
            round(&mut v);
            v[0] ^= word;
        }
        v[2] ^= 0xee;
        (0..3).for_each(|_| round(&mut v));
        let low = v[0] ^ v[1] ^ v[2] ^ v[3];
        v[1] ^= 0xdd;
        (0..3).for_each(|_| round(&mut v));
        u128::from(low) | u128::from(v[0] ^ v[1] ^ v[2] ^ v[3]) << 64
    }

    /// Begins a hash of 128 bits; see [`finish`].
    #[must_use]
    pub fn wide(&self) -> sip128::SipHasher13 {
        sip128::SipHasher13::new_with_keys(self.0, self.1)
    }
}

impl BuildHasher for Key {
    type Hasher = SipHasher13;
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }
}

/// SipHash's round.
#[inline]
const fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

/// The 128 bits of what was written to [`Key::wide`]: two different things
/// never have the same in practice, and no stranger knows what they are.
#[must_use]
pub fn finish(hasher: &sip128::SipHasher13) -> u128 {
    hasher.finish128().as_u128()
}

/// A map whose hash is keyed. Look things up in it; never iterate it.
pub type Map<K, V> = hashbrown::HashMap<K, V, Key>;
/// A set whose hash is keyed. Look things up in it; never iterate it.
pub type Set<K> = hashbrown::HashSet<K, Key>;

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher as _;

    #[test]
    fn a_pair_hashes_as_its_bytes_do() {
        let mut rng = Rng::new(9);
        for _ in 0..1_000 {
            let (key, first, second) = (Key::new(&mut rng), rng.next_u64(), rng.next_u64());
            let mut hasher = key.wide();
            hasher.write(&first.to_le_bytes());
            hasher.write(&second.to_le_bytes());
            assert_eq!(key.pair(first, second), finish(&hasher));
        }
    }
}
