//! What can keep a servent from starting or going on, in sentences that say
//! what to do next.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a servent did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// Somebody else listens there.
    #[error("port {} on {} is in use: choose another with --listen, or stop what listens there", at.port(), at.ip())]
    PortInUse {
        /// Where we wanted to listen.
        at: SocketAddr,
    },
    /// The system does not let us listen there.
    #[error("cannot listen on {at}: {why}")]
    Listen {
        /// Where we wanted to listen.
        at: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
    /// Somebody else has the UDP port.
    #[error("UDP port {} on {} is in use: choose another with --listen, or stop what listens there", at.port(), at.ip())]
    UdpPortInUse {
        /// Where we wanted to listen.
        at: SocketAddr,
    },
    /// The system does not give us the UDP address.
    #[error("cannot use UDP address {at}: {why}")]
    Udp {
        /// Where we wanted to listen.
        at: SocketAddr,
        /// What the system said.
        why: io::Error,
    },
    /// A shared folder cannot be read.
    #[error("cannot share {}: {why}", path.display())]
    Share {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// A folder of our own cannot be made or written.
    #[error("cannot use the folder {}: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The system gives no random bytes: nothing drawn would be a secret.
    #[error("the system gives no random numbers: {0}")]
    Dice(#[source] io::Error),
    /// The trace file cannot be made.
    #[error("cannot write the trace {}: {why}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

impl StartError {
    pub(crate) fn folder(path: &Path, why: io::Error) -> Self {
        Self::Folder { path: path.to_owned(), why }
    }
}

/// Why something is not shared as the user wished.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(StartError),
    /// It is not among what is shared.
    #[error("{} is not shared", path.display())]
    NotShared {
        /// What was named.
        path: PathBuf,
        /// What is shared.
        shared: Vec<PathBuf>,
    },
    /// The servent has ended.
    #[error("the servent has ended")]
    Gone,
}

/// What is wrong with the store of the state.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreFailure {
    /// Another servent works with this state.
    #[error("the state in {} is in use by another servent{}: stop it, or run a second one with a folder of its own (--state) and an address of its own (--listen)", path.display(), by(*pid))]
    Locked {
        /// The state folder.
        path: PathBuf,
        /// Its process id, when it left one.
        pid: Option<u32>,
    },
    /// The file is not ours, or it is damaged.
    #[error("{} is damaged or no servent's state ({why}); it has not been touched: put a good copy in its place, or start with --put-damaged-aside to rename it and begin with an empty queue", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file was written by a newer program.
    #[error("{} has version {found} of the state, this program knows version {known}: use the newer program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The system said no.
    #[error("cannot read or write the state {}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The database said no.
    #[error("cannot write the state {}: {why}; nothing that was promised is lost, mend this and start again", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the database said.
        why: String,
    },
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// Why a running servent had to end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Nothing can be promised any more, because nothing can be saved.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// It ended in peace, and its trace is not whole.
    #[error("the trace is not whole: {0}")]
    Trace(io::Error),
    /// The task that owns the node is gone: a bug, or it was aborted.
    #[error("the servent ended unexpectedly")]
    Gone,
}
