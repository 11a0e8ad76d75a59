//! A connection for writing, and the search for another one when it is lost.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;

use super::Database;
use super::asker;
use super::schema::{self, Mode};
use crate::error::StoreFailure;
use crate::store::Kept;

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
    search: Option<JoinHandle<Result<L, StoreFailure>>>,
    /// Why nothing can be saved, as it was said last.
    trouble: Option<String>,
}

impl<L: Opens> Reach<L> {
    /// Opens the first one.
    ///
    /// # Errors
    /// The database cannot be used, or nothing in it is this servent's.
    pub(super) async fn open(database: &Database, holder: [u8; 16]) -> Result<Self, StoreFailure> {
        let Some(link) = L::open(database, &holder).await? else {
            return Err(schema::why_lost(database, L::MODE).await);
        };
        let database = database.clone();
        Ok(Self { database, holder, link: Some(link), search: None, trouble: None })
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
    pub(super) async fn judge(
        &mut self,
        written: Result<Result<bool, tokio_postgres::Error>, Elapsed>,
    ) -> Result<Kept, StoreFailure> {
        let why = match written {
            Ok(Ok(true)) => {
                self.mended();
                return Ok(Kept::Durable);
            }
            Ok(Ok(false)) => return Err(schema::why_lost(&self.database, L::MODE).await),
            Ok(Err(why)) => self.database.unusable(&why),
            Err(_) => self.database.away("it does not answer"),
        };
        self.missed(why.to_string());
        Ok(Kept::Later)
    }

    /// The database could not be asked something else, and that is why: what is
    /// written next is not sent there before it was reached again.
    pub(super) fn lose(&mut self, why: String) {
        if self.link.is_some() {
            self.missed(why);
        }
    }

    fn missed(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            tracing::warn!("{why}; what would promise something waits for it");
        }
        // One that can be reached and does not write is not asked at once again.
        let pause = if self.trouble.is_some() { RETRY } else { Duration::ZERO };
        self.link = None;
        self.trouble = Some(why.clone());
        let search = search(self.database.clone(), self.holder, why, pause);
        self.search = Some(tokio::spawn(search));
    }

    /// Everything is saved.
    pub(super) fn mended(&mut self) {
        if self.trouble.take().is_some() {
            asker::back(&self.database);
        }
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
            Ok(link) => self.link = Some(link?),
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

/// Tries until the database is back. Each new reason is said once.
async fn search<L: Opens>(
    database: Database,
    holder: [u8; 16],
    mut last: String,
    pause: Duration,
) -> Result<L, StoreFailure> {
    tokio::time::sleep(pause).await;
    loop {
        match L::open(&database, &holder).await {
            Ok(Some(link)) => return Ok(link),
            Ok(None) => return Err(schema::why_lost(&database, L::MODE).await),
            Err(why) => {
                let why = why.to_string();
                if why != last {
                    tracing::warn!("{why}; trying again");
                    last = why;
                }
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}
