//! The folder for files that visitors upload. A file has no name there until it
//! is complete, so nothing is left of one that is not, even after `kill -9`; and
//! nothing in the folder is ever replaced.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use servent_core::node::{InboxUsage, StoreError};

use crate::files::{PartFile, number, store_error};
use crate::store::Durability;
use crate::sys::{self, rename_new};

/// How many names are tried for one file.
const NAMES: u32 = 10_000;
/// Names of unfinished files where the system has no files without a name.
const UNFINISHED: (&str, &str) = (".servent-", ".part");

/// The folder.
#[derive(Debug)]
pub(crate) struct InboxFolder {
    dir: PathBuf,
    durability: Durability,
    /// Bytes of its disk that uploads leave free.
    reserve: u64,
    /// When the folder had last been changed when it was counted; `None`: it has
    /// to be counted again. Files get their names and are counted under this
    /// lock, so that the node hears of both in the order they happened.
    counted: Mutex<Option<(i64, i64)>>,
}

/// A file that is arriving. Unless it is kept, nothing is left of it.
#[derive(Debug)]
pub(crate) struct Fresh {
    inbox: Arc<InboxFolder>,
    part: Arc<PartFile>,
    descriptor: File,
    /// Its path, where it needs one.
    path: Option<PathBuf>,
}

impl InboxFolder {
    /// Opens the folder, which is created if missing, and removes what a crash
    /// has left unfinished. Blocks.
    ///
    /// # Errors
    /// It cannot be created, read or written.
    pub(crate) fn open(
        dir: &Path,
        durability: Durability,
        reserve: u64,
    ) -> io::Result<(Arc<Self>, InboxUsage)> {
        fs::create_dir_all(dir)?;
        let dir = dunce::canonicalize(dir)?;
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1) {
                discard(&entry.path());
            }
        }
        let inbox = Arc::new(Self { dir, durability, reserve, counted: Mutex::new(None) });
        // A folder that cannot be written is better said now than at the first
        // upload.
        drop(Fresh::new(Arc::clone(&inbox))?);
        let held = inbox.count()?;
        Ok((inbox, held))
    }

    fn count(&self) -> io::Result<InboxUsage> {
        let mut held = InboxUsage::default();
        for entry in fs::read_dir(&self.dir)? {
            if let Ok(about) = entry?.metadata()
                && about.is_file()
            {
                held.files = held.files.saturating_add(1);
                held.bytes = held.bytes.saturating_add(about.len());
            }
        }
        Ok(held)
    }

    /// Passes on what is in the folder if it was changed, for example because its
    /// owner took files away; `None` if it cannot be read. Blocks.
    pub(crate) fn look(&self, tell: impl FnOnce(Option<InboxUsage>)) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = fs::metadata(&self.dir).map(|about| sys::modified(&about));
        let changed = changed.ok();
        if changed.is_some() && *counted == changed {
            return;
        }
        *counted = changed;
        let held = self.count();
        if let Err(why) = &held {
            tracing::warn!(%why, folder = %self.dir.display(), "the inbox cannot be read");
        }
        tell(held.ok());
    }

    /// Begins a file. Blocks.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Fresh, StoreError> {
        Fresh::new(Arc::clone(self)).map_err(|why| store_error(&why))
    }
}

impl Fresh {
    fn new(inbox: Arc<InboxFolder>) -> io::Result<Self> {
        match sys::nameless(&inbox.dir) {
            Ok(file) => Self::from_file(inbox, file, None),
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Err(why),
            Err(_) => Self::named(inbox),
        }
    }

