//! The rows of a site's database: what a change does to them, and what they
//! remember. All of them are in one table, by kind and key; keys sort as the
//! tables of the embedded store do, and values are encoded alike.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use servent_core::id::{FetchId, FileKey};
use servent_core::node::NodeOp;
use servent_core::node::swarm::{self, PartialFile, SwarmFile};
use servent_core::queue::StoredEntry;
use servent_core::thex::Tree;
use servent_core::wire::pdtp::Hash;

use crate::store::damage::RowError;
use crate::store::rows::{decode, decode_fetch, decode_file, encode, key_of, path_of};
use crate::store::{Remembered, StoreChange};

/// What a row is about. The numbers are in the database: never used again for
/// anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i16)]
pub(super) enum RowKind {
    Servent = 0,
    Queue = 1,
    Fetch = 2,
    PartName = 3,
    File = 4,
    FileTree = 5,
    FetchTree = 6,
    Host = 7,
    Share = 8,
    Paused = 9,
    Ledger = 10,
    SwarmPart = 11,
    SwarmPiece = 12,
    SwarmTarget = 13,
    /// Of a divided site: the ledger of one swarm.
    Account = 14,
}

/// What a row is about, and which one it is.
pub(super) type Key = (RowKind, Vec<u8>);

/// Changes that are not committed yet, the last one of each row.
#[derive(Debug, Default, Clone)]
pub(super) struct Pending {
    /// The new value, or `None` when the row is gone.
    pub(super) rows: BTreeMap<Key, Option<Vec<u8>>>,
    /// Files of swarms of which no row of a piece stays, but for those above.
    pub(super) pieceless: Vec<SwarmFile>,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.pieceless.is_empty()
    }

    /// Adds a change to those before it.
    pub(super) fn add(&mut self, change: &StoreChange) {
        match change {
            StoreChange::Node(op) => self.node(op),
            StoreChange::Share(path) => self.put(RowKind::Share, key_of(path), Vec::new()),
            StoreChange::ShareGone(path) => self.gone(RowKind::Share, key_of(path)),
            StoreChange::SwarmTarget(file, path) => {
                self.put(RowKind::SwarmTarget, number(file.0), key_of(path).to_vec());
            }
            StoreChange::File(path, row) => {
                self.put(RowKind::File, key_of(path), encode(row));
                if let Some(tree) = &row.tree {
                    self.put(RowKind::FileTree, key_of(path), encode(&(row.mtime, tree)));
                }
            }
            StoreChange::FileGone(path) => {
                self.gone(RowKind::File, key_of(path));
                self.gone(RowKind::FileTree, key_of(path));
            }
            StoreChange::Part(fetch, name) => {
                self.put(RowKind::PartName, number(fetch.0), encode(name))
            }
            StoreChange::PartGone(fetch) => self.gone(RowKind::PartName, number(fetch.0)),
        }
    }

    fn node(&mut self, op: &NodeOp) {
        match op {
            NodeOp::Servent(id) => self.put(RowKind::Servent, [], encode(id)),
            NodeOp::Queue(row) => self.put(RowKind::Queue, row.ticket.0, encode(row)),
            NodeOp::QueueGone(ticket) => self.gone(RowKind::Queue, ticket.0),
            NodeOp::Fetch(row) => self.put(RowKind::Fetch, number(row.fetch.0), encode(&**row)),
            NodeOp::FetchGone(fetch) => {
                for kind in [RowKind::Fetch, RowKind::FetchTree, RowKind::Paused] {
                    self.gone(kind, number(fetch.0));
                }
            }
            NodeOp::Tree(fetch, Some(tree)) => {
                self.put(RowKind::FetchTree, number(fetch.0), encode(&**tree));
            }
            NodeOp::Tree(fetch, None) => self.gone(RowKind::FetchTree, number(fetch.0)),
            NodeOp::Paused(fetch, true) => self.put(RowKind::Paused, number(fetch.0), Vec::new()),
            NodeOp::Paused(fetch, false) => self.gone(RowKind::Paused, number(fetch.0)),
            NodeOp::Host(row) => self.put(RowKind::Host, encode(&row.at), encode(row)),
            NodeOp::HostGone(at) => self.gone(RowKind::Host, encode(at)),
            NodeOp::Swarm(op) => self.swarm(op),
        }
    }

    fn swarm(&mut self, op: &swarm::SwarmOp) {
        match op {
            swarm::SwarmOp::Ledger(row) => {
                self.put(RowKind::Ledger, row.owner.to_string(), encode(row));
            }
            swarm::SwarmOp::LedgerGone(owner) => self.gone(RowKind::Ledger, owner.to_string()),
            swarm::SwarmOp::Part { file, url, size, chunk } => {
                self.forget_pieces(*file);
                let (url, have) = (url.clone(), Vec::new());
                let part = PartialFile { file: *file, url, size: *size, chunk: *chunk, have };
                self.put(RowKind::SwarmPart, number(file.0), encode(&part));
            }
            swarm::SwarmOp::Piece { file, piece, sha256 } => {
                self.put(RowKind::SwarmPiece, piece_key(*file, *piece), sha256.0.to_vec());
            }
            swarm::SwarmOp::PartGone(file) => {
                self.forget_pieces(*file);
                self.gone(RowKind::SwarmPart, number(file.0));
                self.gone(RowKind::SwarmTarget, number(file.0));
            }
            // Only members of a divided site say so, and they write by parts.
            swarm::SwarmOp::Account(_) | swarm::SwarmOp::AccountGone { .. } => {}
        }
    }

    fn put(&mut self, kind: RowKind, key: impl AsRef<[u8]>, value: Vec<u8>) {
        self.rows.insert((kind, key.as_ref().to_vec()), Some(value));
    }

    fn gone(&mut self, kind: RowKind, key: impl AsRef<[u8]>) {
        self.rows.insert((kind, key.as_ref().to_vec()), None);
    }

    fn forget_pieces(&mut self, file: SwarmFile) {
        let of_file =
            |(kind, key): &Key| *kind == RowKind::SwarmPiece && key.starts_with(&number(file.0));
        self.rows.retain(|key, _| !of_file(key));
        if !self.pieceless.contains(&file) {
            self.pieceless.push(file);
        }
    }
}

