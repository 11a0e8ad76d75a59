//! The shared folders: which files there are, what their SHA-1 and their hash
//! tree are, and how to open one again with the same care.
//!
//! A thread of its own walks and hashes; the node's task learns of every
//! change as a [`Change`]. Hashes are remembered by path, size and time of
//! the last change, numbers in URLs by path.

mod beneath;
mod catalog;
mod hash;
mod scan;
mod shares;
mod watch;
mod worker;

use std::fs::File;
use std::hash::Hasher as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use servent_core::id::{FileIndex, Sha1};
use servent_core::node::{FileInfo, StoreError};
use servent_core::queue::FileKey;
use servent_core::thex::Tree;
use servent_core::time::Instant;
use servent_core::trace::Digest;
use tokio::sync::oneshot;

use self::beneath::Root;
pub(crate) use self::catalog::Library;
pub(crate) use self::hash::{sha1_of, tree_hash_of};
use self::scan::{Found, mtime};
pub(crate) use self::worker::{Ask, Worker};
use crate::error::ShareError;
use crate::store::FileRow;

/// What is known of a file's content.
type Hashes = (Option<Sha1>, Option<Arc<Tree>>);

/// A shared file.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What the node knows of it.
    pub(crate) info: FileInfo,
    root: Arc<Root>,
    relative: PathBuf,
    mtime: i64,
}

/// A change of what is shared.
#[derive(Debug)]
pub(crate) enum Change {
    /// New, changed, or its hash is known now.
    Shared(Arc<Shared>, FileRow),
    /// Not shared any more.
    Gone(FileIndex),
    /// Not even remembered any more.
    Forgotten(PathBuf),
    /// What the user wished is done: to be remembered, then told.
    Wished {
        /// The folder or file.
        path: PathBuf,
        /// It is shared, or it is not.
        shared: bool,
        /// What became of it.
        outcome: Outcome,
        /// Who waits to hear of it.
        told: Told,
    },
}

/// What became of a wish to share something, or not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is done, and remembered over restarts.
    Kept,
    /// It is done, but what the servent is started with says otherwise.
    UntilRestart,
    /// It was so before.
    AsBefore,
}

/// Who waits for the end of a wish.
pub(crate) type Told = oneshot::Sender<Result<Outcome, ShareError>>;

/// How far the library has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LibraryStatus {
    /// Shared files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files whose SHA-1 is known.
    pub hashed_files: u64,
    /// Their bytes, and what is done of the one being hashed.
    pub hashed_bytes: u64,
    /// What the last walk found wrong, at most 64 sentences.
    pub warnings: Vec<String>,
}

impl Shared {
    fn new(found: &Found, index: FileIndex, (sha1, tree): Hashes) -> Self {
        let name = found.name.clone();
        let key = key_of(found);
        let modified = u64::try_from(found.mtime / 1_000).ok().map(Instant::from_micros);
        let info = FileInfo { index, name, size: found.size, sha1, key, modified, tree };
        let (root, relative) = (Arc::clone(&found.root), found.relative.clone());
        Self { info, root, relative, mtime: found.mtime }
    }

    fn row(&self) -> FileRow {
        let FileInfo { index, size, sha1, ref tree, .. } = self.info;
        FileRow { index, size, mtime: self.mtime, sha1, tree: tree.clone() }
    }

    /// The path under which it is remembered.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join(&self.relative)
    }

    /// Opens it, if it still is the file the node was told of.
    pub(crate) fn open(&self) -> Result<File, StoreError> {
        let file = self.root.open_file(&self.relative).map_err(|why| match why.kind() {
            std::io::ErrorKind::PermissionDenied => StoreError::Denied,
            _ => StoreError::Changed,
        })?;
        if self.is(&file) { Ok(file) } else { Err(StoreError::Changed) }
    }

    /// True when a walk has found it as it was.
    fn still_is(&self, found: &Found) -> bool {
        (self.info.size, self.mtime, &self.info.name) == (found.size, found.mtime, &found.name)
    }

    fn is(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|m| m.len() == self.info.size && mtime(&m) == self.mtime)
    }
}

/// Equal keys mean equal content. Not from the SHA-1: that becomes known while
/// clients already stand in line for the file, and a restart must find the key
/// a stored place was taken with.
fn key_of(found: &Found) -> FileKey {
    let path = found.root.path().join(&found.relative);
    let mut digest = Digest::default();
    digest.add(&(path.as_os_str().as_encoded_bytes(), found.size, found.mtime));
    FileKey(digest.finish())
}

#[cfg(test)]
mod tests;
