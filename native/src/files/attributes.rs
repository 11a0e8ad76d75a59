//! What goes with a file's bytes: when it was last changed, and whether it may be
//! run. Nothing else of its mode is carried: who may read or write it here is up to
//! the umask, and no remote can make anything run with the rights of its owner.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// The permission to run a file, for its owner, its group and others.
const RUN: u32 = 0o111;
/// Where the system tells the umask; it can be asked for in no other way without
/// changing it.
const STATUS: &str = "/proc/self/status";
/// What is assumed where the system does not tell it: only the owner may.
const STRICT: u32 = 0o077;

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
        let nanos = u32::try_from(about.mtime_nsec()).unwrap_or(0);
        let executable = about.is_file() && about.mode() & RUN != 0;
        Self { modified: Some((about.mtime(), nanos)), executable }
    }

    /// Gives them to a file that is complete, or to a folder. To be called after the
    /// last write, which would change the date.
    ///
    /// # Errors
    /// The file system does not keep them.
    pub(crate) fn apply(self, file: &File) -> io::Result<()> {
        let about = file.metadata()?;
        if about.is_file() && self.executable != (about.mode() & RUN != 0) {
            let mode = mode(about.mode(), self.executable, umask());
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        match self.modified.and_then(time) {
            Some(modified) => file.set_modified(modified),
            None => Ok(()),
        }
    }
}

/// The mode of a file that may be run, or not: a user who may read it may run it, as
/// far as the umask lets them.
const fn mode(now: u32, executable: bool, umask: u32) -> u32 {
    let run = if executable { (now & 0o444) >> 2 & !umask } else { 0 };
    now & 0o666 | run
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

fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let status = std::fs::read_to_string(STATUS).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|umask| u32::from_str_radix(umask.trim(), 8).ok()).unwrap_or(STRICT)
    })
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn no_user_gets_more_rights_than_the_umask_allows_and_none_to_act_for_others() {
        assert_eq!(mode(0o100_644, true, 0o022), 0o755);
        assert_eq!(mode(0o100_600, true, 0o022), 0o700);
        assert_eq!(mode(0o100_666, true, 0o077), 0o766);
        assert_eq!(mode(0o106_755, false, 0o022), 0o644);
        assert_eq!(mode(0o106_644, true, 0o022) & 0o7000, 0);
    }
}
