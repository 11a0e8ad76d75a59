//! Names of a folder's download that the disk does not take: something else is there, or
//! the name is too long. Only that file cannot come.

use std::io;
use std::path::{Path, PathBuf};

use servent::driver::part_path;

use crate::exit::{Exit, Failure, error_text};

/// What helps.
const NEXT: &str = "take it away, or choose another folder with -o; the same command goes on";

/// Why a file cannot be written at a path below a folder, as far as that can be seen
/// before it is asked for. Links are refused when it is written. Blocks.
pub(super) fn why_blocked(folder: &Path, path: &Path) -> Option<Failure> {
    let whole = folder.join(path);
    let mut above: PathBuf = folder.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        above.push(part);
        match above.symlink_metadata() {
            Ok(about) if about.is_symlink() => return None,
            Ok(about) if !about.is_dir() => {
                let why = format!("{} is no folder, and has to be one", above.display());
                return Some(blocked(&whole, &why).next(NEXT));
            }
            Ok(_) => {}
            Err(why) if why.kind() == io::ErrorKind::NotFound => break,
            Err(why) => return Some(refused(&whole, &why)),
        }
    }
    match whole.symlink_metadata() {
        Ok(about) if about.is_dir() => {
            return Some(blocked(&whole, "it is a folder here, and a file there").next(NEXT));
        }
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Some(refused(&whole, &why)),
        _ => {}
    }
    let part = part_path(&whole).symlink_metadata();
    let refusal = part.err().filter(|why| why.kind() != io::ErrorKind::NotFound);
    refusal.map(|why| refused(&whole, &why))
}

/// True when nothing can be written into a folder itself: then no other name helps. Blocks.
pub(super) fn is_closed(folder: &Path) -> bool {
    let denied = |why: &io::Error| {
        matches!(why.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
    };
    tempfile::tempfile_in(folder).is_err_and(|why| denied(&why))
}

fn refused(file: &Path, why: &io::Error) -> Failure {
    blocked(file, &error_text(why)).mend(why)
}

fn blocked(file: &Path, why: &str) -> Failure {
    Failure::new(Exit::Disk, format!("cannot write {}: {why}", file.display())).of_name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_blocked_by_what_is_in_its_way_and_by_its_length() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        let why = |path: &str| why_blocked(dir.path(), Path::new(path)).map(|why| why.what);
        for free in ["new", "file", "folder/new", "new/new", "link", "link/new"] {
            assert_eq!(why(free), None, "{free}");
        }
        assert!(why("file/below").unwrap().ends_with("/file is no folder, and has to be one"));
        assert!(why("folder").unwrap().ends_with("it is a folder here, and a file there"));
        assert!(why(&"a/".repeat(3_000)).is_some(), "no path is that long");
        assert!(!is_closed(dir.path()));
    }
}
