//! What we share: files by number, name, SHA-1 and queue key, each with its
//! alternate locations.
//!
//! A name from a URL is looked up here, among the names of shared files, and
//! nowhere else: it cannot become a path of the file system.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::ops::Bound;

use super::FileInfo;
use crate::address::may_dial;
use crate::id::{FileIndex, Sha1};
use crate::queue::FileKey;
use crate::wire::http::Target;

/// One shared file and its alternate locations.
#[derive(Debug, Clone)]
struct CatalogEntry {
    info: FileInfo,
    /// Alternate locations, the one learnt last at the end.
    alternates: Vec<SocketAddr>,
}

/// The shared files.
#[derive(Debug, Clone, Default)]
pub(super) struct Catalog {
    by_index: BTreeMap<FileIndex, CatalogEntry>,
    by_name: BTreeSet<(String, FileIndex)>,
    /// Keyed by the first bytes of the SHA-1; the entry has all of them.
    by_sha1: BTreeSet<(u64, FileIndex)>,
    by_key: BTreeSet<(FileKey, FileIndex)>,
}

impl Catalog {
    /// Shares a file, or replaces its entry; its alternate locations are kept
    /// while the content stays the same.
    pub(super) fn put(&mut self, info: FileInfo) {
        let old = self.take(info.index);
        let alternates = match old {
            Some(old) if old.info.is_the_content_of(&info) => old.alternates,
            _ => Vec::new(),
        };
        if let Some(sha1) = info.sha1 {
            self.by_sha1.insert((prefix(sha1), info.index));
        }
        self.by_key.insert((info.key, info.index));
        self.by_name.insert((info.name.clone(), info.index));
        self.by_index.insert(info.index, CatalogEntry { info, alternates });
    }

    /// Stops sharing a file.
    pub(super) fn remove(&mut self, index: FileIndex) {
        self.take(index);
    }

    fn take(&mut self, index: FileIndex) -> Option<CatalogEntry> {
        let old = self.by_index.remove(&index)?;
        if let Some(sha1) = old.info.sha1 {
            self.by_sha1.remove(&(prefix(sha1), index));
        }
        self.by_key.remove(&(old.info.key, index));
        self.by_name.remove(&(old.info.name.clone(), index));
        Some(old)
    }

    /// How many files are shared.
    pub(super) fn len(&self) -> usize {
        self.by_index.len()
    }

    /// Their total size, in kilobytes.
    pub(super) fn kilobytes(&self) -> u32 {
        let bytes = self.by_index.values().fold(0u64, |sum, e| sum.saturating_add(e.info.size));
        u32::try_from(bytes / 1_024).unwrap_or(u32::MAX)
    }

    /// The file with this number.
    pub(super) fn get(&self, index: FileIndex) -> Option<&FileInfo> {
        self.by_index.get(&index).map(|e| &e.info)
    }

    /// A file with this content; of several, the one with the smallest number.
    pub(super) fn by_sha1(&self, sha1: Sha1) -> Option<&FileInfo> {
        let like = prefix(sha1);
        let mut like = self.by_sha1.range((like, FileIndex(0))..=(like, FileIndex(u32::MAX)));
        like.find_map(|(_, index)| self.get(*index).filter(|info| info.sha1 == Some(sha1)))
    }

    /// A file the queue knows by this key.
    pub(super) fn by_key(&self, key: FileKey) -> Option<&FileInfo> {
        let (found, index) = self.by_key.range((key, FileIndex(0))..).next()?;
        if *found == key { self.get(*index) } else { None }
    }

