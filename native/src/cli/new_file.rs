//! The file that a user names for what a command makes: never one that is there.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use servent::sys::is_device;

use crate::exit::{Exit, Failure};

/// Opens a new file; a device or a pipe with a name is opened as it is.
///
/// # Errors
/// There is a file of that name, or it cannot be made.
pub(crate) fn new_file(path: &Path) -> Result<File, Failure> {
    let mut how = OpenOptions::new();
    let opened = match path.metadata() {
        Ok(about) if is_device(&about) => how.write(true).open(path),
        _ => how.write(true).create_new(true).open(path),
    };
    opened.map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => there(path),
        _ => Failure::file("write", path, &why),
    })
}

/// Refuses to replace a file.
pub(crate) fn there(path: &Path) -> Failure {
    Failure::new(Exit::Disk, format!("{} is there already", path.display()))
        .next("name another file, or delete that one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_never_replaced_and_a_device_is_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        assert!(new_file(&file).is_ok());
        assert_eq!(new_file(&file).unwrap_err().exit, Exit::Disk);
        assert_eq!(new_file(dir.path()).unwrap_err().exit, Exit::Disk);
        assert!(new_file(Path::new("/dev/null")).is_ok());
    }
}
