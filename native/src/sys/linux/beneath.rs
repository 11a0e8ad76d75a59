//! Opening a shared file without ever leaving its folder, whatever symbolic
//! links are put there at any moment.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// How often to retry when the folder changes at the same time.
const TRIES: u32 = 8;

/// An open shared folder: renaming it does not lead us elsewhere.
#[derive(Debug)]
pub(crate) struct Root {
    dir: File,
    path: PathBuf,
}

impl Root {
    /// Opens a folder.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(Self { dir: dir.into(), path })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file in it. Links that stay within the folder are
    /// followed, links out of it are refused, and only regular files are
    /// opened.
    pub(crate) fn open_file(&self, relative: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        let file: File = loop {
            match openat2(&self.dir, relative, flags, Mode::empty(), resolve) {
                Ok(file) => break file.into(),
                Err(Errno::AGAIN) if tries < TRIES => tries += 1,
                Err(Errno::NOSYS | Errno::PERM) => break self.open_checked(relative, flags)?,
                Err(why) => return Err(why.into()),
            }
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file)
    }

    /// For systems without `openat2`: resolves the name, checks the result, and
    /// opens that path without following a link at its end.
    fn open_checked(&self, relative: &Path, flags: OFlags) -> io::Result<File> {
        let place = self.path.join(relative).canonicalize()?;
        if !place.starts_with(&self.path) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "leads out of the folder"));
        }
        Ok(rustix::fs::open(place, flags | OFlags::NOFOLLOW, Mode::empty())?.into())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_around_inside_but_never_out() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/file"), "shared").unwrap();
        symlink("sub/file", at("inside")).unwrap();
        symlink(outside.path().join("secret"), at("absolute")).unwrap();
        symlink(outside.path(), at("folder")).unwrap();
        symlink("../../../../../../etc/passwd", at("relative")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        for good in ["sub/file", "inside"] {
            assert!(root.open_file(Path::new(good)).is_ok(), "{good}");
            assert!(root.open_checked(Path::new(good), flags).is_ok(), "{good}");
        }
        let bad = ["absolute", "folder/secret", "relative", "../x", "/etc/passwd", "missing"];
        for bad in bad {
            assert!(root.open_file(Path::new(bad)).is_err(), "{bad}");
            assert!(root.open_checked(Path::new(bad), flags).is_err(), "{bad}");
        }
        assert!(root.open_file(Path::new("sub")).is_err(), "a folder is no file");
    }

    #[test]
    fn what_was_put_in_place_of_a_file_is_not_opened_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "shared").unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert!(root.open_file(Path::new("file")).is_ok());
        fs::remove_file(at("file")).unwrap();
        // A normal open of a pipe would wait for a writer.
        assert!(std::process::Command::new("mkfifo").arg(at("file")).status().unwrap().success());
        assert!(root.open_file(Path::new("file")).is_err(), "a pipe");
        fs::remove_file(at("file")).unwrap();
        symlink("/dev/zero", at("file")).unwrap();
        assert!(root.open_file(Path::new("file")).is_err(), "a device");
        fs::remove_file(at("file")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("file")).unwrap();
        assert!(root.open_file(Path::new("file")).is_err(), "a socket");
    }
}
