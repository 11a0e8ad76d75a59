//! Durable state: `state.redb` in the state folder, or a database that the
//! servents of a site share ([`site`]), or both: of a divided site the lines are
//! in the database, and what is of one machine stays there.
//!
//! The guarantee is that nothing a peer was told is lost when the process dies,
//! even by `kill -9`: a transaction is handed to the system, in order, before
//! the reply that promises it is sent. With [`Durability::Power`] it is on the
//! disk as well, and a power failure loses nothing either, at the price of one
//! disk flush for every turn of the node that promises something. With
//! [`Durability::Process`] the disk is flushed every few seconds and at the
//! end; a power failure may then cost the state.

mod backend;
mod damage;
mod embedded;
mod open;
mod overlay;
mod rows;
mod site;
mod swarm;
mod trees;
mod wishes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use servent_core::id::{FetchId, Guid};
use servent_core::node::swarm::{PartialFile, SwarmFile};
use servent_core::node::{HostRow, Input, NodeOp, PartRow};
use servent_core::queue::StoredEntry;
use servent_core::swarm as swarm_engine;
use servent_core::thex::Tree;
use servent_core::wire::pdtp::Hash;
use tokio::runtime::{Handle as Runtime, RuntimeFlavor};

pub(crate) use self::backend::Flusher;
pub(crate) use self::embedded::Embedded;
pub use self::open::process_of_state;
pub(crate) use self::rows::{FileIdentity, FileRow, PartName};
pub use self::site::{Database, DatabaseUrlError, Role, SiteMember, SiteStanding, SiteStatus};
pub(crate) use self::site::{Lines, Purpose, SiteStore};
use crate::error::StoreFailure;

/// What kind of crash a promise survives.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A crash of the process.
    #[default]
    Process,
    /// A crash or power failure of the machine too.
    Power,
}

/// What to do with an unreadable state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DamagedState {
    /// Leave it in place and do not start.
    #[default]
    Refuse,
    /// Rename it to `state.redb.damaged-N` and start with an empty one.
    PutAside,
}

/// A change of durable state.
#[derive(Debug, Clone)]
pub(crate) enum StoreChange {
    /// A change of the node's state.
    Node(NodeOp),
    /// What is known about a shared file.
    File(PathBuf, FileRow),
    /// A shared file is no longer remembered.
    FileGone(PathBuf),
    /// Which file a download is written to.
    Part(FetchId, PartName),
    /// That file has been renamed to its final name, or removed.
    PartGone(FetchId),
    /// A folder or file that the user has added to the shares.
    Share(PathBuf),
    /// One that the user has removed.
    ShareGone(PathBuf),
    /// The final path of a file downloaded in a swarm.
    SwarmTarget(SwarmFile, PathBuf),
}

/// What is remembered about swarms.
#[derive(Debug, Default)]
pub(crate) struct SwarmRows {
    pub(crate) ledger: Vec<swarm_engine::LedgerRow>,
    pub(crate) targets: Vec<(SwarmFile, PathBuf)>,
    pub(crate) parts: Vec<PartialFile>,
    /// By file and piece, in order.
    pub(crate) pieces: Vec<((SwarmFile, u32), Hash)>,
}

/// Everything the store remembers.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) servent: Option<Guid>,
    pub(crate) queue: Vec<StoredEntry>,
    pub(crate) fetches: Vec<PartRow>,
    pub(crate) trees: Vec<(FetchId, Arc<Tree>)>,
    pub(crate) paused: Vec<FetchId>,
    pub(crate) parts: Vec<(FetchId, PartName)>,
    /// The folders and files the user has added to the shares.
    pub(crate) added: Vec<PathBuf>,
    pub(crate) files: Vec<(PathBuf, FileRow)>,
    pub(crate) hosts: Vec<HostRow>,
    pub(crate) swarm: SwarmRows,
}

/// The open store: a file of this machine, or a database that a site shares.
/// Only one servent at a time can have it, unless the site is divided: then the
/// database has the lines, and each servent those of its parts, and the file the
/// rest.
#[derive(Debug)]
pub(crate) enum Store {
    Embedded(Box<Embedded>),
    Site(Box<SiteStore>),
    Divided(Option<Box<Embedded>>, Box<Lines>),
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    /// It survives what the store promises.
    Durable,
    /// The database is away. The changes are remembered and will be committed,
    /// in order, when it is back; nothing that depends on them may be said
    /// before [`Store::news`].
    Later,
}

