//! What is sent in one transfer: files, folders with their content, a stream.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::message::NAME;
use crate::files::number;

/// The most files and folders in one transfer.
pub(super) const ENTRIES: usize = 50_000;
/// The most bytes of all their names together.
pub(super) const NAMES: usize = 4 << 20;

/// A file or a folder that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferEntry {
    /// Its path, with `/` between the components; a folder's ends with one.
    /// Empty: a stream without a name.
    pub name: String,
    /// Its length in bytes; `None` when it is not known before the end.
    pub length: Option<u64>,
}

impl OfferEntry {
    /// True for a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }
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
    /// The path of each entry; `None` is standard input.
    from: Vec<Option<PathBuf>>,
    /// What is skipped, and why.
    skipped: Vec<(PathBuf, &'static str)>,
    names: usize,
    taken: BTreeSet<String>,
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
    #[error("these are more than {ENTRIES} files and folders, or their names are too long")]
    TooMany,
}

impl Offer {
    /// Standard input alone.
    #[must_use]
    pub fn input() -> Self {
        let entries = vec![OfferEntry { name: String::new(), length: None }];
        Self { entries, from: vec![None], ..Self::default() }
    }

    /// These files and folders, and everything in the folders.
    ///
    /// Blocks while it reads the folders.
    ///
    /// # Errors
    /// One of them cannot be read, or there are too many.
    pub fn from_paths(paths: &[PathBuf]) -> Result<Self, OfferError> {
        let mut offer = Self::default();
        for path in paths {
            let read = |why| OfferError::Read { path: path.clone(), why };
            let name = match path.file_name() {
                Some(name) => name.to_owned(),
                None => path.canonicalize().map_err(read)?.file_name().unwrap_or_default().into(),
            };
            let name = name.to_string_lossy().into_owned();
            let mut n = 1;
            let mut unused = name.clone();
            while !offer.taken.insert(unused.clone()) {
                n += 1;
                unused = number(&name, n);
            }
            offer.add(path, unused)?;
        }
        Ok(offer)
    }

    fn add(&mut self, path: &Path, name: String) -> Result<(), OfferError> {
        let read = |why| OfferError::Read { path: path.to_owned(), why };
        let about = path.metadata().map_err(read)?;
        if !about.is_dir() {
            if about.is_file() {
                std::fs::File::open(path).map_err(read)?; // Check permission.
            }
            return self.push(Some(path), name, about.is_file().then_some(about.len()));
        }
        self.push(None, format!("{name}/"), Some(0))?;
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(read)? {
            inside.push(entry.map_err(read)?);
        }
        inside.sort_by_key(std::fs::DirEntry::file_name);
        for entry in inside {
            let (path, kind) = (entry.path(), entry.file_type().map_err(read)?);
            let about = path.metadata().ok();
            match about {
                None => self.skipped.push((path, "its link leads nowhere")),
                Some(about) if about.is_dir() && kind.is_symlink() => {
                    self.skipped.push((path, "it is a link to a folder"));
                }
                Some(about) if !about.is_dir() && !about.is_file() => {
                    self.skipped.push((path, "it is no file"));
                }
                Some(_) => {
                    self.add(&path, format!("{name}/{}", entry.file_name().to_string_lossy()))?;
                }
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        path: Option<&Path>,
        name: String,
        length: Option<u64>,
    ) -> Result<(), OfferError> {
        self.names += name.len();
        if self.entries.len() >= ENTRIES || self.names > NAMES || name.len() > NAME {
            return Err(OfferError::TooMany);
        }
        self.entries.push(OfferEntry { name, length });
        self.from.push(path.map(Path::to_owned));
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

    /// The path of an entry; `None` for standard input.
    pub(super) fn path(&self, entry: usize) -> Option<&Path> {
        self.from.get(entry).and_then(Option::as_deref)
    }
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
            offer.entries().iter().map(|it| (&it.name[..], it.length)).collect();
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
        assert_eq!(skipped, [path("docs/circle"), path("docs/dead")]);
    }
}
