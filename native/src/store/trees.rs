//! The rows of hash trees. They stand apart from the rows of their files, which
//! were there before them and are written more often.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{ReadTransaction, TableError, WriteTransaction};
use servent_core::thex::Tree;

use super::rows::{FILE_TREES, FileRow, decode, encode, key_of};
use super::text;

/// A tree and the time of the change that its content is from: the row of a file
/// that has changed since is passed over.
type TreeRow = (i64, Arc<Tree>);

/// Adds the trees of shared files to their rows.
pub(super) fn read_files(
    txn: &ReadTransaction,
    files: &mut [(PathBuf, FileRow)],
) -> Result<(), String> {
    let table = match txn.open_table(FILE_TREES) {
        // A state from before there were trees.
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        table => table.map_err(text)?,
    };
    for (path, file) in files {
        if let Some(row) = table.get(key_of(path)).map_err(text)? {
            let (mtime, tree) = decode::<TreeRow>(row.value())?;
            file.tree = Some(tree).filter(|tree| (mtime, tree.size()) == (file.mtime, file.size));
        }
    }
    Ok(())
}

/// Keeps the tree of a shared file.
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

/// Forgets the tree of a file that is shared no longer.
pub(super) fn forget_file(txn: &WriteTransaction, path: &Path) -> Result<(), redb::Error> {
    txn.open_table(FILE_TREES)?.remove(key_of(path))?;
    Ok(())
}
