//! Trees of files of one size.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use servent_core::rng::Rng;

/// How many folders of how many files.
#[derive(Clone, Copy)]
pub(super) struct TreeShape {
    folders: usize,
    files: usize,
    /// Bytes of each file.
    size: usize,
}

impl TreeShape {
    pub(super) const TINY: Self = Self { folders: 100, files: 200, size: 1_000 };
    pub(super) const SMALL: Self = Self { folders: 20, files: 100, size: 100_000 };

    /// The path of one of its files.
    fn path(folder: usize, file: usize) -> String {
        format!("{folder:03}/{file:03}.txt")
    }

    /// The path of the file that is written last.
    pub(super) fn last(self) -> String {
        Self::path(self.folders - 1, self.files - 1)
    }

    /// Writes it; no two files are alike.
    pub(super) fn write(self, root: &Path) -> Result<()> {
        let mut dice = Rng::new(7);
        let mut bytes: Vec<u8> =
            (0..self.size.div_ceil(64)).flat_map(|_| dice.bytes::<64>()).collect();
        bytes.truncate(self.size);
        for folder in 0..self.folders {
            fs::create_dir_all(root.join(format!("{folder:03}")))?;
            for file in 0..self.files {
                bytes[..8].copy_from_slice(&(folder * self.files + file).to_le_bytes());
                fs::write(root.join(Self::path(folder, file)), &bytes)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for TreeShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files of {} KB", self.folders * self.files, self.size / 1_000)
    }
}

/// Compares all files of a copy, and their dates, with the original.
pub(super) fn compare(original: &Path, copy: &Path) -> Result<()> {
    let (mut originals, mut copies) = (0, 0);
    for entry in fs::read_dir(original)? {
        let entry = entry?;
        let (there, here) = (entry.path(), copy.join(entry.file_name()));
        originals += 1;
        if entry.file_type()?.is_dir() {
            compare(&there, &here)?;
            continue;
        }
        ensure!(fs::read(&there)? == fs::read(&here)?, "{} differs", here.display());
        let seconds = |path: &Path| -> Result<u64> {
            let date = fs::metadata(path)?.modified()?;
            Ok(date.duration_since(std::time::UNIX_EPOCH)?.as_secs())
        };
        ensure!(seconds(&there)? == seconds(&here)?, "{} has another date", here.display());
    }
    for entry in fs::read_dir(copy)? {
        entry?;
        copies += 1;
    }
    ensure!(originals == copies, "{} has {copies} entries, not {originals}", copy.display());
    Ok(())
}
