//! The files of swarms: those we are the source of, and those we download,
//! which are called `NAME.part` until they are complete. Nothing that exists is
//! overwritten.
//!
//! The store remembers which pieces of a file are correct, with their digests.
//! A start trusts only what it reads again from the disk: pieces that were
//! remembered but did not reach the disk, or were changed there, are fetched
//! again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use servent_core::node::swarm::{Input, Output, PartialFile, SwarmFile};
use servent_core::node::{Input as NodeInput, StoreError};
use servent_core::swarm::FileSpec;
use servent_core::wire::pdtp::Hash;

use crate::files::{PartFile, SourceFile, hash_span, part_path, store_error};
use crate::net::{Report, Reports, ServeFrom};
use crate::store::{Durability, StoreChange, SwarmRows};
use crate::sys::rename_new;

/// What a coordinator is started with.
#[derive(Debug, Clone)]
pub struct Coordinate {
    /// The files, and how they are divided into pieces.
    pub files: Vec<(PathBuf, FileSpec)>,
    /// Pieces that the source, and each additional source, uploads at one time.
    pub slots: u32,
    /// Additional sources of the same files.
    pub proxies: Vec<std::net::SocketAddr>,
}

/// A file we download.
#[derive(Debug)]
struct DownloadTarget {
    path: PathBuf,
    open: Result<Arc<PartFile>, StoreError>,
}

/// All files of swarms.
#[derive(Debug)]
pub(crate) struct SwarmFiles {
    durability: Durability,
    next: u32,
    sources: BTreeMap<SwarmFile, Arc<SourceFile>>,
    targets: BTreeMap<SwarmFile, DownloadTarget>,
}

impl SwarmFiles {
    /// Restores what the store remembers and checks it against the disk.
    pub(crate) fn restore(durability: Durability, rows: &SwarmRows) -> (Self, Vec<PartialFile>) {
        let (mut targets, mut parts) = (BTreeMap::new(), Vec::new());
        for (file, path) in &rows.targets {
            if let Some(part) = rows.parts.iter().find(|part| part.file == *file) {
                let digests = rows.pieces.iter().filter(|((of, _), _)| of == file);
                let digests = digests.map(|((_, piece), digest)| (*piece, *digest));
                parts.push(PartialFile { have: there(path, part, digests), ..part.clone() });
            }
            let open = Err(StoreError::Failed);
            targets.insert(*file, DownloadTarget { path: path.clone(), open });
        }
        let next = targets.last_key_value().map_or(0, |(file, _)| file.0 + 1);
        (Self { durability, next, sources: BTreeMap::new(), targets }, parts)
    }

    fn number(&mut self) -> SwarmFile {
        let file = SwarmFile(self.next);
        self.next += 1;
        file
    }

    /// The number of a file we are the source of.
    pub(crate) fn source(&mut self, path: PathBuf, size: u64) -> SwarmFile {
        let file = self.number();
        let changed = path.metadata().and_then(|meta| meta.modified()).ok();
        self.sources.insert(file, Arc::new(SourceFile { path, size, changed }));
        file
    }

    /// The number of a file we download, the same as before if it had one, and
    /// the change to remember.
    pub(crate) fn target(&mut self, path: &Path) -> (SwarmFile, Option<StoreChange>) {
        if let Some((file, _)) = self.targets.iter().find(|(_, target)| target.path == path) {
            return (*file, None);
        }
        let file = self.number();
        let target = DownloadTarget { path: path.to_owned(), open: Err(StoreError::Failed) };
        self.targets.insert(file, target);
        (file, Some(StoreChange::SwarmTarget(file, path.to_owned())))
    }

    /// Where to read the bytes of a file from.
    pub(crate) fn reader(&self, file: SwarmFile) -> Result<ServeFrom, StoreError> {
        match self.sources.get(&file) {
            Some(source) => Ok(ServeFrom::Source(Arc::clone(source))),
            None => self.part(file).map(ServeFrom::Part),
        }
    }

    /// The partial file of a download.
    pub(crate) fn part(&self, file: SwarmFile) -> Result<Arc<PartFile>, StoreError> {
        self.targets.get(&file).ok_or(StoreError::Failed)?.open.clone()
    }

    /// Carries out what the node wants; slow work runs on other threads.
    pub(crate) fn carry_out(&mut self, output: Output, reports: &Reports) {
        match output {
            Output::Allocate { file, size } => self.allocate(file, size),
            Output::Hash { ask, file, start, end } => {
                let reader = self.reader(file);
                aside(reports, move || {
                    let found = reader.and_then(|from| {
                        hash_span(&from.open()?, start, end).map_err(|why| store_error(&why))
                    });
                    match found {
                        Ok(sha256) => Input::Hashed { ask, sha256 },
                        Err(why) => Input::HashFailed { ask, why },
                    }
                });
            }
            Output::Complete { file } => {
                let path = self.targets.get(&file).map(|target| target.path.clone());
                aside(reports, move || {
                    let renamed = path.map(|path| rename_new(&part_path(&path), &path));
                    match renamed {
                        Some(Ok(())) => Input::Completed { file },
                        Some(Err(why)) => {
                            tracing::error!(%why, "a whole file keeps its .part");
                            Input::CompleteFailed { file, why: complete_error(&why) }
                        }
                        None => Input::CompleteFailed { file, why: StoreError::Failed },
                    }
                });
            }
        }
    }

