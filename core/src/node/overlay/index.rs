//! Which of our files have a word in their names.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::id::FileIndex;
use crate::wire::gnutella::words;

/// Files by the words of their names.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    files: BTreeMap<String, Vec<FileIndex>>,
    names: BTreeMap<FileIndex, String>,
}

impl Index {
    /// Adds a file, or renames it; true when that changes anything.
    pub(super) fn put(&mut self, index: FileIndex, name: &str) -> bool {
        if self.names.get(&index).is_some_and(|known| known == name) {
            return false;
        }
        self.remove(index);
        for word in words(name) {
            let files = self.files.entry(word).or_default();
            if let Err(place) = files.binary_search(&index) {
                files.insert(place, index);
            }
        }
        self.names.insert(index, name.into());
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
            index.put(FileIndex(n), name);
        }
        assert_eq!(index.find("SONG some", 9), [FileIndex(1), FileIndex(3)]);
        assert_eq!(index.find("song", 1), [FileIndex(1)]);
        assert_eq!(index.find("song mp3", 9), [FileIndex(3)]);
        assert_eq!((index.find("song film", 9), index.find(" . ", 9)), (Vec::new(), Vec::new()));
        index.put(FileIndex(3), "renamed.mp3");
        index.remove(FileIndex(1));
        assert!(index.find("song", 9).is_empty() && index.files.len() == 4);
        assert_eq!(index.all(9), [FileIndex(2), FileIndex(3)]);
    }
}
