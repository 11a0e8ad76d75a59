//! Durable state: `state.redb` in the state folder.
//!
//! The guarantee is that nothing a peer was told is lost when the process dies,
//! even by `kill -9`: a transaction is handed to the system, in order, before
//! the reply that promises it is sent. With [`Durability::Power`] it is on the
//! disk as well, and a power failure loses nothing either, at the price of one
//! disk flush for every turn of the node that promises something. With
//! [`Durability::Process`] the disk is flushed every few seconds and at the
//! end; a power failure may then cost the state.

mod backend;
mod open;
mod overlay;
mod rows;
mod swarm;
mod trees;
mod wishes;

use std::path::PathBuf;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use servent_core::id::{FetchId, Guid};
use servent_core::node::swarm::{Part, SwarmFile};
use servent_core::node::{HostRow, Op, PartRow};
use servent_core::queue::Row;
use servent_core::swarm as swarm_engine;
use servent_core::thex::Tree;
use servent_core::wire::pdtp::Hash;

pub(crate) use self::backend::Flusher;
use self::rows::{FETCHES, FILES, HOSTS, META, PARTS, QUEUE, SWARM_TARGETS, decode, encode};
pub(crate) use self::rows::{FileRow, PartName};
use crate::error::StoreFailure;

/// What kind of crash a promise survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
pub(crate) enum Change {
    /// A change of the node's state.
    Node(Op),
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
    pub(crate) ledger: Vec<swarm_engine::Row>,
    pub(crate) targets: Vec<(SwarmFile, PathBuf)>,
    pub(crate) parts: Vec<Part>,
    /// By file and piece, in order.
    pub(crate) pieces: Vec<((SwarmFile, u32), Hash)>,
}

/// Everything the store remembers.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) servent: Option<Guid>,
    pub(crate) queue: Vec<Row>,
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

/// The open store. Only one servent at a time can have it.
#[derive(Debug)]
pub(crate) struct Store {
    db: Database,
    path: PathBuf,
    flusher: Arc<Flusher>,
    durability: Durability,
    _lock: open::Lock,
}

impl Store {
    /// Applies all changes or none. When it returns they survive what the
    /// [`Durability`] says.
    pub(crate) fn commit(&self, changes: &[Change]) -> Result<(), StoreFailure> {
        self.try_commit(changes).map_err(|why| self.failed(&why))
    }

    /// What kind of crash a commit survives.
    pub(crate) const fn durability(&self) -> Durability {
        self.durability
    }

    fn failed(&self, why: &redb::Error) -> StoreFailure {
        StoreFailure::Write { path: self.path.clone(), why: why.to_string() }
    }

    fn try_commit(&self, changes: &[Change]) -> Result<(), redb::Error> {
        let txn = self.db.begin_write()?;
        for change in changes {
            apply(&txn, change)?;
        }
        txn.commit()?;
        Ok(())
    }

    /// Flushes from another thread, because it may take long. Does not keep the
    /// store open.
    pub(crate) fn flusher(&self) -> Arc<Flusher> {
        Arc::clone(&self.flusher)
    }

    /// A system error with the file's path.
    pub(crate) fn io_error(&self, why: std::io::Error) -> StoreFailure {
        StoreFailure::Io { path: self.path.clone(), why }
    }
}

/// Reads everything; the error says what is wrong.
fn read(db: &Database) -> Result<Remembered, String> {
    let txn = db.begin_read().map_err(text)?;
    let mut all = Remembered::default();
    if let Some(id) = txn.open_table(META).map_err(text)?.get("servent").map_err(text)? {
        all.servent = Some(decode(id.value())?);
    }
    for row in txn.open_table(QUEUE).map_err(text)?.iter().map_err(text)? {
        all.queue.push(decode(row.map_err(text)?.1.value())?);
    }
    all.queue.sort_by_key(|row: &Row| row.arrival);
    for row in txn.open_table(FETCHES).map_err(text)?.iter().map_err(text)? {
        all.fetches.push(decode(row.map_err(text)?.1.value())?);
    }
    for row in txn.open_table(PARTS).map_err(text)?.iter().map_err(text)? {
        let (id, name) = row.map_err(text)?;
        all.parts.push((FetchId(id.value()), decode(name.value())?));
    }
    for row in txn.open_table(FILES).map_err(text)?.iter().map_err(text)? {
        let (path, file) = row.map_err(text)?;
        all.files.push((rows::path_of(path.value()), decode(file.value())?));
    }
    trees::read_files(&txn, &mut all.files)?;
    all.trees = trees::read_fetches(&txn)?;
    match txn.open_table(HOSTS) {
        // A state from before there was an overlay.
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table.map_err(text)?.iter().map_err(text)? {
                all.hosts.push(decode(row.map_err(text)?.1.value())?);
            }
        }
    }
    (all.added, all.paused) = wishes::read(&txn)?;
    all.swarm = swarm::read(&txn)?;
    Ok(all)
}

fn text(why: impl Into<redb::Error>) -> String {
    why.into().to_string()
}

fn apply(txn: &WriteTransaction, change: &Change) -> Result<(), redb::Error> {
    match change {
        Change::Node(Op::Servent(id)) => {
            txn.open_table(META)?.insert("servent", encode(id).as_slice())?;
        }
        Change::Node(Op::Queue(row)) => {
            txn.open_table(QUEUE)?.insert(row.ticket.0, encode(row).as_slice())?;
        }
        Change::Node(Op::QueueGone(ticket)) => {
            txn.open_table(QUEUE)?.remove(ticket.0)?;
        }
        Change::Node(Op::Fetch(row)) => {
            txn.open_table(FETCHES)?.insert(row.fetch.0, encode(&**row).as_slice())?;
        }
        Change::Node(Op::FetchGone(fetch)) => {
            txn.open_table(FETCHES)?.remove(fetch.0)?;
            trees::keep_fetch(txn, *fetch, None)?;
            wishes::pause(txn, *fetch, false)?;
        }
        Change::Node(Op::Paused(fetch, paused)) => wishes::pause(txn, *fetch, *paused)?,
        Change::Share(path) => wishes::share(txn, path, true)?,
        Change::ShareGone(path) => wishes::share(txn, path, false)?,
        Change::Node(Op::Tree(fetch, tree)) => trees::keep_fetch(txn, *fetch, tree.as_deref())?,
        Change::Node(Op::Host(row)) => {
            txn.open_table(HOSTS)?.insert(encode(&row.at).as_slice(), encode(row).as_slice())?;
        }
        Change::Node(Op::HostGone(at)) => {
            txn.open_table(HOSTS)?.remove(encode(at).as_slice())?;
        }
        Change::Node(Op::Swarm(op)) => swarm::apply(txn, op)?,
        Change::SwarmTarget(file, path) => {
            txn.open_table(SWARM_TARGETS)?.insert(file.0, rows::key_of(path))?;
        }
        Change::File(path, row) => {
            txn.open_table(FILES)?.insert(rows::key_of(path), encode(row).as_slice())?;
            if let Some(tree) = &row.tree {
                trees::keep_file(txn, path, row.mtime, tree)?;
            }
        }
        Change::FileGone(path) => {
            txn.open_table(FILES)?.remove(rows::key_of(path))?;
            trees::forget_file(txn, path)?;
        }
        Change::Part(fetch, name) => {
            txn.open_table(PARTS)?.insert(fetch.0, encode(name).as_slice())?;
        }
        Change::PartGone(fetch) => {
            txn.open_table(PARTS)?.remove(fetch.0)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