    /// A file with a hidden name, for file systems that have none without.
    fn named(inbox: Arc<InboxFolder>) -> io::Result<Self> {
        let process = std::process::id();
        for n in 0..NAMES {
            let path = inbox.dir.join(format!("{}{process}-{n}{}", UNFINISHED.0, UNFINISHED.1));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    file.try_lock().map_err(io::Error::from)?;
                    return Self::from_file(inbox, file, Some(path));
                }
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn from_file(inbox: Arc<InboxFolder>, file: File, path: Option<PathBuf>) -> io::Result<Self> {
        let descriptor = file.try_clone()?;
        let part = PartFile::new(file, inbox.durability).leaving(inbox.reserve);
        Ok(Self { inbox, part: Arc::new(part), descriptor, path })
    }

    /// Where its bytes go.
    pub(crate) fn part(&self) -> Arc<PartFile> {
        Arc::clone(&self.part)
    }

    /// Gives it this name, or a numbered one if that is taken. Returns the name
    /// it got. Blocks.
    pub(crate) fn commit(mut self, name: &str) -> Result<String, StoreError> {
        self.name(name).map_err(|why| store_error(&why))
    }

    fn name(&mut self, wish: &str) -> io::Result<String> {
        let wish = &*sys::fitting(wish);
        // The node checks names too; this is the last door before the disk.
        if Path::new(wish).file_name().is_none_or(|name| name != wish) || wish.starts_with('.') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut counted = self.inbox.counted.lock().unwrap_or_else(PoisonError::into_inner);
        *counted = None;
        for n in 1..=NAMES {
            let name = if n == 1 { wish.to_owned() } else { number(wish, n) };
            let to = self.inbox.dir.join(&name);
            match self.link(&to) {
                Ok(()) => {
                    self.path = None;
                    if self.inbox.durability == Durability::Power {
                        sys::sync_folder(&self.inbox.dir)?;
                    }
                    // A program that watches the folder looks at a file when it is closed
                    // after writing.
                    drop(OpenOptions::new().write(true).open(&to));
                    return Ok(name);
                }
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn link(&self, to: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            return rename_new(path, to);
        }
        sys::link_nameless(&self.descriptor, to)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let _ = fs::remove_file(path); // The next start tries again.
        }
    }
}

/// Removes an unfinished file that no process is writing to.
fn discard(path: &Path) {
    let opened = sys::open_no_link(OpenOptions::new().write(true), path);
    if opened.is_ok_and(|file| file.try_lock().is_ok()) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let (inbox, held) = InboxFolder::open(dir, Durability::Process, 0).unwrap();
        assert_eq!(held, InboxUsage::default());
        for fresh in [Fresh::new, Fresh::named] {
            let before = fs::read_dir(dir).unwrap().count();
            let one = fresh(Arc::clone(&inbox)).unwrap();
            one.part().write_at(b"half", 0).unwrap();
            drop(one);
            assert_eq!(fs::read_dir(dir).unwrap().count(), before);
            let one = fresh(Arc::clone(&inbox)).unwrap();
            one.part().write_at(b"whole", 0).unwrap();
            let name = one.commit("song.ogg").unwrap();
            assert_eq!(fs::read(dir.join(name)).unwrap(), b"whole");
        }
        std::os::unix::fs::symlink("nowhere", dir.join("link")).unwrap();
        assert_eq!(inbox.begin().unwrap().commit("link").unwrap(), "link (2)");
        for bad in ["", ".", "..", "a/b", "/a", "a/", ".hidden"] {
            assert!(inbox.begin().unwrap().commit(bad).is_err(), "{bad}");
        }
        assert_eq!(names(dir), ["link", "link (2)", "song (2).ogg", "song.ogg"]);
        assert_eq!(inbox.count().unwrap(), InboxUsage { files: 3, bytes: 10 });
    }

    #[test]
    fn what_a_crash_left_is_removed_and_what_is_arriving_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::write(dir.join(".servent-1-0.part"), "half").unwrap();
        fs::write(dir.join(".servent-mine"), "whole").unwrap();
        let (inbox, _) = InboxFolder::open(dir, Durability::Process, 0).unwrap();
        let arriving = Fresh::named(inbox).unwrap();
        let (_, held) = InboxFolder::open(dir, Durability::Power, 0).unwrap();
        assert_eq!((names(dir).len(), held.bytes), (2, 5));
        drop(arriving);
        assert_eq!(names(dir), [".servent-mine"]);
    }
}
