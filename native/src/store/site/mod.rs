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
mod keeper;
mod link;
mod rows;
mod schema;
mod status;

use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::database::{Database, DatabaseUrlError};
pub use self::keeper::Role;
use self::keeper::{Keeper, Member};
use self::link::Link;
use self::rows::Pending;
pub use self::status::{SiteMember, SiteStatus};
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
    /// Why nothing can be saved, as it was said last.
    trouble: Option<String>,
    keeper: Keeper,
    /// The state folder is of one servent alone.
    _lock: Option<Lock>,
}

impl Site {
    /// Opens the store of a servent whose own state folder is `dir`, making its
    /// tables where there are none. Waits until this servent leads the site,
    /// which may be never; then reads everything in it. `serves` is where the
    /// others see that it listens.
    ///
    /// # Errors
    /// The database cannot be used, or what is in it is not ours.
    pub(crate) async fn open(
        database: Database,
        dir: Option<&Path>,
        serves: &str,
        role: Option<watch::Sender<Role>>,
    ) -> Result<(Self, Remembered), StoreFailure> {
        let lock = dir.map(Lock::take).transpose()?;
        let mut holder = [0; 16];
        let drawn = rustix::rand::getrandom(&mut holder, rustix::rand::GetRandomFlags::empty());
        if drawn != Ok(holder.len()) {
            return Err(database.away("the system gives no random numbers"));
        }
        let (mut client, task) = database.connect().await?;
        let prepared = schema::prepare(&mut client, &database).await;
        task.abort();
        prepared?;
        let member = Member { holder, name: host(), serves: serves.to_owned() };
        let mut keeper = Keeper::wait(database.clone(), member, role).await?;
        let opened = async {
            let Some(link) = Link::open(&database, &holder).await? else {
                return Err(schema::why_lost(&database).await);
            };
            let remembered = link.read(&database).await?;
            Ok((link, remembered))
        };
        let (link, remembered) = match opened.await {
            Ok(opened) => opened,
            Err(why) => {
                keeper.leave().await;
                return Err(why);
            }
        };
        let (link, pending) = (Some(link), Pending::default());
        let (search, trouble) = (None, None);
        let site = Self { database, holder, link, pending, search, trouble, keeper, _lock: lock };
        Ok((site, remembered))
    }

    /// Lets the lease run out, as if the process were stopped.
    #[cfg(test)]
    pub(super) fn silence(&self) {
        self.keeper.silence();
    }

    /// Gives the lease back, so that another servent leads at once.
    pub(crate) async fn leave(&mut self) {
        self.keeper.leave().await;
    }

    /// Commits the changes, after those that could not be committed before.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn commit(&mut self, changes: &mut Vec<Change>) -> Result<Kept, StoreFailure> {
        changes.drain(..).for_each(|change| self.pending.add(&change));
        let Some(link) = &self.link else { return Ok(Kept::Later) };
        if self.pending.is_empty() {
            self.mended();
            return Ok(Kept::Durable);
        }
        let written = tokio::time::timeout(PATIENCE, link.write(&self.holder, &self.pending)).await;
        let why = match written {
            Ok(Ok(true)) => {
                self.pending = Pending::default();
                self.mended();
                return Ok(Kept::Durable);
            }
            Ok(Ok(false)) => return Err(schema::why_lost(&self.database).await),
            Ok(Err(why)) => self.database.unusable(&why),
            Err(_) => self.database.away("it does not answer"),
        };
        let why = why.to_string();
        if self.trouble.as_ref() != Some(&why) {
            tracing::warn!("{why}; what would promise something waits until it is back");
        }
        // One that can be reached and does not write is not asked at once again.
        let pause = if self.trouble.is_some() { RETRY } else { Duration::ZERO };
        self.link = None;
        self.trouble = Some(why.clone());
        self.search = Some(tokio::spawn(search(self.database.clone(), self.holder, why, pause)));
        Ok(Kept::Later)
    }

    /// Everything is saved.
    fn mended(&mut self) {
        if self.trouble.take().is_some() {
            tracing::info!("the database {} is back", self.database);
        }
    }

    /// Waits until a database that was away can be reached again; the next
    /// commit then saves what is pending. While it is not away it returns only
    /// when this servent is replaced.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn returned(&mut self) -> Result<(), StoreFailure> {
        let Self { search, keeper, .. } = self;
        let search = async {
            match search {
                Some(search) => search.await,
                None => std::future::pending().await,
            }
        };
        let found = tokio::select! {
            found = search => found,
            () = keeper.lost() => return Err(schema::why_lost(&self.database).await),
        };
        self.search = None;
        match found {
            Ok(link) => self.link = Some(link?),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
        Ok(())
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

/// The name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "servent".into() } else { name.trim().to_owned() }
}

/// Tries until the database is back. Each new reason is said once.
async fn search(
    database: Database,
    holder: [u8; 16],
    mut last: String,
    pause: Duration,
) -> Result<Link, StoreFailure> {
    tokio::time::sleep(pause).await;
    loop {
        match Link::open(&database, &holder).await {
            Ok(Some(link)) => return Ok(link),
            Ok(None) => return Err(schema::why_lost(&database).await),
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
