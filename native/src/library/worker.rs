//! The library's thread: walk, tell what changed, hash what is new, sleep.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Change, Library, Outcome, Told};

/// A rescan that nobody asked for.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What the library's thread is asked for.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Walk now.
    Walk,
    /// Share one more folder or file.
    Share(PathBuf, Told),
    /// Share one no longer.
    Unshare(PathBuf, Told),
}

/// The running library. Its thread ends soon after the last asker and the
/// receiver of its reports are gone.
#[derive(Debug)]
pub(crate) struct Worker {
    ask: Sender<Ask>,
}

impl Worker {
    /// Starts hashing, and walking again every `every` and when asked.
    pub(crate) fn start<R: From<Change> + Send + 'static>(
        library: Library,
        every: Option<Duration>,
        reports: mpsc::Sender<R>,
    ) -> std::io::Result<Self> {
        let (ask, asked) = channel();
        let mut work = Work { asked, reports, walks: 0, ended: false };
        std::thread::Builder::new()
            .name("library".into())
            .spawn(move || work.run(library, every.unwrap_or(NEVER)))?;
        Ok(Self { ask })
    }

    /// Where to ask.
    pub(crate) fn asker(&self) -> Sender<Ask> {
        self.ask.clone()
    }
}

/// The thread.
struct Work<R> {
    asked: Receiver<Ask>,
    reports: mpsc::Sender<R>,
    /// How often the folders were walked.
    walks: u64,
    /// Nobody wants anything any more.
    ended: bool,
}

impl<R: From<Change>> Work<R> {
    fn run(&mut self, mut library: Library, every: Duration) {
        loop {
            self.hash_all(&mut library);
            if self.ended {
                return;
            }
            match self.asked.recv_timeout(every) {
                Ok(ask) => self.attend(&mut library, ask),
                Err(RecvTimeoutError::Timeout) => self.walk(&mut library),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
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
        self.ended |= self.reports.is_closed();
        !self.ended
    }

    fn attend(&mut self, library: &mut Library, ask: Ask) {
        let (done, told) = match ask {
            Ask::Walk => return self.walk(library),
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
        for change in library.rescan() {
            self.send(change);
        }
    }

    fn send(&mut self, change: Change) {
        self.ended |= self.reports.blocking_send(change.into()).is_err();
    }
}
