//! A file that is there already. Its server says whether it has the same before any
//! byte of it is downloaded; nothing is overwritten.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::json;
use servent_core::time::Duration;
use servent_core::wire::http::HttpDate;

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

/// Says that the file is the same as the server's.
///
/// # Errors
/// It differs in size or date, or the server says too little.
pub(super) fn compare(
    voice: Voice,
    file: &Path,
    size: Option<u64>,
    modified: Option<&str>,
) -> Result<(), Failure> {
    let there = file.metadata().map_err(|e| Failure::file("read", file, &e))?;
    let date = there.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(HttpDate::parse).map(HttpDate::to_unix);
    let (Some(size), Some(modified), Some(date)) = (size, modified, date) else {
        return Err(already(file));
    };
    if there.len() != size || date.as_secs() != modified {
        let what =
            format!("{} is there already, and the server has another version", file.display());
        return Err(Failure::new(Exit::Disk, what).next(NEXT));
    }
    same(voice, file);
    Ok(())
}

/// Says that a file is there and need not come again.
pub(super) fn same(voice: Voice, file: &Path) {
    let what = format!("{} is there, the same", file.display());
    voice.note(&json!({ "event": "there", "file": file }), &what);
}

const NEXT: &str = "choose another name with -o, or take it away";

/// Nothing is overwritten.
pub(super) fn already(file: &Path) -> Failure {
    Failure::new(Exit::Disk, format!("{} is there already", file.display())).next(NEXT)
}

/// An error if the file exists.
pub(super) fn absent(file: &Path) -> Result<(), Failure> {
    if file.symlink_metadata().is_ok() {
        return Err(already(file));
    }
    Ok(())
}
