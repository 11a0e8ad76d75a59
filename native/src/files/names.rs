//! New names for files: nothing that exists is ever replaced.

use std::path::Path;
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

/// Renames without ever replacing an existing file.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?; // Fails if the name exists, as we want.
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

/// `name (2).ext`
pub(crate) fn number(name: &str, n: u32) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty() && !stem.ends_with('/') && !extension.contains('/') =>
        {
            format!("{stem} ({n}).{extension}")
        }
        _ => format!("{name} ({n})"),
    }
}
