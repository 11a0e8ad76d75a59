//! The permission to run a file.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::OnceLock;

/// The permission to run a file, for its owner, its group and others.
const RUN: u32 = 0o111;
/// Where the system tells the umask; it can be asked for in no other way without
/// changing it.
const STATUS: &str = "/proc/self/status";
/// What is assumed where the system does not tell it: only the owner may.
const STRICT: u32 = 0o077;

/// True for a file that may be run.
pub(crate) fn is_executable(about: &Metadata) -> bool {
    about.is_file() && about.mode() & RUN != 0
}

/// Lets a file be run, or not; folders stay as they are.
pub(crate) fn set_executable(file: &File, executable: bool) -> io::Result<()> {
    let about = file.metadata()?;
    if about.is_file() && executable != is_executable(&about) {
        let mode = mode(about.mode(), executable, umask());
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The mode of a file that may be run, or not: a user who may read it may run it, as
/// far as the umask lets them.
const fn mode(now: u32, executable: bool, umask: u32) -> u32 {
    let run = if executable { (now & 0o444) >> 2 & !umask } else { 0 };
    now & 0o666 | run
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
    fn no_user_gets_more_rights_than_the_umask_allows_and_none_to_act_for_others() {
        assert_eq!(mode(0o100_644, true, 0o022), 0o755);
        assert_eq!(mode(0o100_600, true, 0o022), 0o700);
        assert_eq!(mode(0o100_666, true, 0o077), 0o766);
        assert_eq!(mode(0o106_755, false, 0o022), 0o644);
        assert_eq!(mode(0o106_644, true, 0o022) & 0o7000, 0);
    }
}
