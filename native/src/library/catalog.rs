//! The catalogue: what is shared, which files that includes, and their hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::RecursiveMode;
use servent_core::id::FileIndex;
use servent_core::text::Lines;

use super::hash::hashes_of;
use super::scan::{FolderScan, ScannedFile, Share};
use super::shares::Shares;
use super::{Keys, LibraryFile, LibraryStatus, ShareChange, ShareError, ShareOutcome};
use crate::error::StartError;
use crate::store::FileRow;

/// Limit of shared files.
const MOST_FILES: usize = 200_000;

/// The catalogue of shared files.
#[derive(Debug)]
pub(crate) struct Library {
    shares: Shares,
    keys: Keys,
    remembered: BTreeMap<PathBuf, FileRow>,
    shared: BTreeMap<PathBuf, Arc<LibraryFile>>,
    next: u32,
    /// The problems of the last scan.
    warned: BTreeSet<String>,
    /// Bytes hashed so far of the current file.
    hashing: u64,
    status: Arc<Mutex<LibraryStatus>>,
}

impl Library {
    /// Whether there is what the user named, before anything else is opened.
    ///
    /// # Errors
    /// A share that does not exist or cannot be read.
    pub(crate) fn check(shares: &[PathBuf]) -> Result<(), StartError> {
        Shares::open(shares, &[]).map(drop)
    }

    /// Opens the shares, including what was `added` in an earlier run, and
    /// scans them once.
    ///
    /// # Errors
    /// A share that does not exist or cannot be read.
    pub(crate) fn open(
        shares: &[PathBuf],
        added: &[PathBuf],
        (remembered, keys): (Vec<(PathBuf, FileRow)>, Keys),
    ) -> Result<(Self, Vec<ShareChange>), StartError> {
        let shares = Shares::open(shares, added)?;
        let next = remembered.iter().map(|(_, row)| row.index.0 + 1).max().unwrap_or(0);
        let mut library = Self {
            shares,
            keys,
            remembered: remembered.into_iter().collect(),
            shared: BTreeMap::new(),
            next,
            warned: BTreeSet::new(),
            hashing: 0,
            status: Arc::default(),
        };
        let changes = library.rescan();
        Ok((library, changes))
    }

    /// Its status, readable from other threads.
    pub(crate) fn status(&self) -> Arc<Mutex<LibraryStatus>> {
        Arc::clone(&self.status)
    }

    /// The places to watch for changes.
    pub(super) fn places(&self) -> impl Iterator<Item = (PathBuf, RecursiveMode)> {
        self.shares.present().iter().map(Share::watched)
    }

    /// Scans and returns what changed since the last scan.
    pub(super) fn rescan(&mut self) -> Vec<ShareChange> {
        let missing = self.shares.look_for_absent();
        let mut walk = FolderScan::over(self.shares.present(), MOST_FILES);
        walk.warnings.extend(missing);
        for warning in walk.warnings.iter().filter(|warning| !self.warned.contains(*warning)) {
            tracing::warn!("{}", Lines(warning));
        }
        self.warned = walk.warnings.iter().cloned().collect();
        let mut changes = Vec::new();
        let mut before = std::mem::take(&mut self.shared);
        for found in &walk.files {
            let path = found.root.path().join(&found.relative);
            match before.remove(&path) {
                Some(old) if old.still_is(found) => {
                    self.shared.insert(path, old);
                }
                _ => {
                    if !self.shared.contains_key(&path) {
                        let shared = Arc::new(self.meet(&path, found));
                        changes.push(ShareChange::Shared(Arc::clone(&shared), shared.row()));
                        self.shared.insert(path, shared);
                    }
                }
            }
        }
        changes.extend(before.into_values().map(|gone| ShareChange::Gone(gone.info.index)));
        self.forget(&mut changes);
        self.tell(walk.warnings);
        changes
    }

