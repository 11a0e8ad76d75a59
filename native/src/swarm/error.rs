//! What can keep a coordinator or client from starting, or end it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::error::{RunError, StartError};

/// Why a coordinator or a client did not start, or ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SwarmError {
    /// It cannot listen, has no random bytes, or its store cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A file cannot be read or written.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// Two files would have the same name.
    #[error("two files are called {0}: give one of them another name")]
    Twice(String),
    /// A file has more pieces than a coordinator allows.
    #[error(
        "{name} has {pieces} pieces, and at most {most} are possible: choose larger ones with --chunk"
    )]
    TooManyPieces {
        /// Its name.
        name: String,
        /// Pieces that it would have.
        pieces: u64,
        /// The setting `swarm.pieces`.
        most: u32,
    },
    /// The coordinator cannot be reached.
    #[error("no coordinator answers at {0}")]
    Unreachable(String),
    /// What answers at the address of the coordinator says nothing of the file.
    #[error(
        "what answers at {0} is no coordinator, or too busy to be one: it said nothing of the file"
    )]
    Silent(String),
    /// The coordinator is gone before all is here, and does not come back.
    #[error("the coordinator at {at} is gone, and {missing} of {pieces} pieces are missing")]
    Left {
        /// Where it was.
        at: String,
        /// Pieces that are not here.
        missing: u32,
        /// Pieces of the file.
        pieces: u32,
    },
    /// The coordinator does not have the file or refuses it.
    #[error("{0}")]
    Refused(String),
    /// The coordinator no longer offers the file.
    #[error("{0}")]
    Withdrawn(String),
    /// The downloaded file is not the one that was asked for.
    #[error("{} is not the file asked for: its SHA-256 is {found}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// Its digest.
        found: String,
    },
    /// The coordinator stopped: its state cannot be saved any more, or others have
    /// taken its part of a site.
    #[error(transparent)]
    Run(#[from] Arc<RunError>),
    /// It ended because of an error.
    #[error("it had to stop: {0}")]
    Ended(String),
    /// It has ended.
    #[error("the swarm's end has stopped")]
    Gone,
}

impl SwarmError {
    pub(super) fn file(path: impl Into<PathBuf>, why: io::Error) -> Self {
        Self::File { path: path.into(), why }
    }
}
