//! What `swarm serve` gives: files as they are, and each folder packed into one file.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use servent::swarm::ServedFile;
use servent::transfer::many::FolderParcel;
use servent::transfer::{Offer, OfferError, total};
use servent_core::text::Shown;

use crate::exit::{Exit, Failure};
use crate::progress::{PackingProgress, Reporter, count};

/// The characters of a name that are not escaped in a URL of a swarm.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
/// How many files that cannot be read are named.
const NAMED: usize = 10;

/// A name as it stands in a URL after the host.
pub(super) fn escaped(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// Files of a swarm, and the folders that some of them were made of.
pub(super) struct GivenFiles {
    pub(super) files: Vec<ServedFile>,
    folders: Vec<GivenFolder>,
}

/// A folder of a swarm.
pub(super) struct GivenFolder {
    parcel: FolderParcel,
    /// How many files are in it.
    pub(super) files: u64,
}

impl GivenFiles {
    /// Packs the folders among these paths, below `state`.
    ///
    /// # Errors
    /// A folder cannot be read, or its copy cannot be written.
    pub(super) async fn pack(
        paths: Vec<PathBuf>,
        state: PathBuf,
        reporter: Reporter,
    ) -> Result<Self, Failure> {
        let packing = tokio::task::spawn_blocking(move || {
            let mut given = Self { files: Vec::new(), folders: Vec::new() };
            for path in paths {
                match path.is_dir() {
                    true => given.add_folder(&path, &state, &reporter)?,
                    false => given.files.push(ServedFile::named_as_it_is(path)),
                }
            }
            Ok(given)
        });
        packing.await.unwrap_or_else(|e| Err(Failure::new(Exit::Failed, e.to_string())))
    }

    fn add_folder(
        &mut self,
        path: &Path,
        state: &Path,
        reporter: &Reporter,
    ) -> Result<(), Failure> {
        let offer = Offer::from_paths(&[path.to_owned()]).map_err(failed)?;
        for (path, why) in offer.skipped() {
            let path = path.display().to_string();
            let fact = json!({ "event": "skipped", "name": path, "why": why });
            reporter.tell(&fact, &format!("{} is not given: {why}", Shown(&path)));
        }
        let name = offer.entries().first().map(|entry| entry.text()).unwrap_or_default();
        let copying = format!("copying {} into {}", Shown(&name), state.display());
        reporter.tell(&json!({ "event": "copying", "name": name, "into": state }), &copying);
        let file = state.join(format!("folder-{}", self.folders.len()));
        let mut progress = PackingProgress::begin(reporter, &name, &offer);
        let parcel = FolderParcel::pack(&offer, &file, |now| progress.show(now)).map_err(failed)?;
        drop(progress);
        lacking(&parcel, reporter);
        let (files, _) = total(parcel.entries());
        self.files.push(ServedFile { path: file, name });
        self.folders.push(GivenFolder { parcel, files: files as u64 });
        Ok(())
    }

    /// The folder that a file was made of.
    pub(super) fn folder(&self, file: &ServedFile) -> Option<&GivenFolder> {
        self.folders.iter().find(|folder| folder.parcel.file() == file.path)
    }
}

/// Says what of a folder cannot be read.
fn lacking(parcel: &FolderParcel, reporter: &Reporter) {
    let lacking = parcel.lacking();
    for it in lacking {
        reporter.fact(&json!({ "event": "lacks", "name": it.text(), "why": it.why }));
    }
    if lacking.is_empty() {
        return;
    }
    let mut text =
        format!("{} cannot be read and is not given:", count(lacking.len() as u64, "file"));
    for it in lacking.iter().take(NAMED) {
        text.push_str(&format!("\n  {}: {}", Shown(&it.text()), Shown(&it.why)));
    }
    if lacking.len() > NAMED {
        text.push_str(&format!("\n  and {} more", lacking.len() - NAMED));
    }
    reporter.tell(&json!({ "event": "incomplete", "files": lacking.len() }), &text);
}

fn failed(why: OfferError) -> Failure {
    match why {
        OfferError::Read { path, why } => Failure::file("read", &path, &why),
        OfferError::Write { path, why } => Failure::file("write", &path, &why)
            .next("a folder is copied into the state folder: make room there, or choose another one with --state"),
        other => Failure::new(Exit::Disk, other.to_string())
            .next("give an archive of it instead"),
    }
}
