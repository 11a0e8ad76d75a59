//! A connection for writing, and the search for another one when it is lost.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;

use super::Database;
use super::log_dedup::LogDedup;
use super::schema::{self, Mode};
use crate::error::StoreFailure;
use crate::store::CommitOutcome;

/// How long a turn waits for the database before it goes on without it.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How often a database that is away is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// A connection that can be opened anew.
pub(super) trait Opens: Sized + Send + 'static {
    /// How its servent is in the site.
    const MODE: Mode;

    /// Opens one for this servent, in place of any before it; `None` when
    /// nothing in the site is this servent's any more.
    fn open(
        database: &Database,
        holder: &[u8; 16],
    ) -> impl Future<Output = Result<Option<Self>, StoreFailure>> + Send;
}

/// The connection, if there is one.
#[derive(Debug)]
pub(super) struct Reach<L> {
    database: Database,
    holder: [u8; 16],
    /// `None` while the database is away.
    link: Option<L>,
    /// Tries to reach a database that is away.
    search: Option<JoinHandle<Result<(L, LogDedup), StoreFailure>>>,
    /// Not everything is saved, because something was not answered.
    trouble: bool,
    said: LogDedup,
}

/// What follows from a database that is away.
const SO: &str = "what would promise something waits for it";

impl<L: Opens> Reach<L> {
    /// Opens the first one.
    ///
    /// # Errors
    /// The database cannot be used, or nothing in it is this servent's.
    pub(super) async fn open(database: &Database, holder: [u8; 16]) -> Result<Self, StoreFailure> {
        let Some(link) = L::open(database, &holder).await? else {
            return Err(schema::why_lost(database, L::MODE).await);
        };
        let (database, said) = (database.clone(), LogDedup::default());
        Ok(Self { database, holder, link: Some(link), search: None, trouble: false, said })
    }

    /// The connection; `None` while the database is away.
    pub(super) const fn link(&self) -> Option<&L> {
        self.link.as_ref()
    }

    /// What became of a write over it: whether it was this servent's to write,
    /// and whether there was an answer in time.
    ///
    /// # Errors
    /// What was to be written is not this servent's any more.
    pub(super) async fn check_statement(
        &mut self,
        written: Result<Result<bool, tokio_postgres::Error>, Elapsed>,
    ) -> Result<CommitOutcome, StoreFailure> {
        let why = match written {
            Ok(Ok(true)) => {
                self.mended();
                return Ok(CommitOutcome::Durable);
            }
            Ok(Ok(false)) => return Err(schema::why_lost(&self.database, L::MODE).await),
            // That says nothing of the database: whether another can be opened does.
            Ok(Err(why)) if why.is_closed() => None,
            Ok(Err(why)) => Some(self.database.unusable(&why)),
            Err(_) => Some(self.database.unavailable("it does not answer")),
        };
        self.missed(why.as_ref());
        Ok(CommitOutcome::Later)
    }

    /// The database could not be asked something else, and that is why: what is
    /// written next is not sent there before it was reached again.
    pub(super) fn lose(&mut self, why: &StoreFailure) {
        if self.link.is_some() {
            self.missed(Some(why));
        }
    }

    fn missed(&mut self, why: Option<&StoreFailure>) {
        if let Some(why) = why {
            self.said.report_unavailable(why, SO);
        }
        self.link = None;
        // One that can be reached and does not write is not asked at once again.
        let before = std::mem::replace(&mut self.trouble, true);
        let pause = if before { RETRY } else { Duration::ZERO };
        let search = search(self.database.clone(), self.holder, self.said.clone(), pause);
        self.search = Some(tokio::spawn(search));
    }

    /// Everything is saved.
    pub(super) fn mended(&mut self) {
        self.trouble = false;
        self.said.report_available(&self.database);
    }

    /// Waits until a database that was away can be reached again; for ever while
    /// it is not away.
    ///
    /// # Errors
    /// Nothing in it is this servent's any more.
    pub(super) async fn found(&mut self) -> Result<(), StoreFailure> {
        let found = match &mut self.search {
            Some(search) => search.await,
            None => std::future::pending().await,
        };
        self.search = None;
        match found {
            Ok(found) => {
                let (link, said) = found?;
                (self.link, self.said) = (Some(link), said);
            }
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
        Ok(())
    }
}

impl<L> Drop for Reach<L> {
    fn drop(&mut self) {
        if let Some(search) = &self.search {
            search.abort();
        }
    }
}

/// Tries until the database is back.
async fn search<L: Opens>(
    database: Database,
    holder: [u8; 16],
    mut said: LogDedup,
    pause: Duration,
) -> Result<(L, LogDedup), StoreFailure> {
    tokio::time::sleep(pause).await;
    loop {
        match L::open(&database, &holder).await {
            Ok(Some(link)) => return Ok((link, said)),
            Ok(None) => return Err(schema::why_lost(&database, L::MODE).await),
            Err(why) => said.report_unavailable(&why, SO),
        }
        tokio::time::sleep(RETRY).await;
    }
}
