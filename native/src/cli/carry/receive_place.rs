//! Where `servent receive` puts what comes.

use std::path::Path;

use servent::transfer::InboxPlace;

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
