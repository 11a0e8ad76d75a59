//! The inputs and outputs of downloads.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::{DownloadSource, FetchFailure, Get, PartRow};
use crate::id::{ConnId, FetchId, FileIndex, Guid, Sha1, Tth};
use crate::thex::Tree;
use crate::time::Duration;
use crate::wire::http::ResponseHead;

/// Something that happened to a download.
///
/// The host passes on every connection requested by [`Output::Dial`], and every
/// accepted one that began with a `GIV` or `QUEUE` line. From then on, what is
/// received on it is a response head, or the body last announced by
/// [`Output::Store`] or [`Output::Skip`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A download the store remembered. All of them come before `Resume`.
    Restore(PartRow),
    /// The hash tree of a download that was restored.
    RestoreTree(FetchId, Arc<Tree>),
    /// Everything is restored: continue.
    Resume,
    /// Where servers may call us back (`X-Node`); `None` when they cannot.
    Listening(Option<SocketAddr>),
    /// The user wants a file; answered with [`FetchAnswer::Fetching`].
    Get(Get),
    /// The user cancels a download; one that is complete is only taken off the
    /// list.
    Cancel { fetch: FetchId },
    /// Ask these sources instead of those so far, and go on only if their bytes agree
    /// with those that are there.
    Relink { fetch: FetchId, sources: Vec<DownloadSource> },
    /// Ask all sources now, even before they allow it.
    AskNow { fetch: FetchId },
    /// Send no request for so long.
    Sleep { fetch: FetchId, length: Duration },
    /// Expect a `GIV` from that servent, for a download.
    ExpectGiv { fetch: FetchId, servent: Guid, index: FileIndex },
    /// A dial succeeded; `local` is our own address on that connection.
    Dialed { conn: ConnId, local: IpAddr },
    /// A dial failed.
    DialFailed { conn: ConnId, why: DialError },
    /// The head of a reply.
    Head { conn: ConnId, head: ResponseHead },
    /// What was received is not a head within the limits.
    Garbage { conn: ConnId },
    /// What was received is a record of TLS.
    SpeaksTls { conn: ConnId },
    /// So many bytes of the range being stored are safe on disk, counted
    /// from its start.
    Stored { conn: ConnId, bytes: u64 },
    /// The part file cannot be written.
    DiskFailed { conn: ConnId, why: StoreError },
    /// A body of unknown length has ended, and all of it is stored
    /// ([`Output::StoreBody`]).
    BodyEnded { conn: ConnId },
    /// The connection is gone.
    Closed { conn: ConnId },
    /// An accepted connection began with `GIV`.
    Giv { conn: ConnId, peer: SocketAddr, index: FileIndex, servent: Guid, name: String },
    /// An accepted connection began with `QUEUE`.
    Called { conn: ConnId, peer: SocketAddr, ticket: Guid, server: Option<SocketAddr> },
    /// The SHA-1 of what [`Output::Verify`] named. It may be `None` for a
    /// download whose hash is not known; any other then fails.
    Verified { fetch: FetchId, sha1: Option<Sha1> },
    /// The body that [`Output::Collect`] requested.
    Collected { conn: ConnId, data: Vec<u8> },
    /// The hash tree node of the piece at `start`, which [`Output::Hash`]
    /// named; `None` when the host cannot hash.
    Hashed { fetch: FetchId, start: u64, tth: Option<Tth> },
    /// What [`Output::Verify`] or [`Output::Hash`] named cannot be read.
    VerifyFailed { fetch: FetchId, why: StoreError },
    /// The host slept, or its network was away: no source is blamed for what
    /// failed meanwhile, and what waits only because of that is asked at once.
    Woke,
    /// Where [`FetchAnswer::Moved`] leads; `None` when it leads nowhere.
    Moved { fetch: FetchId, from: DownloadSource, to: Option<DownloadSource> },
    /// A download that was restored is paused.
    RestorePaused(FetchId),
    /// Ask no source until [`Input::GoOn`], even after a restart.
    Pause { fetch: FetchId },
    /// Continue a download that is paused, or that ended without its file.
    GoOn { fetch: FetchId },
}

/// What a download asks of its host, mostly in terms of the node's own outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Open a connection. Downloads number their dials 1, 5, 9, …; the node's
    /// other dials are 3, 7, 11, …
    Dial { conn: ConnId, to: SocketAddr },
    /// Send a request head.
    Write { conn: ConnId, data: Vec<u8> },
    /// The body that follows the current head is `start..end` of the file; the
    /// host adds the bytes of it that were received with the head.
    Store { conn: ConnId, fetch: FetchId, start: u64, end: u64 },
    /// The body that follows the current head is the whole file, of unknown
    /// length: in chunks, or until the connection ends. [`Input::BodyEnded`]
    /// reports when all of it is stored.
    StoreBody { conn: ConnId, fetch: FetchId, chunked: bool },
    /// Discard so many bytes of body; the next head comes after them.
    Skip { conn: ConnId, bytes: u64 },
    /// The body that follows the current head is to be collected for
    /// [`Input::Collected`]: so many bytes, or chunks.
    Collect { conn: ConnId, length: Option<u64> },
    /// Close a connection in any state, also a dial. No further input about it
    /// is expected.
    Close { conn: ConnId },
    /// Create the part file of a download, or open it again.
    Allocate { fetch: FetchId, name: String, size: Option<u64> },
    /// Hash a whole download; answered with [`Input::Verified`] or
    /// [`Input::VerifyFailed`].
    Verify { fetch: FetchId },
    /// Hash a piece of a download as it is on disk now; answered with
    /// [`Input::Hashed`] or [`Input::VerifyFailed`].
    Hash { fetch: FetchId, start: u64, end: u64 },
    /// A download is complete and verified.
    Complete { fetch: FetchId },
    /// Save a download: `Op::Fetch`.
    Save(Arc<PartRow>),
    /// Save the hash tree of a download, or that it has none: `Op::Tree`.
    SaveTree(FetchId, Option<Arc<Tree>>),
    /// Save whether a download is paused: `Op::Paused`.
    Paused(FetchId, bool),
    /// Delete a download from the store: `Op::FetchGone`.
    Forget(FetchId),
    /// Tell the user.
    Answer(FetchAnswer),
}

/// What the user is told about a download.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchAnswer {
    /// The number of the download.
    Fetching { fetch: FetchId },
    /// It is complete, verified and has its final name.
    Fetched { fetch: FetchId, bytes: u64, sha1: Option<Sha1> },
    /// It ended without its file.
    Failed { fetch: FetchId, why: FetchFailure },
    /// No download has this number.
    Unknown { fetch: FetchId },
    /// A source redirects us, with the value of its `Location`. The host
    /// resolves it and answers with [`Input::Moved`].
    Moved { fetch: FetchId, from: DownloadSource, to: String },
}

/// Why a dial failed.
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
pub enum DialError {
    /// The connection was refused.
    #[error("nobody listens there")]
    Refused,
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// There is no route.
    #[error("there is no way there")]
    Unreachable,
    /// Too many connections of our own.
    #[error("too many connections of our own")]
    NoDescriptor,
}

/// Why a file cannot be read or written.
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
pub enum StoreError {
    /// No space is left.
    #[error("no space is left")]
    Full,
    /// The permission is missing.
    #[error("the permission is missing")]
    Denied,
    /// The file is gone or has shrunk.
    #[error("the file is gone or has shrunk")]
    Changed,
    /// A link on the way to the file may lead out of the folder.
    #[error("a link on its way may lead out of the folder")]
    Linked,
    /// Any other error of the system.
    #[error("the system cannot read or write the file")]
    Failed,
}
