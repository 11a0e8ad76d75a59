//! What the user has asked for while the servent ran, kept across restarts:
//! folders that were added, downloads that are paused.

use std::path::{Path, PathBuf};

use redb::{
    Key, ReadTransaction, ReadableTable as _, TableDefinition, TableError, WriteTransaction,
};
use servent_core::id::FetchId;

use super::damage::{RowError, unread};
use super::rows::{PAUSED, SHARES, key_of, path_of};

/// The folders and files that were added, and the downloads that are paused.
pub(super) fn read(txn: &ReadTransaction) -> Result<(Vec<PathBuf>, Vec<FetchId>), RowError> {
    let added = keys(txn, SHARES, path_of)?;
    Ok((added, keys(txn, PAUSED, FetchId)?))
}

fn keys<K: Key + 'static, T>(
    txn: &ReadTransaction,
    table: TableDefinition<'_, K, ()>,
    read: impl Fn(K::SelfType<'_>) -> T,
) -> Result<Vec<T>, RowError> {
    let table = match txn.open_table(table) {
        // A state from before there were such requests.
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        table => table.map_err(unread)?,
    };
    let rows = table.iter().map_err(unread)?;
    rows.map(|row| Ok(read(row.map_err(unread)?.0.value()))).collect()
}

/// Saves or removes a folder or file that the user has added to the shares.
pub(super) fn share(txn: &WriteTransaction, path: &Path, shared: bool) -> Result<(), redb::Error> {
    let mut table = txn.open_table(SHARES)?;
    match shared {
        true => table.insert(key_of(path), ())?,
        false => table.remove(key_of(path))?,
    };
    Ok(())
}

/// Saves whether a download is paused.
pub(super) fn pause(
    txn: &WriteTransaction,
    fetch: FetchId,
    paused: bool,
) -> Result<(), redb::Error> {
    let mut table = txn.open_table(PAUSED)?;
    match paused {
        true => table.insert(fetch.0, ())?,
        false => table.remove(fetch.0)?,
    };
    Ok(())
}
