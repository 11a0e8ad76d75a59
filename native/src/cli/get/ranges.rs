//! The small files of a servent's folder: many of them in one answer, and none of them
//! waits for another to be asked for. What does not come this way, for whatever reason,
//! is downloaded alone afterwards.
//!
//! An answer is an archive, and to the servent that downloads everything else of the
//! folder it is one download more. Until its files are written it is in a folder beside
//! them, [`SPOOL`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use servent::driver::{FileAttributes, part_path, safe_path, write_whole};
use servent::sys::flush_disk;
use servent::{Clock, Durability};
use servent_core::id::Sha1;
use servent_core::node::{DownloadSource, Get};
use servent_core::time::Instant;
use servent_core::wire::tar::{TarFile, TarReader};
use sha1::Digest as _;
use tokio::task::{JoinHandle, spawn_blocking};

use super::folder::Folder;
use super::lists::all::Total;
use super::lists::batch::{Batch, BatchEvent, EndedDownload};
use super::lists::crawl::{CrawlResult, CrawledFile};
use super::lists::links::{Base, KnownFile};
use super::spool::{SPOOL, clear};
use super::together::EVERY;
use crate::exit::Failure;
use crate::progress::FolderProgress;

/// The largest file that is fetched with others.
const SMALL: u64 = 256 << 10;
/// The fewest files that are worth a request for several.
const FEWEST: usize = 4;
/// The most files of one request.
const FILES: usize = 8_000;
/// The bytes of the first request, and of any that is slow. They come again when the
/// command is killed meanwhile.
const FIRST: u64 = 1 << 20;
/// The most bytes of one request: they are in memory while its files are written.
const BYTES: u64 = 32 << 20;
/// How long a request takes that is as long as it should be.
const LASTS: Duration = Duration::from_secs(2);
/// About as many bytes are around each file in an archive.
const AROUND: u64 = 1_024;
/// The most it takes: a long name has blocks of its own.
const AROUND_MOST: u64 = 16 << 10;

/// Files that follow each other in the server's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FileRange {
    /// The file before the first of them.
    after: Option<String>,
    files: Vec<(String, KnownFile)>,
    bytes: u64,
}

impl FileRange {
    /// The request target of all of them.
    fn target(&self, base: &Base) -> String {
        let after = self.after.as_ref().map_or_else(String::new, |name| {
            format!("&after={}", utf8_percent_encode(name, NON_ALPHANUMERIC))
        });
        format!("{}?tar{after}&count={}", base.target(), self.files.len())
    }

    /// How many bytes of files are in so many bytes of the archive.
    fn part_of(&self, came: u64) -> u64 {
        let whole = self.bytes.saturating_add(self.files.len() as u64 * AROUND).max(1);
        let part = u128::from(came) * u128::from(self.bytes) / u128::from(whole);
        u64::try_from(part).unwrap_or(u64::MAX).min(self.bytes)
    }
}

/// A file of the server's list.
#[derive(Debug)]
struct PlannedFile {
    path: String,
    /// `None`: it is large, or the list does not say how large.
    small: Option<KnownFile>,
    is_wanted: bool,
}

/// The files of a folder in the order of the server's list, as ranges.
#[derive(Debug)]
struct RangePlan {
    files: Vec<PlannedFile>,
    next: usize,
}

impl RangePlan {
    fn new(files: &BTreeMap<String, CrawledFile>, mut here: impl FnMut(&str) -> bool) -> Self {
        let planned = |(path, file): (&String, &CrawledFile)| {
            let small = file.known.filter(|known| known.size <= SMALL);
            PlannedFile { path: path.clone(), small, is_wanted: small.is_some() && !here(path) }
        };
        Self { files: files.iter().map(planned).collect(), next: 0 }
    }

    /// The next range, of about so many bytes, and where it is in the list.
    fn range(&mut self, bytes: u64) -> Option<(FileRange, String)> {
        loop {
            let from = self.next + self.files[self.next..].iter().position(|it| it.is_wanted)?;
            let (mut to, mut all) = (from, 0);
            for file in &self.files[from..] {
                let Some(known) = file.small.filter(|_| file.is_wanted) else { break };
                if to - from == FILES || all >= bytes {
                    break;
                }
                (to, all) = (to + 1, all + known.size);
            }
            self.next = to;
            if to - from >= FEWEST {
                return Some((self.files(from..to)?, self.label(from..to)));
            }
        }
    }

