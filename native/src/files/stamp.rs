//! Whether a file is still the one that was looked at.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use crate::sys::{file_number, modified};

/// What tells that a file has changed: its size, the time of its last change, and
/// which file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    size: u64,
    modified: (i64, i64),
    file: Option<(u64, u64)>,
}

impl FileStamp {
    pub(crate) fn of_file(about: &Metadata) -> Self {
        Self { size: about.len(), modified: modified(about), file: file_number(about) }
    }

    /// True while an open file is as it was, and its path still leads to it: another
    /// file may have been renamed to it. Blocks.
    ///
    /// # Errors
    /// The file cannot be looked at.
    pub(crate) fn holds(self, file: &File, path: &Path) -> io::Result<bool> {
        let there = path.metadata().is_ok_and(|about| Self::of_file(&about) == self);
        Ok(there && Self::of_file(&file.metadata()?) == self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file gets a date of its own")]
    fn a_longer_a_newer_and_another_file_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let before = || {
            fs::write(&path, "abc").unwrap();
            let file = File::open(&path).unwrap();
            (FileStamp::of_file(&file.metadata().unwrap()), file)
        };
        let (stamp, file) = before();
        assert!(stamp.holds(&file, &path).unwrap());
        fs::write(&path, "abcd").unwrap();
        assert!(!stamp.holds(&file, &path).unwrap(), "longer");
        let (stamp, file) = before();
        let later = SystemTime::now() + Duration::from_secs(2);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(!stamp.holds(&file, &path).unwrap(), "newer");
        let (stamp, file) = before();
        fs::write(dir.path().join("g"), "abc").unwrap();
        fs::rename(dir.path().join("g"), &path).unwrap();
        assert!(!stamp.holds(&file, &path).unwrap(), "another one");
        let (stamp, file) = before();
        fs::remove_file(&path).unwrap();
        assert!(!stamp.holds(&file, &path).unwrap(), "gone");
    }
}
