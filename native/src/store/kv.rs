//! Rows of bytes under keys, with the guarantees of the state: for what is
//! no node's.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Builder, Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::Durability;
use super::backend::{Backend, Flusher};
use super::open::Lock;
use crate::error::StoreFailure;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows-1");
/// Memory redb may use for pages it has read.
const CACHE: usize = 4 << 20;

/// A row by its key, and what it becomes: `None` when it goes.
pub(crate) type Put = (Vec<u8>, Option<Vec<u8>>);

/// A row, behind its key.
pub(crate) type Kept = (Vec<u8>, Vec<u8>);

/// The open rows. One program at a time has them.
#[derive(Debug)]
pub(crate) struct Rows {
    db: Database,
    path: PathBuf,
    flusher: Arc<Flusher>,
    _lock: Lock,
}

impl Rows {
    /// Opens `name` in `dir`, making both when they are not there.
    ///
    /// # Errors
    /// In use, not ours, or the system says no.
    pub(crate) fn open(
        dir: &Path,
        name: &str,
        durability: Durability,
    ) -> Result<Self, StoreFailure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|why| StoreFailure::Io { path: dir.to_owned(), why })?;
        let lock = Lock::take(dir)?;
        let path = dir.join(name);
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).write(true).truncate(false).mode(0o600);
        let file = file.open(&path).map_err(|why| StoreFailure::Io { path: path.clone(), why })?;
        let (backend, flusher) = Backend::new(file, durability);
        let damaged = |why: String| StoreFailure::Damaged { path: path.clone(), why };
        let db = Builder::new().set_cache_size(CACHE).create_with_backend(backend);
        let db = db.map_err(|why| damaged(why.to_string()))?;
        Ok(Self { db, path, flusher, _lock: lock })
    }

    /// All of them, by key.
    pub(crate) fn all(&self) -> Result<Vec<Kept>, StoreFailure> {
        let read = || -> Result<_, redb::Error> {
            let table = match self.db.begin_read()?.open_table(ROWS) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                table => table?,
            };
            let mut all = Vec::new();
            for row in table.iter()? {
                let (key, value) = row?;
                all.push((key.value().to_vec(), value.value().to_vec()));
            }
            Ok(all)
        };
        read().map_err(|why| self.damaged(&why.to_string()))
    }

    /// Carries out all changes or none.
    pub(crate) fn commit(&self, changes: &[Put]) -> Result<(), StoreFailure> {
        let write = || -> Result<(), redb::Error> {
            let txn = self.db.begin_write()?;
            {
                let mut table = txn.open_table(ROWS)?;
                for (key, value) in changes {
                    match value {
                        Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                        None => drop(table.remove(key.as_slice())?),
                    }
                }
            }
            txn.commit()?;
            Ok(())
        };
        write().map_err(|why| StoreFailure::Write { path: self.path.clone(), why: why.to_string() })
    }

    /// Something in it cannot be understood.
    pub(crate) fn damaged(&self, why: &str) -> StoreFailure {
        StoreFailure::Damaged { path: self.path.clone(), why: why.to_owned() }
    }

    /// Flushes to the disk what is not there yet, from elsewhere: it may take
    /// long. Does not keep the rows open.
    pub(crate) fn flusher(&self) -> Arc<Flusher> {
        Arc::clone(&self.flusher)
    }

    /// Flushes to the disk what is not there yet.
    pub(crate) fn flush(&self) -> Result<(), StoreFailure> {
        let flushed = self.flusher.flush();
        flushed.map_err(|why| StoreFailure::Io { path: self.path.clone(), why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_and_one_program_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let rows = Rows::open(dir.path(), "x.redb", Durability::Process).unwrap();
        assert_eq!(rows.all().unwrap(), []);
        let put = |k: &str, v: Option<&str>| (k.into(), v.map(Into::into));
        rows.commit(&[put("a", Some("1")), put("b", Some("2")), put("a", Some("3"))]).unwrap();
        rows.commit(&[put("b", None), put("c", Some("4"))]).unwrap();
        let again = Rows::open(dir.path(), "x.redb", Durability::Process);
        assert!(matches!(again, Err(StoreFailure::Locked { .. })));
        drop(rows);
        let rows = Rows::open(dir.path(), "x.redb", Durability::Process).unwrap();
        let all: Vec<_> = rows.all().unwrap();
        let wanted = [("a", "3"), ("c", "4")].map(|(k, v)| (Vec::from(k), Vec::from(v)));
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_file_that_is_not_ours_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.redb");
        std::fs::write(&file, "somebody else's").unwrap();
        let opened = Rows::open(dir.path(), "x.redb", Durability::Process);
        assert!(matches!(opened, Err(StoreFailure::Damaged { .. })));
        assert_eq!(std::fs::read(&file).unwrap(), b"somebody else's");
    }
}
