//! The library's thread: walk, tell what changed, hash what is new, sleep.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use tokio::sync::mpsc;

use super::watch::Watch;
use super::{Change, Library, Outcome, Told};
use crate::clock::Stopwatch;

/// A rescan that nobody asked for.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Changes are let come in for so long before they are looked at, and for so
/// many times as long as the last walk took.
const SETTLE: (Duration, u32) = (Duration::from_millis(200), 10);
/// How many times more seldom folders are walked whose changes are heard of.
const SELDOM: u32 = 10;

/// What the library's thread is asked for.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Walk now.
    Walk,
    /// Something below a shared folder changed.
    Changed,
    /// Share one more folder or file.
    Share(PathBuf, Told),
    /// Share one no longer.
    Unshare(PathBuf, Told),
}

/// The running library. Its thread ends soon after the last asker and the
/// receiver of its reports are gone.
#[derive(Debug)]
pub(crate) struct Worker {
    ask: Arc<Sender<Ask>>,
}

impl Worker {
    /// Starts hashing, and walking again when something changed and when asked;
    /// every `every` too where changes cannot be heard of. Without `every`
    /// nobody listens.
    pub(crate) fn start<R: From<Change> + Send + 'static>(
        library: Library,
        every: Option<Duration>,
        reports: mpsc::Sender<R>,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel();
        let ask = Arc::new(ask);
        let mut work = Work {
            watch: every.map(|_| Watch::new(Arc::downgrade(&ask))),
            asked,
            reports,
            walks: 0,
            took: Duration::ZERO,
            changed: None,
            ended: false,
        };
        std::thread::Builder::new()
            .name("library".into())
            .spawn(move || work.run(library, every.unwrap_or(NEVER)))?;
        Ok(Self { ask })
    }

    /// Where to ask.
    pub(crate) fn asker(&self) -> Arc<Sender<Ask>> {
        Arc::clone(&self.ask)
    }
}

/// The thread.
struct Work<R> {
    watch: Option<Watch>,
    asked: Receiver<Ask>,
    reports: mpsc::Sender<R>,
    /// How long the last walk took.
    took: Duration,
    /// Since the first change that was not looked at.
    changed: Option<Stopwatch>,
    /// How often the folders were walked.
    walks: u64,
    /// Nobody wants anything any more.
    ended: bool,
}

impl<R: From<Change>> Work<R> {
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
                Err(RecvTimeoutError::Timeout) => self.walk(&mut library),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// How long nothing has to be done.
    fn pause(&self, every: Duration) -> Duration {
        let (least, times) = SETTLE;
        let heard = self.watch.as_ref().is_some_and(Watch::is_whole);
        let every = if heard { every.saturating_mul(SELDOM) } else { every };
        self.changed
            .map_or(every, |since| (self.took * times).max(least).saturating_sub(since.elapsed()))
    }

    /// Hashes what is not hashed, and does what is asked meanwhile.
    fn hash_all(&mut self, library: &mut Library) {
        loop {
            let walks = self.walks;
            for path in library.unhashed() {
                let hashed = library.hash(&path, |library| self.attend_all(library));
                if let Some(change) = hashed {
                    self.send(change);
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

    /// Does what has been asked so far; false when nobody is there to ask.
    fn attend_all(&mut self, library: &mut Library) -> bool {
        while !self.ended {
            match self.asked.try_recv() {
                Ok(ask) => self.attend(library, ask),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.ended = true,
            }
        }
        if self.changed.is_some() && self.pause(NEVER) == Duration::ZERO {
            self.walk(library);
        }
        self.ended |= self.reports.is_closed();
        !self.ended
    }

    fn attend(&mut self, library: &mut Library, ask: Ask) {
        let (done, told) = match ask {
            Ask::Walk => return self.walk(library),
            Ask::Changed => {
                self.changed.get_or_insert_with(Stopwatch::start);
                return;
            }
            Ask::Share(path, told) => {
                let added = library.share(&path);
                (added.map(|outcome| (path, true, outcome)), told)
            }
            Ask::Unshare(path, told) => {
                let removed = library.unshare(&path);
                (removed.map(|(path, outcome)| (path, false, outcome)), told)
            }
        };
        match done {
            Err(why) => drop(told.send(Err(why))), // The asker may be gone.
            Ok((_, _, Outcome::AsBefore)) => drop(told.send(Ok(Outcome::AsBefore))),
            Ok((path, shared, outcome)) => {
                self.walk(library);
                self.send(Change::Wished { path, shared, outcome, told });
            }
        }
    }

    fn walk(&mut self, library: &mut Library) {
        self.walks += 1;
        self.changed = None;
        let watch = Stopwatch::start();
        for change in library.rescan() {
            self.send(change);
        }
        self.took = watch.elapsed();
        if let Some(watch) = &mut self.watch {
            watch.follow(library);
        }
    }

    fn send(&mut self, change: Change) {
        self.ended |= self.reports.blocking_send(change.into()).is_err();
    }
}
