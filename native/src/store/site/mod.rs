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
//!
//! A site can be divided ([`Lines`]): then every servent serves, each a part of
//! the files, and there is a lease with a number for every part. The database has
//! the places and slots of the queue, the ledgers of its swarms, and nothing else; what is of one machine, as
//! its downloads and the hashes of its files, is in that machine's own store.

mod database;
mod lease_loop;
mod lease_query;
mod lines;
mod link;
mod log_dedup;
mod membership_table;
mod partition_link;
mod partition_loop;
mod reach;
mod rows;
mod schema;
mod status;

use std::path::Path;

use tokio::sync::watch;

pub use self::database::{Database, DatabaseUrlError};
pub use self::lease_loop::Role;
use self::lease_loop::{AnnouncedMember, LeaseTask};
pub(crate) use self::lines::Lines;
pub use self::lines::SiteStanding;
use self::link::LeaseLink;
use self::reach::{PATIENCE, Reach};
use self::rows::Pending;
use self::schema::Mode;
pub(crate) use self::schema::Purpose;
pub use self::status::{SiteMember, SiteStatus};
use super::open::Lock;
use super::{CommitOutcome, Remembered, StoreChange};
use crate::dice;
use crate::error::StoreFailure;
use crate::sys;

/// The open store.
#[derive(Debug)]
pub(crate) struct SiteStore {
    database: Database,
    /// A number that no other process has drawn: the holder of the lease.
    holder: [u8; 16],
    reach: Reach<LeaseLink>,
    pending: Pending,
    lease: LeaseTask,
    /// The state folder is of one servent alone.
    _lock: Option<Lock>,
}

impl SiteStore {
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
        purpose: Purpose,
        serves: &str,
        role: Option<watch::Sender<Role>>,
    ) -> Result<(Self, Remembered), StoreFailure> {
        let lock = dir.map(Lock::take).transpose()?;
        let holder = draw(&database)?;
        prepare(&database, Mode::Led, purpose).await?;
        let member = AnnouncedMember { holder, name: host(), serves: serves.to_owned() };
        let mut lease = LeaseTask::wait(database.clone(), member, role).await?;
        let opened = async {
            let reach = Reach::<LeaseLink>::open(&database, holder).await?;
            let Some(link) = reach.link() else { unreachable!("it was opened just now") };
            let remembered = link.read(&database).await?;
            Ok((reach, remembered))
        };
        let (reach, remembered) = match opened.await {
            Ok(opened) => opened,
            Err(why) => {
                lease.leave().await;
                return Err(why);
            }
        };
        let pending = Pending::default();
        Ok((Self { database, holder, reach, pending, lease, _lock: lock }, remembered))
    }

    /// Lets the lease run out, as if the process were stopped.
    #[cfg(test)]
    pub(super) fn silence(&self) {
        self.lease.silence();
    }

    /// Gives the lease back, so that another servent leads at once.
    pub(crate) async fn leave(&mut self) {
        self.lease.leave().await;
    }

    /// Commits the changes, after those that could not be committed before.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn commit(
        &mut self,
        changes: &mut Vec<StoreChange>,
    ) -> Result<CommitOutcome, StoreFailure> {
        changes.drain(..).for_each(|change| self.pending.add(&change));
        let Some(link) = self.reach.link() else { return Ok(CommitOutcome::Later) };
        if self.pending.is_empty() {
            self.reach.mended();
            return Ok(CommitOutcome::Durable);
        }
        let written = tokio::time::timeout(PATIENCE, link.write(&self.holder, &self.pending)).await;
        let kept = self.reach.check_statement(written).await?;
        if kept == CommitOutcome::Durable {
            self.pending = Pending::default();
        }
        Ok(kept)
    }

    /// The database is away.
    pub(crate) const fn is_away(&self) -> bool {
        self.reach.link().is_none()
    }

    /// Waits until the database is away, or can be reached again; the next commit
    /// then saves what is pending.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn changed(&mut self) -> Result<(), StoreFailure> {
        tokio::select! {
            found = self.reach.found() => found,
            news = self.lease.news() => match news {
                Some(why) => {
                    self.reach.lose(&why);
                    Ok(())
                }
                None => Err(schema::why_lost(&self.database, Mode::Led).await),
            },
        }
    }

    /// Why it cannot be copied as a file.
    pub(super) fn no_file(&self) -> StoreFailure {
        StoreFailure::NoFile { at: self.database.to_string() }
    }

    /// It cannot be used, because of `why`.
    pub(super) fn failed(&self, why: &str) -> StoreFailure {
        self.database.unavailable(why)
    }
}

/// Makes or migrates the tables, and sets the mode of the site and what it is for.
async fn prepare(database: &Database, mode: Mode, purpose: Purpose) -> Result<(), StoreFailure> {
    let (mut client, task) = database.connect().await?;
    let prepared = schema::prepare(&mut client, database, mode, purpose).await;
    task.abort();
    prepared
}

/// Draws what no other process has drawn: the name of this process in the site.
fn draw(database: &Database) -> Result<[u8; 16], StoreFailure> {
    dice::draw().map_err(|_| database.unavailable("the system gives no random numbers"))
}

/// The name of this machine.
fn host() -> String {
    sys::machine_name().unwrap_or_else(|| "servent".into())
}
