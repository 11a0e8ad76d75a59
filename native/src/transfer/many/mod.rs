//! One sender, several receivers: the sender's code admits each of them over
//! unicast, and what is sent travels as one encrypted [`Parcel`] in a
//! [swarm](crate::swarm), in which receivers pass its pieces on. A folder for everyone
//! travels as a [`FolderParcel`], which is not encrypted.

mod folder;
mod give;
mod join;
mod packing;
mod parcel;
mod unpack;

use std::io;

use thiserror::Error;

pub use self::folder::{FolderParcel, ReceivedFolder};
pub use self::give::{GiveOptions, Giver, ReceiverStep};
pub use self::join::{Guest, ReceiverPlace, join};
pub use self::packing::PackProgress;
pub use self::parcel::{Parcel, number_by_link};
use super::receive_error::ReceiveError;
use super::talk::{Silence, Talk};
use crate::swarm::SwarmError;
use crate::unicast::Lost;

/// Bytes of a key, a secret and a digest.
const KEY: usize = 32;

/// Why it did not reach a receiver, on either side.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManyError {
    /// Nothing came back.
    #[error("no sender answers")]
    Unanswered,
    /// The other system says that nothing listens on that port.
    #[error("no program listens there")]
    Closed,
    /// The connection was lost.
    #[error("the other side is gone: {0}")]
    Gone(Lost),
    /// The other side ended it and gave a reason.
    #[error("{0}")]
    Refused(String),
    /// The receiver does not know the code.
    #[error("it does not know the code")]
    WrongCode,
    /// One side uses a code and the other does not.
    #[error("one side has a code, the other has none")]
    OneCode,
    /// Too many wrong codes were tried.
    #[error("there were too many wrong codes")]
    Guesses,
    /// As many receivers as were wanted are there already.
    #[error("it is for {0}, and all of them are there")]
    Enough(u32),
    /// The other side does not speak this version of the protocol.
    #[error("the other side does not do this in this version")]
    Foreign,
    /// The swarm did not start, or ended.
    #[error(transparent)]
    Swarm(#[from] SwarmError),
    /// Files cannot be written, or are not what was sent.
    #[error("cannot write: {0}")]
    Write(io::Error),
}

impl ManyError {
    /// Why nothing was heard.
    fn silence(talk: &Talk, silence: Silence) -> Self {
        match silence {
            Silence::Foreign => Self::Foreign,
            Silence::WrongCode => Self::WrongCode,
            Silence::Gone(Lost::Refused) => Self::Closed,
            Silence::Gone(_) if talk.connection.progress().acknowledged == 0 => Self::Unanswered,
            Silence::Gone(why) => Self::Gone(why),
        }
    }
}

impl From<ReceiveError> for ManyError {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::Gone(why) => Self::Gone(why),
            ReceiveError::Stopped(why) => Self::Refused(why),
            ReceiveError::WrongCode => Self::WrongCode,
            ReceiveError::OneCode => Self::OneCode,
            ReceiveError::Guesses => Self::Guesses,
            ReceiveError::Write(why) => Self::Write(why),
            ReceiveError::Foreign | ReceiveError::Different | ReceiveError::Unwanted => {
                Self::Foreign
            }
        }
    }
}
