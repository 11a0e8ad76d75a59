//! Files, folders and streams over [reliable unicast](crate::unicast), verified
//! end to end: a file ends with its length and BLAKE3 digest, and the receiver
//! confirms when that is what arrived. What the receiver already has, complete
//! or in part, is not sent again once the sender has proved that it is the
//! same.
//!
//! With a [`TransferCode`] that both sides know, no other host can take part, read or
//! change anything: each message is encrypted (`secret`) above the unicast
//! protocol, whose own sequence numbers and acknowledgements are not.

mod acknowledged;
mod ahead;
mod behind;
mod greet;
mod grouped;
mod inbox;
pub mod many;
mod message;
mod offer;
mod proof;
mod quota;
mod receive;
mod receive_error;
mod refusal;
mod secret;
mod send;
mod shelf;
mod small;
mod streams;
mod talk;
mod target;
mod writers;

use std::path::PathBuf;

use servent_core::id::Guid;

pub use self::inbox::{InboxPlace, Shortage, TransferInbox};
pub use self::offer::{LackKind, Lacking, Offer, OfferEntry, OfferError, total};
pub use self::quota::Quota;
pub use self::receive::OfferedTransfer;
pub use self::receive_error::{ENOUGH, ReceiveError};
pub use self::refusal::refuse;
pub use self::secret::{CodeError, SecretDoor, TransferCode};
pub use self::send::{ReceiverTurn, SendFailure, TransferSender};
pub use self::streams::{CarriedStreams, StreamError};
pub use self::talk::{SILENT, knock};
pub use self::writers::Writers;
pub use crate::files::FileAttributes;

/// Progress of the entries of a transfer, on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferProgress {
    /// The receiver has said something: it knows the code, where there is one.
    Known,
    /// The number by which the sender knows the receiver if it comes again.
    Numbered(Guid),
    /// The receiver has the offer, and says nothing to it: its user may be asked.
    Offered,
    /// The receiver takes what is offered.
    Accepted,
    /// A file has begun.
    Begun {
        /// The entry.
        entry: usize,
        /// Bytes the receiver had before.
        from: u64,
    },
    /// Bytes have been read, or written.
    Bytes {
        /// The entry.
        entry: usize,
        /// Bytes so far, including those the receiver had before.
        so_far: u64,
    },
    /// The receiver has all of it.
    There(Carried),
    /// A file does not arrive, and the others go on.
    Lacks(Lacking),
}

/// A file that the receiver has completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The entry.
    pub entry: usize,
    /// Its length in bytes.
    pub length: u64,
    /// How many of these bytes were transferred.
    pub carried: u64,
    /// Its BLAKE3 digest, the same on both sides.
    pub sum: [u8; 32],
    /// At the receiver the file's path; `None` for standard output.
    pub file: Option<PathBuf>,
}
