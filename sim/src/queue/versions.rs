//! Files that become other ones: each server counts the versions of its files, and
//! says of them as much as the scenario lets it.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::id::Sha1;
use servent_core::node::{DiskInput, FileInfo, Input};
use servent_core::time::Instant;
use servent_core::trace::NodeId;

use super::contents::SHA1_OF_NOTHING;
use super::world::{Guest, Queue};
use crate::world::World;

/// What a server says of the version of a file that it sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionMark {
    /// Its hash.
    #[default]
    Hash,
    /// When it was changed.
    Date,
    /// Nothing but its length.
    Nothing,
}

impl VersionMark {
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::Hash
    }
}

/// Which version a server's files are in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileEdition {
    /// How many times they became others.
    pub(super) number: u16,
    /// Their size by now, if it is another one.
    pub(super) size: Option<u64>,
}

impl FileEdition {
    /// The next one.
    pub(super) fn next(self, size: Option<u64>) -> Self {
        Self { number: self.number.wrapping_add(1), size: size.or(self.size) }
    }

    /// A file in this version.
    pub(crate) fn of_file(self, file: &FileInfo) -> FileInfo {
        if self.number == 0 {
            return file.clone();
        }
        let size = self.size.unwrap_or(file.size);
        FileInfo { size, sha1: file.sha1.map(|sha1| self.sha1(sha1, size)), ..file.clone() }
    }

    /// Its hash, which says of what it is the version. The first byte is that of the
    /// file: a damaged copy has another one.
    fn sha1(self, Sha1(mut bytes): Sha1, size: u64) -> Sha1 {
        if size == 0 {
            return SHA1_OF_NOTHING;
        }
        let marks = self.number.to_le_bytes().into_iter().chain(size.to_le_bytes());
        bytes[1..].iter_mut().zip(marks).for_each(|(byte, mark)| *byte ^= mark);
        Sha1(bytes)
    }
}

/// A file as a server describes it.
pub(super) fn described(file: FileInfo, edition: FileEdition, mark: VersionMark) -> FileInfo {
    match mark {
        VersionMark::Hash => file,
        VersionMark::Date => {
            let modified = Some(Instant::from_micros(1 + u64::from(edition.number)));
            FileInfo { sha1: None, modified, ..file }
        }
        VersionMark::Nothing => FileInfo { sha1: None, ..file },
    }
}

impl<N: Guest> World<Queue<N>> {
    /// The files that a node shares, as it describes them.
    pub(super) fn described_by(&self, node: u32) -> Vec<FileInfo> {
        let edition = self.own(node).edition;
        let mark = self.net.plan.profile(node).mark;
        let files = self.shared_by(NodeId(node));
        files.map(|file| described(edition.of_file(file), edition, mark)).collect()
    }

    /// The files that a node shares become others, which it notices at once. What it
    /// is sending goes on as it was.
    pub(super) fn change_files(&mut self, node: u32, size: Option<u64>) {
        let edition = &mut self.own_mut(node).edition;
        *edition = edition.next(size);
        for file in self.described_by(node) {
            self.give(node, Input::Disk(DiskInput::Shared(file)), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::host::file_of;

    #[test]
    fn every_version_has_a_hash_of_its_own_and_the_first_is_the_file() {
        let file = file_of(0, "a".into(), 1_000, Sha1([7; 20]));
        let first = FileEdition::default();
        let (second, shorter) = (first.next(None), first.next(Some(9)));
        let hashes = [first, second, second.next(None), shorter, shorter.next(None)];
        let hashes = hashes.map(|edition| edition.of_file(&file).sha1);
        for (i, one) in hashes.iter().enumerate() {
            assert!(!hashes[..i].contains(one), "{i}");
        }
        assert_eq!(hashes[0], file.sha1);
        assert_eq!(shorter.next(None).of_file(&file).size, 9);
        assert_eq!(first.next(Some(0)).of_file(&file).sha1, Some(SHA1_OF_NOTHING));
        let bare = described(second.of_file(&file), second, VersionMark::Date);
        assert!(bare.sha1.is_none() && bare.modified.is_some());
    }
}
