//! What visitors may upload: the limits of the inbox, and what is in it.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Limits of the inbox, into which visitors upload files. There is one as soon
/// as the host says what is in it ([`super::DiskInput::Inbox`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InboxLimits {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files in the inbox together, those still arriving included.
    pub bytes: u64,
    /// Files in the inbox, those still arriving included.
    pub files: u32,
    /// Bytes of a file name.
    pub name_bytes: u32,
    /// Uploads that may arrive at the same time.
    pub at_once: u32,
    /// Uploads that may arrive at the same time from one address; a /64 network of
    /// IPv6 counts as one.
    pub at_once_per_ip: u32,
    /// Minimum rate in bytes per second at which a visitor must send, averaged
    /// over [`InboxLimits::window`].
    pub rate: u64,
    /// Time over which that rate is averaged.
    pub window: Duration,
}

impl Default for InboxLimits {
    fn default() -> Self {
        Self {
            file_bytes: 16 << 30,
            bytes: 64 << 30,
            files: 10_000,
            name_bytes: 200,
            at_once: 16,
            at_once_per_ip: 4,
            rate: 256,
            window: Duration::from_secs(60),
        }
    }
}

/// What is in the inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InboxUsage {
    /// Complete files.
    pub files: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// The inbox as plain data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InboxView {
    /// Complete files.
    pub files: u32,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes it may hold.
    pub limit: u64,
    /// Files that are arriving.
    pub arriving: Vec<Arriving>,
}

/// A file that is arriving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Arriving {
    /// The visitor's address.
    pub peer: String,
    /// The name the visitor gave it.
    pub name: String,
    /// Bytes stored so far.
    pub stored: u64,
    /// Its size in bytes, if the visitor said it.
    pub size: Option<u64>,
}
