//! Small files that are written at once: one has its name from the moment when all of
//! it is there, and before that no name at all, so that nothing is left of it when the
//! program is killed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::{FileAttributes, part_path};
use crate::sys::{link_nameless, nameless, open_no_link, rename_new};

/// Creates a file with these bytes. Its folder must exist; nothing that exists is
/// replaced. Blocks.
///
/// # Errors
/// The name is taken, or the file cannot be written; then nothing is left of it.
pub fn write_whole(to: &Path, data: &[u8], attributes: FileAttributes) -> io::Result<()> {
    match without_name(to, data, attributes) {
        // Not every file system knows files without a name.
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => {
            under_part_name(to, data, attributes)
        }
        other => other,
    }
}

fn without_name(to: &Path, data: &[u8], attributes: FileAttributes) -> io::Result<()> {
    let folder = to.parent().filter(|it| *it != Path::new("")).unwrap_or(Path::new("."));
    let file = nameless(folder)?;
    fill(&file, data, attributes)?;
    link_nameless(&file, to)
}

fn under_part_name(to: &Path, data: &[u8], attributes: FileAttributes) -> io::Result<()> {
    let part = own_part(to);
    let file = match new_part(&part) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            remove_stale(&part)?;
            new_part(&part)?
        }
        other => other?,
    };
    let named = fill(&file, data, attributes).and_then(|()| rename_new(&part, to));
    if named.is_err() {
        let _ = fs::remove_file(&part); // The first error is the one to report.
    }
    named
}

/// What such a file is called until it is whole. No other download has parts of that
/// name, so that one which is there is of a program that was killed.
fn own_part(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().as_encoded_bytes();
    let hash = HEXLOWER.encode(&blake3::hash(name).as_bytes()[..8]);
    part_path(&to.with_file_name(format!(".servent-{hash}")))
}

fn new_part(part: &Path) -> io::Result<File> {
    let file = open_no_link(OpenOptions::new().write(true).create_new(true), part)?;
    file.try_lock()?;
    Ok(file)
}

/// Removes what a program that was killed has left.
///
/// # Errors
/// A program writes to it now.
fn remove_stale(part: &Path) -> io::Result<()> {
    let file = open_no_link(OpenOptions::new().write(true), part)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(TryLockError::Error(why)) => return Err(why),
        Ok(()) => {}
    }
    drop(file);
    fs::remove_file(part)
}

fn fill(mut file: &File, data: &[u8], attributes: FileAttributes) -> io::Result<()> {
    file.write_all(data)?;
    if let Err(why) = attributes.apply(file) {
        tracing::debug!(%why, "the disk keeps no dates or modes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_either_way_and_none_is_replaced() {
        type Write = fn(&Path, &[u8], FileAttributes) -> io::Result<()>;
        let dir = tempfile::tempdir().unwrap();
        for (name, write) in [("whole", write_whole as Write), ("part", under_part_name)] {
            let to = dir.path().join(name);
            let attributes =
                FileAttributes { modified: Some((1_000_000_000, 0)), executable: true };
            write(&to, b"bytes", attributes).unwrap();
            assert_eq!(fs::read(&to).unwrap(), b"bytes");
            assert_eq!(FileAttributes::of_file(&to.metadata().unwrap()), attributes);
            let again = write(&to, b"other", attributes).unwrap_err();
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&to).unwrap(), b"bytes");
            // A link that leads nowhere is a name that is taken, too.
            let link = dir.path().join(format!("{name}-link"));
            std::os::unix::fs::symlink("nowhere", &link).unwrap();
            write(&link, b"x", attributes).unwrap_err();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "nothing else is left");
        assert!(write_whole(&dir.path().join("none/x"), b"x", FileAttributes::default()).is_err());
    }

    #[test]
    fn what_a_killed_program_left_is_removed_and_what_another_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("name");
        let part = own_part(&to);
        fs::write(&part, b"ha").unwrap();
        let other = File::options().write(true).open(&part).unwrap();
        other.try_lock().unwrap();
        let attributes = FileAttributes::default();
        let why = under_part_name(&to, b"half", attributes).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&part).unwrap(), b"ha");
        drop(other);
        under_part_name(&to, b"half", attributes).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"half");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left");
        // A part of another download is none of ours.
        let long = dir.path().join("n".repeat(250));
        fs::write(part_path(&long), b"other").unwrap();
        under_part_name(&long, b"whole", attributes).unwrap();
        assert_eq!(fs::read(part_path(&long)).unwrap(), b"other");
    }
}
