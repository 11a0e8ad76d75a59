//! What can go wrong between two endpoints.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

use crate::driver::datagrams::Lost;
use crate::error::StartError;

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

impl BindError {
    /// What kept the servent below from starting, in this module's words.
    pub(super) fn of(why: StartError, at: SocketAddr) -> Self {
        match why {
            StartError::UdpPortInUse { at } => Self::PortInUse { at },
            StartError::Trace { path, why } => Self::Trace { path, why },
            StartError::Udp { at, why } => Self::Socket { at, why },
            StartError::Dice(why) => Self::Socket { at, why },
            other => Self::Socket { at, why: io::Error::other(other.to_string()) },
        }
    }
}
