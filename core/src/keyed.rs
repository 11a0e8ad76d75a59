//! Hash maps for the few places where a benchmark asks for one: keyed from
//! our own seed, because strangers choose the keys, and never iterated,
//! because their order must not decide anything.

use core::hash::BuildHasher;

use siphasher::sip::SipHasher13;

use crate::rng::Rng;

/// Builds SipHash-1-3 with a key drawn from the node's own dice.
#[derive(Clone, Debug)]
pub struct Key(u64, u64);

impl Key {
    /// Draws a key.
    pub fn new(rng: &mut Rng) -> Self {
        Self(rng.next_u64(), rng.next_u64())
    }
}

impl BuildHasher for Key {
    type Hasher = SipHasher13;
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }
}

/// A map whose hash is keyed. Look things up in it; never iterate it.
pub type Map<K, V> = hashbrown::HashMap<K, V, Key>;
/// A set whose hash is keyed. Look things up in it; never iterate it.
pub type Set<K> = hashbrown::HashSet<K, Key>;
