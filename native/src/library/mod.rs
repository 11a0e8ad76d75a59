//! The shared folders: which files they contain, their SHA-1 and hash tree, and
//! how to reopen one safely.
//!
//! A separate thread scans and hashes; the node's task learns of every change
//! as a [`ShareChange`]. Hashes are remembered by path, size and modification time,
//! and go with a file that is renamed, moved or linked; numbers in URLs are
//! remembered by path. A change costs what has changed: only the paths that the
//! system names are looked at, and everything only where it names none.

mod catalog;
mod dirty;
mod hash;
mod moved;
mod scan;
mod shares;
mod watch;
mod worker;

use std::fs::{File, Metadata};
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use servent_core::id::{FileIndex, Sha1};
use servent_core::node::{FileInfo, RunBit, StoreError};
use servent_core::queue::FileKey;
use servent_core::thex::Tree;
use servent_core::time::Instant;
use servent_core::trace::Digest;
use tokio::sync::oneshot;

pub(crate) use self::catalog::Library;
pub(crate) use self::hash::{sha1_of, tree_hash_of};
use self::scan::{ScannedFile, mtime};
pub(crate) use self::worker::{LibraryRequest, Worker};
use crate::error::ShareError;
use crate::store::{FileIdentity, FileRow};
use crate::sys::Root;

/// The known hashes of a file.
type Hashes = (Option<Sha1>, Option<Arc<Tree>>);

/// A shared file.
#[derive(Debug)]
pub(crate) struct LibraryFile {
    /// What the node knows about it.
    pub(crate) info: FileInfo,
    root: Arc<Root>,
    relative: PathBuf,
    mtime: i64,
    identity: Option<FileIdentity>,
    keys: Keys,
}

/// A shared file as it is on the disk now.
#[derive(Debug)]
pub(crate) enum FileNow {
    /// As the node was told, or it cannot be seen.
    AsKnown,
    /// It has another size or time; its content is not known.
    Changed(Box<LibraryFile>),
    /// There is no such file.
    Gone,
}

/// A change in what is shared.
#[derive(Debug)]
pub(crate) enum ShareChange {
    /// New, changed, or newly hashed.
    Shared(Arc<LibraryFile>, FileRow),
    /// No longer shared.
    Gone(FileIndex),
    /// No longer even remembered.
    Forgotten(PathBuf),
    /// A request of the user is done: to be saved, then answered.
    Wished {
        /// The folder or file.
        path: PathBuf,
        /// True when it is shared now.
        shared: bool,
        /// The outcome.
        outcome: ShareOutcome,
        /// Where to send the answer.
        told: OutcomeSender,
    },
}

/// The outcome of a request to share or unshare something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOutcome {
    /// Done, and remembered across restarts.
    Kept,
    /// Done until the next restart, because the configured shares say
    /// otherwise.
    UntilRestart,
    /// It was already so.
    AsBefore,
}

/// Where the outcome of such a request is sent.
pub(crate) type OutcomeSender = oneshot::Sender<Result<ShareOutcome, ShareError>>;

/// The status of the library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LibraryStatus {
    /// Shared files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files whose SHA-1 is known.
    pub hashed_files: u64,
    /// Their bytes, plus the bytes done of the file being hashed.
    pub hashed_bytes: u64,
    /// The problems of the last scan, at most 64 sentences.
    pub warnings: Vec<String>,
}

/// What the queue knows a file by. Not its SHA-1: that becomes known while
/// clients already queue for the file, and after a restart the key must be the
/// one a saved place was taken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Keys {
    /// Its path, size and time on this machine: equal keys mean equal content.
    #[default]
    Paths,
    /// Its name in URLs: the same at every servent of a site, wherever its folder
    /// is there, and while a change of the file has not reached all of them. A client that
    /// waits for a file that changes meanwhile waits for what it becomes.
    Names,
}

impl Keys {
    fn file_key(self, found: &ScannedFile) -> FileKey {
        match self {
            Self::Paths => {
                key_of(&found.root.path().join(&found.relative), found.size, found.mtime)
            }
            Self::Names => {
                let mut digest = Digest::default();
                digest.add(&found.name);
                FileKey(digest.finish())
            }
        }
    }
}

fn key_of(path: &Path, size: u64, mtime: i64) -> FileKey {
    let mut digest = Digest::default();
    digest.add(&(path.as_os_str().as_encoded_bytes(), size, mtime));
    FileKey(digest.finish())
}

impl LibraryFile {
    fn new(found: &ScannedFile, index: FileIndex, (sha1, tree): Hashes, keys: Keys) -> Self {
        let name = found.name.clone();
        let key = keys.file_key(found);
        let modified = u64::try_from(found.mtime / 1_000).ok().map(Instant::from_micros);
        let run = RunBit(found.executable);
        let info = FileInfo { index, name, size: found.size, sha1, key, modified, tree, run };
        let (root, relative) = (Arc::clone(&found.root), found.relative.clone());
        let (mtime, identity) = (found.mtime, found.identity);
        Self { info, root, relative, mtime, identity, keys }
    }

    fn row(&self) -> FileRow {
        let FileInfo { index, size, sha1, ref tree, .. } = self.info;
        let (mtime, identity) = (self.mtime, self.identity);
        FileRow { index, size, mtime, sha1, identity, tree: tree.clone() }
    }

    /// The path under which it is remembered.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join(&self.relative)
    }

    /// What the queue of a site knew it by before its tables had version 2.
    pub(crate) fn former_key(&self) -> FileKey {
        key_of(&self.path(), self.info.size, self.mtime)
    }

    /// Opens it, if it is still the file the node was told about.
    pub(crate) fn open(&self) -> Result<File, StoreError> {
        let file = self.root.open_file(&self.relative).map_err(|why| match why.kind() {
            std::io::ErrorKind::PermissionDenied => StoreError::Denied,
            _ => StoreError::Changed,
        })?;
        if self.is_open(&file) { Ok(file) } else { Err(StoreError::Changed) }
    }

    /// Compares it with what is on the disk.
    pub(crate) fn look(&self) -> FileNow {
        let file = match self.root.open_file(&self.relative) {
            Ok(file) => file,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return FileNow::Gone,
            Err(_) => return FileNow::AsKnown,
        };
        let Ok(meta) = file.metadata() else { return FileNow::AsKnown };
        if self.is(&meta) {
            return FileNow::AsKnown;
        }
        let (root, relative) = (Arc::clone(&self.root), self.relative.clone());
        let found = ScannedFile::from_metadata(root, (relative, self.info.name.clone()), &meta);
        let new = Self::new(&found, self.info.index, Hashes::default(), self.keys);
        FileNow::Changed(Box::new(new))
    }

    /// True when a scan found it unchanged.
    fn still_is(&self, found: &ScannedFile) -> bool {
        let mode = self.info.run.0 == found.executable;
        mode && (self.info.size, self.mtime, self.identity, &self.info.name)
            == (found.size, found.mtime, found.identity, &found.name)
    }

    fn is_open(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|meta| self.is(&meta))
    }

    fn is(&self, meta: &Metadata) -> bool {
        (meta.len(), mtime(meta)) == (self.info.size, self.mtime)
    }
}

#[cfg(test)]
mod drawn_tests;
#[cfg(test)]
mod tests;