    /// The range that an earlier command has asked for, if the list has the same: its
    /// place in the queue is not given up.
    fn again(&mut self, label: &str) -> Option<FileRange> {
        let mut words = label.split(' ').rev().map(|word| word.parse::<usize>().ok());
        let (_of_all, to) = (words.next()??, words.nth(1)??);
        let from = words.nth(1)??.checked_sub(1)?;
        if to.checked_sub(from)? > FILES || self.label(from..to) != label {
            return None;
        }
        let range = self.files(from..to)?;
        self.files[from..to].iter_mut().for_each(|file| file.is_wanted = false);
        Some(range)
    }

    fn files(&self, of: Range<usize>) -> Option<FileRange> {
        let files = self.files.get(of.clone())?;
        let after = of.start.checked_sub(1).map(|before| self.files[before].path.clone());
        let mut range = FileRange { after, ..FileRange::default() };
        for file in files {
            let known = file.small?;
            range.bytes += known.size;
            range.files.push((file.path.clone(), known));
        }
        Some(range)
    }

    /// What the status says of a range.
    fn label(&self, of: Range<usize>) -> String {
        format!("files {} to {} of {}", of.start + 1, of.end, self.files.len())
    }
}

/// A range on its way.
struct ComingRange {
    range: FileRange,
    begun: Instant,
}

/// Fetches ranges of files one after the other; the last one is written to its files
/// while the next one comes.
pub(super) struct RangeFetch<'a, 'b> {
    pub(super) folder: &'a Folder,
    pub(super) source: &'a DownloadSource,
    pub(super) batch: &'a mut Batch<'b>,
    pub(super) progress: &'a mut FolderProgress,
    pub(super) total: &'a mut Total,
    pub(super) durability: Durability,
    pub(super) clock: Clock,
    /// Bytes of files that have come and are being written.
    pub(super) unwritten: u64,
}

impl RangeFetch<'_, '_> {
    /// Fetches the small files of a folder, and takes those that are here then from the
    /// list.
    ///
    /// # Errors
    /// The servent has ended.
    pub(super) async fn run(mut self, found: &mut CrawlResult) -> Result<(), Failure> {
        // A folder of the server's by the name of ours would be mistaken for it.
        if found.files.keys().any(|path| path.starts_with(SPOOL)) {
            return Ok(());
        }
        let here = |path: &str| {
            let file = self.folder.to.join(safe_path(path));
            // What is not to be found for another reason cannot be written either.
            let is = |path: &Path| {
                path.symlink_metadata()
                    .map_or_else(|e| e.kind() != io::ErrorKind::NotFound, |_| true)
            };
            is(&file) || is(&part_path(&file))
        };
        let plan = RangePlan::new(&found.files, here);
        for path in self.fetch(plan).await? {
            found.files.remove(&path);
        }
        clear(&self.folder.to)
    }

    /// Fetches ranges while the server gives them; returns which files are here then.
    async fn fetch(&mut self, mut plan: RangePlan) -> Result<Vec<String>, Failure> {
        let own = own_name(&self.folder.base);
        let mut here = Vec::new();
        let mut unpacking: Option<JoinHandle<Vec<(String, u64)>>> = None;
        let mut coming = match self.earlier(&mut plan).await? {
            Some(earlier) => Some(earlier),
            None => self.next(&mut plan, FIRST).await?,
        };
        while let Some(ComingRange { range, begun }) = coming {
            let archive = self.came(&range).await?;
            // A server that cannot give one range will not give others.
            coming = match archive {
                Some(_) => {
                    let bytes = as_long_as_it_should(range.bytes, self.clock.now(), begun);
                    self.next(&mut plan, bytes).await?
                }
                None => None,
            };
            if let Some(before) = unpacking.take() {
                here.extend(self.written(before).await);
            }
            if let Some(archive) = archive {
                self.unwritten = range.bytes;
                let (own, to) = (own.clone(), self.folder.to.clone());
                let durability = self.durability;
                let work = move || unpack(&archive, &own, &range, (to, durability));
                unpacking = Some(spawn_blocking(work));
            }
        }
        if let Some(last) = unpacking {
            here.extend(self.written(last).await);
        }
        Ok(here)
    }

