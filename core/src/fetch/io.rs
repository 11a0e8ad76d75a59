//! What downloads need from the node that hosts them, and what they do.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::{FetchFailure, Get, PartRow, Source};
use crate::id::{ConnId, FetchId, FileIndex, Guid, Sha1, Tth};
use crate::thex::Tree;
use crate::time::Duration;
use crate::wire::http::ResponseHead;

/// Something that happened to a download.
///
/// The host hands over every connection asked for by [`Output::Dial`], and
/// every accepted one that began with a `GIV` or a `QUEUE`; from then on what
/// comes in on it is a response head, or the body last announced by
/// [`Output::Store`] or [`Output::Skip`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A download the store remembered. All of them come before `Resume`.
    Restore(PartRow),
    /// The hash tree of a download that was restored.
    RestoreTree(FetchId, Arc<Tree>),
    /// Everything remembered is told: go on with it.
    Resume,
    /// Where servers may call us back (`X-Node`); `None` when they cannot.
    Listening(Option<SocketAddr>),
    /// The user wants a file; answered with [`Answer::Fetching`].
    Get(Get),
    /// The user takes a download back; of one that is whole, only that it is
    /// told of.
    Cancel { fetch: FetchId },
    /// Ask all sources now, allowed or not.
    AskNow { fetch: FetchId },
    /// Ask nobody for so long.
    Sleep { fetch: FetchId, length: Duration },
    /// Expect a `GIV` of that servent for a download.
    ExpectGiv { fetch: FetchId, servent: Guid, index: FileIndex },
    /// A dial succeeded; it left from our address `local`.
    Dialed { conn: ConnId, local: IpAddr },
    /// A dial failed.
    DialFailed { conn: ConnId, why: DialError },
    /// The head of a reply.
    Head { conn: ConnId, head: ResponseHead },
    /// What came in is not a head within the limits.
    Garbage { conn: ConnId },
    /// So many bytes of the range being stored are safe on disk, counted
    /// from its start.
    Stored { conn: ConnId, bytes: u64 },
    /// The part file cannot be written.
    DiskFailed { conn: ConnId, why: StoreError },
    /// A body of unknown length is over, and all of it was stored
    /// ([`Output::StoreBody`]).
    BodyEnded { conn: ConnId },
    /// The connection is gone.
    Closed { conn: ConnId },
    /// An accepted connection began with `GIV`.
    Giv { conn: ConnId, peer: SocketAddr, index: FileIndex, servent: Guid, name: String },
    /// An accepted connection began with `QUEUE`.
    Called { conn: ConnId, peer: SocketAddr, ticket: Guid, server: Option<SocketAddr> },
    /// The SHA-1 of what [`Output::Verify`] named. It may be left out of a
    /// download whose hash nobody knows; any other then fails.
    Verified { fetch: FetchId, sha1: Option<Sha1> },
    /// The body that [`Output::Collect`] asked for.
    Collected { conn: ConnId, data: Vec<u8> },
    /// What the piece at `start`, which [`Output::Hash`] named, is in a hash
    /// tree; `None` when the host cannot hash.
    Hashed { fetch: FetchId, start: u64, tth: Option<Tth> },
    /// What [`Output::Verify`] or [`Output::Hash`] named cannot be read.
    VerifyFailed { fetch: FetchId, why: StoreError },
    /// Where [`Answer::Moved`] leads; `None` when that is nowhere.
    Moved { fetch: FetchId, from: Source, to: Option<Source> },
    /// A download that was restored is paused.
    RestorePaused(FetchId),
    /// Ask nobody until [`Input::GoOn`], over restarts too.
    Pause { fetch: FetchId },
    /// Go on with a download that is paused, or ended without its file.
    GoOn { fetch: FetchId },
}

/// Something a download asks of its host, mostly in the node's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Connect. Downloads number their dials 1, 5, 9, …; the node's own
    /// dials are 3, 7, 11, …
    Dial { conn: ConnId, to: SocketAddr },
    /// Send a request head.
    Write { conn: ConnId, data: Vec<u8> },
    /// The body that follows the head just given is `start..end` of the
    /// file; the host adds the bytes of it that came with the head.
    Store { conn: ConnId, fetch: FetchId, start: u64, end: u64 },
    /// The body that follows the head just given is the file from its
    /// beginning, and nobody knows how long it is: in chunks, or until the
    /// connection ends. [`Input::BodyEnded`] says when all of it is stored.
    StoreBody { conn: ConnId, fetch: FetchId, chunked: bool },
    /// Drop so many bytes of body; the next head comes after them.
    Skip { conn: ConnId, bytes: u64 },
    /// The body that follows the head just given is wanted as
    /// [`Input::Collected`]: so many bytes, or chunks.
    Collect { conn: ConnId, length: Option<u64> },
    /// Close, whatever is going on, a dial too. No input about it is wanted any more.
    Close { conn: ConnId },
    /// Make room for a download, or open it again.
    Allocate { fetch: FetchId, name: String, size: Option<u64> },
    /// Hash a whole download; answered with [`Input::Verified`] or
    /// [`Input::VerifyFailed`].
    Verify { fetch: FetchId },
    /// Hash a piece of a download as it is on disk now; answered with
    /// [`Input::Hashed`] or [`Input::VerifyFailed`].
    Hash { fetch: FetchId, start: u64, end: u64 },
    /// A download is whole and right.
    Complete { fetch: FetchId },
    /// Remember a download: `Op::Fetch`.
    Save(Arc<PartRow>),
    /// Remember the hash tree of a download, or that it has none: `Op::Tree`.
    SaveTree(FetchId, Option<Arc<Tree>>),
    /// Remember whether a download is paused: `Op::Paused`.
    Paused(FetchId, bool),
    /// Forget a download: `Op::FetchGone`.
    Forget(FetchId),
    /// Tell the user.
    Answer(Answer),
}

/// What a user is told of a download.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It has this number.
    Fetching { fetch: FetchId },
    /// It is whole, checked and named.
    Fetched { fetch: FetchId, bytes: u64, sha1: Option<Sha1> },
    /// It ended without its file.
    Failed { fetch: FetchId, why: FetchFailure },
    /// There is none with this number.
    Unknown { fetch: FetchId },
    /// A source says that the file is elsewhere, in the words of `Location`.
    /// The host looks that up and answers with [`Input::Moved`].
    Moved { fetch: FetchId, from: Source, to: String },
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
    /// Nobody listens there.
    #[error("nobody listens there")]
    Refused,
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// No way there.
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
    /// Anything else the system said.
    #[error("the system cannot read or write the file")]
    Failed,
}
