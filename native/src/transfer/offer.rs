//! What is sent in one transfer: files, folders with their content, a stream.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::message::NAME;
use crate::files::{FileAttributes, FileStamp, number_path};

/// The most files and folders in one transfer.
pub(super) const ENTRIES: usize = 50_000;
/// The most bytes of all their names together.
pub(super) const NAMES: usize = 4 << 20;

/// A file or a folder that is offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferEntry {
    /// Its path, with `/` between the components; a folder's ends with one.
    /// Empty: a stream without a name.
    pub name: OsString,
    /// Its length in bytes; `None` when it is not known before the end.
    pub length: Option<u64>,
    /// Its date, and whether it may be run.
    pub attributes: FileAttributes,
}

impl OfferEntry {
    /// True for a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.name.as_encoded_bytes().ends_with(b"/")
    }

    /// Its name as text.
    #[must_use]
    pub fn text(&self) -> String {
        name_text(&self.name)
    }
}

/// What of a folder did not travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Its path, as an entry has one.
    pub name: OsString,
    /// Why.
    pub why: String,
    /// What kind of reason that is.
    pub kind: LackKind,
}

/// Why a file does not travel, as far as that decides what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LackKind {
    /// The sender cannot read it.
    Unreadable,
    /// It changed while it was read: what had travelled of it is a mixture, and of no use.
    Changed,
    /// Something else has its name at the receiver, or the name of a folder above it.
    Blocked,
}

impl Lacking {
    /// True when nothing of what had arrived of it is of use.
    pub(super) fn leaves_nothing(&self, arrived: u64) -> bool {
        arrived == 0 || self.kind == LackKind::Changed
    }

    /// Its name as text.
    #[must_use]
    pub fn text(&self) -> String {
        name_text(&self.name)
    }
}

/// A name as text. Bytes that are none are shown by their numbers, so that two
/// names never look the same.
fn name_text(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The number of files, without the folders, and their total bytes: `None` when
/// one is a stream.
#[must_use]
pub fn total(entries: &[OfferEntry]) -> (usize, Option<u64>) {
    let files = || entries.iter().filter(|entry| !entry.is_folder());
    let bytes = files().try_fold(0_u64, |sum, entry| Some(sum.saturating_add(entry.length?)));
    (files().count(), bytes)
}

/// What is to be sent, in order.
#[derive(Debug, Default)]
pub struct Offer {
    pub(super) entries: Vec<OfferEntry>,
    /// Where each entry is read; `None` is standard input.
    from: Vec<Option<Source>>,
    /// What is skipped, and why.
    skipped: Vec<(PathBuf, &'static str)>,
    /// What in the folders cannot be read.
    pub(super) lacking: Vec<Lacking>,
    names: usize,
    taken: BTreeSet<PathBuf>,
}

/// Where an entry is read.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The file as it was offered; `None` for what has no length.
    pub(super) stamp: Option<FileStamp>,
}

/// Why something cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// It cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// A parcel cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Write {
        /// Its file or folder.
        path: PathBuf,
        /// The system error.
        why: io::Error,
    },
    /// More files than one transfer may have.
    #[error(
        "these are more than {ENTRIES} files and folders, or their names have more than {NAMES} bytes"
    )]
    TooMany,
}

impl Offer {
    /// Standard input alone.
    #[must_use]
    pub fn input() -> Self {
        Self { entries: vec![OfferEntry::default()], from: vec![None], ..Self::default() }
    }

    /// These files and folders, and everything in the folders that can be read.
    ///
    /// Blocks while it reads the folders.
    ///
    /// # Errors
    /// One of the paths themselves cannot be read, or there are too many.
    pub fn from_paths(paths: &[PathBuf]) -> Result<Self, OfferError> {
        let mut offer = Self::default();
        for path in paths {
            let read = |why| OfferError::Read { path: path.clone(), why };
            let name = match path.file_name() {
                Some(name) => name.to_owned(),
                None => {
                    dunce::canonicalize(path).map_err(read)?.file_name().unwrap_or_default().into()
                }
            };
            let name = PathBuf::from(name);
            let mut n = 1;
            let mut unused = name.clone();
            while !offer.taken.insert(unused.clone()) {
                n += 1;
                unused = number_path(&name, n);
            }
            match offer.add(path, unused.into_os_string())? {
                Ok(()) => {}
                Err(why) => return Err(read(why)),
            }
        }
        Ok(offer)
    }

