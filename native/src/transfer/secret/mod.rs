//! A code that two people share, and what it makes of a connection: whoever
//! does not know it learns nothing and changes nothing unnoticed.

mod code;
mod guesses;
mod seal;

pub use self::code::{Code, CodeError};
pub use self::guesses::Door;
pub(super) use self::guesses::Refused;
pub(super) use self::seal::{Half, Meeting, TAG};
