//! A limit on how much strangers may store in a folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The bytes of an inbox, counted together for all transfers into it.
#[derive(Debug)]
pub struct Quota {
    folder: PathBuf,
    limit: u64,
    held: Mutex<u64>,
}

impl Quota {
    /// The default limit of an inbox: 64 GiB.
    pub const LIMIT: u64 = 64 << 30;

    /// A limit on the bytes in the folder, including those already there. Reads
    /// the folder, which blocks.
    #[must_use]
    pub fn new(folder: PathBuf, limit: u64) -> Self {
        let held = Mutex::new(bytes_in(&folder));
        Self { folder, limit, held }
    }

    /// True when there is room for that many bytes. When there seems to be
    /// none, the folder is read again, because files may have been removed;
    /// that blocks.
    #[must_use]
    pub fn has_room(&self, bytes: u64) -> bool {
        let fits = |held: u64| held.saturating_add(bytes) <= self.limit;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !fits(*held) {
            *held = bytes_in(&self.folder);
        }
        fits(*held)
    }

    /// Reserves room for bytes that are about to be written.
    pub(super) fn take(&self, bytes: u64) -> io::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let more = held.saturating_add(bytes);
        if more > self.limit {
            let what = "the inbox holds as much as it may (--inbox-limit)";
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, what));
        }
        *held = more;
        Ok(())
    }
}

/// Total bytes of all files below a folder; links are not followed, and what
/// cannot be read is not counted.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_in(&entry.path()),
        Ok(about) if about.is_file() => about.len(),
        _ => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_counts_and_what_was_taken_away_does_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/b"), [0; 60]).unwrap();
        let quota = Quota::new(dir.path().to_owned(), 100);
        assert!(quota.has_room(40) && !quota.has_room(41));
        quota.take(40).unwrap();
        assert_eq!(quota.take(1).unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
        std::fs::remove_file(dir.path().join("a/b")).unwrap();
        assert!(quota.has_room(100), "the forty were never written");
    }
}
