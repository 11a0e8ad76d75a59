//! What a download looks like from outside. Instants are microseconds of the
//! host.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

/// A download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FetchView {
    /// Its number.
    pub fetch: u32,
    /// The file's name.
    pub name: String,
    /// Bytes, once known.
    pub size: Option<u64>,
    /// Bytes safe on disk.
    pub have: u64,
    /// Bytes of them that are the beginning of the file, without a gap; checked
    /// ones, where there is a hash tree.
    pub front: u64,
    /// Where it downloads from.
    pub sources: Vec<SourceView>,
    /// `running`, `done`, or why it failed.
    pub state: String,
}

/// A source of a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceView {
    /// Its address.
    pub at: String,
    /// `idle`, `dialing`, `asking`, `queued`, `receiving`, `waiting`, `lost`.
    pub state: String,
    /// Position in its line.
    pub position: Option<u32>,
    /// Length of its line.
    pub length: Option<u32>,
    /// When we ask next.
    pub ask_at: Option<u64>,
    /// When our place would be lost.
    pub deadline: Option<u64>,
    /// Seconds until a slot, as the server says.
    pub eta: Option<u64>,
}
