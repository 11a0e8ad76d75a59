//! Maps offered files to files on the disk.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::offer::OfferEntry;
use super::quota::Quota;
use super::target::{Begun, NAMES, TargetFile};
use super::writers::Writers;
use crate::files::{number_path, part_path, safe_os_path};

/// Where received files go.
#[derive(Debug, Clone)]
pub enum InboxPlace {
    /// Standard output: a single file or stream.
    Output,
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
        Self { place, taken: BTreeSet::new(), writers, quota: None }
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
    pub fn suits(&self, entries: &[OfferEntry]) -> Result<(), &'static str> {
        match (&self.place, entries) {
            (InboxPlace::Folder(_), [_, ..]) => Ok(()),
            (_, [one]) if !one.is_folder() => Ok(()),
            (_, []) => Err("there is nothing in it"),
            _ => Err("only one file or stream is taken here; receive several with -o FOLDER/"),
        }
    }

    /// Creates the folders, and looks for existing parts of the files.
    pub(super) fn survey(&mut self, entries: &[OfferEntry]) -> io::Result<Vec<Option<Candidate>>> {
        let mut look = |entry: &OfferEntry| {
            if entry.is_folder() {
                return self.make(&entry.name).map(|()| None);
            }
            self.look(entry, 0).map(Some)
        };
        entries.iter().map(&mut look).collect()
    }

    fn make(&self, folder: &str) -> io::Result<()> {
        match &self.place {
            InboxPlace::Folder(inbox) => {
                fs::create_dir_all(inbox.join(safe_os_path(folder.as_ref())))
            }
            InboxPlace::Output | InboxPlace::File(_) => Ok(()),
        }
    }

    /// The first possible name whose number is above `after`, and what exists
    /// under it.
    pub(super) fn look(&mut self, entry: &OfferEntry, after: u32) -> io::Result<Candidate> {
        let wish = match &self.place {
            InboxPlace::Output => {
                return Ok(Candidate { name: None, n: 1, there: ExistingFile::Nothing });
            }
            InboxPlace::File(file) if after > 0 => {
                let what = format!("{} is of another file", part_path(file).display());
                return Err(io::Error::other(what));
            }
            InboxPlace::File(file) => file.clone(),
            InboxPlace::Folder(folder) if entry.name.is_empty() => folder.join("received"),
            InboxPlace::Folder(folder) => folder.join(safe_os_path(entry.name.as_ref())),
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

    /// Opens a file to continue after the `from` bytes that exist. If nothing
    /// exists, it gets the candidate's name or a later one.
    pub(super) fn begin(
        &mut self,
        entry: &OfferEntry,
        mut at: Candidate,
        (from, begun): (u64, Option<&Begun>),
    ) -> io::Result<TargetFile> {
        if let Some(name) = at.name.as_deref().filter(|_| at.there != ExistingFile::Nothing) {
            match TargetFile::again(name, from, begun) {
                // Another transfer took the name first, and nothing is lost.
                Err(_) if from == 0 => {}
                other => return other,
            }
        }
        loop {
            let Some(name) = &at.name else { return TargetFile::output() };
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
        let entry = OfferEntry { name: "../a.ogg".into(), length: Some(5) };
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
            let entry = OfferEntry { name: name.into(), length: Some(1) };
            let found = inbox.look(&entry, 0).unwrap();
            assert!(names.insert(found.name), "{name}");
        }
    }
}
