//! The library's thread: walk, tell what changed, hash what is new, sleep.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use servent_core::id::FileIndex;
use servent_core::text::Lines;
use tokio::sync::mpsc;

use super::hash::hashes_of;
use super::scan::{Found, Share, Walk};
use super::{Change, LibraryStatus, Shared};
use crate::error::StartError;
use crate::store::FileRow;

/// Shared files.
const MOST_FILES: usize = 200_000;
/// A rescan that nobody asked for.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What the library knows.
#[derive(Debug)]
pub(crate) struct Library {
    shares: Vec<Share>,
    remembered: BTreeMap<PathBuf, FileRow>,
    shared: BTreeMap<PathBuf, Arc<Shared>>,
    next: u32,
    status: Arc<Mutex<LibraryStatus>>,
}

/// The running library. Its thread ends soon after the last asker and the
/// receiver of its reports are gone.
#[derive(Debug)]
pub(crate) struct Worker {
    ask: Sender<()>,
}

impl Library {
    /// Opens the shares and walks them once.
    ///
    /// # Errors
    /// A share that is not there or cannot be read.
    pub(crate) fn open(
        shares: &[PathBuf],
        remembered: Vec<(PathBuf, FileRow)>,
    ) -> Result<(Self, Vec<Change>), StartError> {
        let shares = shares.iter().map(|path| Share::open(path)).collect::<Result<_, _>>()?;
        let next = remembered.iter().map(|(_, row)| row.index.0 + 1).max().unwrap_or(0);
        let mut library = Self {
            shares,
            remembered: remembered.into_iter().collect(),
            shared: BTreeMap::new(),
            next,
            status: Arc::default(),
        };
        let changes = library.rescan();
        Ok((library, changes))
    }

    /// Its progress, to read from elsewhere.
    pub(crate) fn status(&self) -> Arc<Mutex<LibraryStatus>> {
        Arc::clone(&self.status)
    }

    /// Walks and says what changed since the last walk.
    pub(super) fn rescan(&mut self) -> Vec<Change> {
        let walk = Walk::over(&self.shares, MOST_FILES);
        for warning in &walk.warnings {
            tracing::warn!("{}", Lines(warning));
        }
        let mut changes = Vec::new();
        let mut before = std::mem::take(&mut self.shared);
        for found in &walk.files {
            let path = found.root.path().join(&found.relative);
            match before.remove(&path) {
                Some(old) if old.info.size == found.size && old.mtime == found.mtime => {
                    self.shared.insert(path, old);
                }
                _ => {
                    if !self.shared.contains_key(&path) {
                        let shared = Arc::new(self.meet(&path, found));
                        changes.push(Change::Shared(Arc::clone(&shared), shared.row()));
                        self.shared.insert(path, shared);
                    }
                }
            }
        }
        changes.extend(before.into_values().map(|gone| Change::Gone(gone.info.index)));
        self.forget(&mut changes);
        self.tell(walk.warnings);
        changes
    }

    /// A file that is new or changed: its number stays, its hashes only when
    /// size and time are the remembered ones.
    fn meet(&mut self, path: &PathBuf, found: &Found) -> Shared {
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
        let shared = Shared::new(found, index, hashes);
        self.remembered.insert(path.clone(), shared.row());
        shared
    }

    /// Files that are gone keep their number until too many are remembered.
    fn forget(&mut self, changes: &mut Vec<Change>) {
        if self.remembered.len() <= 2 * MOST_FILES {
            return;
        }
        let shared = &self.shared;
        let gone = self.remembered.extract_if(.., |path, _| !shared.contains_key(path));
        changes.extend(gone.map(|(path, _)| Change::Forgotten(path)));
    }

    fn tell(&self, warnings: Vec<String>) {
        let all = self.shared.values();
        let hashed = all.clone().filter(|s| s.info.sha1.is_some());
        let bytes =
            |files: &mut dyn Iterator<Item = &Arc<Shared>>| files.map(|s| s.info.size).sum();
        let status = LibraryStatus {
            files: self.shared.len() as u64,
            bytes: bytes(&mut all.clone()),
            hashed_files: hashed.clone().count() as u64,
            hashed_bytes: bytes(&mut hashed.clone()),
            warnings,
        };
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Hashes one file; `None` when it changed meanwhile, cannot be read, or
    /// `go_on` said no.
    pub(super) fn hash(
        &mut self,
        path: &PathBuf,
        mut go_on: impl FnMut() -> bool,
    ) -> Option<Change> {
        let old = Arc::clone(self.shared.get(path)?);
        let file = old.open().ok()?;
        let mut done = 0;
        let known = old.info.sha1.is_some();
        let hashes = hashes_of(&file, old.info.size, |n| {
            if known {
                return go_on(); // It counts as hashed: only the tree was missing.
            }
            done += n;
            let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
            status.hashed_bytes += n;
            drop(status);
            go_on()
        });
        let Some((sha1, tree)) = hashes.ok().flatten().filter(|_| old.is(&file)) else {
            let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
            status.hashed_bytes -= done;
            return None;
        };
        let found = Found {
            root: Arc::clone(&old.root),
            name: old.info.name.clone(),
            relative: old.relative.clone(),
            size: old.info.size,
            mtime: old.mtime,
        };
        let shared = Arc::new(Shared::new(&found, old.info.index, (Some(sha1), Some(tree.into()))));
        let row = shared.row();
        self.remembered.insert(path.clone(), row.clone());
        self.shared.insert(path.clone(), Arc::clone(&shared));
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.hashed_files += u64::from(!known);
        drop(status);
        Some(Change::Shared(shared, row))
    }

    pub(super) fn unhashed(&self) -> Vec<PathBuf> {
        let all = self.shared.iter();
        all.filter(|(_, s)| s.info.sha1.is_none() || s.info.tree.is_none())
            .map(|(path, _)| path.clone())
            .collect()
    }
}

impl Worker {
    /// Starts hashing, and walking again every `every` and when asked.
    pub(crate) fn start<R: From<Change> + Send + 'static>(
        library: Library,
        every: Option<Duration>,
        reports: mpsc::Sender<R>,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel();
        std::thread::Builder::new()
            .name("library".into())
            .spawn(move || run(library, every.unwrap_or(NEVER), &asked, &reports))?;
        Ok(Self { ask })
    }

    /// Asks for a walk now.
    pub(crate) fn asker(&self) -> Sender<()> {
        self.ask.clone()
    }
}

fn run<R: From<Change>>(
    mut library: Library,
    every: Duration,
    asked: &Receiver<()>,
    reports: &mpsc::Sender<R>,
) {
    let send = |change: Change| reports.blocking_send(change.into()).is_ok();
    loop {
        let mut now = false;
        for path in library.unhashed() {
            match asked.try_recv() {
                Ok(()) => now = true,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            if now {
                break;
            }
            if let Some(change) = library.hash(&path, || !reports.is_closed())
                && !send(change)
            {
                return;
            }
        }
        if !now && asked.recv_timeout(every) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        while asked.try_recv().is_ok() {}
        for change in library.rescan() {
            if !send(change) {
                return;
            }
        }
    }
}
