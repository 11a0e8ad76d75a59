//! Opening a shared file without ever leaving its folder, whatever links are put
//! there at any moment.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::names::is_kept;

/// An open shared folder: renaming it does not lead us elsewhere.
#[derive(Debug)]
pub(crate) struct Root {
    dir: Dir,
    path: PathBuf,
}

impl Root {
    /// Opens a folder.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = dunce::canonicalize(path)?;
        Ok(Self { dir: Dir::open_ambient_dir(&path, ambient_authority())?, path })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file in it. Links that stay within the folder are
    /// followed, links out of it are refused, and only regular files are
    /// opened: no device, which any folder seems to contain here, and no hidden
    /// stream of a file.
    pub(crate) fn open_file(&self, relative: &Path) -> io::Result<File> {
        if !relative.iter().all(|name| name.to_str().is_some_and(is_kept)) {
            return Err(ErrorKind::NotFound.into());
        }
        let file = self.dir.open(relative).map_err(|why| match why.kind() {
            // What the system refuses has its number.
            ErrorKind::PermissionDenied if why.raw_os_error().is_none() => {
                ErrorKind::CrossesDevices.into()
            }
            _ => why,
        })?;
        let file = file.into_std();
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file)
    }
}
