//! An index of our files by the words of their names and by their hashes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;

use crate::id::{FileIndex, Sha1};
use crate::wire::gnutella::{fold, words};

/// The shortest prefix that matches longer words: neighbours' keyword tables
/// hold no shorter ones (RT-14).
const SHORTEST_BEGINNING: usize = 3;
/// Words that one prefix may match.
const LONGER_WORDS: usize = 64;

/// Files by the words of their names.
#[derive(Debug, Clone, Default)]
pub(super) struct KeywordIndex {
    files: BTreeMap<String, Vec<FileIndex>>,
    names: BTreeMap<FileIndex, String>,
}

/// The words of a text as they are and without accents: a query may have either.
fn spellings(text: &str) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = words(text).collect();
    if !text.is_ascii() {
        all.extend(words(&fold(text)));
    }
    all
}

impl KeywordIndex {
    /// Adds or updates a file; true when that changes the index. Its hash is a
    /// word like those of its name, so that neighbours know from our keyword
    /// table whether a search by hash would match.
    pub(super) fn put(&mut self, index: FileIndex, name: &str, sha1: Option<Sha1>) -> bool {
        let text = sha1.map_or_else(|| name.into(), |sha1| format!("{name} {sha1}"));
        if self.names.get(&index) == Some(&text) {
            return false;
        }
        // Mostly its hash is new and its words are as before, which many other files
        // may have too: only what differs is touched.
        let (new, old) = (spellings(&text), self.names.insert(index, text));
        let old = old.map_or_else(BTreeSet::new, |old| spellings(&old));
        for word in new.difference(&old) {
            let files = self.files.entry(word.clone()).or_default();
            if let Err(place) = files.binary_search(&index) {
                files.insert(place, index);
            }
        }
        old.difference(&new).for_each(|word| self.remove_word(word, index));
        true
    }

    /// Removes a file; true when it was there.
    pub(super) fn remove(&mut self, index: FileIndex) -> bool {
        let Some(name) = self.names.remove(&index) else { return false };
        spellings(&name).iter().for_each(|word| self.remove_word(word, index));
        true
    }

    fn remove_word(&mut self, word: &str, index: FileIndex) {
        let Some(files) = self.files.get_mut(word) else { return };
        if let Ok(place) = files.binary_search(&index) {
            files.remove(place);
        }
        if files.is_empty() {
            self.files.remove(word);
        }
    }

    /// Every word of all names, without duplicates.
    pub(super) fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// At most `most` files that contain all words of a query, or words that
    /// begin with them.
    pub(super) fn find(&self, criteria: &str, most: usize) -> Vec<FileIndex> {
        let wanted: Vec<Vec<&Vec<FileIndex>>> =
            words(&fold(criteria)).map(|w| self.with(&w)).collect();
        // Begins with the rarest word.
        let files = |lists: &&Vec<&Vec<FileIndex>>| lists.iter().map(|list| list.len()).sum();
        let rare = wanted.iter().min_by_key(|lists| -> usize { files(lists) });
        let has = |lists: &Vec<&Vec<FileIndex>>, index: &FileIndex| {
            lists.iter().any(|list| list.binary_search(index).is_ok())
        };
        let mut found = BTreeSet::new();
        for index in rare.into_iter().flatten().copied().flatten() {
            if found.len() >= most {
                break;
            }
            if wanted.iter().all(|lists| has(lists, index)) {
                found.insert(*index);
            }
        }
        found.into_iter().collect()
    }

    /// The files with a word, and those with words that begin with it.
    fn with(&self, word: &str) -> Vec<&Vec<FileIndex>> {
        let long = word.chars().count() >= SHORTEST_BEGINNING;
        let begin =
            |(known, _): &(&String, _)| known.as_str() == word || (long && known.starts_with(word));
        let from = self.files.range::<str, _>((Bound::Included(word), Bound::Unbounded));
        from.take_while(begin).take(LONGER_WORDS).map(|(_, files)| files).collect()
    }

    /// At most `most` files, in order.
    pub(super) fn all(&self, most: usize) -> Vec<FileIndex> {
        self.names.keys().take(most).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_with_their_accents_and_without() {
        let mut index = KeywordIndex::default();
        index.put(FileIndex(1), "Beyoncé - Déjà vu.ogg", None);
        index.put(FileIndex(2), "Re\u{301}sume\u{301}.txt", None);
        for criteria in ["beyonce", "Beyoncé", "deja beyonce", "déjà"] {
            assert_eq!(index.find(criteria, 9), [FileIndex(1)], "{criteria}");
        }
        assert_eq!(index.find("resume", 9), [FileIndex(2)]);
        let table = super::super::keywords::table(&index);
        assert!(table.could_match("beyonce") && table.could_match("Beyoncé"));
        assert!(index.remove(FileIndex(1)) && index.find("beyonce", 9).is_empty());
        assert!(!super::super::keywords::table(&index).could_match("beyonce"));
    }

    #[test]
    fn all_words_lead_to_a_file_until_it_is_gone() {
        let mut index = KeywordIndex::default();
        for (n, name) in [(3, "Some Song.mp3"), (1, "some other song.ogg"), (2, "a film.mkv")] {
            index.put(FileIndex(n), name, None);
        }
        assert_eq!(index.find("SONG some", 9), [FileIndex(1), FileIndex(3)]);
        assert_eq!(index.find("song", 1), [FileIndex(1)]);
        assert_eq!(index.find("song mp3", 9), [FileIndex(3)]);
        assert_eq!(index.find("oth son", 9), [FileIndex(1)], "beginnings, in any order");
        assert_eq!(index.find("son", 9), [FileIndex(1), FileIndex(3)]);
        assert_eq!(index.find("so", 9), [], "two letters are a word of their own");
        assert_eq!(index.find("ong", 9), [], "that is no beginning");
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
