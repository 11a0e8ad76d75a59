//! The rows of hash trees. They are separate from the rows of their files,
//! which existed before them and are written more often.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{ReadTransaction, ReadableTable as _, TableError, WriteTransaction};
use servent_core::id::FetchId;
use servent_core::thex::Tree;

use super::damage::{RowError, unread};
use super::rows::{FETCH_TREES, FILE_TREES, FileRow, decode, encode, key_of};

/// A tree and the modification time of the content it describes: the row is
/// ignored if the file has changed since.
type TreeRow = (i64, Arc<Tree>);

/// Adds the trees of shared files to their rows.
pub(super) fn read_files(
    txn: &ReadTransaction,
    files: &mut [(PathBuf, FileRow)],
) -> Result<(), RowError> {
    let table = match txn.open_table(FILE_TREES) {
        // A state from before there were hash trees.
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        table => table.map_err(unread)?,
    };
    for (path, file) in files {
        if let Some(row) = table.get(key_of(path)).map_err(unread)? {
            let (mtime, tree) = decode::<TreeRow>(row.value())?;
            file.tree = Some(tree).filter(|tree| (mtime, tree.size()) == (file.mtime, file.size));
        }
    }
    Ok(())
}

/// Saves the tree of a shared file.
pub(super) fn keep_file(
    txn: &WriteTransaction,
    path: &Path,
    mtime: i64,
    tree: &Arc<Tree>,
) -> Result<(), redb::Error> {
    let row: TreeRow = (mtime, Arc::clone(tree));
    txn.open_table(FILE_TREES)?.insert(key_of(path), encode(&row).as_slice())?;
    Ok(())
}

/// Removes the tree of a file that is no longer shared.
pub(super) fn forget_file(txn: &WriteTransaction, path: &Path) -> Result<(), redb::Error> {
    txn.open_table(FILE_TREES)?.remove(key_of(path))?;
    Ok(())
}

/// The trees of downloads.
pub(super) fn read_fetches(txn: &ReadTransaction) -> Result<Vec<(FetchId, Arc<Tree>)>, RowError> {
    let table = match txn.open_table(FETCH_TREES) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        table => table.map_err(unread)?,
    };
    let mut all = Vec::new();
    for row in table.iter().map_err(unread)? {
        let (fetch, tree) = row.map_err(unread)?;
        all.push((FetchId(fetch.value()), decode(tree.value())?));
    }
    Ok(all)
}

/// Saves the tree of a download, or that it has none.
pub(super) fn keep_fetch(
    txn: &WriteTransaction,
    fetch: FetchId,
    tree: Option<&Tree>,
) -> Result<(), redb::Error> {
    let mut table = txn.open_table(FETCH_TREES)?;
    match tree {
        Some(tree) => table.insert(fetch.0, encode(tree).as_slice())?,
        None => table.remove(fetch.0)?,
    };
    Ok(())
}
