//! What can go wrong between two endpoints.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why there is no endpoint.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// Somebody else has the port.
    #[error("UDP port {} on {} is in use: choose another with --listen, or stop what listens there", at.port(), at.ip())]
    PortInUse {
        /// What was asked for.
        at: SocketAddr,
    },
    /// The trace cannot be begun.
    #[error("cannot write the trace {}: {why}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The system does not give it.
    #[error("cannot use UDP address {at}: {why}")]
    Socket {
        /// What was asked for.
        at: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is one already.
    #[error("there is a connection with {0} already")]
    Exists(SocketAddr),
    /// An IPv6 peer cannot be reached from an IPv4 socket, and the other way
    /// round unless the socket takes both.
    #[error("{0} is of another address family than this endpoint")]
    Family(SocketAddr),
    /// The endpoint has ended.
    #[error("the endpoint has ended")]
    Ended,
}

/// Why nothing goes or comes any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Lost {
    /// No word from the peer for as long as the configuration allows.
    #[error("the peer does not answer")]
    Unreachable,
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

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// Longer than the configuration allows.
    #[error("a message of {length} bytes is longer than {most}")]
    TooLong {
        /// Its length.
        length: usize,
        /// The longest there may be.
        most: usize,
    },
    /// There is nobody to send it to.
    #[error(transparent)]
    Lost(#[from] Lost),
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
