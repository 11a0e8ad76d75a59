//! Files. Who may read them follows from their folder: the one for a user's state
//! is open to that account and to administrators alone.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use winapi_util::{HandleRef, file};

use super::calls;

/// Opens a link itself, not what it leads to (`FILE_FLAG_OPEN_REPARSE_POINT`).
const LINK_ITSELF: u32 = 0x0020_0000;
/// The system's number for a link that cannot be followed.
const LINK_REFUSED: i32 = 1_921;
/// Between the start of the system's years, 1601, and of the epoch, in seconds.
const BEFORE_EPOCH: i64 = 11_644_473_600;
/// The parts of a second in which the system counts.
const TICKS: i64 = 10_000_000;

/// For a file or a folder that is made: only its owner may read it.
pub trait OwnerOnly {
    /// Makes it so, as far as its folder does not already.
    fn private(&mut self) -> &mut Self;
}

impl OwnerOnly for OpenOptions {
    fn private(&mut self) -> &mut Self {
        self
    }
}

impl OwnerOnly for DirBuilder {
    fn private(&mut self) -> &mut Self {
        self
    }
}

/// Reads and writes at a place of a file.
pub(crate) trait FileAt {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize>;

    fn read_exact_at(&self, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_at(into, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    into = &mut into[read..];
                    at += read as u64;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    at += written as u64;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

impl FileAt for File {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.seek_read(into, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        self.seek_write(bytes, at)
    }
}

/// Opens a log, to write at its end.
///
/// # Errors
/// It cannot be written.
pub fn open_log(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// True while a path leads to this open file.
///
/// # Errors
/// The file cannot be looked at.
pub fn is_same_file(ours: &File, path: &Path) -> io::Result<bool> {
    let number = |about: file::Information| (about.volume_serial_number(), about.file_index());
    let ours = number(file::information(HandleRef::from_file(ours))?);
    let there = File::open(path).and_then(|there| file::information(HandleRef::from_file(&there)));
    Ok(there.is_ok_and(|there| number(there) == ours))
}

/// Renames without ever replacing an existing file.
///
/// # Errors
/// A file has that name, or the system refuses it.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    calls::rename_new(from, to)
}

/// Opens a file, but does not follow a link.
pub(crate) fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(LINK_ITSELF).open(path)?;
    if file.metadata()?.is_symlink() {
        return Err(refused_link());
    }
    Ok(file)
}

/// The error of an open that does not follow a link
/// (`ERROR_CANT_RESOLVE_FILENAME`).
pub(crate) fn refused_link() -> io::Error {
    io::Error::from_raw_os_error(LINK_REFUSED)
}

/// True for that error, and for a link that would lead out of its folder.
pub(crate) fn is_refused_link(why: &io::Error) -> bool {
    why.raw_os_error() == Some(LINK_REFUSED) || why.kind() == io::ErrorKind::CrossesDevices
}

/// There are no files without a name here.
pub(crate) fn nameless(_folder: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Nor can one be given a name.
pub(crate) fn link_nameless(_file: &File, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Only administrators may flush a whole disk here: after a power cut, files that have
/// just come may have no bytes. Their sizes tell.
///
/// # Errors
/// None.
pub fn flush_disk(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Names are in the file system's own journal.
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// The last change: seconds since 1970 and nanoseconds.
pub(crate) fn modified(about: &Metadata) -> (i64, i64) {
    let ticks = i64::try_from(about.last_write_time()).unwrap_or(0);
    (ticks.div_euclid(TICKS) - BEFORE_EPOCH, ticks.rem_euclid(TICKS) * 100)
}

/// The number of a file on disk. What is known of a file without opening it does
/// not contain it.
pub(crate) fn file_number(_about: &Metadata) -> Option<(u64, u64)> {
    None
}

/// How many names it has: one, as far as is known without opening it.
pub(crate) fn names_of(_about: &Metadata) -> u64 {
    1
}

/// Bytes of the disk that it takes.
pub(crate) fn allocated(about: &Metadata) -> u64 {
    about.file_size()
}

/// Bytes that are free on the disk of this path.
pub(crate) fn free_at(path: &Path) -> Option<u64> {
    let folder = if path.is_file() { path.parent()? } else { path };
    calls::free_at(folder)
}

/// A file does not tell its disk here.
pub(crate) fn free_behind(_file: &File) -> Option<u64> {
    None
}

/// Whether a file may be run follows from its name here.
pub(crate) fn is_executable(_about: &Metadata) -> bool {
    false
}

/// So there is nothing to set.
pub(crate) fn set_executable(_file: &File, _executable: bool) -> io::Result<()> {
    Ok(())
}
