//! Opening the store: the lock, creating a new one, and what to do with a file
//! that is not ours.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use redb::{Builder, Database, DatabaseError, ReadableDatabase, StorageBackend, StorageError};

use super::backend::{Backend, Flusher};
use super::overlay::OverlayFile;
use super::rows::{FETCHES, FILES, META, PARTS, QUEUE, SCHEMA};
use super::{DamagedState, Durability, Embedded, Remembered};
use crate::error::StoreFailure;
use crate::sys::{FileAt as _, OwnerOnly as _, sync_folder};

const NAME: &str = "state.redb";
const LOCK: &str = "state.lock";
/// Memory redb may use for its page cache.
const CACHE: usize = 16 << 20;
/// The first bytes of every redb file.
const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

fn make_dir(dir: &Path) -> Result<(), StoreFailure> {
    // Its content would let a reader take our places in queues.
    let made = fs::DirBuilder::new().recursive(true).private().create(dir);
    made.map_err(|why| StoreFailure::Io { path: dir.to_owned(), why })
}

/// Held as long as the state is in use.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    /// Closing the file would release the lock only when no copy of it is open,
    /// and a program that another thread starts at this moment has copies of all
    /// files until it runs.
    fn drop(&mut self) {
        let _ = self.0.unlock(); // Closing it follows.
    }
}

/// The process that uses the state in a folder; `None`: no process does, or it has not
/// said its number. Touches nothing.
#[must_use]
pub fn process_of_state(dir: &Path) -> Option<u32> {
    let mut file = File::open(dir.join(LOCK)).ok()?;
    if file.try_lock_shared().is_ok() {
        let _ = file.unlock(); // Closing it follows.
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Self, StoreFailure> {
        make_dir(dir)?;
        let path = dir.join(LOCK);
        let io_error = |why| StoreFailure::Io { path: path.clone(), why };
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let pid = text.trim().parse().ok();
                return Err(StoreFailure::Locked { path: dir.to_owned(), pid });
            }
            Err(TryLockError::Error(why)) => return Err(io_error(why)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(io_error)?;
        writeln!(file, "{}", std::process::id()).map_err(io_error)?;
        Ok(Self(file))
    }
}

impl Embedded {
    /// True when a folder contains one.
    pub(crate) fn is_in(dir: &Path) -> bool {
        dir.join(NAME).is_file()
    }

    /// Checks whether another process uses the store of a folder: the error
    /// that opening it would give; `None` if it is free or that cannot be
    /// determined.
    pub(crate) fn in_use(dir: &Path) -> Option<StoreFailure> {
        if !Self::is_in(dir) {
            return None;
        }
        Lock::take(dir).err().filter(|why| matches!(why, StoreFailure::Locked { .. }))
    }

    /// Copies the store of a folder to a file that must not exist yet, while no
    /// servent uses it.
    ///
    /// # Errors
    /// There is none, it is in use, or the copy cannot be written.
    pub(crate) fn copy(dir: &Path, to: &Path) -> Result<(), StoreFailure> {
        if !Self::is_in(dir) {
            return Err(StoreFailure::Missing { path: dir.to_owned() });
        }
        let _lock = Lock::take(dir)?;
        copy_new(&dir.join(NAME), to)
    }

    /// The same for the store open here, between two commits.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<(), StoreFailure> {
        copy_new(&self.path, to)
    }

    /// Makes a copy the store of a folder. A store already there is renamed;
    /// the result says to what.
    ///
    /// # Errors
    /// The store is in use, or the copy cannot be read.
    pub(crate) fn adopt(dir: &Path, copy: &Path) -> Result<Option<PathBuf>, StoreFailure> {
        let io_error = |why| StoreFailure::Io { path: dir.to_owned(), why };
        let _lock = Lock::take(dir)?;
        let (path, new) = (dir.join(NAME), dir.join("state.redb.import"));
        let _ = fs::remove_file(&new); // Left by a process that was killed.
        copy_new(copy, &new)?;
        let read = open_whole(&new, Durability::Power).map(drop);
        if let Err(why) = read {
            let _ = fs::remove_file(&new);
            return Err(match why {
                StoreFailure::Damaged { why, .. } => {
                    StoreFailure::Damaged { path: copy.to_owned(), why }
                }
                why => why,
            });
        }
        let before = path.exists().then(|| put_aside(&path, "before")).transpose()?;
        fs::rename(&new, &path).map_err(io_error)?;
        Ok(before)
    }

    /// Opens the store in `dir`, creating both if they are missing, and reads
    /// everything in it.
    ///
    /// # Errors
    /// Locked, damaged, newer, or an I/O error.
    pub(crate) fn open(
        dir: &Path,
        durability: Durability,
        damaged: DamagedState,
    ) -> Result<(Self, Remembered), StoreFailure> {
        let lock = Lock::take(dir)?;
        let path = dir.join(NAME);
        let opened = open_whole(&path, durability);
        let (db, flusher, remembered) = match opened {
            Err(StoreFailure::Damaged { why, .. }) if damaged == DamagedState::PutAside => {
                let aside = put_aside(&path, "damaged")?;
                tracing::warn!(%why, aside = %aside.display(), "damaged state put aside");
                open_whole(&path, durability)?
            }
            other => other?,
        };
        Ok((Self { db, path, flusher, durability, _lock: lock }, remembered))
    }
}

type OpenResult = (Database, Arc<Flusher>, Remembered);

