//! What a download says of itself.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::AltRefusal;
use crate::id::{ConnId, FetchId, Guid, Sha1, Tth};
use crate::queue::Dialect;
use crate::queue::client::PlaceLoss;
use crate::time::Instant;

/// Something that happened to a download of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A download began or went on after a restart, with `have` bytes.
    Begun { fetch: FetchId, name: String, have: u64 },
    /// A source was learnt (by command, `X-Alt`, or a call).
    Source { fetch: FetchId, at: SocketAddr },
    /// A request left for `start..end`.
    Asked { fetch: FetchId, conn: ConnId, start: u64, end: u64 },
    /// We stand in a line.
    Queued {
        fetch: FetchId,
        conn: ConnId,
        dialect: Dialect,
        ticket: Option<Guid>,
        position: Option<u32>,
        length: Option<u32>,
        ask_at: Instant,
        deadline: Instant,
    },
    /// The source is busy or failed for now; we try again at `ask_at`.
    Waiting { fetch: FetchId, at: SocketAddr, why: SourceTrouble, ask_at: Instant },
    /// A place in a line is gone; the next request begins at its end.
    PlaceLost { fetch: FetchId, at: SocketAddr, why: PlaceLoss },
    /// Bytes `start..end` are coming.
    Receiving { fetch: FetchId, conn: ConnId, start: u64, end: u64 },
    /// A range is on disk.
    Stored { fetch: FetchId, start: u64, end: u64 },
    /// A source is given up for good.
    SourceLost { fetch: FetchId, at: SocketAddr, why: SourceTrouble },
    /// Somebody called us back with `QUEUE`.
    CalledBack { fetch: FetchId, conn: ConnId, ticket: Guid },
    /// Somebody called us for a place we do not hold.
    CallUnknown { conn: ConnId, ticket: Guid },
    /// A `GIV` came that nobody expects, or for a download that is over.
    GivUnknown { conn: ConnId, servent: Guid },
    /// A stranger named a location that we will not connect to.
    AltRefused { fetch: FetchId, at: SocketAddr, why: AltRefusal },
    /// A limit of [`super::Config`] was reached.
    Limit { fetch: FetchId, limit: Limit },
    /// The SHA-1 of the file was learnt from a source.
    HashLearnt { fetch: FetchId, sha1: Sha1 },
    /// The download is whole; its bytes are being hashed.
    Verifying { fetch: FetchId, bytes: u64 },
    /// All bytes are there and the SHA-1 agrees, or none was known.
    Done { fetch: FetchId, bytes: u64, sha1: Option<Sha1> },
    /// All bytes are there and the SHA-1 does not agree: begun again.
    Corrupt { fetch: FetchId, expected: Sha1, found: Sha1 },
    /// The download ended without its file.
    Failed { fetch: FetchId, why: FetchFailure },
    /// A source may have another file and is not asked while there is one to
    /// ask.
    KeptBack { fetch: FetchId, at: SocketAddr, why: SourceTrouble },
    /// A source gave the hash tree of the file.
    TreeLearnt { fetch: FetchId, at: SocketAddr, root: Tth, pieces: u32 },
    /// A piece is not what the hash tree says: it is fetched again.
    PieceWrong { fetch: FetchId, start: u64, end: u64 },
    /// A source says that the file is elsewhere (`Location`).
    Moved { fetch: FetchId, at: SocketAddr, to: String },
    /// The user wants nobody asked for a download until he says so.
    Paused { fetch: FetchId },
}

/// What is wrong with a source. Its sentence goes on behind the source's address.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SourceTrouble {
    /// Could not be reached.
    #[error("cannot be reached")]
    Unreachable,
    /// Answered that it is busy, without a place in a line.
    #[error("is busy")]
    Busy,
    /// Has no such file.
    #[error("has no such file")]
    NotFound,
    /// Has not the bytes we need.
    #[error("has not the bytes we need")]
    RangeUnavailable,
    /// Hung up.
    #[error("hung up")]
    Disconnected,
    /// Did not answer or sends too slowly.
    #[error("does not answer or sends too slowly")]
    Stalled,
    /// Said one length and sent another.
    #[error("said one length and sent another")]
    LengthLie,
    /// Sent what is not HTTP, or breaks it.
    #[error("sent what is not HTTP")]
    Garbage,
    /// Refuses us, whatever we ask for.
    #[error("refuses")]
    Refused,
    /// Gave bytes that do not hash to the file.
    #[error("sent bytes of another file")]
    Corrupt,
    /// Nothing it says shows that its file is the one that is fetched.
    #[error("may have another file of that length, and is kept in reserve")]
    Unlike,
    /// Answered that something is wrong with itself.
    #[error("has an error of its own")]
    Failing,
    /// Gave a piece that is not what the hash tree says.
    #[error("gave bytes that do not match, and is not asked again")]
    Mismatch,
    /// Sends us elsewhere, and that is nowhere, or no end of it.
    #[error("sends us to where nothing can be had")]
    Astray,
    /// Sends the file in an encoding that we do not read.
    #[error("sends the file in an encoding that we do not read")]
    Encoded,
    /// Does not say how long its file is where that is needed: beside other
    /// sources, or where the line could be cut unseen.
    #[error("does not say how long its file is")]
    Endless,
    /// Serves only who knows a name and a password (RFC 7235), and we said none
    /// or wrong ones.
    #[error("wants a name and a password")]
    Private,
}

/// Why a download ended without its file.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum FetchFailure {
    /// No source is left.
    #[error("no source is left")]
    NoSource,
    /// The disk is full or the file cannot be written.
    #[error("the disk is full or the file cannot be written")]
    Disk,
    /// The bytes do not hash to the file, from any source.
    #[error("the bytes do not hash to the file, from any source")]
    Corrupt,
    /// The user took it back.
    #[error("the user took it back")]
    Cancelled,
    /// There are too many downloads already.
    #[error("there are too many downloads already")]
    TooMany,
}

/// The limits of [`super::Config`] that can be run into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// Downloads at once.
    Fetches,
    /// Sources of one download.
    Sources,
    /// Pieces of a part file.
    Pieces,
    /// Bytes of a hash tree.
    TreeBytes,
}
