//! Words that one side shows and the other side is told.

use std::fmt;
use std::io;

use bip39::Language;
use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;

/// Words of a code that is made: eleven bits each.
const WORDS: usize = 3;
/// Letters of a code of one's own, at least.
const LEAST: usize = 8;

/// A secret that is short enough to be said.
///
/// With the limit on guesses ([`super::Door`]) the 33 bits of one that was
/// made are enough: nobody can try them elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(String);

/// Why a text is no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodeError {
    /// Who tries a few would hit it.
    #[error("the code is too short: {LEAST} letters or digits are the least")]
    Short,
}

impl Code {
    /// A new one.
    ///
    /// # Errors
    /// The system has no dice.
    pub fn random() -> io::Result<Self> {
        let list = Language::English.word_list();
        let mut words = Vec::new();
        for _ in 0..WORDS {
            let mut dice = [0; 2];
            if getrandom(&mut dice, GetRandomFlags::empty())? < dice.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The list is a power of two long, so no word is likelier.
            words.push(list[usize::from(u16::from_be_bytes(dice)) % list.len()]);
        }
        Ok(Self(words.join("-")))
    }

    /// What somebody typed: capital letters, and how words are set apart, do
    /// not matter.
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

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Not its words: what is printed for debugging ends up in logs.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        let code = Code::random().unwrap();
        let shown = code.to_string();
        assert_eq!(shown.split('-').count(), WORDS);
        assert_eq!(Code::typed(&shown), Ok(code.clone()));
        assert_eq!(
            Code::typed(&format!(" {}\n", shown.to_uppercase().replace('-', "  "))),
            Ok(code)
        );
        assert_ne!(Code::random().unwrap().to_string(), shown);
        assert_eq!(Code::typed("sesam 12"), Err(CodeError::Short));
        assert!(Code::typed("sesam 123").is_ok());
    }
}
