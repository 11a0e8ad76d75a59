//! Hash maps for the few places where a benchmark asks for one. They are keyed
//! from our own seed, because strangers choose the keys, and never iterated,
//! because their order must not decide anything.

use core::hash::BuildHasher;

use siphasher::sip::SipHasher13;
use siphasher::sip128::{self, Hasher128 as _};

use crate::rng::Rng;

/// Builds SipHash-1-3 with a key drawn from the node's own random numbers.
#[derive(Clone, Debug)]
pub struct Key(u64, u64);

impl Key {
    /// Draws a key.
    pub fn new(rng: &mut Rng) -> Self {
        Self(rng.next_u64(), rng.next_u64())
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

/// The 128-bit hash of what was written to [`Key::wide`]: collisions do not
/// occur in practice, and no stranger can predict it.
#[must_use]
pub fn finish(hasher: &sip128::SipHasher13) -> u128 {
    hasher.finish128().as_u128()
}

/// Hashes a 16-byte id in a tenth of the time of [`Key::wide`]: every message
/// of the overlay needs it twice.
///
/// Two multiplications keyed with four secret words. The first is the step NH
/// of UMAC: for two ids chosen without knowing the words, the 128-bit products
/// are equal with a probability of at most 2^-64. The second spreads them, so
/// that successive ids do not get successive hashes. That is enough for a table
/// as long as no stranger learns a hash: the words are drawn for each process, and
/// all a peer can observe is whether an id was seen before. SipHash would also
/// hold if hashes were known, but nothing reveals them.
#[derive(Clone, Debug)]
pub struct IdKey([u64; 4]);

impl IdKey {
    /// Draws a key.
    pub fn new(rng: &mut Rng) -> Self {
        Self(core::array::from_fn(|_| rng.next_u64()))
    }

    /// The hash of the two halves of an id; use its lower 96 bits.
    #[must_use]
    #[inline]
    pub fn hash(&self, first: u64, second: u64) -> u128 {
        let [a, b, c, d] = self.0;
        let (low, high) = product(first.wrapping_add(a), second.wrapping_add(b));
        let (spread, far) = product(low ^ c, high ^ d);
        // The product's own bits beside the spread ones: two ids collide only
        // if both are equal.
        u128::from(spread ^ far) | u128::from(low.rotate_left(32) ^ high ^ far) << 64
    }
}

/// Both halves of a product, the lower one first.
#[inline]
const fn product(one: u64, other: u64) -> (u64, u64) {
    let whole = one as u128 * other as u128;
    (whole as u64, (whole >> 64) as u64)
}

/// A map whose hash is keyed. Look things up in it; never iterate it.
pub type Map<K, V> = hashbrown::HashMap<K, V, Key>;
/// A set whose hash is keyed. Look things up in it; never iterate it.
pub type Set<K> = hashbrown::HashSet<K, Key>;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    /// What an attacker would try: successive ids, ids that differ in one bit,
    /// ids with equal halves. In each third of the hash they are spread like
    /// random ones, under any key.
    #[test]
    fn chosen_ids_spread_as_drawn_ones() {
        const COUNT: u64 = 1 << 14;
        let shapes: [fn(u64) -> (u64, u64); 7] = [
            |n| (n, 0),
            |n| (0, n),
            |n| (n, n),
            |n| (n << 50, 7),
            |n| (7, n << 50),
            |n| (n, u64::MAX - n),
            |n| (1 << (n % 64), 1 << (n / 64 % 64) | n << 48),
        ];
        let mut rng = Rng::new(9);
        for _ in 0..8 {
            let key = IdKey::new(&mut rng);
            for shape in shapes {
                let ids: BTreeSet<(u64, u64)> = (0..COUNT).map(shape).collect();
                let hashes: Vec<u128> = ids.iter().map(|id| key.hash(id.0, id.1)).collect();
                for third in 0..3 {
                    let part = |hash: &u128| (hash >> (32 * third)) as u32;
                    let apart: BTreeSet<u32> = hashes.iter().map(part).collect();
                    // Of 2^14 random hashes into 2^32 values, 0.03 pairs are
                    // expected to collide.
                    assert!(apart.len() + 4 >= ids.len(), "{} of {}", apart.len(), ids.len());
                    for low in [0, 24] {
                        let mut shards = [0_usize; 256];
                        hashes.iter().for_each(|h| shards[(part(h) >> low & 255) as usize] += 1);
                        let most = shards.iter().max().copied().unwrap_or(0);
                        // The mean plus eight standard deviations.
                        let mean = ids.len() / 256;
                        assert!(most <= mean + 8 * (mean.isqrt() + 1), "{most} beside {mean}");
                    }
                }
            }
        }
    }
}