fn open_whole(path: &Path, durability: Durability) -> Result<OpenResult, StoreFailure> {
    let io_error = |why| StoreFailure::Io { path: path.to_owned(), why };
    if !path.try_exists().map_err(io_error)? {
        make(path)?;
    }
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(io_error)?;
    let damaged = |why: String| StoreFailure::Damaged { path: path.to_owned(), why };
    let mut magic = [0; MAGIC.len()];
    match file.read_exact_at(&mut magic, 0) {
        Ok(()) if magic == MAGIC => {}
        Ok(()) => return Err(damaged("it does not begin like one".into())),
        Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(damaged("it is too short".into()));
        }
        Err(why) => return Err(io_error(why)),
    }
    // Opening repairs what a crash left behind, which writes. Whether a repair
    // is needed is first tried without touching the file.
    let second = file.try_clone().map_err(io_error)?;
    let copy = OverlayFile::over(second).map_err(io_error)?;
    panics_are_damage(path, || read_whole(copy, path).map(drop))?;
    let (backend, flusher) = Backend::new(file, durability);
    let (db, remembered) = panics_are_damage(path, || read_whole(backend, path))?;
    Ok((db, flusher, remembered))
}

/// redb answers some damage with a panic instead of an error, even while it is
/// being closed. Here that becomes an error, and nothing is printed.
fn panics_are_damage<T>(
    path: &Path,
    open: impl FnOnce() -> Result<T, StoreFailure>,
) -> Result<T, StoreFailure> {
    static HOOK: Once = Once::new();
    thread_local! { static EXPECTED: Cell<bool> = const { Cell::new(false) } }
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                usual(info);
            }
        }));
    });
    EXPECTED.set(true);
    let opened = panic::catch_unwind(AssertUnwindSafe(open));
    EXPECTED.set(false);
    opened.unwrap_or_else(|_| {
        let why = "its pages contradict each other".into();
        Err(StoreFailure::Damaged { path: path.to_owned(), why })
    })
}

fn read_whole(
    backend: impl StorageBackend,
    path: &Path,
) -> Result<(Database, Remembered), StoreFailure> {
    let damaged = |why: String| StoreFailure::Damaged { path: path.to_owned(), why };
    let db = match Builder::new().set_cache_size(CACHE).create_with_backend(backend) {
        Ok(db) => db,
        Err(DatabaseError::Storage(StorageError::Io(why))) if is_of_the_system(&why) => {
            return Err(StoreFailure::Io { path: path.to_owned(), why });
        }
        Err(why) => return Err(damaged(why.to_string())),
    };
    check_schema(&db, path)?;
    let remembered = super::embedded::read(&db).map_err(|why| damaged(why.to_string()))?;
    Ok((db, remembered))
}

fn is_of_the_system(why: &io::Error) -> bool {
    !matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// Creates an empty state under a temporary name and renames it, so that a
/// crash leaves either none or a complete one.
fn make(path: &Path) -> Result<(), StoreFailure> {
    let new = path.with_extension("redb.new");
    let io_error = |why| StoreFailure::Io { path: new.clone(), why };
    match fs::remove_file(&new) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(io_error(why)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let file = options.create_new(true).read(true).write(true).private().open(&new);
    let file = file.map_err(io_error)?;
    let (backend, _) = Backend::new(file, Durability::Power);
    fill(backend).map_err(|why| StoreFailure::Write { path: new.clone(), why: why.to_string() })?;
    fs::rename(&new, path).map_err(io_error)?;
    if let Some(dir) = path.parent() {
        sync_folder(dir).map_err(io_error)?;
    }
    Ok(())
}

fn fill(backend: Backend) -> Result<(), redb::Error> {
    let db = Builder::new().set_cache_size(CACHE).create_with_backend(backend)?;
    let txn = db.begin_write()?;
    txn.open_table(META)?.insert("schema", SCHEMA.to_le_bytes().as_slice())?;
    txn.open_table(QUEUE)?;
    txn.open_table(FETCHES)?;
    txn.open_table(PARTS)?;
    txn.open_table(FILES)?;
    txn.commit()?;
    Ok(())
}

fn check_schema(db: &Database, path: &Path) -> Result<(), StoreFailure> {
    let damaged =
        |why: redb::Error| StoreFailure::Damaged { path: path.to_owned(), why: why.to_string() };
    let found = (|| {
        let table = db.begin_read()?.open_table(META)?;
        let version = table.get("schema")?;
        Ok(version.and_then(|v| Some(u32::from_le_bytes(v.value().try_into().ok()?))))
    })()
    .map_err(damaged)?;
    match found {
        Some(SCHEMA) => Ok(()),
        Some(found) if found > SCHEMA => {
            Err(StoreFailure::Newer { path: path.to_owned(), found, known: SCHEMA })
        }
        _ => Err(StoreFailure::Damaged {
            path: path.to_owned(),
            why: "it has no version of the state".into(),
        }),
    }
}

/// Copies a file to a new one that only its owner may read.
fn copy_new(from: &Path, to: &Path) -> Result<(), StoreFailure> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |why| StoreFailure::Io { path, why }
    };
    let mut old = File::open(from).map_err(failed(from))?;
    let mut options = OpenOptions::new();
    let new = options.write(true).create_new(true).private().open(to);
    let mut new = new.map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => StoreFailure::Exists { path: to.to_owned() },
        _ => failed(to)(why),
    })?;
    io::copy(&mut old, &mut new).and_then(|_| new.sync_all()).map_err(failed(to))
}

fn put_aside(path: &Path, why: &str) -> Result<PathBuf, StoreFailure> {
    let io_error = |why| StoreFailure::Io { path: path.to_owned(), why };
    for n in 1_u32.. {
        let aside = path.with_file_name(format!("{NAME}.{why}-{n}"));
        if !aside.try_exists().map_err(io_error)? {
            fs::rename(path, &aside).map_err(io_error)?;
            return Ok(aside);
        }
    }
    unreachable!("a folder cannot hold so many files")
}
