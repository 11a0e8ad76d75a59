//! How a connection can end otherwise than wished.

use std::fmt;

use thiserror::Error;

/// Why nothing goes or comes any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lost {
    /// No word from the peer for as long as the configuration allows.
    #[error("the peer does not answer")]
    Unreachable,
    /// The peer's system says that nobody listens there.
    #[error("nobody listens at that port")]
    Refused,
    /// The peer ended its half and did not have everything any more.
    #[error("the peer gave up before everything had arrived")]
    Abandoned,
    /// The peer began anew, as after a restart.
    #[error("the peer began another connection")]
    Replaced,
    /// Nothing came for as long as the configuration allows.
    #[error("nothing came from the peer for too long")]
    Idle,
    /// There are as many peers as the configuration allows.
    #[error("there are too many peers")]
    TooManyPeers,
    /// The connection was closed here, or the endpoint has ended.
    #[error("the connection was closed here")]
    Closed,
}

/// What a connection ended without: nobody acknowledged these messages, so
/// they may or may not have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// Sequence numbers, first and last; a long message has several.
    pub numbers: Vec<(u64, u64)>,
    /// Messages that had not been numbered yet, and so were never sent.
    pub waiting: usize,
    /// Bytes of both together.
    pub bytes: u64,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes were not acknowledged", self.bytes)?;
        let mut join = ": numbers ";
        for (first, last) in &self.numbers {
            write!(f, "{join}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            join = ", ";
        }
        match self.waiting {
            0 => Ok(()),
            waiting => write!(f, "; {waiting} more messages were never sent"),
        }
    }
}

impl std::error::Error for Undelivered {}
