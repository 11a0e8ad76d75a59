//! Where `swarm get` puts what arrives: a file, a device, or a folder.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::json;
use servent::swarm::SwarmProgress;
use servent::transfer::many::ReceivedFolder;
use servent::transfer::{InboxPlace, Lacking, TransferInbox, TransferProgress};
use servent_core::text::Shown;
use servent_core::wire::pdtp::url_of;
use sha1::Digest as _;
use tempfile::TempDir;

use super::get::source_share;
use crate::cli::carry::offered::room;
use crate::cli::carry::tally::{lacking_fact, names};
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, bytes, count};

/// Where the pieces of a download are put together, and what comes of them then.
pub(super) struct SwarmTarget {
    /// The file that the servent makes.
    pub(super) pieces: PathBuf,
    /// The folder for the servent's state.
    pub(super) state: PathBuf,
    /// What it is called on the screen.
    pub(super) name: String,
    then: Then,
}

/// What comes of a file that is whole.
enum Then {
    /// It is what was wanted.
    Stays,
    /// It is copied to a device such as `/dev/null`, or a pipe with a name.
    Copied { to: PathBuf, _spool: TempDir },
    /// It is a folder, and is unpacked.
    Unpacked { into: PathBuf },
}

impl SwarmTarget {
    /// For what a URL calls `name`, whose state is below `states`.
    ///
    /// # Errors
    /// The name cannot be one here, or is taken.
    pub(super) fn new(output: Option<&Path>, name: &str, states: &Path) -> Result<Self, Failure> {
        if name.ends_with('/') {
            return Self::folder(output, name, states);
        }
        // Pieces come in any order: what a device is to take waits in a folder until then.
        if let Some(device) = output.filter(|output| is_device(output)) {
            let spool = tempfile::tempdir()
                .map_err(|e| Failure::file("make a folder in", &std::env::temp_dir(), &e))?;
            let pieces = spool.path().join("pieces");
            let then = Then::Copied { to: device.to_owned(), _spool: spool };
            return Ok(Self::with_state(
                pieces,
                device.as_os_str().as_encoded_bytes(),
                states,
                then,
            ));
        }
        let file = file(output, name)?;
        let state = file.as_os_str().as_encoded_bytes().to_vec();
        Ok(Self::with_state(file, &state, states, Then::Stays))
    }

    fn folder(output: Option<&Path>, name: &str, states: &Path) -> Result<Self, Failure> {
        if output.is_some_and(|output| output.exists() && !output.is_dir()) {
            return Err(Failure::usage(format!("{} is a folder of files", Shown(name)))
                .next("choose a folder to put it in with -o DIR/"));
        }
        let into = output.unwrap_or(Path::new("."));
        let into = std::path::absolute(into).map_err(|e| Failure::file("write", into, &e))?;
        // The same folder in the same place goes on where it was.
        let key = into.join(name);
        let then = Then::Unpacked { into };
        let mut it =
            Self::with_state(PathBuf::new(), key.as_os_str().as_encoded_bytes(), states, then);
        it.pieces = it.state.join("pieces");
        it.name = Shown(name).to_string();
        Ok(it)
    }

    fn with_state(pieces: PathBuf, key: &[u8], states: &Path, then: Then) -> Self {
        let state = states.join(HEXLOWER.encode(&sha1::Sha1::digest(key)[..8]));
        let name = pieces.file_name().unwrap_or_default().to_string_lossy();
        Self { state, name: Shown(&name).to_string(), pieces, then }
    }

    /// True when an earlier run has fetched all of a folder and not unpacked it.
    pub(super) fn is_fetched(&self) -> bool {
        matches!(self.then, Then::Unpacked { .. }) && self.pieces.exists()
    }

    /// Makes of a whole file what is wanted, and says so.
    ///
    /// # Errors
    /// It cannot be written, or is not what its name says.
    pub(super) async fn complete(
        &self,
        progress: &SwarmProgress,
        reporter: &Reporter,
    ) -> Result<(), Failure> {
        let mut fact = serde_json::to_value(progress).unwrap_or_default();
        fact["event"] = "done".into();
        let share = match progress.from_source + progress.from_peers {
            0 => String::new(),
            _ => format!(", {} % from the source", source_share(progress)),
        };
        let shown = match &self.then {
            Then::Stays => self.pieces.clone(),
            Then::Copied { to, .. } => {
                copy_to_device(&self.pieces, to)?;
                to.clone()
            }
            Then::Unpacked { into } => {
                let Unpacked { path, files, size, blocked } = self.unpack(into, reporter).await?;
                fact["path"] = json!(path);
                fact["name"] = json!(self.name);
                fact["files"] = files.into();
                let (text, files_text) = (path.display().to_string(), count(files, "file"));
                let what = format!("{} {files_text}, {}{share}", Shown(&text), bytes(size));
                reporter.result(&fact, &what);
                return in_part(&blocked, files);
            }
        };
        fact["path"] = json!(shown);
        fact["name"] = json!(self.name);
        let sum = progress.done.as_deref().unwrap_or_default();
        let size = bytes(progress.size);
        reporter.result(&fact, &format!("{} {size}, SHA-256 {sum}{share}", shown.display()));
        Ok(())
    }

