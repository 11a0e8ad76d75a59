//! Upload queueing: one first-come-first-served queue in front of the upload
//! slots, with three dialects.
//!
//! In Active Queueing a place is bound to a connection; in PARQ it is bound to
//! an id, and clients far back disconnect; a passive client knows neither and
//! is recognised by its address. All of them wait in the same queue (PARQ §7,
//! PQ-16).
//!
//! [`server`] decides who gets a slot, [`client`] manages our place in the
//! queue of another server, [`pace`] has the formulas that both use.

mod clause;
pub mod client;
mod config;
mod event;
#[doc(hidden)]
pub mod pace;
pub mod server;

use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

pub use self::config::{Config, QueuePolicy};
pub use self::event::{Event, QueueRefusal};
pub use crate::id::FileKey;
use crate::id::Guid;
use crate::time::Instant;
pub use crate::wire::queue::{Dialect, PositionLoss, QueuePosition};

/// A place in the queue as it is written to the store, so that what a client
/// was told survives a crash (PQ-12). All instants are absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StoredEntry {
    /// The id by which the client knows the place.
    pub ticket: Guid,
    /// Order of arrival; smaller came first.
    pub arrival: u64,
    /// Waiting, or in a slot.
    pub state: RowState,
    /// The client's address.
    pub peer: IpAddr,
    /// The client's dialect.
    pub dialect: Dialect,
    /// The file last requested.
    pub file: FileKey,
    /// Bytes last requested.
    pub bytes: u64,
    /// The position last announced; 0 before the first reply.
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

/// Where a stored place was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    /// In the queue.
    Waiting,
    /// In a slot, with a running transfer.
    Uploading,
    /// In a slot that is reserved for its owner after its transfer broke
    /// (PQ-14).
    Reserved,
}