    /// Goes on with the range that an earlier command was waiting for.
    async fn earlier(&mut self, plan: &mut RangePlan) -> Result<Option<ComingRange>, Failure> {
        let mut found = None;
        for (fetch, name) in self.batch.named(SPOOL).await? {
            let label = name.strip_prefix(&self.name("")).filter(|_| found.is_none());
            match label.and_then(|label| Some((label, plan.again(label)?))) {
                Some((label, range)) => found = Some((label.to_owned(), range)),
                None => self.batch.cancel(fetch).await?,
            }
        }
        match found {
            Some((label, range)) => Ok(Some(self.begin(range, &label).await?)),
            None => Ok(None),
        }
    }

    async fn next(
        &mut self,
        plan: &mut RangePlan,
        bytes: u64,
    ) -> Result<Option<ComingRange>, Failure> {
        match plan.range(bytes) {
            Some((range, label)) => Ok(Some(self.begin(range, &label).await?)),
            None => Ok(None),
        }
    }

    async fn begin(&mut self, range: FileRange, label: &str) -> Result<ComingRange, Failure> {
        let target = range.target(&self.folder.base);
        let source = DownloadSource { target, ..self.source.clone() };
        self.batch.begin(Get { name: self.name(label), sha1: None, sources: vec![source] }).await?;
        Ok(ComingRange { range, begun: self.clock.now() })
    }

    /// What the download of a range is called.
    fn name(&self, label: &str) -> String {
        format!("{SPOOL}/{}, {label}", self.folder.name())
    }

    /// Waits for the only download; returns where it is when it is whole.
    async fn came(&mut self, range: &FileRange) -> Result<Option<PathBuf>, Failure> {
        let mut tick = tokio::time::interval(EVERY);
        loop {
            let news = tokio::select! {
                news = self.batch.next() => news?,
                _ = tick.tick() => {
                    let arrived = self.batch.arrived().await?;
                    let partial = self.unwritten + range.part_of(arrived);
                    self.progress.show(self.clock.now(), partial);
                    continue;
                }
            };
            match news {
                BatchEvent::Trouble { at, what, .. } => {
                    self.progress.trouble(&self.folder.name(), at, &what);
                }
                BatchEvent::Ended(EndedDownload { outcome, .. }) => {
                    return Ok(outcome.ok().and_then(|whole| self.batch.path_of(whole.fetch)));
                }
                BatchEvent::Described { .. } | BatchEvent::Moved { .. } => {}
            }
        }
    }

    /// Waits until the files of a range are written; returns which they are.
    async fn written(&mut self, unpacking: JoinHandle<Vec<(String, u64)>>) -> Vec<String> {
        let mut here = Vec::new();
        for (path, size) in unpacking.await.unwrap_or_default() {
            self.progress.done(self.clock.now(), &path, size);
            let one = Total { whole: 1, bytes: size, came: size, ..Total::default() };
            self.total.add(&one);
            here.push(path);
        }
        self.unwritten = 0;
        here
    }
}

/// How many bytes the next range should have, after one of so many.
fn as_long_as_it_should(bytes: u64, now: Instant, begun: Instant) -> u64 {
    let micros = u128::from(now.since(begun).as_micros().max(1));
    let in_time = u128::from(bytes) * LASTS.as_micros() / micros;
    u64::try_from(in_time).unwrap_or(u64::MAX).clamp(FIRST, BYTES)
}

/// What all names in archives of this folder begin with.
fn own_name(base: &Base) -> String {
    let name = base.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match name {
        "" => String::new(),
        name => format!("{}/", percent_decode_str(name).decode_utf8_lossy()),
    }
}

