//! Maps offered files to files on the disk.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::offer::{LackKind, Lacking, OfferEntry, said, total};
use super::quota::Quota;
use super::target::{Begun, NAMES, TargetFile};
use super::writers::Writers;
use crate::files::{NAME_BYTES, free_room, number_path, part_path, safe_os_path, write_whole};

/// The longest path of a file in bytes: the system's limit without its last zero.
const PATH_BYTES: usize = 4_095;
/// How much of a long name is shown.
const SHOWN: usize = 40;

/// Where received files go.
#[derive(Debug, Clone)]
pub enum InboxPlace {
    /// Standard output: a single file or stream.
    Output,
    /// A device such as `/dev/null`, or a pipe with a name: the same.
    Device(PathBuf),
    /// This file.
    File(PathBuf),
    /// Files and folders in this folder.
    Folder(PathBuf),
}

/// The destination of one transfer.
#[derive(Debug)]
pub struct TransferInbox {
    place: InboxPlace,
    /// Names used by other files of this transfer.
    taken: BTreeSet<PathBuf>,
    /// Folders that are no links.
    plain: BTreeSet<PathBuf>,
    /// Folders that exist, because something was written to them.
    made: BTreeSet<PathBuf>,
    /// Offered folders that something else is in the way of.
    blocked: BTreeSet<OsString>,
    pub(super) writers: Arc<Writers>,
    pub(super) quota: Option<Arc<Quota>>,
}

/// A name for a file, and what exists under that name.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// What it will be called; `None` for standard output.
    pub(super) name: Option<PathBuf>,
    /// Which of the possible names, counted from 1.
    pub(super) n: u32,
    pub(super) there: ExistingFile,
}

/// What exists of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExistingFile {
    Nothing,
    /// A partial file of this many bytes.
    Part(u64),
    /// A file of the same length as the offered one.
    Whole,
}

impl Candidate {
    /// The path of the bytes that may belong to the file.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let name = self.name.as_deref()?;
        match self.there {
            ExistingFile::Nothing => None,
            ExistingFile::Part(_) => Some(part_path(name)),
            ExistingFile::Whole => Some(name.to_owned()),
        }
    }
}

impl TransferInbox {
    /// `writers` is shared by all parallel transfers.
    #[must_use]
    pub const fn new(place: InboxPlace, writers: Arc<Writers>) -> Self {
        Self {
            place,
            taken: BTreeSet::new(),
            plain: BTreeSet::new(),
            made: BTreeSet::new(),
            blocked: BTreeSet::new(),
            writers,
            quota: None,
        }
    }

    /// Limits what is written to a quota.
    #[must_use]
    pub fn limited(self, quota: Option<Arc<Quota>>) -> Self {
        Self { quota, ..self }
    }

    /// Checks whether these entries can be stored here.
    ///
    /// # Errors
    /// The reason, as a sentence for the sender.
    pub fn suits(&self, entries: &[OfferEntry]) -> Result<(), String> {
        match (&self.place, entries) {
            (InboxPlace::Folder(folder), [_, ..]) => {
                entries.iter().try_for_each(|entry| fits_names(folder, entry))
            }
            (_, [one]) if !one.is_folder() => Ok(()),
            (_, []) => Err("there is nothing in it".into()),
            _ => {
                Err("only one file or stream is taken here; receive several with -o FOLDER/".into())
            }
        }
    }

    /// How many bytes are wanted beyond what is free on the disk, counting what
    /// exists of the entries already; `None` when they fit, or are not files. Blocks.
    #[must_use]
    pub fn lacks_room(&self, entries: &[OfferEntry]) -> Option<Shortage> {
        let (InboxPlace::Folder(at) | InboxPlace::File(at)) = &self.place else { return None };
        let (free, (_, wanted)) = (free_room(at)?, total(entries));
        let wanted = wanted.filter(|wanted| *wanted > free)?;
        let wanted = wanted.saturating_sub(self.exists(entries));
        (wanted > free).then_some(Shortage { wanted, free })
    }

