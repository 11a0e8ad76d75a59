//! How a sender proves that the bytes which the receiver has are those it offers.
//!
//! A proof covers everything that exists of the file, never a start of it that
//! the sender may choose: of a short file a stranger would else find out one
//! byte after the other. It is keyed anew by each receiver for each transfer, so
//! that a proof that was overheard proves nothing later.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use blake3::Hasher;

use super::secret::{CountedGuess, GuessesExhausted, SecretDoor};
use crate::dice;

/// What the proofs of one transfer are keyed with.
#[derive(Clone, Copy)]
pub(super) struct ProofKey(pub(super) [u8; 32]);

impl ProofKey {
    /// Draws a key that no other transfer has.
    pub(super) fn draw() -> io::Result<Self> {
        dice::draw().map(Self)
    }

    /// The proof of bytes with this digest.
    pub(super) fn prove(self, hash: &Hasher) -> [u8; 32] {
        blake3::keyed_hash(&self.0, hash.finalize().as_bytes()).into()
    }
}

/// Judges the proofs of one sender. Without a code the sender is a stranger: its
/// wrong proofs are guesses and are counted like wrong codes.
pub(super) struct ProofCheck {
    pub(super) key: ProofKey,
    door: Arc<SecretDoor>,
    sender: IpAddr,
}

impl ProofCheck {
    pub(super) fn new(door: &Arc<SecretDoor>, sender: IpAddr) -> io::Result<Self> {
        Ok(Self { key: ProofKey::draw()?, door: Arc::clone(door), sender })
    }

    /// Counts a guess of a stranger.
    ///
    /// # Errors
    /// There were too many: then nothing is compared any more, and what is sent arrives
    /// whole under a free name.
    pub(super) fn count_guess(&self) -> Result<Option<CountedGuess>, GuessesExhausted> {
        let is_stranger = self.door.code().is_none();
        is_stranger.then(|| self.door.count_guess(self.sender)).transpose()
    }

    /// Compares a proof that was counted. A right one was no guess.
    pub(super) fn accept(
        &self,
        hash: &Hasher,
        proof: [u8; 32],
        guess: Option<CountedGuess>,
    ) -> bool {
        // A comparison of `blake3::Hash` takes the same time for any two.
        let right = blake3::Hash::from(self.key.prove(hash)) == blake3::Hash::from(proof);
        if let Some(guess) = guess.filter(|_| right) {
            self.door.opened(guess);
        }
        right
    }
}
