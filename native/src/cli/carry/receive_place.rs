//! Where `servent receive` puts what comes, and what a sender knows of that.

use std::path::Path;

use servent::transfer::many::number_by_link;
use servent::transfer::{InboxPlace, TransferCode};
use servent_core::id::Guid;

use super::many::parcels;
use crate::config::Settings;
use crate::exit::{Exit, Failure};

/// What the user named with `-o`; nothing is standard output.
pub(crate) fn place(output: Option<&Path>) -> Result<InboxPlace, Failure> {
    let Some(path) = output.filter(|path| *path != Path::new("-")) else {
        return Ok(InboxPlace::Output);
    };
    if path.is_dir() {
        return Ok(InboxPlace::Folder(path.to_owned()));
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        std::fs::create_dir_all(path).map_err(|e| Failure::file("make", path, &e))?;
        return Ok(InboxPlace::Folder(path.to_owned()));
    }
    if path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return Ok(InboxPlace::Device(path.to_owned()));
    }
    if path.symlink_metadata().is_ok() {
        let what = format!("{} is there already", path.display());
        return Err(
            Failure::new(Exit::Disk, what).next("choose another name with -o, or take it away")
        );
    }
    Ok(InboxPlace::File(path.to_owned()))
}

/// By which number the sender of a link knows one that takes it into the same folder again.
/// A pipe is another one each time.
pub(crate) fn receive_number(
    code: &TransferCode,
    output: Option<&Path>,
    settings: &Settings,
) -> Option<Guid> {
    let into = output.filter(|path| *path != Path::new("-"))?;
    let number = number_by_link(code, into, &parcels(settings));
    number.map_err(|why| tracing::debug!(%why, "the sender does not know us again")).ok()
}
