//! The files that downloads are written to: `NAME.part` in the download folder
//! until they are complete, then `NAME`. Nothing that exists is overwritten: a
//! name that is taken gets a number. The two names are checked independently.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{io, iter};

use servent_core::id::FetchId;
use servent_core::node::{PartRow, StoreError};
use servent_core::wire::http::HttpDate;

use crate::files::{
    FileAttributes, PartFile, number, part_path, safe_name, safe_path, store_error,
};
use crate::store::{Durability, PartName, StoreChange};
use crate::sys::{open_no_link, refused_link, rename_new};

/// The files of all downloads.
#[derive(Debug)]
pub(crate) struct Downloads {
    dir: PathBuf,
    /// Slashes in names create folders.
    tree: bool,
    durability: Durability,
    /// Names of the partial files, without `.part`.
    names: BTreeMap<FetchId, String>,
    /// Those that have a name and no file yet.
    fresh: BTreeSet<FetchId>,
    /// Names that were asked for.
    wanted: BTreeMap<FetchId, String>,
    /// When their sources say that they were changed last.
    modified: BTreeMap<FetchId, SystemTime>,
    /// Those that may be run, as their sources say.
    executable: BTreeSet<FetchId>,
    open: BTreeMap<FetchId, Result<Arc<PartFile>, StoreError>>,
    whole: Arc<Mutex<BTreeMap<FetchId, PathBuf>>>,
}

impl Downloads {
    /// Restores what the store remembers: completes renames that a crash
    /// interrupted, and removes from `fetches` the ranges whose bytes are gone.
    pub(crate) fn restore(
        (dir, tree): (&Path, bool),
        durability: Durability,
        parts: Vec<(FetchId, PartName)>,
        fetches: &mut [PartRow],
    ) -> (Self, Vec<StoreChange>) {
        let mut downloads = Self {
            dir: dir.to_owned(),
            tree,
            durability,
            names: BTreeMap::new(),
            fresh: BTreeSet::new(),
            wanted: BTreeMap::new(),
            modified: BTreeMap::new(),
            executable: BTreeSet::new(),
            open: BTreeMap::new(),
            whole: Arc::default(),
        };
        let mut changes = Vec::new();
        for (fetch, part) in parts {
            let row = fetches.iter().find(|row| row.fetch == fetch);
            if let Some(row) = row {
                downloads.learn(row);
            }
            if part.whole {
                let wanted =
                    row.map_or_else(|| part.name.clone(), |row| downloads.safe(&row.get.name));
                downloads.finish(fetch, &part.name, &wanted);
            } else if let Some(row) = row {
                downloads.wanted.insert(fetch, downloads.safe(&row.get.name));
                downloads.names.insert(fetch, part.name);
                continue;
            }
            changes.push(StoreChange::PartGone(fetch));
        }
        for row in fetches {
            let length = downloads.names.get(&row.fetch).map_or(0, |n| downloads.length(n));
            row.have.retain_mut(|(start, end)| {
                *end = (*end).min(length);
                start < end
            });
        }
        (downloads, changes)
    }

    /// Remembers what the saved row of a download says of its file.
    pub(crate) fn learn(&mut self, row: &PartRow) {
        let date = row.version.modified.as_deref().and_then(HttpDate::parse);
        let date = date.map(|date| UNIX_EPOCH + Duration::from_secs(date.to_unix()));
        match date {
            Some(date) => self.modified.insert(row.fetch, date),
            None => self.modified.remove(&row.fetch),
        };
        match row.version.executable {
            true => self.executable.insert(row.fetch),
            false => self.executable.remove(&row.fetch),
        };
    }

    /// Where finished downloads are, for lookups from other threads.
    pub(crate) fn whole(&self) -> Arc<Mutex<BTreeMap<FetchId, PathBuf>>> {
        Arc::clone(&self.whole)
    }

    fn safe(&self, name: &str) -> String {
        if self.tree { safe_path(name) } else { safe_name(name) }
    }

    fn part_path(&self, name: &str) -> PathBuf {
        part_path(&self.dir.join(name))
    }

