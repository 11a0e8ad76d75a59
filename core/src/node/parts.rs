//! Unfinished downloads, for clients that request what is already there.
//!
//! Taken from the rows that the fetch engine saves, so that no more is offered
//! than what is safe on disk.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use super::catalog::Catalog;
use super::{FileInfo, FileRef, PartRow, RunBit};
use crate::id::{FetchId, Sha1};
use crate::queue::FileKey;
use crate::thex::Tree;
use crate::time::Instant;
use crate::wire::http::AvailableRanges;

/// Where the requested bytes are.
#[derive(Debug, Clone)]
pub(super) enum BodySource {
    /// In a file, from which the host reads them.
    File(FileRef),
    /// In files below a shared folder, as an archive.
    Folder(ArchiveFiles),
}

impl BodySource {
    /// True when the client is expected to ask for what follows this body.
    pub(super) const fn is_continued(&self) -> bool {
        matches!(self, Self::Folder(ArchiveFiles { more: true, .. }))
    }
}

/// The files that one archive of a folder has.
#[derive(Debug, Clone)]
pub(super) struct ArchiveFiles {
    /// The folder's name, which ends in `/`.
    pub(super) folder: String,
    /// The full name of the file that they follow; `None`: from the first one on.
    pub(super) after: Option<String>,
    /// How many files it has at most; `None`: all that follow.
    pub(super) count: Option<usize>,
    /// The folder has files that follow these.
    pub(super) more: bool,
}

/// What a request is for: a shared file, an unfinished download, or a folder.
#[derive(Debug, Clone)]
pub(super) struct RequestSubject {
    /// Where its bytes are.
    pub(super) body: BodySource,
    /// Its SHA-1, once it is known.
    pub(super) sha1: Option<Sha1>,
    /// Size of the whole file in bytes.
    pub(super) size: u64,
    /// Identifies its content, for the queue.
    pub(super) key: FileKey,
    /// When it was last changed, if known.
    pub(super) modified: Option<Instant>,
    /// Whether it may be run.
    pub(super) run: RunBit,
    /// Its hash tree, if known.
    pub(super) tree: Option<Arc<Tree>>,
    /// It is of a kind that browsers run.
    pub(super) is_active: bool,
    /// The available ranges, when not all bytes are available.
    pub(super) available: Option<AvailableRanges>,
}

impl From<&FileInfo> for RequestSubject {
    fn from(file: &FileInfo) -> Self {
        let FileInfo { index, size, sha1, key, modified, run, .. } = *file;
        let (body, tree) = (BodySource::File(FileRef::Shared(index)), file.tree.clone());
        let is_active = is_active(file.leaf());
        Self { body, sha1, size, key, modified, run, tree, is_active, available: None }
    }
}

impl RequestSubject {
    /// True unless the file has become another one, or is gone, since it was asked for.
    pub(super) fn is_current(&self, files: &Catalog) -> bool {
        let BodySource::File(FileRef::Shared(index)) = self.body else { return true };
        files.get(index).is_some_and(|file| {
            let same = (file.size, file.modified) == (self.size, self.modified);
            // That its hash became known meanwhile is no change.
            same && (self.sha1.is_none() || file.sha1 == self.sha1)
        })
    }
}

/// True for names of files that browsers run, or show with what runs in them.
fn is_active(name: &str) -> bool {
    const KINDS: [&str; 9] = ["html", "htm", "xhtml", "xht", "shtml", "svg", "xml", "xsl", "pdf"];
    let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind);
    KINDS.iter().any(|active| active.eq_ignore_ascii_case(kind))
}

impl RequestSubject {
    /// As much of `start..end` as can be sent in one piece beginning at
    /// `start`.
    pub(super) fn within(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let Some(available) = &self.available else { return Some((start, end)) };
        if start == end {
            return None;
        }
        let mut ranges = available.as_slice().iter();
        let (_, to) = ranges.find(|(from, to)| (*from..*to).contains(&start))?;
        Some((start, end.min(*to)))
    }
}

/// Unfinished downloads whose content and size are known.
#[derive(Debug, Clone, Default)]
pub(super) struct UnfinishedDownloads {
    by_fetch: BTreeMap<FetchId, Arc<PartRow>>,
}

impl UnfinishedDownloads {
    /// Adds a download, or replaces it when more of it is on disk.
    pub(super) fn put(&mut self, row: &Arc<PartRow>) {
        if row.get.sha1.is_some() && row.size.is_some() {
            self.by_fetch.insert(row.fetch, Arc::clone(row));
        }
    }

    /// A download is finished or given up.
    pub(super) fn remove(&mut self, fetch: FetchId) {
        self.by_fetch.remove(&fetch);
    }

    /// The available part of the file with this content.
    pub(super) fn by_sha1(&self, sha1: Sha1) -> Option<RequestSubject> {
        let row = self.by_fetch.values().find(|r| r.get.sha1 == Some(sha1))?;
        let size = row.size?;
        let [a, b, c, d, e, f, g, h, ..] = sha1.0;
        Some(RequestSubject {
            body: BodySource::File(FileRef::Fetch(row.fetch)),
            sha1: Some(sha1),
            size,
            key: FileKey(u64::from_be_bytes([a, b, c, d, e, f, g, h])),
            modified: None,
            run: RunBit(false),
            tree: None,
            is_active: false,
            available: Some(AvailableRanges::new(row.have.clone())).filter(|_| !whole(row)),
        })
    }

    /// The name of a download the queue knows by this key.
    pub(super) fn name(&self, key: FileKey) -> Option<&str> {
        let row = self
            .by_fetch
            .values()
            .find(|r| r.get.sha1.is_some_and(|s| s.0[..8] == key.0.to_be_bytes()))?;
        Some(&row.get.name)
    }
}

fn whole(row: &PartRow) -> bool {
    matches!((&row.have[..], row.size), ([(0, end)], Some(size)) if *end == size)
}
