//! The store of one machine: a file under redb.

use std::path::PathBuf;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, WriteTransaction};
use servent_core::id::FetchId;
use servent_core::node::NodeOp;
use servent_core::queue::StoredEntry;

use super::damage::{RowError, unread};
use super::rows::{FETCHES, FILES, HOSTS, META, PARTS, QUEUE, SWARM_TARGETS, decode, encode};
use super::{Durability, Flusher, Remembered, StoreChange, open, rows, swarm, trees, wishes};
use crate::error::StoreFailure;

/// The open store in a file. Only one servent at a time can have it.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(super) db: Database,
    pub(super) path: PathBuf,
    pub(super) flusher: Arc<Flusher>,
    pub(super) durability: Durability,
    pub(super) _lock: open::Lock,
}

impl Embedded {
    /// Applies all changes or none. When it returns they survive what the
    /// [`Durability`] says.
    pub(crate) fn commit(&self, changes: &[StoreChange]) -> Result<(), StoreFailure> {
        self.try_commit(changes).map_err(|why| self.failed(&why))
    }

    /// What kind of crash a commit survives.
    pub(crate) const fn durability(&self) -> Durability {
        self.durability
    }

    fn failed(&self, why: &redb::Error) -> StoreFailure {
        StoreFailure::Write { path: self.path.clone(), why: why.to_string() }
    }

    fn try_commit(&self, changes: &[StoreChange]) -> Result<(), redb::Error> {
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

/// Reads everything.
///
/// # Errors
/// A row is damaged, or the file does not give it.
pub(super) fn read(db: &Database) -> Result<Remembered, RowError> {
    let txn = db.begin_read().map_err(unread)?;
    let mut all = Remembered::default();
    if let Some(id) = txn.open_table(META).map_err(unread)?.get("servent").map_err(unread)? {
        all.servent = Some(decode(id.value())?);
    }
    for row in txn.open_table(QUEUE).map_err(unread)?.iter().map_err(unread)? {
        all.queue.push(decode(row.map_err(unread)?.1.value())?);
    }
    all.queue.sort_by_key(|row: &StoredEntry| row.arrival);
    for row in txn.open_table(FETCHES).map_err(unread)?.iter().map_err(unread)? {
        all.fetches.push(rows::decode_fetch(row.map_err(unread)?.1.value())?);
    }
    for row in txn.open_table(PARTS).map_err(unread)?.iter().map_err(unread)? {
        let (id, name) = row.map_err(unread)?;
        all.parts.push((FetchId(id.value()), decode(name.value())?));
    }
    for row in txn.open_table(FILES).map_err(unread)?.iter().map_err(unread)? {
        let (path, file) = row.map_err(unread)?;
        all.files.push((rows::path_of(path.value()), rows::decode_file(file.value())?));
    }
    trees::read_files(&txn, &mut all.files)?;
    all.trees = trees::read_fetches(&txn)?;
    match txn.open_table(HOSTS) {
        // A state from before there was an overlay.
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table.map_err(unread)?.iter().map_err(unread)? {
                all.hosts.push(decode(row.map_err(unread)?.1.value())?);
            }
        }
    }
    (all.added, all.paused) = wishes::read(&txn)?;
    all.swarm = swarm::read(&txn)?;
    Ok(all)
}

fn apply(txn: &WriteTransaction, change: &StoreChange) -> Result<(), redb::Error> {
    match change {
        StoreChange::Node(NodeOp::Servent(id)) => {
            txn.open_table(META)?.insert("servent", encode(id).as_slice())?;
        }
        StoreChange::Node(NodeOp::Queue(row)) => {
            txn.open_table(QUEUE)?.insert(row.ticket.0, encode(row).as_slice())?;
        }
        StoreChange::Node(NodeOp::QueueGone(ticket)) => {
            txn.open_table(QUEUE)?.remove(ticket.0)?;
        }
        StoreChange::Node(NodeOp::Fetch(row)) => {
            txn.open_table(FETCHES)?.insert(row.fetch.0, encode(&**row).as_slice())?;
        }
        StoreChange::Node(NodeOp::FetchGone(fetch)) => {
            txn.open_table(FETCHES)?.remove(fetch.0)?;
            trees::keep_fetch(txn, *fetch, None)?;
            wishes::pause(txn, *fetch, false)?;
        }
        StoreChange::Node(NodeOp::Paused(fetch, paused)) => wishes::pause(txn, *fetch, *paused)?,
        StoreChange::Share(path) => wishes::share(txn, path, true)?,
        StoreChange::ShareGone(path) => wishes::share(txn, path, false)?,
        StoreChange::Node(NodeOp::Tree(fetch, tree)) => {
            trees::keep_fetch(txn, *fetch, tree.as_deref())?
        }
        StoreChange::Node(NodeOp::Host(row)) => {
            txn.open_table(HOSTS)?.insert(encode(&row.at).as_slice(), encode(row).as_slice())?;
        }
        StoreChange::Node(NodeOp::HostGone(at)) => {
            txn.open_table(HOSTS)?.remove(encode(at).as_slice())?;
        }
        StoreChange::Node(NodeOp::Swarm(op)) => swarm::apply(txn, op)?,
        StoreChange::SwarmTarget(file, path) => {
            txn.open_table(SWARM_TARGETS)?.insert(file.0, rows::key_of(path))?;
        }
        StoreChange::File(path, row) => {
            txn.open_table(FILES)?.insert(rows::key_of(path), encode(row).as_slice())?;
            if let Some(tree) = &row.tree {
                trees::keep_file(txn, path, row.mtime, tree)?;
            }
        }
        StoreChange::FileGone(path) => {
            txn.open_table(FILES)?.remove(rows::key_of(path))?;
            trees::forget_file(txn, path)?;
        }
        StoreChange::Part(fetch, name) => {
            txn.open_table(PARTS)?.insert(fetch.0, encode(name).as_slice())?;
        }
        StoreChange::PartGone(fetch) => {
            txn.open_table(PARTS)?.remove(fetch.0)?;
        }
    }
    Ok(())
}
