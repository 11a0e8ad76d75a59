//! A shared code, and the encryption derived from it: a peer that does not know the
//! code learns nothing and cannot change anything unnoticed.

mod code;
mod guesses;
mod seal;

pub use self::code::{CodeError, TransferCode};
pub use self::guesses::SecretDoor;
pub(super) use self::guesses::{CountedGuess, GuessesExhausted};
pub(super) use self::seal::{Half, Meeting, TAG};
