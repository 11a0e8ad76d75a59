//! A file that is there already. Its server says whether it has the same before any
//! byte of it is downloaded; nothing is overwritten.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::json;
use servent_core::time::Duration;

use super::sha256::Sha256Sum;
use super::source::RequestedFile;
use crate::exit::{Exit, Failure};
use crate::progress::Voice;

/// The server has that long to say what it has: in its queue that would take longer
/// than the answer is worth.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What the name of a file ends with while one of that name is there, which it may
/// replace.
pub(super) const NEW: &str = ".new~";

/// True when the server of a file can be asked whether it has the one that is there. A
/// hash that the user named has told it already.
pub(super) fn can_be_asked(file: &Path, wanted: &RequestedFile) -> bool {
    let by_address = wanted.push.is_none() && wanted.places.iter().all(|it| it.target.is_some());
    let is_file = file.symlink_metadata().is_ok_and(|there| there.is_file());
    is_file && by_address && wanted.sha1.is_none() && wanted.sha256.is_none()
}

/// The name under which it would be downloaded.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(NEW);
    name.into()
}

/// The longest file that comes beside one of the same length and another date, to be
/// compared with it.
const COMPARED: u64 = 16 << 20;

/// What the server's words say of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThereVerdict {
    /// It is the same, which is said.
    Same,
    /// Only its bytes can tell, and they are few.
    Compare,
}

/// Compares a file with what its server says: its size, and when it was changed last, in
/// seconds since the epoch.
///
/// # Errors
/// It is another version, or the server says too little.
pub(super) fn judge(
    voice: Voice,
    file: &Path,
    size: Option<u64>,
    modified: Option<u64>,
) -> Result<ThereVerdict, Failure> {
    let there = file.metadata().map_err(|e| Failure::file("read", file, &e).of_name())?;
    let date = there.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let date = date.map(|date| date.as_secs());
    match size {
        Some(size) if size != there.len() => Err(another(file)),
        Some(_) if modified.is_some() && date == modified => {
            same(voice, file);
            Ok(ThereVerdict::Same)
        }
        Some(size) if size <= COMPARED => Ok(ThereVerdict::Compare),
        _ => Err(already(file)),
    }
}

/// Compares a file with one that has come beside it, because their lengths and dates did
/// not tell: that one is removed. Blocks.
///
/// # Errors
/// They differ, or cannot be read.
pub(super) fn compare_whole(voice: Voice, file: &Path, new: &Path) -> Result<(), Failure> {
    let sum = |path: &Path| {
        Sha256Sum::of_file(path).map_err(|e| Failure::file("read", path, &e).of_name())
    };
    let differ = sum(file)? != sum(new)?;
    let _ = std::fs::remove_file(new); // It has told what it was to tell.
    if differ {
        return Err(another(file));
    }
    same(voice, file);
    Ok(())
}

/// Removes what may have come of a file that was found to be there, before its download
/// was taken back.
pub(super) fn remove_new(file: &Path) {
    let _ = std::fs::remove_file(beside(file)); // Usually there is none.
}

/// Says that a file is there and need not come again.
pub(super) fn same(voice: Voice, file: &Path) {
    let what = format!("{} is there, the same", file.display());
    voice.note(&json!({ "event": "there", "file": file }), &what);
}

const NEXT: &str = "choose another name with -o, or take it away";

/// Nothing is overwritten, also by what is known to be newer.
fn another(file: &Path) -> Failure {
    let what = format!("{} is there already, and the server has another version", file.display());
    Failure::new(Exit::Disk, what).next(NEXT).of_name()
}

/// Nothing is overwritten.
pub(super) fn already(file: &Path) -> Failure {
    Failure::new(Exit::Disk, format!("{} is there already", file.display())).next(NEXT).of_name()
}

/// An error if the file exists.
pub(super) fn absent(file: &Path) -> Result<(), Failure> {
    if file.symlink_metadata().is_ok() {
        return Err(already(file));
    }
    Ok(())
}
