//! ChaCha with eight rounds, as a stream of words.
//!
//! The same words as `rand_chacha` gives for the same seed, which the tests
//! compare. That one makes four blocks at a time with vector instructions, two
//! kilobytes of the page's module, and most streams here never need a second
//! block.

/// The words of one block.
const WORDS: usize = 16;
/// Two rounds each: one over the columns, one over the diagonals.
const DOUBLE_ROUNDS: usize = 4;

/// A stream and how far it has been read.
#[derive(Clone, Debug)]
pub(crate) struct ChaCha8 {
    key: [u32; 8],
    /// The block after this one.
    next: u64,
    block: [u32; WORDS],
    /// Words of the block that were read.
    read: u8,
}

impl ChaCha8 {
    /// A stream whose key is spread from 64 bits by PCG32.
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        let key = core::array::from_fn(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0xa176_54e4_6fbe_17f3);
            let mixed = (((state >> 18) ^ state) >> 27) as u32;
            mixed.rotate_right((state >> 59) as u32)
        });
        Self { key, next: 0, block: [0; WORDS], read: WORDS as u8 }
    }

    /// The next 32 bits.
    pub(crate) fn word(&mut self) -> u32 {
        if usize::from(self.read) == WORDS {
            self.refill();
        }
        let word = self.block[usize::from(self.read) % WORDS];
        self.read += 1;
        word
    }

    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn refill(&mut self) {
        // "expand 32-byte k", the key, the number of the block, no nonce.
        let mut start = [0; WORDS];
        start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        start[4..12].copy_from_slice(&self.key);
        (start[12], start[13]) = (self.next as u32, (self.next >> 32) as u32);
        let mut x = start;
        for round in 0..2 * DOUBLE_ROUNDS {
            for i in 0..4 {
                // Every second round goes along the diagonals.
                let at = |row: usize| 4 * row + (i + round % 2 * row) % 4;
                quarter(&mut x, [at(0), at(1), at(2), at(3)]);
            }
        }
        for (word, start) in x.iter_mut().zip(start) {
            *word = word.wrapping_add(start);
        }
        (self.block, self.read) = (x, 0);
        self.next = self.next.wrapping_add(1);
    }
}

/// The quarter round over four words of a block.
fn quarter(x: &mut [u32; WORDS], [a, b, c, d]: [usize; 4]) {
    for (to, from, target, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        x[to] = x[to].wrapping_add(x[from]);
        x[target] = (x[target] ^ x[to]).rotate_left(turn);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng as _;

    use super::*;

    proptest! {
        #[test]
        fn its_words_are_those_of_rand_chacha(seed: u64, count in 0..200_u32) {
            let (mut ours, mut theirs) = (ChaCha8::new(seed), ChaCha8Rng::seed_from_u64(seed));
            for _ in 0..count {
                prop_assert_eq!(ours.word(), theirs.next_u32());
            }
        }

        #[test]
        fn dice_fall_as_with_rand_chacha(
            seed: u64,
            throws in prop::collection::vec(any::<bool>(), 0..60),
        ) {
            let mut theirs = ChaCha8Rng::seed_from_u64(seed);
            let mut ours = crate::rng::Rng::new(seed);
            for bytes in throws {
                if bytes {
                    let mut out = [0; 7];
                    theirs.fill_bytes(&mut out);
                    prop_assert_eq!(ours.bytes::<7>(), out);
                } else {
                    prop_assert_eq!(ours.next_u64(), theirs.next_u64());
                }
            }
        }
    }
}