/// The keys of all pieces of a file lie between these two, both included.
pub(super) fn pieces_of(file: SwarmFile) -> ([u8; 8], [u8; 8]) {
    (piece_key(file, 0), piece_key(file, u32::MAX))
}

/// The key of what an address has given and taken in a swarm.
pub(super) fn account_key(swarm: FileKey, owner: IpAddr) -> Vec<u8> {
    let mut key = swarm.0.to_be_bytes().to_vec();
    key.extend_from_slice(owner.to_string().as_bytes());
    key
}

fn number(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn piece_key(file: SwarmFile, piece: u32) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&number(file.0));
    key[4..].copy_from_slice(&number(piece));
    key
}

fn numbered(key: &[u8]) -> Result<u32, RowError> {
    let key = key.try_into().map_err(|_| RowError::Key)?;
    Ok(u32::from_be_bytes(key))
}

/// Collects what the rows remember. They come ordered by kind and key.
#[derive(Debug, Default)]
pub(super) struct RowCollector {
    all: Remembered,
    trees: BTreeMap<PathBuf, (i64, Arc<Tree>)>,
}

impl RowCollector {
    /// Takes one row.
    ///
    /// # Errors
    /// It is damaged, or a newer program's.
    pub(super) fn take(&mut self, kind: i16, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let all = &mut self.all;
        match kind {
            _ if kind == RowKind::Servent as i16 => all.servent = Some(decode(value)?),
            _ if kind == RowKind::Queue as i16 => all.queue.push(decode::<StoredEntry>(value)?),
            _ if kind == RowKind::Fetch as i16 => all.fetches.push(decode_fetch(value)?),
            _ if kind == RowKind::PartName as i16 => {
                all.parts.push((FetchId(numbered(key)?), decode(value)?));
            }
            _ if kind == RowKind::File as i16 => {
                all.files.push((path_of(key), decode_file(value)?));
            }
            _ if kind == RowKind::FileTree as i16 => {
                self.trees.insert(path_of(key), decode(value)?);
            }
            _ if kind == RowKind::FetchTree as i16 => {
                all.trees.push((FetchId(numbered(key)?), decode(value)?));
            }
            _ if kind == RowKind::Host as i16 => all.hosts.push(decode(value)?),
            _ if kind == RowKind::Share as i16 => all.added.push(path_of(key)),
            _ if kind == RowKind::Paused as i16 => all.paused.push(FetchId(numbered(key)?)),
            _ if kind == RowKind::Ledger as i16 => all.swarm.ledger.push(decode(value)?),
            _ if kind == RowKind::SwarmPart as i16 => all.swarm.parts.push(decode(value)?),
            _ if kind == RowKind::SwarmPiece as i16 => {
                let (file, piece) = key.split_at_checked(4).ok_or(RowError::Piece)?;
                let digest = Hash(value.try_into().map_err(|_| RowError::Piece)?);
                let file = SwarmFile(numbered(file)?);
                all.swarm.pieces.push(((file, numbered(piece)?), digest));
            }
            _ if kind == RowKind::SwarmTarget as i16 => {
                all.swarm.targets.push((SwarmFile(numbered(key)?), path_of(value)));
            }
            // It waits until the site is divided again.
            _ if kind == RowKind::Account as i16 => {}
            _ => return Err(RowError::Kind(kind)),
        }
        Ok(())
    }

    /// Everything the rows remember.
    pub(super) fn remembered(mut self) -> Remembered {
        self.all.queue.sort_by_key(|row| row.arrival);
        for (path, file) in &mut self.all.files {
            let tree = self.trees.remove(path);
            let fits =
                |(mtime, tree): &(i64, Arc<Tree>)| (*mtime, tree.size()) == (file.mtime, file.size);
            file.tree = tree.filter(fits).map(|(_, tree)| tree);
        }
        self.all
    }
}
