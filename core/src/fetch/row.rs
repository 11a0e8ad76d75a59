//! What a user wants to download, and what is persisted about it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::id::{FetchId, Guid, Sha1};
use crate::time::Instant;

/// What a user wants to download.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Get {
    /// The name of the file to create, without folders.
    pub name: String,
    /// Its SHA-1, when known beforehand.
    pub sha1: Option<Sha1>,
    /// The sources given by the user.
    pub sources: Vec<DownloadSource>,
}

/// A source to download from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DownloadSource {
    /// Where it listens.
    pub at: SocketAddr,
    /// What follows the host in the URL, as it goes into the request line. What
    /// follows a `#` is requested instead when that is refused (RT-16).
    pub target: String,
    /// What goes into the `Host` header.
    pub host: String,
}

/// A download as it is written to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartRow {
    /// Its number.
    pub fetch: FetchId,
    /// What the user asked for.
    pub get: Arc<Get>,
    /// The size, once a source told it.
    pub size: Option<u64>,
    /// Ranges that are safe on disk: sorted, apart, `start..end`.
    pub have: Vec<(u64, u64)>,
    /// Our places in the queues of servers (PQ-12).
    pub tickets: Vec<Ticket>,
}

/// Our place in a server's queue, as it is written to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ticket {
    /// The server.
    pub at: SocketAddr,
    /// The id it gave the place.
    pub ticket: Guid,
    /// The last position the server told us.
    pub told: Option<u32>,
    /// Asking earlier loses the place (PQ-7).
    pub not_before: Instant,
    /// Not asking by then loses it, unless the server calls.
    pub deadline: Instant,
}