    /// Adds a file, or a folder with what is in it. The inner error is of this path
    /// alone.
    fn add(&mut self, path: &Path, name: OsString) -> Result<io::Result<()>, OfferError> {
        match looked_at(path) {
            Ok(Looked::File(length, attributes, stamp)) => {
                let source = Source { path: path.to_owned(), stamp };
                self.push(Some(source), OfferEntry { name, length, attributes })?;
                Ok(Ok(()))
            }
            Ok(Looked::Folder(attributes, inside)) => {
                let mut folder = name.clone();
                folder.push("/");
                self.push(None, OfferEntry { name: folder, length: Some(0), attributes })?;
                for entry in inside {
                    self.add_inner(entry, &name)?;
                }
                Ok(Ok(()))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// Adds what was found in a folder.
    fn add_inner(&mut self, entry: std::fs::DirEntry, folder: &OsStr) -> Result<(), OfferError> {
        let mut name = folder.to_owned();
        name.push("/");
        name.push(entry.file_name());
        let (path, link) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        match path.metadata() {
            Err(_) if link => {
                let why = String::from("its link leads nowhere");
                self.lacks(Lacking { name, why, kind: LackKind::Unreadable })?;
            }
            Ok(about) if about.is_dir() && link => {
                self.skipped.push((path, "it is a link to a folder"));
            }
            Ok(about) if !about.is_dir() && !about.is_file() => {
                self.skipped.push((path, "it is no file"));
            }
            _ => {
                if let Err(why) = self.add(&path, name.clone())? {
                    let lacking = Lacking { name, why: said(&why), kind: LackKind::Unreadable };
                    self.lacks(lacking)?;
                }
            }
        }
        Ok(())
    }

    fn lacks(&mut self, lacking: Lacking) -> Result<(), OfferError> {
        self.names += lacking.name.len();
        if self.lacking.len() >= ENTRIES || self.names > NAMES {
            return Err(OfferError::TooMany);
        }
        self.lacking.push(lacking);
        Ok(())
    }

    fn push(&mut self, source: Option<Source>, entry: OfferEntry) -> Result<(), OfferError> {
        self.names += entry.name.len();
        if self.entries.len() >= ENTRIES || self.names > NAMES || entry.name.len() > NAME {
            return Err(OfferError::TooMany);
        }
        self.entries.push(entry);
        self.from.push(source);
        Ok(())
    }

    /// What is offered to the receiver.
    #[must_use]
    pub fn entries(&self) -> &[OfferEntry] {
        &self.entries
    }

    /// What is in the folders and is not sent, and why.
    #[must_use]
    pub fn skipped(&self) -> &[(PathBuf, &'static str)] {
        &self.skipped
    }

    /// What in the folders cannot be read, and is not sent.
    #[must_use]
    pub fn lacking(&self) -> &[Lacking] {
        &self.lacking
    }

    /// Where an entry is read; `None` for standard input.
    pub(super) fn source(&self, entry: usize) -> Option<&Source> {
        self.from.get(entry).and_then(Option::as_ref)
    }

    /// The path of an entry; `None` for standard input.
    pub(super) fn path(&self, entry: usize) -> Option<&Path> {
        self.source(entry).map(|source| source.path.as_path())
    }
}

/// What a path leads to.
enum Looked {
    File(Option<u64>, FileAttributes, Option<FileStamp>),
    /// A folder, and what is in it by name.
    Folder(FileAttributes, Vec<std::fs::DirEntry>),
}

fn looked_at(path: &Path) -> io::Result<Looked> {
    let about = path.metadata()?;
    let attributes = FileAttributes::of_file(&about);
    if about.is_dir() {
        let mut inside = std::fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        inside.sort_by_key(std::fs::DirEntry::file_name);
        return Ok(Looked::Folder(attributes, inside));
    }
    if !about.is_file() {
        return Ok(Looked::File(None, FileAttributes::default(), None));
    }
    // Whether it may be read is not told by its mode alone; opening it tells.
    let about = std::fs::File::open(path)?.metadata()?;
    let stamp = FileStamp::of_file(&about);
    Ok(Looked::File(Some(about.len()), FileAttributes::of_file(&about), Some(stamp)))
}

/// The system's words without its number.
pub(super) fn said(why: &io::Error) -> String {
    let text = why.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_offered_with_its_tree() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("docs/empty")).unwrap();
        std::fs::create_dir_all(path("docs/sub")).unwrap();
        std::fs::create_dir_all(path("other")).unwrap();
        std::fs::write(path("docs/b"), "bb").unwrap();
        std::fs::write(path("docs/sub/a"), "a").unwrap();
        std::fs::write(path("other/b.txt"), "other").unwrap();
        std::fs::write(path("b.txt"), "b").unwrap();
        std::os::unix::fs::symlink(path("docs"), path("docs/circle")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("docs/dead")).unwrap();
        let offer =
            Offer::from_paths(&[path("docs/"), path("b.txt"), path("other/b.txt")]).unwrap();
        let entries: Vec<(&str, Option<u64>)> =
            offer.entries().iter().map(|it| (it.name.to_str().unwrap(), it.length)).collect();
        let wanted = [
            ("docs/", Some(0)),
            ("docs/b", Some(2)),
            ("docs/empty/", Some(0)),
            ("docs/sub/", Some(0)),
            ("docs/sub/a", Some(1)),
            ("b.txt", Some(1)),
            ("b (2).txt", Some(5)),
        ];
        assert_eq!(entries, wanted);
        assert_eq!(total(offer.entries()), (4, Some(9)));
        let skipped: Vec<&Path> = offer.skipped().iter().map(|(path, _)| path.as_path()).collect();
        assert_eq!(skipped, [path("docs/circle")]);
        let lacking: Vec<String> = offer.lacking().iter().map(Lacking::text).collect();
        assert_eq!(lacking, ["docs/dead"], "it is there, and cannot be sent");
    }
}
