//! What goes with a file's bytes: when it was last changed, and whether it may be
//! run. Nothing else of its mode is carried: who may read or write it here is up to
//! the umask, and no remote can make anything run with the rights of its owner.

use std::fs::{File, Metadata};
use std::io;
use std::time::{Duration, SystemTime};

use crate::sys;

/// The date and the executable bit of a file or folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileAttributes {
    /// When it was last changed: seconds since 1970 and nanoseconds.
    pub modified: Option<(i64, u32)>,
    /// It may be run.
    pub executable: bool,
}

impl FileAttributes {
    /// Those of a file that was looked at.
    #[must_use]
    pub fn of_file(about: &Metadata) -> Self {
        let (seconds, nanos) = sys::modified(about);
        let modified = Some((seconds, u32::try_from(nanos).unwrap_or(0)));
        Self { modified, executable: sys::is_executable(about) }
    }

    /// Gives them to a file that is complete, or to a folder. To be called after the
    /// last write, which would change the date.
    ///
    /// # Errors
    /// The file system does not keep them.
    pub(crate) fn apply(self, file: &File) -> io::Result<()> {
        sys::set_executable(file, self.executable)?;
        match self.modified.and_then(time) {
            Some(modified) => file.set_modified(modified),
            None => Ok(()),
        }
    }
}

/// A date; `None` for one that the system cannot tell.
fn time((seconds, nanos): (i64, u32)) -> Option<SystemTime> {
    let length = Duration::from_secs(seconds.unsigned_abs());
    let second = match seconds {
        0.. => SystemTime::UNIX_EPOCH.checked_add(length),
        _ => SystemTime::UNIX_EPOCH.checked_sub(length),
    }?;
    second.checked_add(Duration::from_nanos(nanos.into()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_date_and_the_right_to_run_are_given_and_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "#!/bin/sh").unwrap();
        let file = File::open(&path).unwrap();
        for executable in [true, false] {
            for modified in [(1_000_000_000, 7), (-86_400, 0), (0, 999_999_999)] {
                let wanted = FileAttributes { modified: Some(modified), executable };
                wanted.apply(&file).unwrap();
                assert_eq!(FileAttributes::of_file(&file.metadata().unwrap()), wanted);
            }
        }
        // A remote can say anything.
        for modified in [(i64::MAX, 0), (i64::MIN, u32::MAX)] {
            let _ = FileAttributes { modified: Some(modified), executable: false }.apply(&file);
        }
        let folder = File::open(dir.path()).unwrap();
        let wanted = FileAttributes { modified: Some((5, 0)), executable: true };
        wanted.apply(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().mtime(), 5);
        assert_eq!(folder.metadata().unwrap().mode() & 0o700, 0o700, "one can still enter it");
    }
}
