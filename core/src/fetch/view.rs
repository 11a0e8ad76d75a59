//! The state of a download as plain data. Times are the host's, in
//! microseconds.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::queue::client::PlaceLoss;

/// The state of a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FetchView {
    /// Its number.
    pub fetch: u32,
    /// The file's name.
    pub name: String,
    /// Its size in bytes, once known.
    pub size: Option<u64>,
    /// Bytes that are safe on disk.
    pub have: u64,
    /// How many of them are the gapless beginning of the file; only verified
    /// ones, when there is a hash tree.
    pub front: u64,
    /// Its sources.
    pub sources: Vec<SourceView>,
    /// `running`, `done`, or why it failed.
    pub state: String,
}

/// The state of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceView {
    /// Its address.
    pub at: String,
    /// `idle`, `dialing`, `asking`, `queued`, `receiving`, `waiting`, `lost`.
    pub state: String,
    /// Our position in its queue.
    pub position: Option<u32>,
    /// The length of its queue.
    pub length: Option<u32>,
    /// When we ask it next.
    pub ask_at: Option<u64>,
    /// When our place would be lost.
    pub deadline: Option<u64>,
    /// Why the place before this one is gone, until it sends (WB-7).
    pub lost: Option<PlaceLoss>,
    /// Estimated seconds until a slot, according to the server.
    pub eta: Option<u64>,
    /// What is wrong with it, and the HTTP status that said so, since it last sent
    /// bytes.
    pub trouble: Option<String>,
}
