//! Where archives of a folder's small files are until these are written.

use std::fs::{self, TryLockError};
use std::io;
use std::path::Path;

use crate::exit::Failure;

/// Where archives are until their files are written, below the folder.
pub(super) const SPOOL: &str = ".servent-get";
/// A name of an archive that is longer than this may have been cut.
const CUT: usize = 200;

/// Removes archives that an earlier command has left, unless it is still running. To be
/// called before the servent starts: then that knows that none of their bytes are here.
///
/// # Errors
/// One cannot be removed.
pub(super) fn clear(folder: &Path) -> Result<(), Failure> {
    let spool = folder.join(SPOOL);
    let failed = |why: io::Error| Failure::file("remove what is in", &spool, &why);
    let entries = match fs::read_dir(&spool) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        // A folder of the server's may have the same name.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() || !is_archive(&name) {
            continue;
        }
        let is_open = |file: fs::File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if !fs::File::open(&path).is_ok_and(is_open) {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    let _ = fs::remove_dir(&spool); // It is not empty while another command uses it.
    Ok(())
}

/// True for what an archive is called while it comes and after that. A long name is cut,
/// and ends with a digest.
fn is_archive(name: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let name = name.strip_suffix(".part").unwrap_or(name);
    let Some((_, label)) = name.rsplit_once(", files ") else {
        return name.len() > CUT && name.contains('~');
    };
    // A number may follow, as behind any name that was taken.
    match label.split(' ').collect::<Vec<_>>()[..] {
        [from, "to", to, "of", all] | [from, "to", to, "of", all, _] => {
            [from, to, all].into_iter().all(is_number)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_of_an_earlier_command_are_removed_and_no_file_of_the_servers() {
        let dir = tempfile::tempdir().unwrap();
        let spool = dir.path().join(SPOOL);
        fs::create_dir_all(spool.join("m, files 1 to 4 of 6")).unwrap();
        let long = format!("{}~0123456789abcdef.part", "m".repeat(230));
        let left = ["m, files 1 to 4 of 6.part", "m, files 5 to 9 of 6 (2)", &long];
        for name in left.into_iter().chain(["song", "files 1 to 4 of 6", "a, files 1 to x of 6"]) {
            fs::write(spool.join(name), "x").unwrap();
        }
        clear(dir.path()).unwrap();
        let names = fs::read_dir(&spool).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        assert_eq!(
            names,
            ["a, files 1 to x of 6", "files 1 to 4 of 6", "m, files 1 to 4 of 6", "song"]
        );
    }
}