    /// How many bytes of these entries seem to exist. Blocks.
    #[must_use]
    pub fn exists(&self, entries: &[OfferEntry]) -> u64 {
        let mut looking = Self::new(self.place.clone(), Arc::clone(&self.writers));
        let files = entries.iter().filter(|entry| !entry.is_folder());
        let bytes = files.map(|entry| match looking.look(entry, 0).map(|found| found.there) {
            Ok(ExistingFile::Part(bytes)) => bytes,
            Ok(ExistingFile::Whole) => entry.length.unwrap_or(0),
            Ok(ExistingFile::Nothing) | Err(_) => 0,
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Gives the folders their dates, once everything in them is complete. Blocks.
    pub(super) fn date_folders(&self, entries: &[OfferEntry]) {
        let InboxPlace::Folder(inbox) = &self.place else { return };
        let made = |entry: &&OfferEntry| entry.is_folder() && !self.blocked.contains(&entry.name);
        for entry in entries.iter().filter(made) {
            let path = inbox.join(safe_os_path(&entry.name));
            let dated = fs::File::open(&path).and_then(|folder| entry.attributes.apply(&folder));
            if let Err(why) = dated {
                tracing::debug!(%why, path = %path.display(), "a folder has no date");
            }
        }
    }

    /// Creates the folders, and looks for existing parts of the files. What something
    /// else is in the way of hinders no other.
    ///
    /// # Errors
    /// The disk refuses more than a name.
    pub(super) fn survey(&mut self, entries: &[OfferEntry]) -> io::Result<InboxSurvey> {
        let mut survey = InboxSurvey::default();
        for (at, entry) in entries.iter().enumerate() {
            let found = match entry.is_folder() {
                true => self.make(&entry.name).map(|()| None),
                false => self.look(entry, 0).map(Some),
            };
            let why = match found {
                Ok(found) => {
                    survey.candidates.push(found);
                    continue;
                }
                Err(why) if is_of_name(&why) => said(&why),
                Err(why) => return Err(why),
            };
            survey.candidates.push(None);
            if entry.is_folder() {
                self.blocked.insert(entry.name.clone());
                let folder = entry.name.as_encoded_bytes();
                let has_more = |it: &OfferEntry| it.name.as_encoded_bytes().starts_with(folder);
                if entries.get(at + 1).is_some_and(has_more) {
                    continue; // What is in it is named.
                }
            }
            let name = entry.name.clone();
            survey.blocked.push((at, Lacking { name, why, kind: LackKind::Blocked }));
        }
        Ok(survey)
    }

    fn make(&mut self, folder: &OsStr) -> io::Result<()> {
        let InboxPlace::Folder(inbox) = self.place.clone() else { return Ok(()) };
        let inner = safe_os_path(folder);
        self.only_folders(&inbox, &inner)?;
        fs::create_dir_all(inbox.join(inner))
    }

    /// Nothing is written through a link that lies in the folder: it may lead out of
    /// it. Nor is there anything below a file.
    fn only_folders(&mut self, inbox: &Path, inner: &Path) -> io::Result<()> {
        let above: Vec<&Path> = inner.ancestors().collect();
        for inner in above.into_iter().rev().filter(|path| *path != Path::new("")) {
            let path = inbox.join(inner);
            if self.plain.contains(&path) {
                continue;
            }
            let why = match file(&path)? {
                Some(about) if about.is_symlink() => "a link, and nothing is written through one",
                Some(about) if about.is_dir() => {
                    self.plain.insert(path);
                    continue;
                }
                Some(_) => "no folder, and has to be one",
                None => return Ok(()), // Below what does not exist there is nothing.
            };
            let what = format!("at the receiver {} is {why}", inner.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, what));
        }
        Ok(())
    }

    /// The first possible name whose number is above `after`, and what exists
    /// under it.
    pub(super) fn look(&mut self, entry: &OfferEntry, after: u32) -> io::Result<Candidate> {
        let wish = match &self.place {
            InboxPlace::Output | InboxPlace::Device(_) => {
                return Ok(Candidate { name: None, n: 1, there: ExistingFile::Nothing });
            }
            InboxPlace::File(file) if after > 0 => {
                let what = format!("{} is of another file", part_path(file).display());
                return Err(io::Error::other(what));
            }
            InboxPlace::File(file) => file.clone(),
            InboxPlace::Folder(folder) if entry.name.is_empty() => folder.join("received"),
            InboxPlace::Folder(folder) => {
                let (folder, inner) = (folder.clone(), safe_os_path(&entry.name));
                self.only_folders(&folder, inner.parent().unwrap_or(Path::new("")))?;
                folder.join(inner)
            }
        };
        for n in after + 1..=NAMES {
            let name = if n == 1 { wish.clone() } else { number_path(&wish, n) };
            if self.taken.contains(&name) {
                continue;
            }
            let (whole, part) = (file(&name)?, file(&part_path(&name))?);
            let there = match (whole, part, entry.length) {
                (None, None, _) => ExistingFile::Nothing,
                (Some(whole), _, Some(length)) if whole.is_file() && whole.len() == length => {
                    ExistingFile::Whole
                }
                (None, Some(part), Some(length)) if part.is_file() && part.len() <= length => {
                    ExistingFile::Part(part.len())
                }
                _ => continue,
            };
            self.taken.insert(name.clone());
            return Ok(Candidate { name: Some(name), n, there });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Writes a whole file of which nothing exists, under the candidate's name or a later
    /// one; returns its path. Blocks.
    pub(super) fn store(
        &mut self,
        entry: &OfferEntry,
        mut at: Candidate,
        data: &[u8],
    ) -> io::Result<PathBuf> {
        loop {
            let name = at.name.ok_or(io::ErrorKind::Unsupported)?;
            let folder = name.parent().filter(|folder| *folder != Path::new(""));
            if let Some(folder) = folder.filter(|folder| !self.made.contains(*folder)) {
                fs::create_dir_all(folder)?;
                self.made.insert(folder.to_owned());
            }
            match write_whole(&name, data, entry.attributes) {
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| name),
            }
            loop {
                at = self.look(entry, at.n)?;
                if at.there == ExistingFile::Nothing {
                    break;
                }
            }
        }
    }

    /// Opens a file to continue after the `from` bytes that exist. If nothing
    /// exists, it gets the candidate's name or a later one.
    pub(super) fn begin(
        &mut self,
        entry: &OfferEntry,
        mut at: Candidate,
        (from, begun): (u64, Option<&Begun>),
    ) -> io::Result<TargetFile> {
        if let (Some(name), Some(begun)) = (at.name.as_deref(), begun) {
            match TargetFile::again(name, from, begun) {
                // Another transfer took the name first, and nothing is lost.
                Err(_) if from == 0 => {}
                other => return other,
            }
        }
        // What exists and was not proven belongs to another sender.
        while at.there != ExistingFile::Nothing {
            at = self.look(entry, at.n)?;
        }
        loop {
            let Some(name) = &at.name else {
                return match &self.place {
                    InboxPlace::Device(path) => TargetFile::device(path),
                    _ => TargetFile::output(),
                };
            };
            if let Some(folder) = name.parent().filter(|folder| *folder != Path::new("")) {
                fs::create_dir_all(folder)?;
            }
            match TargetFile::new(name) {
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
            loop {
                at = self.look(entry, at.n)?;
                if at.there == ExistingFile::Nothing {
                    break;
                }
            }
        }
    }
}

/// What a disk lacks for what is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that would be written.
    pub wanted: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// What exists of the entries of an offer.
#[derive(Debug, Default)]
pub(super) struct InboxSurvey {
    /// What may exist of each file; `None` for a folder, and for what is blocked.
    pub(super) candidates: Vec<Option<Candidate>>,
    /// What cannot get its name.
    pub(super) blocked: Vec<(usize, Lacking)>,
}

/// True when the disk refuses only this name: others of the same folder may come.
fn is_of_name(why: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, NotADirectory, PermissionDenied};
    matches!(why.kind(), AlreadyExists | InvalidFilename | NotADirectory | PermissionDenied)
}

/// Checks that a file system keeps this name as it is.
fn fits_names(folder: &Path, entry: &OfferEntry) -> Result<(), String> {
    let longest = entry.name.as_encoded_bytes().split(|byte| *byte == b'/').map(<[u8]>::len).max();
    if longest > Some(NAME_BYTES) {
        let bytes = longest.unwrap_or(0);
        let name = entry.text();
        let short: String = name.chars().take(SHOWN).collect();
        return Err(format!("a name of {bytes} bytes cannot be kept, {NAME_BYTES} can: {short}…"));
    }
    let path = part_path(&folder.join(safe_os_path(&entry.name)));
    if path.as_os_str().len() > PATH_BYTES {
        let short: String = entry.text().chars().take(SHOWN).collect();
        return Err(format!("its path would be too long here: {short}…"));
    }
    Ok(())
}

/// The metadata of a path, without following links.
fn file(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(about) => Ok(Some(about)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_the_file_is_found_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let inbox =
            || TransferInbox::new(InboxPlace::Folder(dir.path().to_owned()), Arc::default());
        let entry =
            OfferEntry { name: "../a.ogg".into(), length: Some(5), ..OfferEntry::default() };
        let look = |after| {
            let found = inbox().look(&entry, after).unwrap();
            let name = found.name.unwrap();
            (name.strip_prefix(dir.path()).unwrap().display().to_string(), found.there)
        };
        std::fs::create_dir(path("download")).unwrap();
        assert_eq!(look(0), ("download/a.ogg".into(), ExistingFile::Nothing));
        std::fs::write(path("download/a.ogg.part"), "abc").unwrap();
        assert_eq!(look(0), ("download/a.ogg".into(), ExistingFile::Part(3)));
        std::fs::write(path("download/a.ogg.part"), "abcdef").unwrap();
        assert_eq!(look(0), ("download/a (2).ogg".into(), ExistingFile::Nothing), "it is too long");
        std::fs::write(path("download/a.ogg"), "abcde").unwrap();
        assert_eq!(look(0), ("download/a.ogg".into(), ExistingFile::Whole));
        std::os::unix::fs::symlink("a.ogg", path("download/a (2).ogg")).unwrap();
        assert_eq!(look(1), ("download/a (3).ogg".into(), ExistingFile::Nothing));
    }

    #[test]
    fn files_of_one_transfer_never_share_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut inbox =
            TransferInbox::new(InboxPlace::Folder(dir.path().to_owned()), Arc::default());
        let mut names = BTreeSet::new();
        for name in ["a/b", "a//b", "a\u{1}", "a\u{2}", "", "received"] {
            let entry = OfferEntry { name: name.into(), length: Some(1), ..OfferEntry::default() };
            let found = inbox.look(&entry, 0).unwrap();
            assert!(names.insert(found.name), "{name}");
        }
    }
}