    fn length(&self, name: &str) -> u64 {
        fs::symlink_metadata(self.part_path(name))
            .map_or(0, |m| if m.is_file() { m.len() } else { 0 })
    }

    /// Chooses the name of a download's file, unless it has one. It has to be
    /// saved before [`Downloads::allocate`] creates the file: a name without a
    /// file does no harm, but a file whose name was lost in a crash would never
    /// be removed.
    pub(crate) fn naming(&mut self, fetch: FetchId, name: &str) -> Option<StoreChange> {
        if self.names.contains_key(&fetch) {
            return None;
        }
        let safe = self.safe(name);
        self.wanted.entry(fetch).or_insert_with(|| safe.clone());
        let free = (1_u32..)
            .map(|n| if n == 1 { safe.clone() } else { number(&safe, n) })
            .find(|name| self.is_free(name))?;
        self.names.insert(fetch, free.clone());
        self.fresh.insert(fetch);
        Some(StoreChange::Part(fetch, PartName { name: free, whole: false }))
    }

    fn is_free(&self, name: &str) -> bool {
        let taken = fs::symlink_metadata(self.part_path(name)).is_ok();
        !taken && self.names.values().all(|other| other != name)
    }

    /// Opens or creates a download's file. The change contains its name if it
    /// is not the one [`Downloads::naming`] chose: a file of that name has
    /// appeared meanwhile.
    pub(crate) fn allocate(
        &mut self,
        fetch: FetchId,
        name: &str,
        size: Option<u64>,
    ) -> Option<StoreChange> {
        let chosen = self.names.get(&fetch).cloned();
        if !matches!(self.open.get(&fetch), Some(Ok(_))) {
            self.naming(fetch, name);
            let opened = self.open_part(fetch);
            self.open.insert(fetch, opened.map(Arc::new).map_err(|why| store_error(&why)));
        }
        if let (Some(Ok(part)), Some(size)) = (self.open.get(&fetch), size)
            && let Err(why) = part.not_longer_than(size).and_then(|()| part.check_room(size))
        {
            self.open.insert(fetch, Err(why));
        }
        let name = self.names.get(&fetch)?.clone();
        let news = chosen.as_ref() != Some(&name);
        news.then_some(StoreChange::Part(fetch, PartName { name, whole: false }))
    }

