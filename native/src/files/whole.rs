//! Small files that are written at once: one has its name from the moment when all of
//! it is there, and before that no name at all, so that nothing is left of it when the
//! program is killed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

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
    let part = part_path(to);
    let file = open_no_link(OpenOptions::new().write(true).create_new(true), &part)?;
    let named = fill(&file, data, attributes).and_then(|()| rename_new(&part, to));
    if named.is_err() {
        let _ = fs::remove_file(&part); // The first error is the one to report.
    }
    named
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
}
