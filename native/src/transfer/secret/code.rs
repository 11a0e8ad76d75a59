//! Codes: words that one side shows and the other side types.

use std::fmt;
use std::io;

use bip39::Language;
use thiserror::Error;

use crate::dice;

/// Words in a generated code: eleven bits each.
const WORDS: usize = 3;
/// Words of one that is also for a meeting place, and how many of them are.
const MEETING_WORDS: (usize, usize) = (5, 2);
/// The fewest characters of a code the user chooses.
const LEAST: usize = 8;

/// A secret that is short enough to be spoken.
///
/// With the limit on guesses ([`super::SecretDoor`]) the 33 bits of a generated one
/// are enough: guesses cannot be checked offline.
#[derive(Clone, PartialEq, Eq)]
pub struct TransferCode(String);

/// Why a text cannot be a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodeError {
    /// It could be guessed in a few tries.
    #[error("the code is too short: {LEAST} letters or digits are the least")]
    Short,
}

impl TransferCode {
    /// Generates a code.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random() -> io::Result<Self> {
        Self::draw(WORDS)
    }

    /// Generates a code whose first words name a meeting.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random_to_meet() -> io::Result<Self> {
        Self::draw(MEETING_WORDS.0)
    }

    /// The words that name a meeting, and the code without them, which the meeting
    /// place never learns; `None` when too little is left.
    #[must_use]
    pub fn to_meet(&self) -> Option<(String, Self)> {
        let words: Vec<&str> = self.0.split('-').collect();
        let (meeting, rest) = words.split_at_checked(MEETING_WORDS.1)?;
        let rest = Self::typed(&rest.join("-")).ok()?;
        Some((meeting.join("-"), rest))
    }

    fn draw(words: usize) -> io::Result<Self> {
        let list = Language::English.word_list();
        let mut drawn = Vec::new();
        for _ in 0..words {
            // The length of the list is a power of two, so all words are
            // equally likely.
            drawn.push(list[usize::from(u16::from_be_bytes(dice::draw()?)) % list.len()]);
        }
        Ok(Self(drawn.join("-")))
    }

    /// A code the user typed: case and word separators do not matter.
    ///
    /// # Errors
    /// It is too short.
    pub fn typed(text: &str) -> Result<Self, CodeError> {
        let apart = |c: char| !c.is_alphanumeric();
        let words = text.split(apart).filter(|word| !word.is_empty()).map(str::to_lowercase);
        let code = words.collect::<Vec<_>>().join("-");
        if code.chars().filter(|c| *c != '-').count() < LEAST {
            return Err(CodeError::Short);
        }
        Ok(Self(code))
    }

    pub(super) const fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for TransferCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hides its words: debug output ends up in logs.
impl fmt::Debug for TransferCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_of_a_longer_code_are_for_the_meeting_place_alone() {
        let code = TransferCode::typed("Ocean Pepper violin garden moon").unwrap();
        let (meeting, rest) = code.to_meet().unwrap();
        assert_eq!(
            (meeting.as_str(), rest.to_string().as_str()),
            ("ocean-pepper", "violin-garden-moon")
        );
        assert_eq!(TransferCode::random_to_meet().unwrap().to_string().split('-').count(), 5);
        for short in ["ocean-pepper", "ocean-pepper-sea", "oceanpepperviolin"] {
            assert_eq!(TransferCode::typed(short).unwrap().to_meet(), None, "{short}");
        }
    }

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        let code = TransferCode::random().unwrap();
        let shown = code.to_string();
        assert_eq!(shown.split('-').count(), WORDS);
        assert_eq!(TransferCode::typed(&shown), Ok(code.clone()));
        assert_eq!(
            TransferCode::typed(&format!(" {}\n", shown.to_uppercase().replace('-', "  "))),
            Ok(code)
        );
        assert_ne!(TransferCode::random().unwrap().to_string(), shown);
        assert_eq!(TransferCode::typed("sesam 12"), Err(CodeError::Short));
        assert!(TransferCode::typed("sesam 123").is_ok());
    }
}