    /// Stores the files of a folder.
    async fn unpack(&self, into: &Path, reporter: &Reporter) -> Result<Unpacked, Failure> {
        let wrong = |why: io::Error| match why.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Failure::new(Exit::Unverified, format!("{}: {why}", self.name))
            }
            _ => Failure::file("write below", into, &why),
        };
        let folder = ReceivedFolder::open(&self.pieces).map_err(wrong)?;
        let inbox = TransferInbox::new(InboxPlace::Folder(into.to_owned()), Arc::default());
        inbox.suits(folder.entries()).map_err(|why| {
            Failure::new(Exit::Failed, format!("{} cannot be kept: {}", self.name, Shown(&why)))
        })?;
        room(&inbox, None, folder.entries()).map_err(|no| {
            Failure::new(Exit::Disk, format!("{} cannot be kept: {}", self.name, no.why))
                .next("make room on that disk, and run the same command: nothing is fetched again")
        })?;
        let path = into.join(folder.name());
        let (mut files, mut size, mut blocked) = (0, 0, Vec::new());
        let each = |it| match it {
            TransferProgress::There(it) => {
                (files, size) = (files + 1, size + it.length);
                let path = it.file.map(|path| path.display().to_string());
                reporter.fact(&json!({
                    "event": "received", "name": path, "bytes": it.length,
                    "blake3": HEXLOWER.encode(&it.sum),
                }));
            }
            TransferProgress::Lacks(it) => {
                reporter.fact(&lacking_fact(&it, None));
                blocked.push(it);
            }
            TransferProgress::Known
            | TransferProgress::Numbered(_)
            | TransferProgress::Offered
            | TransferProgress::Accepted
            | TransferProgress::Begun { .. }
            | TransferProgress::Bytes { .. } => {}
        };
        folder.unpack(inbox, each).await.map_err(wrong)?;
        Ok(Unpacked { path, files, size, blocked })
    }

    /// Removes what a folder came in, once it is unpacked and not given on any more.
    pub(super) fn remove(&self) {
        if matches!(self.then, Then::Unpacked { .. })
            && let Err(why) = std::fs::remove_dir_all(&self.state)
        {
            tracing::warn!(folder = %self.state.display(), %why, "what a folder came in stays");
        }
    }
}

/// The files of a folder that were stored.
struct Unpacked {
    /// The folder itself.
    path: PathBuf,
    files: u64,
    size: u64,
    /// What could not get its name.
    blocked: Vec<Lacking>,
}

/// The failure of a folder of which some files could not get their names.
fn in_part(blocked: &[Lacking], files: u64) -> Result<(), Failure> {
    if blocked.is_empty() {
        return Ok(());
    }
    let exit = if files == 0 { Exit::Disk } else { Exit::InPart };
    let what = count(blocked.len() as u64, "file");
    let next = "take that away, and run the same command: nothing is fetched again";
    Err(Failure::new(exit, format!("{what} cannot be written here:{}", names(blocked))).next(next))
}

/// True for a device such as `/dev/null`, or a pipe with a name.
fn is_device(output: &Path) -> bool {
    output.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir())
}

fn copy_to_device(file: &Path, device: &Path) -> Result<(), Failure> {
    let out = File::options().write(true).open(device);
    let copied = out.and_then(|mut out| io::copy(&mut File::open(file)?, &mut out));
    copied.map(drop).map_err(|e| Failure::file("write to", device, &e))
}

/// The file to make.
fn file(output: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let plain = url_of(name);
    let plain = percent_encoding::percent_decode_str(plain.rsplit('/').next().unwrap_or_default());
    let plain = plain.decode_utf8_lossy().into_owned();
    // A name in a URL becomes a file in this folder, never a path.
    if output.is_none() && (plain.contains('/') || matches!(plain.as_str(), "." | "..")) {
        return Err(
            Failure::usage(format!("{plain:?} is no name for a file")).next("choose one with -o")
        );
    }
    let target = output.map_or_else(|| PathBuf::from(plain), Path::to_path_buf);
    let target = std::path::absolute(&target).map_err(|e| Failure::file("write", &target, &e))?;
    if target.symlink_metadata().is_ok() {
        return Err(Failure::new(Exit::Disk, format!("{} is there already", target.display()))
            .next("choose another name with -o, or take it away"));
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_url_never_becomes_a_path() {
        for name in ["..", "%2e%2e", "a%2Fb", "%2Fetc%2Fpasswd"] {
            assert!(file(None, name).is_err(), "{name}");
        }
        assert!(file(None, "my%20file").unwrap().ends_with("my file"));
    }

    #[test]
    fn a_folder_is_put_together_in_the_state_folder_and_goes_on_in_the_same_place() {
        let states = Path::new("states");
        let at = |output: Option<&Path>, name| SwarmTarget::new(output, name, states).unwrap();
        let one = at(None, "course/");
        assert!(one.pieces.starts_with(states) && one.state.starts_with(states));
        assert_eq!(one.pieces, at(Some(Path::new(".")), "course/").pieces);
        assert_ne!(one.pieces, at(Some(Path::new("other")), "course/").pieces);
        assert_ne!(one.pieces, at(None, "other/").pieces);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(SwarmTarget::new(Some(file.path()), "course/", states).is_err());
    }
}
