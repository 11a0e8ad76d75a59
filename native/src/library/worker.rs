//! The library's thread: scan, report changes, hash what is new, sleep.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::dirty::Dirty;
use super::watch::FolderWatch;
use super::{Library, OutcomeSender, ShareChange, ShareOutcome};
use crate::clock::Stopwatch;

/// The interval when no periodic scan is wanted.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long to collect changes before scanning: at least the first value, and
/// at least the duration of the last scan times the second.
const SETTLE: (Duration, u32) = (Duration::from_millis(200), 10);
/// How many times less often watched folders are scanned.
const SELDOM: u32 = 10;

/// A request to the library's thread.
#[derive(Debug)]
pub(crate) enum LibraryRequest {
    /// Scan now.
    Walk,
    /// Something changed at these paths; without one it may be anywhere.
    Changed(Vec<PathBuf>),
    /// The node has seen that the file at this path is another one, or none.
    Outdated(PathBuf),
    /// The configured shares are these; the reply is what cannot be opened.
    Configured(Vec<PathBuf>, oneshot::Sender<Vec<String>>),
    /// Share one more folder or file.
    Share(PathBuf, OutcomeSender),
    /// Stop sharing one.
    Unshare(PathBuf, OutcomeSender),
}

/// The running library. Its thread ends soon after the last sender of requests
/// and the receiver of its reports are dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    ask: Arc<Sender<LibraryRequest>>,
}

impl Worker {
    /// Starts hashing, and scanning when something changed and on request;
    /// every `every` as well where changes cannot be watched. Without `every`
    /// nothing is watched.
    pub(crate) fn start<R: From<ShareChange> + Send + 'static>(
        library: Library,
        every: Option<Duration>,
        reports: mpsc::Sender<R>,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel();
        let ask = Arc::new(ask);
        let mut work = Work {
            watch: every.map(|_| FolderWatch::new(Arc::downgrade(&ask))),
            asked,
            reports,
            walks: 0,
            took: Duration::ZERO,
            dirty: Dirty::default(),
            ended: false,
        };
        std::thread::Builder::new()
            .name("library".into())
            .spawn(move || work.run(library, every.unwrap_or(NEVER)))?;
        Ok(Self { ask })
    }

    /// Where to send requests.
    pub(crate) fn asker(&self) -> Arc<Sender<LibraryRequest>> {
        Arc::clone(&self.ask)
    }
}

/// The thread.
struct Work<R> {
    watch: Option<FolderWatch>,
    asked: Receiver<LibraryRequest>,
    reports: mpsc::Sender<R>,
    /// How long the last look at the folders took.
    took: Duration,
    /// Changes that have not been looked at.
    dirty: Dirty,
    /// The number of looks.
    walks: u64,
    /// There are no senders or no receiver left.
    ended: bool,
}

impl<R: From<ShareChange>> Work<R> {
    fn run(&mut self, mut library: Library, every: Duration) {
        if let Some(watch) = &mut self.watch {
            watch.follow(&library);
        }
        loop {
            self.hash_all(&mut library);
            if self.ended {
                return;
            }
            match self.asked.recv_timeout(self.pause(every)) {
                Ok(ask) => self.attend(&mut library, ask),
                Err(RecvTimeoutError::Timeout) => self.look(&mut library),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// How long there is nothing to do.
    fn pause(&self, every: Duration) -> Duration {
        let (least, times) = SETTLE;
        let heard = self.watch.as_ref().is_some_and(FolderWatch::is_whole);
        let every = if heard { every.saturating_mul(SELDOM) } else { every };
        let settled = (self.took * times).max(least);
        self.dirty.since().map_or(every, |since| settled.saturating_sub(since.elapsed()))
    }

    /// Hashes what is not hashed, handling requests in between.
    fn hash_all(&mut self, library: &mut Library) {
        loop {
            let walks = self.walks;
            for path in library.unhashed() {
                let hashed = library.hash(&path, |library| self.attend_all(library));
                if let Some(change) = hashed {
                    self.send(change);
                    library.count_hashed();
                }
                if !self.attend_all(library) {
                    return;
                }
            }
            if walks == self.walks {
                return;
            }
        }
    }

    /// Handles the requests so far; false when there are no senders left.
    fn attend_all(&mut self, library: &mut Library) -> bool {
        while !self.ended {
            match self.asked.try_recv() {
                Ok(ask) => self.attend(library, ask),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.ended = true,
            }
        }
        if self.dirty.since().is_some() && self.pause(NEVER) == Duration::ZERO {
            self.look(library);
        }
        self.ended |= self.reports.is_closed();
        !self.ended
    }

    fn attend(&mut self, library: &mut Library, ask: LibraryRequest) {
        let (done, told) = match ask {
            LibraryRequest::Walk => return self.walk(library),
            LibraryRequest::Changed(paths) => return self.dirty.add(paths),
            LibraryRequest::Outdated(path) => {
                library.drop_outdated(&path);
                return self.dirty.add(vec![path]);
            }
            LibraryRequest::Configured(shares, told) => {
                let missing = library.configure(&shares);
                self.walk(library);
                return drop(told.send(missing)); // The asker may be gone.
            }
            LibraryRequest::Share(path, told) => {
                let added = library.share(&path);
                (added.map(|outcome| (path, true, outcome)), told)
            }
            LibraryRequest::Unshare(path, told) => {
                let removed = library.unshare(&path);
                (removed.map(|(path, outcome)| (path, false, outcome)), told)
            }
        };
        match done {
            Err(why) => drop(told.send(Err(why))), // The asker may be gone.
            Ok((_, _, ShareOutcome::AsBefore)) => drop(told.send(Ok(ShareOutcome::AsBefore))),
            Ok((path, shared, outcome)) => {
                self.walk(library);
                self.send(ShareChange::Wished { path, shared, outcome, told });
            }
        }
    }

    /// Looks at what changed, or through everything when it is time for that.
    fn look(&mut self, library: &mut Library) {
        let somewhere = self.dirty.since().is_some();
        match self.dirty.take().filter(|_| somewhere) {
            Some(paths) => self.take(library, |library| library.look_at(&paths)),
            None => self.walk(library),
        }
    }

    fn walk(&mut self, library: &mut Library) {
        self.dirty = Dirty::default();
        self.take(library, Library::rescan);
    }

    fn take(&mut self, library: &mut Library, look: impl FnOnce(&mut Library) -> Vec<ShareChange>) {
        self.walks += 1;
        let watch = Stopwatch::start();
        for change in look(library) {
            self.send(change);
        }
        self.took = watch.elapsed();
        if let Some(watch) = &mut self.watch {
            watch.follow(library);
        }
    }

    fn send(&mut self, change: ShareChange) {
        self.ended |= self.reports.blocking_send(change.into()).is_err();
    }
}