/// Writes the files of an archive that are the ones in the list, and removes it; returns
/// which they are. Blocks.
fn unpack(
    archive: &Path,
    own: &str,
    range: &FileRange,
    (to, durability): (PathBuf, Durability),
) -> Vec<(String, u64)> {
    let wanted: BTreeMap<&str, KnownFile> =
        range.files.iter().map(|(path, known)| (&path[..], *known)).collect();
    // A server may send more than it was asked for, or pack it: what is larger than the
    // files can make it is not looked at.
    let most = range.bytes + range.files.len() as u64 * AROUND_MOST + AROUND;
    let fits = fs::metadata(archive).is_ok_and(|about| about.len() <= most);
    let data = if fits { fs::read(archive).unwrap_or_default() } else { Vec::new() };
    let _ = fs::remove_file(archive); // Its folder goes at the end in any case.
    let mut tree = LocalTree { to, plain: BTreeSet::new() };
    let mut stored = Vec::new();
    for file in TarReader::new(&data) {
        let Some(path) = file.name.strip_prefix(own) else { continue };
        let Some(known) = wanted.get(path).filter(|known| is_that(known, &file)) else { continue };
        match tree.store(path, &file) {
            Ok(()) => stored.push((path.to_owned(), known.size)),
            Err(why) => tracing::debug!(%why, path, "a file is to come alone"),
        }
    }
    // Once for all of them, and before any of them is said to be here.
    if durability == Durability::Power
        && let Err(why) = flush_disk(&tree.to)
    {
        tracing::warn!(%why, "files that have come are not flushed to the disk");
    }
    stored
}

/// Whether a file is the one that the list names.
fn is_that(known: &KnownFile, file: &TarFile<'_>) -> bool {
    let dated = known.modified.is_none_or(|modified| modified == file.attributes.modified);
    let same = |sha1: Sha1| sha1 == Sha1(sha1::Sha1::digest(file.data).into());
    known.size == file.data.len() as u64 && dated && known.sha1.is_none_or(same)
}

/// The folder that files are written to.
struct LocalTree {
    to: PathBuf,
    /// Folders in it that are no links.
    plain: BTreeSet<PathBuf>,
}

impl LocalTree {
    fn store(&mut self, path: &str, file: &TarFile<'_>) -> io::Result<()> {
        let path = PathBuf::from(safe_path(path));
        let parent = path.parent().unwrap_or(Path::new(""));
        if !self.plain.contains(parent) {
            self.enter(parent)?;
        }
        let attributes = FileAttributes {
            modified: i64::try_from(file.attributes.modified).ok().map(|at| (at, 0)),
            executable: file.attributes.executable,
        };
        write_whole(&self.to.join(&path), file.data, attributes)
    }

