//! The events of downloads.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::AltRefusal;
use crate::id::{ConnId, FetchId, Guid, Sha1, Tth};
use crate::queue::Dialect;
use crate::queue::client::PlaceLoss;
use crate::time::Instant;
use crate::wire::http::BodyEncoding;

/// Something that happened to a download of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A download started, or continued after a restart, with `have` bytes.
    Begun { fetch: FetchId, name: String, have: u64 },
    /// A source was learnt (from a command, from `X-Alt`, or by a call).
    Source { fetch: FetchId, at: SocketAddr },
    /// A request for `start..end` was sent.
    Asked { fetch: FetchId, conn: ConnId, start: u64, end: u64 },
    /// We got a place in a queue.
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
    /// The source is busy or failed for now; it is asked again at `ask_at`.
    Waiting { fetch: FetchId, at: SocketAddr, why: SourceTrouble, ask_at: Instant },
    /// A place in a queue is lost; the next request starts at its end.
    PlaceLost { fetch: FetchId, at: SocketAddr, why: PlaceLoss },
    /// Bytes `start..end` are being received.
    Receiving { fetch: FetchId, conn: ConnId, start: u64, end: u64 },
    /// A range is on disk.
    Stored { fetch: FetchId, start: u64, end: u64 },
    /// A source was given up for good.
    SourceLost { fetch: FetchId, at: SocketAddr, why: SourceTrouble },
    /// A server called us back with `QUEUE`.
    CalledBack { fetch: FetchId, conn: ConnId, ticket: Guid },
    /// A server called us about a place we do not have.
    CallUnknown { conn: ConnId, ticket: Guid },
    /// A `GIV` that was not expected, or for a download that is over.
    GivUnknown { conn: ConnId, servent: Guid },
    /// An alternate location was refused.
    AltRefused { fetch: FetchId, at: SocketAddr, why: AltRefusal },
    /// A limit of [`super::Config`] was reached.
    Limit { fetch: FetchId, limit: FetchLimit },
    /// The SHA-1 of the file was learnt from a source.
    HashLearnt { fetch: FetchId, sha1: Sha1 },
    /// The download is complete; its bytes are being hashed.
    Verifying { fetch: FetchId, bytes: u64 },
    /// All bytes are there and the SHA-1 matches, or none was known.
    Done { fetch: FetchId, bytes: u64, sha1: Option<Sha1> },
    /// All bytes are there and the SHA-1 does not match: it is downloaded
    /// again.
    Corrupt { fetch: FetchId, expected: Sha1, found: Sha1 },
    /// The download ended without its file.
    Failed { fetch: FetchId, why: FetchFailure },
    /// A source may have another file; it is kept in reserve while there are
    /// others to ask.
    KeptBack { fetch: FetchId, at: SocketAddr, why: SourceTrouble },
    /// A source sent the hash tree of the file.
    TreeLearnt { fetch: FetchId, at: SocketAddr, root: Tth, pieces: u32 },
    /// A piece does not match the hash tree: it is downloaded again.
    PieceWrong { fetch: FetchId, start: u64, end: u64 },
    /// A source redirects us (`Location`).
    Moved { fetch: FetchId, at: SocketAddr, to: String },
    /// The user paused a download.
    Paused { fetch: FetchId },
    /// The only source has another version of the file by now: the bytes of the
    /// former one are dropped, and it is downloaded from the beginning.
    VersionChanged { fetch: FetchId, at: SocketAddr, dropped: u64 },
    /// A source begins to send a file of which nothing was there; this is what it
    /// says of it.
    Described { fetch: FetchId, size: Option<u64>, modified: Option<String> },
    /// A source refused a request, or failed, with this HTTP status; what that means
    /// for it follows.
    Status { fetch: FetchId, at: SocketAddr, status: u16 },
    /// A download is complete of which only its length and overlapping bytes say
    /// that all of it is of one version.
    Unvouched { fetch: FetchId },
    /// A source sends the file in this encoding; the host is to decode it.
    Encoded { fetch: FetchId, encoding: BodyEncoding },
    /// A source gives the file this name.
    Named { fetch: FetchId, name: String },
}

/// What is wrong with a source. Displayed after the source's address.
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
    /// It cannot be reached.
    #[error("cannot be reached")]
    Unreachable,
    /// It is busy, and gave us no place in a queue.
    #[error("is busy")]
    Busy,
    /// It has no such file.
    #[error("has no such file")]
    NotFound,
    /// It does not have the bytes we need.
    #[error("has not the bytes we need")]
    RangeUnavailable,
    /// It closed the connection.
    #[error("hung up")]
    Disconnected,
    /// It does not answer, or sends too slowly.
    #[error("does not answer or sends too slowly")]
    Stalled,
    /// The length or the range it announced is not that of the file or not the one it
    /// was asked for.
    #[error("answers with another length or range than it should")]
    LengthLie,
    /// It sent something that is not valid HTTP.
    #[error("sent what is not HTTP")]
    Garbage,
    /// It refuses all our requests.
    #[error("refuses")]
    Refused,
    /// It sent bytes that do not match the hash of the file.
    #[error("sent bytes of another file")]
    Corrupt,
    /// Nothing it reports shows that its file is the one being downloaded.
    #[error("may have another file of that length, and is kept in reserve")]
    Unlike,
    /// It reported an internal error.
    #[error("has an error of its own")]
    Failing,
    /// It sent a piece that does not match the hash tree.
    #[error("gave bytes that do not match, and is not asked again")]
    Mismatch,
    /// It redirects us to nowhere.
    #[error("sends us to where nothing can be had")]
    Astray,
    /// It sends the file in an encoding that we cannot decode.
    #[error("sends the file in an encoding that we do not read")]
    Encoded,
    /// It does not tell the length of its file where that is needed: when there
    /// are other sources, or when the connection could be cut unnoticed.
    #[error("does not say how long its file is")]
    Endless,
    /// It requires a name and a password (RFC 7235), and we gave none or wrong
    /// ones.
    #[error("wants a name and a password")]
    Private,
    /// It left us to another source, which cannot be reached.
    #[error("sends us to one that is away")]
    Elsewhere,
    /// Its file is another version than the one being downloaded.
    #[error("has another version of the file by now")]
    Changed,
    /// It redirects us to where it has redirected us from.
    #[error("redirects in a circle")]
    Circle,
    /// It redirects us more often than [`super::Config::moves`].
    #[error("redirects too many times")]
    Redirects,
    /// It expects TLS, and was asked without.
    #[error("speaks TLS: its address begins with https://")]
    SpeaksTls,
}

impl SourceTrouble {
    /// True when a source is given up for what it sends: it may go on to wait for
    /// us.
    pub(super) const fn is_about_its_bytes(self) -> bool {
        matches!(
            self,
            Self::Corrupt
                | Self::Unlike
                | Self::Mismatch
                | Self::Changed
                | Self::Encoded
                | Self::Endless
                | Self::LengthLie
                | Self::RangeUnavailable
        )
    }
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
    /// The bytes of no source match the hash of the file.
    #[error("the bytes do not hash to the file, from any source")]
    Corrupt,
    /// The user cancelled it.
    #[error("the user took it back")]
    Cancelled,
    /// There are too many downloads already.
    #[error("there are too many downloads already")]
    TooMany,
}

/// The limits of [`super::Config`] that can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FetchLimit {
    /// Downloads that wait their turn.
    Fetches,
    /// Sources of one download.
    Sources,
    /// Saved ranges of a part file.
    Pieces,
    /// Bytes of a hash tree.
    TreeBytes,
    /// Places that are given back at a time.
    Goodbyes,
}