    /// The files after number `after` (from the first when `None`), in order.
    pub(super) fn after(&self, after: Option<FileIndex>) -> impl Iterator<Item = &FileInfo> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_index.range((from, Bound::Unbounded)).map(|(_, e)| &e.info)
    }

    /// The file with this name; of several, the one with the smallest number.
    pub(super) fn by_path(&self, path: &str) -> Option<&FileInfo> {
        let (name, index) = self.by_name.range((path.into(), FileIndex(0))..).next()?;
        if name == path { self.get(*index) } else { None }
    }

    /// The file at the path of a request's target.
    pub(super) fn by_target(&self, target: &str) -> Option<&FileInfo> {
        self.by_path(&Target::path_of(target)?)
    }

    /// The largest number of a file.
    pub(super) fn newest(&self) -> FileIndex {
        self.by_index.last_key_value().map_or(FileIndex(0), |(index, _)| *index)
    }

    /// True when something is below this folder, whose name ends in `/`.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        let first = self.by_name.range((folder.into(), FileIndex(0))..).next();
        first.is_some_and(|(name, _)| name.starts_with(folder))
    }

    /// What is in a folder, ordered by name, starting after the name `after`.
    /// With `flat`, a folder inside it is one entry that stands for everything
    /// below; otherwise each file below is an entry of its own.
    pub(super) fn entries(&self, folder: &str, after: Option<&str>, flat: bool) -> Entries<'_> {
        let next = match after {
            None => (folder.into(), FileIndex(0)),
            Some(name) => behind(name),
        };
        Entries { catalog: self, folder: folder.into(), next, flat }
    }

    /// Alternate locations of this file, the latest first, without `asker`.
    pub(super) fn alternates(
        &self,
        index: FileIndex,
        asker: IpAddr,
    ) -> impl Iterator<Item = SocketAddr> {
        let known = self.by_index.get(&index).map_or(&[][..], |e| &e.alternates);
        known.iter().rev().copied().filter(move |at| at.ip() != asker)
    }

    /// Remembers that `at` has this file too, as a client at `teller` told us.
    /// At most `limit` are kept; the oldest makes room.
    pub(super) fn learn(&mut self, index: FileIndex, at: SocketAddr, teller: IpAddr, limit: u32) {
        let Some(entry) = self.by_index.get_mut(&index) else { return };
        if !may_dial(at, teller) {
            return;
        }
        entry.alternates.retain(|known| *known != at);
        entry.alternates.push(at);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if entry.alternates.len() > limit {
            entry.alternates.remove(0);
        }
    }

    /// Forgets that `at` has this file (`X-NAlt`), if the message comes from
    /// that same address: no client may remove others from the mesh.
    pub(super) fn unlearn(&mut self, index: FileIndex, at: SocketAddr, teller: IpAddr) {
        if at.ip() != teller {
            return;
        }
        if let Some(entry) = self.by_index.get_mut(&index) {
            entry.alternates.retain(|known| *known != at);
        }
    }
}

/// An entry of a folder; its name begins with the folder's.
#[derive(Debug, Clone)]
pub(super) enum Listed<'a> {
    /// A folder. Its name ends in `/`.
    Folder(String),
    /// A file.
    File(&'a str, &'a FileInfo),
}

impl Listed<'_> {
    /// Its full name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Folder(name) => name,
            Self::File(name, _) => name,
        }
    }
}

/// What is in a folder; see [`Catalog::entries`].
pub(super) struct Entries<'a> {
    catalog: &'a Catalog,
    folder: String,
    next: (String, FileIndex),
    flat: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Listed<'a>;

    fn next(&mut self) -> Option<Listed<'a>> {
        let (name, index) = self.catalog.by_name.range(self.next.clone()..).next()?;
        let inside = name.strip_prefix(&self.folder[..])?;
        if let Some(end) = inside.find('/').filter(|_| self.flat) {
            let folder = String::from(&name[..=self.folder.len() + end]);
            self.next = behind(&folder);
            return Some(Listed::Folder(folder));
        }
        self.next = (name.clone(), FileIndex(index.0.saturating_add(1)));
        Some(Listed::File(name, self.catalog.get(*index)?))
    }
}

/// The smallest key that sorts after a name, or after everything below a
/// folder.
fn behind(name: &str) -> (String, FileIndex) {
    match name.strip_suffix('/') {
        // `0` is the character after `/`.
        Some(folder) => (alloc::format!("{folder}0"), FileIndex(0)),
        None => (name.into(), FileIndex(u32::MAX)),
    }
}

