//! Calls of the system for which neither the standard library nor another has a
//! safe function.
#![expect(unsafe_code, reason = "no library makes these calls safely")]

use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::path::{Path, PathBuf, absolute};
use std::ptr::null_mut;

use windows_sys::Win32::Storage::FileSystem::{GetDiskFreeSpaceExW, MoveFileExW};

/// From this length on a path needs another form.
const LONG: usize = 240;

/// Renames without replacing an existing file.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from)?, wide(to)?);
    // SAFETY: both are texts that end with a zero, and live until the call returns.
    let done = unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Bytes that this account may still write on the disk of a folder.
pub(super) fn free_at(folder: &Path) -> Option<u64> {
    let folder = wide(folder).ok()?;
    let mut free = 0;
    // SAFETY: the text ends with a zero, and one number is written to where one is.
    let done =
        unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &raw mut free, null_mut(), null_mut()) };
    (done != 0).then_some(free)
}

/// A path as the system takes it, however long it is.
fn wide(path: &Path) -> io::Result<Vec<u16>> {
    let path = absolute(path)?;
    let verbatim = match path.to_str() {
        Some(text) if text.len() >= LONG && !text.starts_with(r"\\") => {
            PathBuf::from(format!(r"\\?\{text}"))
        }
        _ => path,
    };
    let wide: Vec<u16> = verbatim.as_os_str().encode_wide().collect();
    if wide.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok([&wide[..], &[0]].concat())
}
