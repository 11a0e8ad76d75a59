//! The store of a site: a PostgreSQL database that its servents share.
//!
//! The guarantee is that of the embedded store: what a reply says is committed
//! before it leaves, to whatever the database calls committed
//! (`synchronous_commit`). A turn is one statement, so it takes one round trip.
//!
//! Every statement names the holder of the lease and its fencing number and
//! writes nothing when they are not those in the database: a servent that was
//! only slow cannot overwrite what the one that replaced it has written. Each
//! connection takes a new number, so a statement that is still under way on a
//! lost one writes nothing either.

mod database;
mod link;
mod rows;
mod schema;

use std::path::Path;
use std::time::Duration;

use tokio::task::JoinHandle;

pub use self::database::Database;
use self::link::Link;
use self::rows::Pending;
use super::open::Lock;
use super::{Change, Kept, Remembered};
use crate::error::StoreFailure;

/// How long a turn waits for the database before it goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a database that is away is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// The open store.
#[derive(Debug)]
pub(crate) struct Site {
    database: Database,
    /// Draws nobody else has drawn: who holds the lease.
    holder: [u8; 16],
    /// `None` while the database is away.
    link: Option<Link>,
    pending: Pending,
    /// Tries to reach a database that is away.
    search: Option<JoinHandle<Result<Link, StoreFailure>>>,
    /// The state folder is of one servent alone.
    _lock: Option<Lock>,
}

impl Site {
    /// Opens the store of a servent whose own state folder is `dir`, making its tables where there are none, takes its lease
    /// and reads everything in it.
    ///
    /// # Errors
    /// The database cannot be used, or what is in it is not ours.
    pub(crate) async fn open(
        database: Database,
        dir: Option<&Path>,
    ) -> Result<(Self, Remembered), StoreFailure> {
        let lock = dir.map(Lock::take).transpose()?;
        let mut holder = [0; 16];
        let drawn = rustix::rand::getrandom(&mut holder, rustix::rand::GetRandomFlags::empty());
        if drawn != Ok(holder.len()) {
            return Err(database.away("the system gives no random numbers"));
        }
        let link = Link::first(&database, &holder).await?;
        let remembered = link.read(&database).await?;
        let link = Some(link);
        let pending = Pending::default();
        let site = Self { database, holder, link, pending, search: None, _lock: lock };
        Ok((site, remembered))
    }

    /// Commits the changes, after those that could not be committed before.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn commit(&mut self, changes: &mut Vec<Change>) -> Result<Kept, StoreFailure> {
        changes.drain(..).for_each(|change| self.pending.add(&change));
        if self.pending.is_empty() && self.link.is_some() {
            return Ok(Kept::Durable);
        }
        let Some(link) = &self.link else { return Ok(Kept::Later) };
        let written = tokio::time::timeout(PATIENCE, link.write(&self.holder, &self.pending)).await;
        let why = match written {
            Ok(Ok(true)) => {
                self.pending = Pending::default();
                return Ok(Kept::Durable);
            }
            Ok(Ok(false)) => return Err(self.replaced()),
            Ok(Err(why)) => self.database.unusable(&why),
            Err(_) => self.database.away("it does not answer"),
        };
        tracing::warn!("{why}; what would promise something waits until it is back");
        self.link = None;
        self.search = Some(tokio::spawn(search(self.database.clone(), self.holder, why)));
        Ok(Kept::Later)
    }

    /// Waits until a database that was away can be reached again; the next
    /// commit then saves what is pending. Never returns while it is not away.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn returned(&mut self) -> Result<(), StoreFailure> {
        let Some(search) = &mut self.search else { return std::future::pending().await };
        let found = search.await;
        self.search = None;
        match found {
            Ok(link) => self.link = Some(link?),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
        tracing::info!("the database {} is back", self.database);
        Ok(())
    }

    /// What a servent hears that is not the one that leads.
    fn replaced(&self) -> StoreFailure {
        StoreFailure::Replaced { at: self.database.to_string() }
    }

    /// Why it cannot be copied as a file.
    pub(super) fn no_file(&self) -> StoreFailure {
        StoreFailure::NoFile { at: self.database.to_string() }
    }

    /// It cannot be used, because of `why`.
    pub(super) fn failed(&self, why: &str) -> StoreFailure {
        self.database.away(why)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(search) = &self.search {
            search.abort();
        }
    }
}

/// Tries until the database is back. Each new reason is said once.
async fn search(
    database: Database,
    holder: [u8; 16],
    why: StoreFailure,
) -> Result<Link, StoreFailure> {
    let mut last = why.to_string();
    loop {
        match Link::again(&database, &holder).await {
            Ok(Some(link)) => return Ok(link),
            Ok(None) => return Err(StoreFailure::Replaced { at: database.to_string() }),
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
