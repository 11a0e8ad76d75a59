//! Files: those that are private, those without a name, those that replace nothing.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
pub(crate) use std::os::unix::fs::FileExt as FileAt;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags};
use rustix::io::Errno;

pub(crate) use super::mode::{is_executable, set_executable};

/// For a file or a folder that is made: only its owner may read it.
pub trait OwnerOnly {
    /// Makes it so.
    fn private(&mut self) -> &mut Self;
}

impl OwnerOnly for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self.mode(0o600)
    }
}

impl OwnerOnly for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self.mode(0o700)
    }
}

/// Opens a log, to write at its end. Its owner's group may read it.
///
/// # Errors
/// It cannot be written.
pub fn open_log(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).mode(0o640).open(path)
}

/// True while a path leads to this open file.
///
/// # Errors
/// The file cannot be looked at.
pub fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file_number(&file.metadata()?);
    Ok(fs::metadata(path).is_ok_and(|there| file_number(&there) == ours))
}

/// Renames without ever replacing an existing file.
///
/// # Errors
/// A file has that name, or the system refuses it.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?; // Fails if the name exists, as we want.
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

/// Opens a file, but does not follow a link.
pub(crate) fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(flags(OFlags::NOFOLLOW)).open(path)
}

/// The error of an open that does not follow a link.
pub(crate) fn refused_link() -> io::Error {
    Errno::LOOP.into()
}

/// True for that error, and for a link that would lead out of its folder.
pub(crate) fn is_refused_link(why: &io::Error) -> bool {
    matches!(Errno::from_io_error(why), Some(Errno::LOOP | Errno::XDEV))
}

/// A file in this folder that has no name, so that nothing is left of it.
pub(crate) fn nameless(folder: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(flags(OFlags::TMPFILE)).open(folder)
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

/// Gives such a file a name, unless another has it.
pub(crate) fn link_nameless(file: &File, to: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, open, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
}

/// Flushes everything to the disk that this folder is on.
///
/// # Errors
/// The folder cannot be opened, or the disk cannot be written.
pub fn flush_disk(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Flushes the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The last change: seconds since 1970 and nanoseconds.
pub(crate) fn modified(about: &Metadata) -> (i64, i64) {
    (about.mtime(), about.mtime_nsec())
}

/// The number of a file on disk, whatever its names: device and inode.
pub(crate) fn file_number(about: &Metadata) -> Option<(u64, u64)> {
    Some((about.dev(), about.ino()))
}

/// How many names it has.
pub(crate) fn names_of(about: &Metadata) -> u64 {
    about.nlink()
}

/// Bytes of the disk that it takes.
pub(crate) fn allocated(about: &Metadata) -> u64 {
    about.blocks().saturating_mul(512)
}

/// Bytes that are free on the disk of this path.
pub(crate) fn free_at(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes that are free on the disk of this file.
pub(crate) fn free_behind(file: &File) -> Option<u64> {
    let disk = rustix::fs::fstatvfs(file).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
