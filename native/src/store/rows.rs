//! The tables and the encoding of rows. Rows are not self-describing: the
//! schema version in [`META`] determines how all of them are encoded.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::TableDefinition;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use servent_core::id::{FileIndex, Sha1};
use servent_core::node::PartRow;
use servent_core::thex::Tree;

use super::damage::RowError;
use crate::sys::os_string;

/// The version of tables and rows this program writes.
pub(super) const SCHEMA: u32 = 1;

pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
pub(super) const QUEUE: TableDefinition<'_, [u8; 16], &[u8]> = TableDefinition::new("queue");
pub(super) const FETCHES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("fetches");
pub(super) const PARTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("parts");
pub(super) const FILES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("files");
/// The hash trees of shared files, and of the files of downloads.
pub(super) const FILE_TREES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("file_trees");
pub(super) const FETCH_TREES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("fetch_trees");
pub(super) const HOSTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("hosts");

/// The user's requests at run time: what else is shared, and which downloads
/// are paused.
pub(super) const SHARES: TableDefinition<'_, &[u8], ()> = TableDefinition::new("shares");
pub(super) const PAUSED: TableDefinition<'_, u32, ()> = TableDefinition::new("paused");

/// What each address has uploaded and downloaded in swarms we coordinate.
pub(super) const LEDGER: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("swarm_ledger");
/// Files we download in swarms, by number: their pieces, which of them are
/// verified and with which digest, and the final path of each file.
pub(super) const SWARM_PARTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("swarm_parts");
pub(super) const SWARM_PIECES: TableDefinition<'_, (u32, u32), [u8; 32]> =
    TableDefinition::new("swarm_pieces");
pub(super) const SWARM_TARGETS: TableDefinition<'_, u32, &[u8]> =
    TableDefinition::new("swarm_targets");

/// What is known about a shared file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRow {
    /// Its number in URLs, the same across restarts.
    pub(crate) index: FileIndex,
    /// Its size in bytes when it was last seen.
    pub(crate) size: u64,
    /// Its modification time in nanoseconds since the epoch.
    pub(crate) mtime: i64,
    /// The SHA-1 of that content.
    pub(crate) sha1: Option<Sha1>,
    /// The file on disk, whatever its path; `None` where the file system does
    /// not tell it with certainty.
    pub(crate) identity: Option<FileIdentity>,
    /// The hash tree of that content; stored in a row of its own.
    #[serde(skip)]
    pub(crate) tree: Option<Arc<Tree>>,
}

/// A file on disk, whatever its names: a number that was given to another file
/// later comes with another time of birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// When the file was made, in nanoseconds since the epoch.
    pub(crate) born: i64,
}

/// Which file a download is written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartName {
    /// Relative to the download folder, without `.part`.
    pub(crate) name: String,
    /// It is complete: only the rename is left to do.
    pub(crate) whole: bool,
}

pub(super) fn encode(row: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(row).expect("a row fits in memory and has no maps of unknown length")
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, RowError> {
    Ok(postcard::from_bytes(bytes)?)
}

/// The row of a download. One written before rows told the version of the file
/// ends early: what is missing is nothing, no and none, all of which are zeros.
pub(super) fn decode_fetch(bytes: &[u8]) -> Result<PartRow, RowError> {
    decode(&[bytes, &[0; 8]].concat())
}

/// The row of a shared file. One written before rows told the identity of the
/// file ends early: what is missing is none, a zero.
pub(super) fn decode_file(bytes: &[u8]) -> Result<FileRow, RowError> {
    decode(&[bytes, &[0]].concat())
}

pub(super) fn key_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

pub(super) fn path_of(key: &[u8]) -> PathBuf {
    os_string(key.to_vec()).into()
}
