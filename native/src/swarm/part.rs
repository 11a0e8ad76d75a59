//! The unfinished file of a download, and which of its pieces are right.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use servent_core::wire::pdtp::Hash;

use super::error::SwarmError;
use super::pieces::hash_span;
use crate::store::{Durability, Put, Rows};

/// The row that says what the pieces are of.
const INFO: &[u8] = b"info";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Info {
    url: String,
    size: u64,
    chunk: u64,
}

/// A download's file, called `NAME.part` until it is whole.
#[derive(Debug)]
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    url: String,
    rows: Rows,
    file: Option<Arc<File>>,
}

/// What an earlier run has left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) chunk: u64,
    pub(super) have: Vec<u32>,
}

impl Part {
    /// Finds what an earlier run has left of this URL.
    pub(super) fn open(
        state: &Path,
        target: &Path,
        url: &str,
        durability: Durability,
    ) -> Result<(Self, Left), SwarmError> {
        let rows = Rows::open(state, "part.redb", durability)?;
        let mut name = target.as_os_str().to_owned();
        name.push(".part");
        let part = Self {
            target: target.to_owned(),
            path: name.into(),
            url: url.to_owned(),
            rows,
            file: None,
        };
        let left = part.left()?;
        Ok((part, left))
    }

    /// Pieces that are on the disk as they were when they were right. What
    /// was remembered and did not reach the disk is fetched again.
    fn left(&self) -> Result<Left, SwarmError> {
        let (mut info, mut known) = (None, Vec::new());
        for (key, value) in self.rows.all()? {
            if key == INFO {
                let read = serde_json::from_slice::<Info>(&value);
                info = Some(read.map_err(|why| self.rows.damaged(&why.to_string()))?);
            } else if let Ok(piece) = <[u8; 4]>::try_from(key.as_slice()) {
                known.push((u32::from_be_bytes(piece), value));
            }
        }
        let (Some(info), Ok(file)) = (info, File::open(&self.path)) else {
            return Ok(Left::default());
        };
        let there = file.metadata().map_or(0, |meta| meta.len());
        if info.url != self.url || info.size != there {
            return Ok(Left::default());
        }
        let right = |(piece, digest): &(u32, Vec<u8>)| {
            let start = u64::from(*piece).saturating_mul(info.chunk);
            let end = info.size.min(start.saturating_add(info.chunk));
            start < end && hash_span(&file, start, end).is_ok_and(|found| found.0 == **digest)
        };
        let have = known.iter().filter(|known| right(known)).map(|(piece, _)| *piece).collect();
        Ok(Left { chunk: info.chunk, have })
    }

    /// Bytes of the pieces an earlier run has left, if they are of this file.
    fn chunk(&self) -> Result<Option<u64>, SwarmError> {
        let rows = self.rows.all()?;
        let info = rows.iter().find(|(key, _)| key == INFO);
        let info = info.and_then(|(_, value)| serde_json::from_slice::<Info>(value).ok());
        Ok(info.filter(|info| info.url == self.url).map(|info| info.chunk))
    }

    /// Makes room for so many bytes. Pieces of another size are forgotten.
    pub(super) fn room(&mut self, size: u64, chunk: u64) -> Result<(), SwarmError> {
        let failed = |why| SwarmError::file(&self.path, why);
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).write(true).truncate(false).open(&self.path);
        let file = file.map_err(failed)?;
        let info = Info { url: self.url.clone(), size, chunk };
        let there = file.metadata().map_or(0, |meta| meta.len());
        if self.chunk()? != Some(chunk) || there != size {
            let old = self.rows.all()?.into_iter().map(|(key, _)| (key, None));
            self.rows.commit(&old.collect::<Vec<Put>>())?;
        }
        file.set_len(size).map_err(failed)?;
        let row = serde_json::to_vec(&info).unwrap_or_default();
        self.rows.commit(&[(INFO.to_vec(), Some(row))])?;
        self.file = Some(Arc::new(file));
        Ok(())
    }

    /// The file, once there is room.
    pub(super) fn file(&self) -> Option<Arc<File>> {
        self.file.clone()
    }

    /// Remembers pieces that are right, and their digests.
    pub(super) fn keep(&self, pieces: &[(u32, Hash)]) -> Result<(), SwarmError> {
        let put =
            |(piece, digest): &(u32, Hash)| (piece.to_be_bytes().to_vec(), Some(digest.0.to_vec()));
        let puts = pieces.iter().map(put);
        Ok(self.rows.commit(&puts.collect::<Vec<Put>>())?)
    }

    /// Where it is now.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// It is whole: gives it its name. Nothing is overwritten.
    pub(super) fn complete(&self) -> Result<(), SwarmError> {
        let there =
            || std::io::Error::new(std::io::ErrorKind::AlreadyExists, "something is there already");
        std::fs::hard_link(&self.path, &self.target)
            .and_then(|()| std::fs::remove_file(&self.path))
            .or_else(|why| match why.kind() {
                std::io::ErrorKind::AlreadyExists => Err(there()),
                // A file system without links.
                _ if self.target.try_exists()? => Err(there()),
                _ => std::fs::rename(&self.path, &self.target),
            })
            .map_err(|why| SwarmError::file(&self.target, why))?;
        let rows = self.rows.all()?.into_iter().map(|(key, _)| (key, None));
        Ok(self.rows.commit(&rows.collect::<Vec<Put>>())?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn pieces_are_remembered_for_the_same_file_only() {
        let dir = tempfile::tempdir().unwrap();
        let (state, target) = (dir.path().join("state"), dir.path().join("f"));
        let open = |url: &str| Part::open(&state, &target, url, Durability::Process).unwrap();
        let (mut part, left) = open("a");
        assert_eq!(left, Left::default());
        part.room(10, 4).unwrap();
        let file = part.file().unwrap();
        let digest = |start, end| hash_span(&file, start, end).unwrap();
        part.keep(&[(2, digest(8, 10)), (0, digest(0, 4)), (1, digest(4, 8))]).unwrap();
        drop(part);
        let (part, left) = open("a");
        assert_eq!(left, Left { chunk: 4, have: vec![0, 1, 2] });
        drop(part);
        // What never reached the disk, or was changed there, is not kept.
        file.write_all_at(b"x", 5).unwrap();
        let (mut part, left) = open("a");
        assert_eq!(left, Left { chunk: 4, have: vec![0, 2] });
        part.room(10, 4).unwrap();
        drop(part);
        assert_eq!(open("a").1.have, [0, 2], "the rest stays");
        let (mut part, left) = open("b");
        assert_eq!(left, Left::default());
        part.room(10, 5).unwrap();
        assert_eq!(part.left().unwrap(), Left { chunk: 5, have: vec![] });
        part.complete().unwrap();
        assert!(target.exists() && !part.path().exists());
        // Somebody else's file of that name stays.
        part.room(3, 5).unwrap();
        assert!(part.complete().is_err());
        assert_eq!(std::fs::metadata(&target).unwrap().len(), 10);
    }
}
