//! Hashes of files that have another path now: renamed, moved or linked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Hashes;
use super::scan::ScannedFile;
use crate::store::{FileIdentity, FileRow};

/// What is known of the content of files, by what they are on disk.
#[derive(Debug, Default)]
pub(super) struct MovedFiles(BTreeMap<FileIdentity, (u64, i64, Hashes)>);

impl MovedFiles {
    /// Looks among the remembered rows for the files that were found without a row
    /// of their own. It reads all of them once, so only where there are such files.
    pub(super) fn among(
        remembered: &BTreeMap<PathBuf, FileRow>,
        found: &[(PathBuf, ScannedFile)],
    ) -> Self {
        let knows = |path: &PathBuf, file: &ScannedFile| {
            remembered.get(path).is_some_and(|row| is_of(row.size, row.mtime, file))
        };
        let unknown = found.iter().filter(|(path, file)| !knows(path, file));
        let wanted: BTreeSet<_> = unknown.filter_map(|(_, file)| file.identity).collect();
        if wanted.is_empty() {
            return Self::default();
        }
        let hashed = remembered.values().filter(|row| row.sha1.is_some());
        let known = hashed.filter_map(|row| {
            let identity = row.identity.filter(|identity| wanted.contains(identity))?;
            Some((identity, (row.size, row.mtime, (row.sha1, row.tree.clone()))))
        });
        Self(known.collect())
    }

    /// The hashes of a file that was found, if it has not changed since it was
    /// hashed under another path.
    pub(super) fn hashes_of(&self, file: &ScannedFile) -> Option<Hashes> {
        let (size, mtime, hashes) = self.0.get(&file.identity?)?;
        is_of(*size, *mtime, file).then(|| hashes.clone())
    }
}

/// True when what is remembered is of the content that was found.
fn is_of(size: u64, mtime: i64, file: &ScannedFile) -> bool {
    (size, mtime) == (file.size, file.mtime)
}
