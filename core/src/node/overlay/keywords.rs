//! The keyword table of what we share: neighbours that have it need not send
//! us queries that find nothing here (RT-14).

use super::super::{Effects, Node};
use super::index::Index;
use crate::routing;
use crate::time::Instant;
use crate::wire::gnutella::Keywords;

/// Bits of the number of entries: of the usual table, and of the largest.
const BITS: core::ops::RangeInclusive<u32> = 16..=20;
/// Words of a table of the usual size, so that few entries mean two of them.
/// Each brings up to four: itself and three shorter ones.
const WORDS: usize = 4_096;

impl Node {
    /// The words of what we share are others now. Neighbours are told soon,
    /// the first time at once.
    pub(super) fn keywords_change(&mut self) {
        let every = if self.overlay.told {
            self.config.overlay.keywords_every
        } else {
            crate::time::Duration::ZERO
        };
        let due = self.now + every;
        self.overlay.keywords.get_or_insert(due);
    }

    /// Tells neighbours of them.
    pub(super) fn tell_keywords(&mut self, now: Instant, fx: &mut Effects) {
        let table = table(&self.overlay.index);
        (self.overlay.keywords, self.overlay.told) = (None, true);
        self.route(now, routing::Input::Keywords { table }, fx);
    }
}

fn table(index: &Index) -> Keywords {
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
        let mut index = Index::default();
        index.put(FileIndex(1), "Some Song.ogg");
        let small = table(&index);
        assert!(small.could_match("song SOME") && !small.could_match("film"));
        assert_eq!(small.filled().1, 1 << 16);
        for n in 0..5_000_u32 {
            index.put(FileIndex(n), &alloc::format!("word{n}"));
        }
        let large = table(&index);
        assert_eq!(large.filled().1, 1 << 17);
        assert!(large.could_match("word4999"));
    }
}