    /// Shares one more folder or file from now on.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    pub(super) fn share(&mut self, path: &Path) -> Result<ShareOutcome, ShareError> {
        self.shares.add(path)
    }

    /// Stops sharing a folder or file.
    ///
    /// # Errors
    /// It was not shared.
    pub(super) fn unshare(&mut self, path: &Path) -> Result<(PathBuf, ShareOutcome), ShareError> {
        self.shares.remove(path)
    }

    /// Processes a new or changed file: it keeps its number, and its hashes
    /// only if size and modification time are as remembered.
    fn meet(&mut self, path: &PathBuf, found: &ScannedFile) -> LibraryFile {
        let known = self.remembered.get(path);
        let index = known.map_or_else(
            || {
                self.next += 1;
                FileIndex(self.next - 1)
            },
            |row| row.index,
        );
        let hashes = known
            .filter(|row| row.size == found.size && row.mtime == found.mtime)
            .map_or((None, None), |row| (row.sha1, row.tree.clone()));
        let shared = LibraryFile::new(found, index, hashes, self.keys);
        self.remembered.insert(path.clone(), shared.row());
        shared
    }

    /// Files that are gone keep their number until too many are remembered.
    fn forget(&mut self, changes: &mut Vec<ShareChange>) {
        if self.remembered.len() <= 2 * MOST_FILES {
            return;
        }
        let shared = &self.shared;
        let gone = self.remembered.extract_if(.., |path, _| !shared.contains_key(path));
        changes.extend(gone.map(|(path, _)| ShareChange::Forgotten(path)));
    }

    fn tell(&self, warnings: Vec<String>) {
        let all = self.shared.values();
        let hashed = all.clone().filter(|s| s.info.sha1.is_some());
        let bytes =
            |files: &mut dyn Iterator<Item = &Arc<LibraryFile>>| files.map(|s| s.info.size).sum();
        let status = LibraryStatus {
            files: self.shared.len() as u64,
            bytes: bytes(&mut all.clone()),
            hashed_files: hashed.clone().count() as u64,
            hashed_bytes: bytes(&mut hashed.clone()) + self.hashing,
            warnings,
        };
        *self.lock_status() = status;
    }

    fn lock_status(&self) -> MutexGuard<'_, LibraryStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hashes one file; `None` when it changed meanwhile, cannot be read, or
    /// `go_on` returned false. `go_on` may do other work in between.
    pub(super) fn hash(
        &mut self,
        path: &PathBuf,
        mut go_on: impl FnMut(&mut Self) -> bool,
    ) -> Option<ShareChange> {
        let old = Arc::clone(self.shared.get(path)?);
        let file = old.open().ok()?;
        let known = old.info.sha1.is_some();
        let hashes = hashes_of(&file, old.info.size, |n| {
            // Not counted again when only the tree was missing.
            if !known {
                self.hashing += n;
                self.lock_status().hashed_bytes += n;
            }
            go_on(self)
        });
        let done = std::mem::take(&mut self.hashing);
        let same = self.shared.get(path).is_some_and(|now| Arc::ptr_eq(now, &old));
        let Some((sha1, tree)) = hashes.ok().flatten().filter(|_| same && old.is(&file)) else {
            self.lock_status().hashed_bytes -= done;
            return None;
        };
        let found = ScannedFile {
            root: Arc::clone(&old.root),
            name: old.info.name.clone(),
            relative: old.relative.clone(),
            size: old.info.size,
            mtime: old.mtime,
            executable: old.info.run.0,
        };
        let hashes = (Some(sha1), Some(tree.into()));
        let shared = Arc::new(LibraryFile::new(&found, old.info.index, hashes, self.keys));
        let row = shared.row();
        self.remembered.insert(path.clone(), row.clone());
        self.shared.insert(path.clone(), Arc::clone(&shared));
        self.lock_status().hashed_files += u64::from(!known);
        Some(ShareChange::Shared(shared, row))
    }

    pub(super) fn unhashed(&self) -> Vec<PathBuf> {
        let all = self.shared.iter();
        all.filter(|(_, s)| s.info.sha1.is_none() || s.info.tree.is_none())
            .map(|(path, _)| path.clone())
            .collect()
    }
}