    /// Makes a folder. Nothing is written through a link: it may lead out of the tree.
    fn enter(&mut self, folder: &Path) -> io::Result<()> {
        let mut path = self.to.clone();
        for part in folder.components() {
            path.push(part);
            match path.symlink_metadata() {
                Ok(about) if !about.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
                Ok(_) => {}
                Err(_) => fs::create_dir(&path)?,
            }
        }
        self.plain.insert(folder.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(files: &[(&str, u64)]) -> BTreeMap<String, CrawledFile> {
        let file = |(path, size): &(&str, u64)| {
            let known = Some(KnownFile { size: *size, modified: Some(1), sha1: None });
            ((*path).to_owned(), CrawledFile { target: String::new(), known })
        };
        files.iter().map(file).collect()
    }

    fn all(
        files: &BTreeMap<String, CrawledFile>,
        here: impl Fn(&str) -> bool,
        bytes: u64,
    ) -> Vec<FileRange> {
        let mut plan = RangePlan::new(files, here);
        std::iter::from_fn(|| Some(plan.range(bytes)?.0)).collect()
    }

    fn names(range: &FileRange) -> Vec<&str> {
        range.files.iter().map(|(path, _)| &path[..]).collect()
    }

    #[test]
    fn ranges_are_runs_of_small_files_that_are_not_here() {
        let base = Base { scheme: "http".into(), host: "h".into(), path: "/m/%C3%BC/".into() };
        assert_eq!(own_name(&base), "ü/");
        let mut files = list(&[("a", 1), ("b", 1), ("c", 1), ("d/1", 0), ("d/2", SMALL + 1)]);
        files.extend(list(&[("e&", 1), ("f", 1), ("g", 1), ("h", 1), ("i", 1), ("j", 1)]));
        let ranges = all(&files, |path| path == "e&", u64::MAX);
        assert_eq!(ranges.len(), 2);
        assert_eq!(names(&ranges[0]), ["a", "b", "c", "d/1"]);
        assert_eq!(ranges[0].target(&base), "/m/%C3%BC/?tar&count=4");
        assert_eq!(names(&ranges[1]), ["f", "g", "h", "i", "j"]);
        assert_eq!(ranges[1].target(&base), "/m/%C3%BC/?tar&after=e%26&count=5");
        // Few are not worth it.
        assert_eq!(all(&list(&[("a", 1), ("b", 1)]), |_| false, u64::MAX), []);
    }

    #[test]
    fn a_range_of_an_earlier_command_is_asked_for_again_if_the_list_is_the_same() {
        let files = list(&[("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1), ("f", SMALL + 1)]);
        let mut plan = RangePlan::new(&files, |_| false);
        let (range, label) = plan.range(4).unwrap();
        assert_eq!((names(&range).len(), &label[..]), (4, "files 1 to 4 of 6"));
        let again = || RangePlan::new(&files, |path| path < "c");
        assert_eq!(again().again(&label), Some(range));
        for other in ["files 1 to 4 of 7", "files 1 to 6 of 6", "files 3 to 9 of 6", "", "1 2"] {
            assert_eq!(again().again(other), None, "{other}");
        }
        for other in ["files 0 to 4 of 6", "files 4 to 1 of 6", "files 1 to 4 of 6 "] {
            assert_eq!(again().again(other), None, "{other}");
        }
        let mut plan = again();
        plan.again(&label).unwrap();
        assert_eq!(plan.range(u64::MAX), None, "it is not asked for twice");
    }

    #[test]
    fn a_range_ends_when_it_is_long_enough() {
        let many: Vec<String> = (0..=FILES).map(|n| format!("{n:05}")).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|name| (&name[..], 1)).collect();
        assert_eq!(all(&list(&many), |_| false, u64::MAX)[0].files.len(), FILES);
        let large: Vec<(&str, u64)> = many[..80].iter().map(|(name, _)| (*name, SMALL)).collect();
        let ranges = all(&list(&large), |_| false, 32 * SMALL);
        assert_eq!(ranges.iter().map(|it| it.files.len()).collect::<Vec<_>>(), [32, 32, 16]);
        assert_eq!(ranges[1].after.as_deref(), Some(large[31].0));
        assert_eq!(ranges[0].part_of(32 * AROUND + ranges[0].bytes), ranges[0].bytes);
        assert_eq!(ranges[0].part_of(0), 0);
    }

    #[test]
    fn a_range_takes_two_seconds_as_far_as_its_limits_allow() {
        let after = |bytes, micros: u64| {
            as_long_as_it_should(bytes, Instant::from_micros(5 + micros), Instant::from_micros(5))
        };
        assert_eq!(after(4 << 20, 1_000_000), 8 << 20);
        assert_eq!(after(1 << 20, 60_000_000), FIRST);
        assert_eq!(after(1 << 20, 0), BYTES);
    }

    #[test]
    fn nothing_is_written_through_a_link_or_over_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let (to, out) = (dir.path().join("to"), dir.path().join("out"));
        fs::create_dir_all(&to).unwrap();
        fs::create_dir_all(&out).unwrap();
        std::os::unix::fs::symlink(&out, to.join("link")).unwrap();
        fs::write(to.join("there"), "old").unwrap();
        let mut tree = LocalTree { to: to.clone(), plain: BTreeSet::new() };
        let file = TarFile { name: String::new(), attributes: Default::default(), data: b"new" };
        assert!(tree.store("link/x", &file).is_err());
        assert!(tree.store("there", &file).is_err());
        tree.store("a/b/c", &file).unwrap();
        assert_eq!(fs::read(to.join("there")).unwrap(), b"old");
        assert_eq!(fs::read(to.join("a/b/c")).unwrap(), b"new");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_taken_only_when_it_is_the_one_in_the_list() {
        let attributes = servent_core::wire::tar::TarAttributes { modified: 9, executable: false };
        let file = TarFile { name: String::new(), attributes, data: b"abc" };
        let sha1 = Sha1(sha1::Sha1::digest(b"abc").into());
        let known = KnownFile { size: 3, modified: Some(9), sha1: Some(sha1) };
        assert!(is_that(&known, &file));
        assert!(is_that(&KnownFile { modified: None, sha1: None, ..known }, &file));
        for other in [
            KnownFile { size: 4, ..known },
            KnownFile { modified: Some(8), ..known },
            KnownFile { sha1: Some(Sha1([7; 20])), ..known },
        ] {
            assert!(!is_that(&other, &file));
        }
    }
}
