//! Errors of endpoints and connections.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

use crate::driver::datagrams::Lost;
use crate::error::StartError;

/// Why an endpoint could not be bound.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another program uses the port.
    #[error("UDP port {} on {} is in use: choose another with --listen, or stop what listens there", at.port(), at.ip())]
    PortInUse {
        /// The requested address.
        at: SocketAddr,
    },
    /// The trace cannot be started.
    #[error("cannot write the trace {}: {why}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// The socket cannot be bound.
    #[error("cannot use UDP address {at}: {why}")]
    Socket {
        /// The requested address.
        at: SocketAddr,
        /// The system error.
        why: io::Error,
    },
}

/// Why a connection could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There already is a connection with this peer.
    #[error("there is a connection with {0} already")]
    Exists(SocketAddr),
    /// The peer's address family does not match the socket's.
    #[error("{0} is of another address family than this endpoint")]
    Family(SocketAddr),
    /// The endpoint has ended.
    #[error("the endpoint has ended")]
    Ended,
}

/// Why a message was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The message is longer than the configuration allows.
    #[error("a message of {length} bytes is longer than {most}")]
    TooLong {
        /// Its length.
        length: usize,
        /// The allowed length.
        most: usize,
    },
    /// The connection has ended.
    #[error(transparent)]
    Lost(#[from] Lost),
}

impl BindError {
    /// Translates the error of the servent below.
    pub(super) fn from_start_error(why: StartError, at: SocketAddr) -> Self {
        match why {
            StartError::UdpPortInUse { at } => Self::PortInUse { at },
            StartError::Trace { path, why } => Self::Trace { path, why },
            StartError::Udp { at, why } => Self::Socket { at, why },
            StartError::Dice(why) => Self::Socket { at, why },
            other => Self::Socket { at, why: io::Error::other(other.to_string()) },
        }
    }
}
