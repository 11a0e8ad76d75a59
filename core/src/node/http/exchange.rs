//! What the service that serves files knows of a connection.

use alloc::boxed::Box;
use alloc::string::String;

use crate::id::{FileIndex, Guid};
use crate::time::Instant;

/// What a connection is used for at the moment. One on which nothing was
/// requested yet is not remembered.
#[derive(Debug, Clone)]
pub(super) enum Exchange {
    /// We are connecting, to call a client back to its place (PARQ §4, `QUEUE`).
    Calling { ticket: Guid },
    /// We are connecting, to offer a file to a client that cannot reach us
    /// (`GIV`).
    Offering { index: FileIndex },
    /// The next request is awaited. The client may hold a place in the queue
    /// until then, and is not idle before.
    Idle { place_until: Option<Instant> },
    /// A request was received, and the queue is holding its answer back.
    Held,
    /// A file body is being sent; further requests wait for its end.
    Sending(Box<BodyTransfer>),
    /// A long list is being sent in parts; further requests wait for its end.
    Listing(Box<Listing>),
    /// A file for the inbox is being received; further requests wait for its
    /// end.
    Receiving,
}

impl Exchange {
    /// The next request is awaited, without a place.
    pub(super) const IDLE: Self = Self::Idle { place_until: None };
}

/// A file body being sent.
#[derive(Debug, Clone)]
pub(super) struct BodyTransfer {
    /// The range, `start..end`.
    pub(super) start: u64,
    /// Its end.
    pub(super) end: u64,
    /// Bytes of it sent so far.
    pub(super) sent: u64,
    /// The file ends where the range ends, and the client needs no other part
    /// of it.
    pub(super) last: bool,
    /// The connection stays open afterwards.
    pub(super) keep: bool,
    /// Bytes sent when the rate was last checked.
    pub(super) judged: u64,
    /// The position in the archive, when the body is one.
    pub(super) archive: Option<Box<Archive>>,
}

/// The position in an archive that is being sent.
#[derive(Debug, Clone)]
pub(super) struct Archive {
    pub(super) folder: String,
    /// The last file that is in it.
    pub(super) after: Option<String>,
    /// How many files are to follow; `None`: all.
    pub(super) left: Option<usize>,
    /// Files with larger numbers came later, and are not in it.
    pub(super) newest: FileIndex,
    /// Bytes of the archive before those of the current file.
    pub(super) before: u64,
    /// Bytes of that file.
    pub(super) size: u64,
}

/// A list being sent.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    /// The last file written to it.
    pub(super) after: FileIndex,
    /// It is sent in chunks; otherwise the end of the connection ends it.
    pub(super) chunked: bool,
    /// The connection stays open afterwards.
    pub(super) keep: bool,
    /// Bytes that have not left the host yet.
    pub(super) behind: u64,
    /// When a part of it was last written.
    pub(super) took: Instant,
}
