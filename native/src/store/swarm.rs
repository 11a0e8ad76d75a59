//! The rows of swarms. The size of a row does not depend on the size of its
//! file.

use redb::{ReadTransaction, ReadableTable as _, TableError, WriteTransaction};
use servent_core::node::swarm::{PartialFile, SwarmFile, SwarmOp};
use servent_core::swarm::LedgerRow;
use servent_core::wire::pdtp::Hash;

use super::SwarmRows;
use super::damage::{RowError, unread};
use super::rows::{self, LEDGER, SWARM_PARTS, SWARM_PIECES, SWARM_TARGETS, decode, encode};

/// Reads all of them. A state from before there were swarms has none.
pub(super) fn read(txn: &ReadTransaction) -> Result<SwarmRows, RowError> {
    let mut all = SwarmRows::default();
    match txn.open_table(LEDGER) {
        Err(TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table.map_err(unread)?.iter().map_err(unread)? {
                all.ledger.push(decode::<LedgerRow>(row.map_err(unread)?.1.value())?);
            }
        }
    }
    match txn.open_table(SWARM_TARGETS) {
        Err(TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table.map_err(unread)?.iter().map_err(unread)? {
                let (file, path) = row.map_err(unread)?;
                all.targets.push((SwarmFile(file.value()), rows::path_of(path.value())));
            }
        }
    }
    match txn.open_table(SWARM_PARTS) {
        Err(TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table.map_err(unread)?.iter().map_err(unread)? {
                all.parts.push(decode::<PartialFile>(row.map_err(unread)?.1.value())?);
            }
        }
    }
    match txn.open_table(SWARM_PIECES) {
        Err(TableError::TableDoesNotExist(_)) => {}
        table => {
            for row in table.map_err(unread)?.iter().map_err(unread)? {
                let (key, digest) = row.map_err(unread)?;
                let (file, piece) = key.value();
                all.pieces.push(((SwarmFile(file), piece), Hash(digest.value())));
            }
        }
    }
    Ok(all)
}

/// Applies one change.
pub(super) fn apply(txn: &WriteTransaction, op: &SwarmOp) -> Result<(), redb::Error> {
    match op {
        SwarmOp::Ledger(row) => {
            let key = row.owner.to_string();
            txn.open_table(LEDGER)?.insert(key.as_str(), encode(row).as_slice())?;
        }
        SwarmOp::LedgerGone(owner) => {
            txn.open_table(LEDGER)?.remove(owner.to_string().as_str())?;
        }
        SwarmOp::Part { file, url, size, chunk } => {
            forget_pieces(txn, *file)?;
            let (url, have) = (url.clone(), Vec::new());
            let part = PartialFile { file: *file, url, size: *size, chunk: *chunk, have };
            txn.open_table(SWARM_PARTS)?.insert(file.0, encode(&part).as_slice())?;
        }
        SwarmOp::Piece { file, piece, sha256 } => {
            txn.open_table(SWARM_PIECES)?.insert((file.0, *piece), sha256.0)?;
        }
        SwarmOp::PartGone(file) => {
            forget_pieces(txn, *file)?;
            txn.open_table(SWARM_PARTS)?.remove(file.0)?;
            txn.open_table(SWARM_TARGETS)?.remove(file.0)?;
        }
        // Of a divided site, whose database has them.
        SwarmOp::Account(_) | SwarmOp::AccountGone { .. } => {}
    }
    Ok(())
}

fn forget_pieces(txn: &WriteTransaction, file: SwarmFile) -> Result<(), redb::Error> {
    let all = (file.0, 0)..=(file.0, u32::MAX);
    txn.open_table(SWARM_PIECES)?.retain_in(all, |_, _| false)?;
    Ok(())
}
