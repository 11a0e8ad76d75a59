//! Why something was not received.

use std::io;

use thiserror::Error;

use super::secret::SecretDoor;
use super::talk::Silence;
use crate::unicast::Lost;

/// Why a sender of several stops one for good: what it has is given.
pub const ENOUGH: &str = "it has gone to as many receivers as it was for";

/// Why a transfer did not complete.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The connection to the sender was lost.
    #[error("the sender is gone: {0}")]
    Gone(Lost),
    /// The sender stopped and gave a reason.
    #[error("the sender stopped: {0}")]
    Stopped(String),
    /// The received bytes are not those that were sent.
    #[error("the bytes that arrived are not those that were sent")]
    Different,
    /// A file cannot be written.
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// The program that reads the bytes from a pipe wants no more, as `head` does.
    #[error("what reads it there wants no more of it")]
    Unwanted,
    /// The sender does not know the code; nothing was accepted.
    #[error("it does not know the code")]
    WrongCode,
    /// One side uses a code and the other does not.
    #[error("one side has a code, the other has none")]
    OneCode,
    /// Too many wrong codes were tried.
    #[error("there were too many wrong codes")]
    Guesses,
    /// The peer does not speak this version of the transfer protocol.
    #[error("it sends something that is no transfer of this version")]
    Foreign,
}

impl From<Silence> for ReceiveError {
    fn from(silence: Silence) -> Self {
        match silence {
            // It is told so when what it has sent before is too slow for its reason.
            Silence::Gone(why @ Lost::Abandoned) => Self::Stopped(why.to_string()),
            Silence::Gone(why) => Self::Gone(why),
            Silence::Foreign => Self::Foreign,
            Silence::WrongCode => Self::WrongCode,
        }
    }
}

impl ReceiveError {
    /// True when nothing failed: the program that reads the bytes has enough of them.
    #[must_use]
    pub const fn is_unwanted(&self) -> bool {
        matches!(self, Self::Unwanted)
    }

    /// True when the sender has ended for good: all that it was for have it.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        matches!(self, Self::Stopped(why) if why == ENOUGH)
    }

    /// What a sender that has offered nothing yet is told about it.
    pub(super) fn refusal(&self, door: &SecretDoor) -> Option<&'static str> {
        match self {
            Self::Foreign => Some("that is no transfer of this version"),
            // The sender cannot decrypt an answer, and finds out that way.
            Self::WrongCode => Some("the code is wrong"),
            Self::OneCode if door.code().is_some() => {
                Some("it wants the code that it shows: send without --open")
            }
            Self::OneCode => Some("it takes what comes without a code: send with --open"),
            Self::Guesses => Some("there were too many wrong codes; try again in a minute"),
            _ => None,
        }
    }
}

/// True when the disk, or what may be stored, is full.
pub(super) fn is_full(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