    fn open_part(&mut self, fetch: FetchId) -> io::Result<PartFile> {
        let name = self.names.get(&fetch).cloned().unwrap_or_default();
        self.beneath(&name)?;
        fs::create_dir_all(self.part_path(&name).parent().unwrap_or(&self.dir))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if !self.fresh.contains(&fetch) {
            let file = open_no_link(options.create(true), &self.part_path(&name))?;
            return Ok(self.locked(file));
        }
        let wanted = self.wanted.get(&fetch).cloned().unwrap_or_else(|| name.clone());
        let more = (2_u32..).map(|n| number(&wanted, n));
        for name in iter::once(name).chain(more) {
            match open_no_link(options.create_new(true), &self.part_path(&name)) {
                Ok(file) => {
                    self.fresh.remove(&fetch);
                    self.names.insert(fetch, name);
                    return Ok(self.locked(file));
                }
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A partial file that tells other processes that it is written to.
    fn locked(&self, file: fs::File) -> PartFile {
        let _ = file.try_lock(); // A reader of ours may still have it open, and locked.
        PartFile::new(file, self.durability)
    }

    /// An error when a folder on the way to a file is a link: what is downloaded stays
    /// beneath the target, wherever links in it lead.
    fn beneath(&self, name: &str) -> io::Result<()> {
        let mut folder = self.dir.clone();
        let parents = Path::new(name).parent().into_iter().flat_map(Path::components);
        for part in parents {
            folder.push(part);
            if fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_symlink()) {
                return Err(refused_link());
            }
        }
        Ok(())
    }

    /// The file of a download.
    pub(crate) fn part(&self, fetch: FetchId) -> Result<Arc<PartFile>, StoreError> {
        self.open.get(&fetch).cloned().unwrap_or(Err(StoreError::Failed))
    }

    /// What to remember so that a crash before [`Downloads::complete`] is
    /// repaired by [`Downloads::restore`].
    pub(crate) fn completing(&self, fetch: FetchId) -> Option<StoreChange> {
        let name = self.names.get(&fetch)?.clone();
        Some(StoreChange::Part(fetch, PartName { name, whole: true }))
    }

    /// Gives a download its final name.
    pub(crate) fn complete(&mut self, fetch: FetchId) -> Option<StoreChange> {
        let name = self.names.remove(&fetch)?;
        let wanted = self.wanted.remove(&fetch).unwrap_or_else(|| name.clone());
        if let Some(Ok(part)) = self.open.remove(&fetch)
            && part.must_settle()
        {
            let _ = part.settle();
        }
        self.finish(fetch, &name, &wanted);
        Some(StoreChange::PartGone(fetch))
    }

    fn finish(&mut self, fetch: FetchId, name: &str, wanted: &str) {
        let from = self.part_path(name);
        if let Err(why) = self.beneath(wanted) {
            tracing::error!(%why, part = %from.display(), "a whole download keeps its .part");
            return;
        }
        let date = self.modified.remove(&fetch);
        let attributes = FileAttributes {
            modified: date.and_then(parts),
            executable: self.executable.remove(&fetch),
        };
        set_attributes(&from, attributes);
        for n in 1_u32.. {
            let to = self.dir.join(if n == 1 { wanted.to_owned() } else { number(wanted, n) });
            match rename_new(&from, &to) {
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) if why.kind() == io::ErrorKind::NotFound => return,
                Err(why) => {
                    tracing::error!(%why, part = %from.display(), "a whole download keeps its .part");
                    return;
                }
                Ok(()) => {
                    self.whole.lock().unwrap_or_else(PoisonError::into_inner).insert(fetch, to);
                    return;
                }
            }
        }
    }

    /// Closes the file of a download that has paused; the download keeps its
    /// name, and the file is opened again when it resumes.
    pub(crate) fn rest(&mut self, fetch: FetchId) {
        self.open.remove(&fetch);
    }

    /// The same for a download that found no source: a file that nothing was
    /// written to is removed.
    pub(crate) fn rest_without(&mut self, fetch: FetchId) {
        self.rest(fetch);
        if let Some(name) = self.names.get(&fetch) {
            let part = self.part_path(name);
            if fs::symlink_metadata(&part).is_ok_and(|m| m.is_file() && m.len() == 0) {
                let _ = fs::remove_file(part);
            }
        }
    }

    /// Forgets a download that was cancelled or whose content is wrong, and
    /// removes its file.
    pub(crate) fn forget(&mut self, fetch: FetchId) -> Option<StoreChange> {
        self.open.remove(&fetch);
        self.wanted.remove(&fetch);
        self.modified.remove(&fetch);
        self.executable.remove(&fetch);
        let name = self.names.remove(&fetch)?;
        if self.fresh.remove(&fetch) {
            return Some(StoreChange::PartGone(fetch));
        }
        if let Err(why) = fs::remove_file(self.part_path(&name))
            && why.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%why, name, "cannot remove the partial file");
        }
        Some(StoreChange::PartGone(fetch))
    }
}

/// Sets when a file was changed last, so that it is not taken for a newer one, and
/// whether it may be run.
fn set_attributes(file: &Path, attributes: FileAttributes) {
    let set = open_no_link(OpenOptions::new().write(true), file);
    if let Err(why) = set.and_then(|file| attributes.apply(&file)) {
        tracing::debug!(%why, file = %file.display(), "a download keeps the date of its arrival");
    }
}

/// A date as attributes have it.
fn parts(date: SystemTime) -> Option<(i64, u32)> {
    let since = date.duration_since(UNIX_EPOCH).ok()?;
    Some((i64::try_from(since.as_secs()).ok()?, since.subsec_nanos()))
}

#[cfg(test)]
#[path = "downloads_tests.rs"]
mod tests;