impl Store {
    /// Applies all changes or none, and takes them out of the list.
    ///
    /// # Errors
    /// Nothing can be saved any more.
    pub(crate) async fn commit(
        &mut self,
        changes: &mut Vec<StoreChange>,
    ) -> Result<CommitOutcome, StoreFailure> {
        match self {
            Self::Embedded(store) => {
                commit_here(store, changes)?;
                changes.clear();
                Ok(CommitOutcome::Durable)
            }
            Self::Site(store) => store.commit(changes).await,
            Self::Divided(own, lines) => {
                let of_lines = |change| match change {
                    StoreChange::Node(op) => lines.add(op).map(StoreChange::Node),
                    other => Some(other),
                };
                let ours: Vec<StoreChange> = changes.drain(..).filter_map(of_lines).collect();
                if let Some(own) = own.as_ref().filter(|_| !ours.is_empty()) {
                    commit_here(own, &ours)?;
                }
                lines.commit().await
            }
        }
    }

    /// True for a change that waits for a database that is away, and everything
    /// that it promises with it. What is in a file of this machine is saved all
    /// the same, and what a coordinator notes promises nothing to its clients:
    /// they are told which piece to take next.
    pub(crate) const fn waits_for(&self, change: &StoreChange) -> bool {
        use servent_core::node::swarm::SwarmOp as Swarm;
        match self {
            Self::Embedded(_) => false,
            Self::Site(_) => !matches!(
                change,
                StoreChange::Node(NodeOp::Swarm(Swarm::Ledger(_) | Swarm::LedgerGone(_)))
            ),
            Self::Divided(..) => {
                matches!(change, StoreChange::Node(NodeOp::Queue(_) | NodeOp::QueueGone(_)))
            }
        }
    }

    /// True when what a user wants is remembered in a file of this machine,
    /// whatever becomes of a database.
    pub(crate) const fn has_own(&self) -> bool {
        !matches!(self, Self::Site(_))
    }

    /// A database is away: what waits for it cannot be saved now.
    pub(crate) const fn is_away(&self) -> bool {
        match self {
            Self::Embedded(_) => false,
            Self::Site(store) => store.is_away(),
            Self::Divided(_, lines) => lines.is_away(),
        }
    }

    /// Waits until a database is away or can be reached again (`None`), after
    /// which the next commit tells whether all is saved, or for what the node of a
    /// member is to know of a divided site.
    ///
    /// # Errors
    /// Another servent has replaced this one.
    pub(crate) async fn news(&mut self) -> Result<Option<Input>, StoreFailure> {
        match self {
            Self::Embedded(_) => std::future::pending().await,
            Self::Site(store) => store.changed().await.map(|()| None),
            Self::Divided(_, lines) => lines.news().await,
        }
    }

    /// The lines of a divided site.
    pub(crate) fn lines(&mut self) -> Option<&mut Lines> {
        match self {
            Self::Divided(_, lines) => Some(lines),
            Self::Embedded(_) | Self::Site(_) => None,
        }
    }

    /// The last commit is done: lets another servent of the site lead.
    pub(crate) async fn leave(&mut self) {
        match self {
            Self::Embedded(_) => {}
            Self::Site(store) => store.leave().await,
            Self::Divided(_, lines) => lines.leave().await,
        }
    }

    /// Flushes from another thread, because it may take long. Does not keep the
    /// store open. `None`: nothing here has to be flushed.
    pub(crate) fn flusher(&self) -> Option<Arc<Flusher>> {
        match self {
            Self::Embedded(store) => Some(store.flusher()),
            Self::Site(_) => None,
            Self::Divided(own, _) => own.as_ref().map(|own| own.flusher()),
        }
    }

    /// Copies an embedded store to a file that must not exist yet, between two
    /// commits.
    ///
    /// # Errors
    /// The copy cannot be written, or the store is no file.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<(), StoreFailure> {
        match self {
            Self::Embedded(store) => store.copy_to(to),
            Self::Site(store) => Err(store.no_file()),
            Self::Divided(_, lines) => Err(lines.no_file()),
        }
    }

    /// A system error with the file's path.
    pub(crate) fn io_error(&self, why: std::io::Error) -> StoreFailure {
        match self {
            Self::Embedded(store) => store.io_error(why),
            Self::Site(store) => store.failed(&why.to_string()),
            Self::Divided(Some(own), _) => own.io_error(why),
            Self::Divided(None, lines) => lines.failed(&why.to_string()),
        }
    }
}

/// Commits to the file of this machine. With the stronger durability it waits for
/// the disk, and the runtime is told so; what arrives meanwhile shares the next
/// transaction.
fn commit_here(store: &Embedded, changes: &[StoreChange]) -> Result<(), StoreFailure> {
    let waits = store.durability() == Durability::Power;
    if waits && Runtime::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        return tokio::task::block_in_place(|| store.commit(changes));
    }
    store.commit(changes)
}

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod divided_tests;
#[cfg(test)]
mod site_tests;
#[cfg(test)]
mod tests;