    /// Opens or creates the file at its full length.
    fn allocate(&mut self, file: SwarmFile, size: u64) {
        let Some(target) = self.targets.get_mut(&file) else { return };
        if target.open.is_err() {
            let mut options = OpenOptions::new();
            options.create(true).read(true).write(true).truncate(false);
            let opened = options.open(part_path(&target.path));
            let durability = self.durability;
            target.open = opened
                .map(|file| Arc::new(PartFile::new(file, durability)))
                .map_err(|why| store_error(&why));
        }
        if let Ok(part) = &target.open
            && let Err(why) = part.set_size(size)
        {
            target.open = Err(why);
        }
    }
}

/// A name that is taken counts as one that cannot be created.
fn complete_error(why: &io::Error) -> StoreError {
    match why.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Denied,
        _ => store_error(why),
    }
}

/// Does slow work on another thread and reports the result to the node.
fn aside(reports: &Reports, work: impl FnOnce() -> Input + Send + 'static) {
    let reports = reports.clone();
    tokio::task::spawn_blocking(move || {
        let input = NodeInput::Swarm(work());
        let _ = reports.blocking_send(Report::Input(input)); // It may just have ended.
    });
}

/// Pieces whose bytes on the disk still have the digest they were verified
/// with.
fn there(
    target: &Path,
    part: &PartialFile,
    digests: impl Iterator<Item = (u32, Hash)>,
) -> Vec<(u32, u32)> {
    let Ok(file) = File::open(part_path(target)) else { return Vec::new() };
    if file.metadata().map_or(0, |meta| meta.len()) != part.size {
        return Vec::new();
    }
    let mut have: Vec<(u32, u32)> = Vec::new();
    for (piece, digest) in digests {
        let start = u64::from(piece).saturating_mul(part.chunk);
        let end = part.size.min(start.saturating_add(part.chunk));
        if start >= end || hash_span(&file, start, end).ok() != Some(digest) {
            continue;
        }
        match have.last_mut() {
            Some((_, last)) if *last == piece => *last += 1,
            _ => have.push((piece, piece + 1)),
        }
    }
    have
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use servent_core::wire::pdtp::url_of;

    use super::*;

    fn rows(path: &Path, digests: &[(u32, Hash)]) -> SwarmRows {
        let file = SwarmFile(3);
        let (url, have) = (url_of("f"), Vec::new());
        SwarmRows {
            ledger: Vec::new(),
            targets: vec![(file, path.to_owned())],
            parts: vec![PartialFile { file, url, size: 10, chunk: 4, have }],
            pieces: digests.iter().map(|(piece, digest)| ((file, *piece), *digest)).collect(),
        }
    }

    #[test]
    fn only_pieces_that_are_on_the_disk_are_believed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("f");
        let part = part_path(&target);
        std::fs::write(&part, b"abcdefghij").unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&part).unwrap();
        let digest = |start, end| hash_span(&file, start, end).unwrap();
        let digests = [(0, digest(0, 4)), (1, digest(4, 8)), (2, digest(8, 10))];
        let have = |digests: &[(u32, Hash)]| {
            SwarmFiles::restore(Durability::Process, &rows(&target, digests)).1[0].have.clone()
        };
        assert_eq!(have(&digests), [(0, 3)]);
        // What never reached the disk, or was changed there, is not trusted.
        file.write_all_at(b"x", 5).unwrap();
        assert_eq!(have(&digests), [(0, 1), (2, 3)]);
        file.set_len(9).unwrap();
        assert_eq!(have(&digests), []);
        std::fs::remove_file(&part).unwrap();
        assert_eq!(have(&digests), []);
    }

    #[tokio::test]
    async fn a_whole_file_gets_its_name_and_overwrites_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("f");
        let (mut files, _) = SwarmFiles::restore(Durability::Process, &SwarmRows::default());
        let (file, change) = files.target(&target);
        assert!(matches!(change, Some(StoreChange::SwarmTarget(SwarmFile(0), _))));
        assert_eq!(files.target(&target).0, file, "the same file is the same number");
        let (reports, mut reported) = tokio::sync::mpsc::channel(4);
        files.carry_out(Output::Allocate { file, size: 3 }, &reports);
        files.part(file).unwrap().write_at(b"abc", 0).unwrap();
        std::fs::write(&target, "mine").unwrap();
        let mut complete = async |files: &mut SwarmFiles| {
            files.carry_out(Output::Complete { file }, &reports);
            let Some(Report::Input(NodeInput::Swarm(input))) = reported.recv().await else {
                panic!("it is answered")
            };
            input
        };
        let failed = Input::CompleteFailed { file, why: StoreError::Denied };
        assert_eq!(complete(&mut files).await, failed);
        assert_eq!(std::fs::read(&target).unwrap(), b"mine");
        std::fs::remove_file(&target).unwrap();
        assert_eq!(complete(&mut files).await, Input::Completed { file });
        assert_eq!(std::fs::read(&target).unwrap(), b"abc");
    }

    #[test]
    fn a_source_that_was_changed_is_not_served() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "abc").unwrap();
        let (mut files, _) = SwarmFiles::restore(Durability::Process, &SwarmRows::default());
        let file = files.source(path.clone(), 3);
        assert!(files.reader(file).unwrap().open().is_ok());
        std::fs::write(&path, "abcd").unwrap();
        assert_eq!(files.reader(file).unwrap().open().unwrap_err(), StoreError::Changed);
    }
}
