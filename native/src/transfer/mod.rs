//! Files, folders and streams over [reliable unicast](crate::unicast), checked
//! from end to end: what ends a file is its length and SHA-256, and the
//! receiver answers when that is what arrived. What the receiver has already,
//! whole or in part, is not sent again once the sender has proved that it is
//! the same.
//!
//! With a [`Code`] that both sides know, nobody else can take part, read or
//! change anything: messages are sealed one by one (`secret`), above the
//! unicast, whose own numbers and acknowledgements stay as they are.

mod inbox;
mod message;
mod offer;
mod quota;
mod receive;
mod secret;
mod send;
mod talk;
mod target;
mod writers;

use std::path::PathBuf;

pub use self::inbox::{Inbox, Place};
pub use self::offer::{Entry, Offer, OfferError, total};
pub use self::quota::Quota;
pub use self::receive::{ReceiveError, Transfer, refuse};
pub use self::secret::{Code, CodeError, Door};
pub use self::send::{SendFailure, Sender};
pub use self::writers::Writers;

/// What becomes of the entries of a transfer, on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A file is under way.
    Begun {
        /// Which entry.
        entry: usize,
        /// Bytes that were there before.
        from: u64,
    },
    /// Some of it has been read, or written.
    Bytes {
        /// Which entry.
        entry: usize,
        /// Bytes that are through, with those that were there before.
        so_far: u64,
    },
    /// The receiver has all of it.
    There(Carried),
}

/// A file that is at the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Which entry.
    pub entry: usize,
    /// Bytes.
    pub length: u64,
    /// Bytes of these that had to be carried.
    pub carried: u64,
    /// Its SHA-256, the same on both sides.
    pub sum: [u8; 32],
    /// At the receiver the file it is in; `None` for standard output.
    pub file: Option<PathBuf>,
}
