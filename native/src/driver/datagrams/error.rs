//! How a connection can end early.

use std::fmt;

use thiserror::Error;

/// Why a connection neither sends nor receives any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lost {
    /// The peer has not answered for as long as the configuration allows.
    #[error("the peer does not answer")]
    Unreachable,
    /// The peer's system says that nothing listens on that port.
    #[error("no program listens at that port")]
    Refused,
    /// The peer had answered, and its system says that nothing listens on that
    /// port any more.
    #[error("it no longer listens at that port")]
    Vanished,
    /// The peer ended its half although it could not deliver everything.
    #[error("it ended the connection before everything had arrived")]
    Abandoned,
    /// The peer started a new connection, as after a restart.
    #[error("the peer began another connection")]
    Replaced,
    /// The peer's process is another one than at the beginning: it knows nothing of this
    /// connection.
    #[error("it was started again, and knows nothing of this")]
    Restarted,
    /// The peer acknowledged what it cannot have: it lies, or a program on the way has written
    /// to it in our name.
    #[error("it acknowledged what was never sent")]
    Deceived,
    /// The peer was reached through a meeting place, and has left it.
    #[error("it has left the meeting")]
    Left,
    /// The peer was reached through a meeting place, which ends.
    #[error("the meeting place is being shut down")]
    PlaceEnds,
    /// Nothing was received for as long as the configuration allows.
    #[error("nothing came from the peer for too long")]
    Idle,
    /// There are already as many peers as the configuration allows.
    #[error("there are too many peers")]
    TooManyPeers,
    /// The connection was closed here, or the endpoint has ended.
    #[error("the connection was closed here")]
    Closed,
}

/// Messages that were not acknowledged when a connection ended: they may or may
/// not have arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// Sequence numbers, first and last of each range; a long message has
    /// several.
    pub numbers: Vec<(u64, u64)>,
    /// Messages that had no sequence number yet, and so were never sent.
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
