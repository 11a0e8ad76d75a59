//! The catalogue: what is shared, which files that includes, and their hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::RecursiveMode;
use servent_core::id::FileIndex;
use servent_core::text::Lines;

use super::hash::hashes_of;
use super::moved::MovedFiles;
use super::scan::{FolderScan, ScanWarning, ScannedFile, Share, WARNINGS};
use super::shares::{Owner, Shares};
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
    /// What is not shared, and why.
    warnings: Vec<ScanWarning>,
    /// What was logged of that.
    warned: BTreeSet<String>,
    totals: Totals,
    /// Bytes hashed so far of the current file.
    hashing: u64,
    /// Files hashed since the node was last told.
    untold: u64,
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
            warnings: Vec::new(),
            warned: BTreeSet::new(),
            totals: Totals::default(),
            hashing: 0,
            untold: 0,
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
        let mut scan = FolderScan::over(self.shares.present(), MOST_FILES);
        scan.warnings.extend(missing);
        self.warnings.clear();
        self.totals = Totals::default();
        let before = std::mem::take(&mut self.shared);
        let mut changes = self.reconcile(before, scan);
        self.warned = self.warnings.iter().map(|warning| warning.text.clone()).collect();
        self.forget(&mut changes);
        self.tell();
        changes
    }

    /// Looks at the paths where something changed, and returns what did. Where
    /// that does not tell everything, it scans.
    pub(super) fn look_at(&mut self, paths: &BTreeSet<PathBuf>) -> Vec<ShareChange> {
        let (mut changes, mut folder) = (Vec::new(), None::<&Path>);
        for path in paths {
            // They are in order: what is in a folder comes after it.
            if folder.is_some_and(|folder| path.starts_with(folder)) {
                continue;
            }
            let (share, relative) = match self.shares.owner(path) {
                Owner::Nothing => continue,
                Owner::Share(share, relative) => (share, relative),
                Owner::Several => {
                    changes.extend(self.rescan());
                    return changes;
                }
            };
            let beneath = self.shared.range(path.clone()..).map(|(at, _)| at);
            let beneath: Vec<_> = beneath.take_while(|at| at.starts_with(path)).cloned().collect();
            let before: BTreeMap<_, _> =
                beneath.iter().filter_map(|at| self.shared.remove_entry(at)).collect();
            before.values().for_each(|file| self.totals.remove(file));
            let scan = FolderScan::at(share, relative, MOST_FILES - self.shared.len());
            let links = scan.has_links();
            self.warnings.retain(|warning| !warning.path.starts_with(path));
            changes.extend(self.reconcile(before, scan));
            if links {
                changes.extend(self.rescan());
                return changes;
            }
            folder = Some(path).filter(|path| path.is_dir()).map(PathBuf::as_path);
        }
        self.forget(&mut changes);
        self.tell();
        changes
    }

    /// Compares what was shared at some place with what was found there.
    fn reconcile(
        &mut self,
        mut before: BTreeMap<PathBuf, Arc<LibraryFile>>,
        scan: FolderScan,
    ) -> Vec<ShareChange> {
        self.warn(scan.warnings);
        let all = scan.files.into_iter();
        let found: Vec<_> = all.map(|file| (file.root.path().join(&file.relative), file)).collect();
        let is_new = |(path, file): &&(PathBuf, ScannedFile)| {
            !before.get(path).is_some_and(|old| old.still_is(file))
        };
        let moved = if found.iter().any(|file| is_new(&file)) {
            MovedFiles::among(&self.remembered, &found)
        } else {
            MovedFiles::default()
        };
        let mut changes = Vec::new();
        for (path, found) in found {
            // Of a file that is in two shares, the first counts.
            if self.shared.contains_key(&path) {
                continue;
            }
            let file = match before.remove(&path) {
                Some(old) if old.still_is(&found) => old,
                _ => {
                    let new = Arc::new(self.meet(&path, &found, &moved));
                    changes.push(ShareChange::Shared(Arc::clone(&new), new.row()));
                    new
                }
            };
            self.totals.add(&file);
            self.shared.insert(path, file);
        }
        changes.extend(before.into_values().map(|gone| ShareChange::Gone(gone.info.index)));
        changes
    }

    /// Logs what was not said before, and keeps it for the status.
    fn warn(&mut self, warnings: Vec<ScanWarning>) {
        for warning in &warnings {
            if self.warned.insert(warning.text.clone()) {
                tracing::warn!("{}", Lines(&warning.text));
            }
        }
        self.warnings.extend(warnings);
        self.warnings.truncate(WARNINGS);
    }

    /// Shares one more folder or file from now on.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    pub(super) fn share(&mut self, path: &Path) -> Result<ShareOutcome, ShareError> {
        self.shares.add(path)
    }

    /// From now on these are the configured shares. Returns a sentence for each that
    /// cannot be opened.
    pub(super) fn configure(&mut self, shares: &[PathBuf]) -> Vec<String> {
        self.shares.configure(shares)
    }

    /// Stops sharing a folder or file.
    ///
    /// # Errors
    /// It was not shared.
    pub(super) fn unshare(&mut self, path: &Path) -> Result<(PathBuf, ShareOutcome), ShareError> {
        self.shares.remove(path)
    }

    /// The node has another idea of what is at a path: what is found there is reported,
    /// also when it is as before.
    pub(super) fn drop_outdated(&mut self, path: &Path) {
        if let Some(old) = self.shared.remove(path) {
            self.totals.remove(&old);
        }
    }

    /// Processes a new or changed file: it keeps its number, and its hashes
    /// only if size and modification time are as remembered, of this path or of
    /// another one at which the same file was.
    fn meet(&mut self, path: &PathBuf, found: &ScannedFile, moved: &MovedFiles) -> LibraryFile {
        let known = self.remembered.get(path);
        let index = known.map_or_else(
            || {
                self.next += 1;
                FileIndex(self.next - 1)
            },
            |row| row.index,
        );
        let same = known.filter(|row| row.size == found.size && row.mtime == found.mtime);
        let hashes = same
            .map(|row| (row.sha1, row.tree.clone()))
            .or_else(|| moved.hashes_of(found))
            .unwrap_or_default();
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

    fn tell(&mut self) {
        self.untold = 0; // They are counted below.
        let Totals { files, bytes, hashed_files, hashed_bytes } = self.totals;
        let status = LibraryStatus {
            files,
            bytes,
            hashed_files,
            hashed_bytes: hashed_bytes + self.hashing,
            warnings: self.warnings.iter().map(|warning| warning.text.clone()).collect(),
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
        let Some((sha1, tree)) = hashes.ok().flatten().filter(|_| same && old.is_open(&file))
        else {
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
            identity: old.identity,
        };
        let hashes = (Some(sha1), Some(tree.into()));
        let shared = Arc::new(LibraryFile::new(&found, old.info.index, hashes, self.keys));
        let row = shared.row();
        self.remembered.insert(path.clone(), row.clone());
        self.shared.insert(path.clone(), Arc::clone(&shared));
        self.totals.remove(&old);
        self.totals.add(&shared);
        self.untold += u64::from(!known);
        Some(ShareChange::Shared(shared, row))
    }

    /// The node has been told what was hashed. A program that waits for the count may
    /// ask for a file by its hash at once.
    pub(super) fn count_hashed(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        self.lock_status().hashed_files += untold;
    }

    /// Files that are not hashed, the small ones first: most are served by their
    /// hashes soon.
    pub(super) fn unhashed(&self) -> Vec<PathBuf> {
        let all = self.shared.iter();
        let unhashed = all.filter(|(_, s)| s.info.sha1.is_none() || s.info.tree.is_none());
        let mut unhashed: Vec<_> = unhashed.collect();
        unhashed.sort_by_key(|(_, file)| file.info.size);
        unhashed.into_iter().map(|(path, _)| path.clone()).collect()
    }
}

/// Counts over all shared files.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    files: u64,
    bytes: u64,
    hashed_files: u64,
    hashed_bytes: u64,
}

impl Totals {
    fn add(&mut self, file: &LibraryFile) {
        let hashed = u64::from(file.info.sha1.is_some());
        self.files += 1;
        self.bytes += file.info.size;
        self.hashed_files += hashed;
        self.hashed_bytes += hashed * file.info.size;
    }

    fn remove(&mut self, file: &LibraryFile) {
        let hashed = u64::from(file.info.sha1.is_some());
        self.files -= 1;
        self.bytes -= file.info.size;
        self.hashed_files -= hashed;
        self.hashed_bytes -= hashed * file.info.size;
    }
}
