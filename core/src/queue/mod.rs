//! Upload queueing: one first-come-first-served line in front of the upload
//! slots, spoken in three dialects.
//!
//! Active Queueing holds a place by a connection; PARQ holds it by an id and
//! lets the far part of the line hang up; a passive client knows of neither
//! and is remembered by its address. All of them stand in the same line
//! (PARQ §7, PQ-16).
//!
//! [`server`] decides who gets a slot, [`client`] holds our place at somebody
//! else's, [`pace`] has the formulas both sides agree on.

mod clause;
pub mod client;
mod config;
mod event;
pub mod pace;
pub mod server;

use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

pub use self::config::Config;
pub use self::event::{Event, Loss, Refusal};
use crate::id::Guid;
use crate::time::{Duration, Instant};

/// The queueing language a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `X-Queue: 0.1` (Active Queueing): the connection is the place.
    Active,
    /// `X-Queue: 1.0` (PARQ 1.0.a): the id is the place.
    Parq,
    /// `X-Queue: 1.1`, met in the field: PARQ with a terser reply.
    Parq11,
    /// No `X-Queue` at all: the address is the place (PARQ §5).
    Passive,
}

/// What a file is, whatever its URL says: equal keys mean equal content.
/// The host derives it from path, size and mtime, so that it stays the same
/// while the SHA-1 becomes known, and over a restart.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FileKey(pub u64);

/// A place in the line as it is written to the store, so that what a client
/// was told survives a crash (PQ-12). Every instant is absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Row {
    /// The id the client knows the place by.
    pub ticket: Guid,
    /// Order of arrival; smaller came first.
    pub arrival: u64,
    /// Waiting, or in a slot.
    pub state: RowState,
    /// Whose place it is.
    pub peer: IpAddr,
    /// The language it was taken in.
    pub dialect: Dialect,
    /// The file last asked for.
    pub file: FileKey,
    /// Bytes last asked for.
    pub bytes: u64,
    /// The position last told; 0 before the first reply.
    pub told: u32,
    /// A request before this instant is too early.
    pub not_before: Instant,
    /// Without a request by this instant the place is lost.
    pub deadline: Instant,
    /// Where the client said it can be called (`X-Node`, PQ-8).
    pub callback: Option<SocketAddr>,
    /// How often its connection broke in the synchronous part.
    pub breaks: u8,
}

/// Where a stored place stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    /// In the line.
    Waiting,
    /// In a slot, its transfer running.
    Uploading,
    /// In a slot whose transfer broke, held for its owner (PQ-14).
    Reserved,
}

/// What a queued client is told. Numbers, not text: `wire` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The language to answer in.
    pub dialect: Dialect,
    /// The id of the place.
    pub ticket: Guid,
    /// 1 is next in line.
    pub position: u32,
    /// How many wait, this one included; never less than `position`.
    pub length: u32,
    /// How many upload slots there are.
    pub limit: u32,
    /// `Retry-After`, or `pollMin`.
    pub retry_after: Duration,
    /// `lifetime`, or `pollMax`.
    pub lifetime: Duration,
    /// When a slot may come, if that can be said honestly (PQ-15).
    pub eta: Option<Duration>,
    /// Keep the connection (synchronous part) or close it after the reply.
    pub keep: bool,
}

crate::json::enum_from_json!(Dialect, Self::Passive, {
    "active" => Active, "parq" => Parq, "parq11" => Parq11, "passive" => Passive,
});
crate::json::enum_from_json!(RowState, Self::Waiting, {
    "waiting" => Waiting, "uploading" => Uploading, "reserved" => Reserved,
});
crate::json::struct_from_json!(Row, blank, Whole, {
    ticket, arrival, state, peer, dialect, file, bytes, told, not_before, deadline, callback, breaks,
});