fn prefix(sha1: Sha1) -> u64 {
    sha1.0.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(index: u32, sha: u8, key: u64) -> FileInfo {
        FileInfo {
            index: FileIndex(index),
            name: String::from("f"),
            size: 1,
            sha1: Some(Sha1([sha; 20])),
            key: FileKey(key),
            modified: None,
            tree: None,
            run: crate::node::RunBit(false),
        }
    }

    #[test]
    fn twins_are_found_until_the_last_is_gone() {
        let mut c = Catalog::default();
        c.put(info(3, 1, 7));
        c.put(info(5, 1, 7));
        c.remove(FileIndex(3));
        assert_eq!(c.by_sha1(Sha1([1; 20])).unwrap().index, FileIndex(5));
        assert_eq!(c.by_key(FileKey(7)).unwrap().index, FileIndex(5));
        c.put(info(5, 2, 8));
        assert_eq!(c.by_sha1(Sha1([1; 20])), None);
        assert_eq!(c.by_key(FileKey(7)), None);
        assert_eq!(c.after(Some(FileIndex(5))).count(), 0);
        assert_eq!(c.len(), 1);
    }

    #[test]
    fn names_lead_to_files_and_folders() {
        let mut c = Catalog::default();
        for (n, name) in [(4, "m/a"), (2, "m/a"), (3, "m/x/1"), (5, "m/x/2"), (6, "mm/z")] {
            c.put(FileInfo { name: name.into(), ..info(n, 1, u64::from(n)) });
        }
        assert_eq!(c.by_path("m/a").unwrap().index, FileIndex(2));
        for nothing in ["m", "m/", "m/x", "", "../m/a", "/m/a", "M/A"] {
            assert!(c.by_path(nothing).is_none(), "{nothing}");
        }
        assert!(c.has_folder("m/") && c.has_folder("m/x/") && c.has_folder(""));
        assert!(!c.has_folder("m/a/") && !c.has_folder("n/") && !c.has_folder("../"));
        let names = |folder, after, flat| -> Vec<String> {
            c.entries(folder, after, flat).map(|entry| entry.name().into()).collect()
        };
        assert_eq!(names("", None, true), ["m/", "mm/"]);
        assert_eq!(names("m/", None, true), ["m/a", "m/a", "m/x/"]);
        assert_eq!(names("m/", Some("m/a"), true), ["m/x/"]);
        assert_eq!(names("m/", Some("m/x/"), true), [""; 0]);
        assert_eq!(names("m/", Some("m/x/1"), false), ["m/x/2"]);
        c.remove(FileIndex(2));
        assert_eq!(c.by_path("m/a").unwrap().index, FileIndex(4));
    }

    #[test]
    fn alternates_are_few_fresh_and_plausible() {
        let mut c = Catalog::default();
        c.put(info(1, 1, 1));
        let world: IpAddr = "9.9.9.9".parse().unwrap();
        for at in [
            "1.2.3.4:6341",
            "127.0.0.1:6342",
            "10.0.0.1:6343",
            "0.0.0.0:6344",
            "5.6.7.8:0",
            "5.6.7.8:80",
            "[ff02::1]:6345",
        ] {
            c.learn(FileIndex(1), at.parse().unwrap(), world, 2);
        }
        let all = |c: &Catalog| c.alternates(FileIndex(1), world).collect::<Vec<_>>();
        assert_eq!(all(&c), ["1.2.3.4:6341".parse().unwrap()]);
        for at in ["1.1.1.1:6341", "1.1.1.2:6341", "1.1.1.1:6341"] {
            c.learn(FileIndex(1), at.parse().unwrap(), world, 2);
        }
        assert_eq!(all(&c), ["1.1.1.1:6341".parse().unwrap(), "1.1.1.2:6341".parse().unwrap()]);
        c.unlearn(FileIndex(1), "1.1.1.1:6341".parse().unwrap(), world);
        assert_eq!(all(&c).len(), 2, "only the holder itself may say that it has it no more");
        c.unlearn(FileIndex(1), "1.1.1.1:6341".parse().unwrap(), "1.1.1.1".parse().unwrap());
        assert_eq!(all(&c).len(), 1);
        c.put(FileInfo { sha1: None, ..info(1, 1, 1) });
        assert_eq!(all(&c).len(), 1, "it is still the same");
        c.put(FileInfo { size: 2, ..info(1, 1, 1) });
        assert_eq!(all(&c).len(), 0, "they have what it was");
    }
}
