//! Which of our files have a word in their names, or a hash.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::id::{FileIndex, Sha1};
use crate::wire::gnutella::words;

/// Files by the words of their names.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    files: BTreeMap<String, Vec<FileIndex>>,
    names: BTreeMap<FileIndex, String>,
}

impl Index {
    /// Adds a file, or what is new of it; true when that changes anything. Its
    /// hash is a word like those of its name: neighbours then know from our
    /// keywords whether a search by hash would find it.
    pub(super) fn put(&mut self, index: FileIndex, name: &str, sha1: Option<Sha1>) -> bool {
        let text = sha1.map_or_else(|| name.into(), |sha1| format!("{name} {sha1}"));
        if self.names.get(&index) == Some(&text) {
            return false;
        }
        self.remove(index);
        for word in words(&text) {
            let files = self.files.entry(word).or_default();
            if let Err(place) = files.binary_search(&index) {
                files.insert(place, index);
            }
        }
        self.names.insert(index, text);
        true
    }

    /// Takes a file out; true when it was in.
    pub(super) fn remove(&mut self, index: FileIndex) -> bool {
        let Some(name) = self.names.remove(&index) else { return false };
        for word in words(&name) {
            if let Some(files) = self.files.get_mut(&word) {
                files.retain(|other| *other != index);
                if files.is_empty() {
                    self.files.remove(&word);
                }
            }
        }
        true
    }

    /// Every word of all names, once.
    pub(super) fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The files that have all words of a query, in order, at most so many.
    pub(super) fn find(&self, criteria: &str, most: usize) -> Vec<FileIndex> {
        let lists: Option<Vec<_>> = words(criteria).map(|word| self.files.get(&word)).collect();
        let Some(lists) = lists else { return Vec::new() };
        // The rarest word leads.
        let Some(rare) = lists.iter().min_by_key(|list| list.len()) else { return Vec::new() };
        let all = |index: &&FileIndex| lists.iter().all(|list| list.binary_search(index).is_ok());
        rare.iter().filter(all).take(most).copied().collect()
    }

    /// All files, in order, at most so many.
    pub(super) fn all(&self, most: usize) -> Vec<FileIndex> {
        self.names.keys().take(most).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_lead_to_a_file_until_it_is_gone() {
        let mut index = Index::default();
        for (n, name) in [(3, "Some Song.mp3"), (1, "some other song.ogg"), (2, "a film.mkv")] {
            index.put(FileIndex(n), name, None);
        }
        assert_eq!(index.find("SONG some", 9), [FileIndex(1), FileIndex(3)]);
        assert_eq!(index.find("song", 1), [FileIndex(1)]);
        assert_eq!(index.find("song mp3", 9), [FileIndex(3)]);
        assert_eq!((index.find("song film", 9), index.find(" . ", 9)), (Vec::new(), Vec::new()));
        let sha1 = Sha1([7; 20]);
        assert!(index.put(FileIndex(3), "renamed.mp3", None));
        assert!(index.put(FileIndex(3), "renamed.mp3", Some(sha1)));
        assert!(!index.put(FileIndex(3), "renamed.mp3", Some(sha1)));
        assert_eq!(index.find(&format!("{sha1}"), 9), [FileIndex(3)]);
        index.remove(FileIndex(1));
        assert!(index.find("song", 9).is_empty() && index.files.len() == 5);
        assert_eq!(index.all(9), [FileIndex(2), FileIndex(3)]);
    }
}
