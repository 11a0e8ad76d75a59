//! The keyword table of what we share: neighbours that have it need not send us
//! queries that match nothing here (RT-14).

use super::index::KeywordIndex;
use crate::wire::gnutella::Keywords;

/// The size of the table as a power of two: the usual size, and the largest.
const BITS: core::ops::RangeInclusive<u32> = 16..=20;
/// Words in a table of the usual size, so that few of its entries stand for two
/// of them. Each word sets up to four entries: itself and three prefixes.
const WORDS: usize = 4_096;

/// The table of all words of the index.
pub(super) fn table(index: &KeywordIndex) -> Keywords {
    let words = index.words();
    let bits = BITS.clone().find(|bits| words.len() <= WORDS << (bits - BITS.start()));
    let mut table = Keywords::new(bits.unwrap_or(*BITS.end()));
    words.for_each(|word| table.add(word));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FileIndex;

    #[test]
    fn the_table_has_the_words_and_grows_with_them() {
        let mut index = KeywordIndex::default();
        index.put(FileIndex(1), "Some Song.ogg", None);
        let small = table(&index);
        assert!(small.could_match("song SOME") && !small.could_match("film"));
        assert_eq!(small.filled().1, 1 << 16);
        for n in 0..5_000_u32 {
            index.put(FileIndex(n), &alloc::format!("word{n}"), None);
        }
        let large = table(&index);
        assert_eq!(large.filled().1, 1 << 17);
        assert!(large.could_match("word4999"));
    }
}
