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
#[doc(hidden)]
pub mod pace;
pub mod server;

use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

pub use self::config::{Config, Policy};
pub use self::event::{Event, Loss, Refusal};
pub use crate::id::FileKey;
use crate::id::Guid;
use crate::time::Instant;
pub use crate::wire::queue::{Dialect, Place};

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
