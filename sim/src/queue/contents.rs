//! What the file of a download holds: which content each of its ranges is of. Files
//! of these worlds have no bytes, so that is what hashing them comes to.

use alloc::vec::Vec;
use core::hash::Hasher as _;

use crate::links::stream::StreamContent;
use servent_core::id::{Sha1, Tth};
use servent_core::trace::Digest;

/// The SHA-1 of no bytes.
pub(super) const SHA1_OF_NOTHING: Sha1 = Sha1([
    0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60, 0x18, 0x90,
    0xaf, 0xd8, 0x07, 0x09,
]);

/// A range, and what was written to it last.
type WrittenRange = ((u64, u64), StreamContent);

/// The ranges of a file that were written.
#[derive(Debug, Clone, Default)]
pub(super) struct PartContents {
    /// In order, disjoint, and not divided without need.
    ranges: Vec<WrittenRange>,
}

impl PartContents {
    /// Writes `start..end`.
    pub(super) fn write(&mut self, (start, end): (u64, u64), content: StreamContent) {
        if start >= end {
            return;
        }
        let mut ranges: Vec<WrittenRange> = Vec::with_capacity(self.ranges.len() + 2);
        let mut add = |((from, to), of): WrittenRange| match ranges.last_mut() {
            _ if from >= to => {}
            Some((last, same)) if last.1 == from && *same == of => last.1 = to,
            _ => ranges.push(((from, to), of)),
        };
        for &((from, to), of) in self.ranges.iter().filter(|((from, _), _)| *from < start) {
            add(((from, to.min(start)), of));
        }
        add(((start, end), content));
        for &((from, to), of) in self.ranges.iter().filter(|((_, to), _)| *to > end) {
            add(((from.max(end), to), of));
        }
        self.ranges = ranges;
    }

    /// Cuts off what is behind the end of a file of that size.
    pub(super) fn cut(&mut self, size: u64) {
        self.ranges.retain(|((start, _), _)| *start < size);
        if let Some(((_, end), _)) = self.ranges.last_mut() {
            *end = size.min(*end);
        }
    }

    /// Where the last range ends.
    pub(super) fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |((_, end), _)| *end)
    }

    /// What is at `at`, or else at the beginning.
    pub(super) fn at(&self, at: u64) -> Option<StreamContent> {
        let there = self.ranges.iter().find(|((start, end), _)| (*start..*end).contains(&at));
        there.or_else(|| self.ranges.first()).map(|(_, content)| *content)
    }

    /// True when some of it came from a damaged copy.
    pub(super) fn is_damaged(&self) -> bool {
        self.ranges.iter().any(|(_, content)| content.damaged)
    }

    /// The SHA-1 of all of it. A mixture has that of no file.
    pub(super) fn found(&self) -> Sha1 {
        let Some((_, first)) = self.ranges.first() else { return SHA1_OF_NOTHING };
        if self.ranges.iter().all(|(_, content)| content.sha1 == first.sha1) {
            return StreamContent { damaged: self.is_damaged(), ..*first }.found();
        }
        Sha1(self.digest((0, u64::MAX)))
    }

    /// The hash tree node of a range.
    pub(super) fn tth(&self, range: (u64, u64)) -> Tth {
        Tth(self.digest(range))
    }

    fn digest<const N: usize>(&self, (start, end): (u64, u64)) -> [u8; N] {
        let mut digest = Digest::default();
        for ((from, to), content) in &self.ranges {
            let (from, to) = ((*from).max(start), (*to).min(end));
            if from < to {
                digest.add(&(from, to, content.found()));
            }
        }
        let mut bytes = [0; N];
        for (i, byte) in (0_u8..).zip(&mut bytes) {
            digest.write_u8(i);
            *byte = digest.value() as u8;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn content(n: u8) -> StreamContent {
        StreamContent { sha1: Sha1([n; 20]), damaged: false }
    }

    #[test]
    fn a_mixture_has_the_hash_of_no_version_until_it_is_overwritten() {
        let mut file = PartContents::default();
        assert_eq!(file.found(), SHA1_OF_NOTHING);
        file.write((0, 50), content(1));
        file.write((50, 100), content(1));
        assert_eq!((file.found(), file.ranges.len()), (content(1).sha1, 1));
        let before = file.tth((40, 60));
        file.write((60, 80), content(2));
        assert!(file.found() != content(1).sha1 && file.found() != content(2).sha1);
        assert_eq!(file.tth((40, 60)), before, "nothing of it was written to");
        assert_ne!(file.tth((40, 61)), before);
        file.write((0, 100), content(2));
        assert_eq!((file.found(), file.ranges.len()), (content(2).sha1, 1));
        file.cut(30);
        assert_eq!(
            (file.end(), file.at(29), file.at(30)),
            (30, Some(content(2)), Some(content(2)))
        );
        file.cut(0);
        assert_eq!((file.end(), file.found()), (0, SHA1_OF_NOTHING));
    }

    #[test]
    fn what_came_from_a_damaged_copy_has_another_hash() {
        let mut file = PartContents::default();
        file.write((0, 50), content(1));
        file.write((50, 60), StreamContent { damaged: true, ..content(1) });
        assert!(file.is_damaged() && file.found() != content(1).sha1);
        file.write((50, 60), content(1));
        assert!(!file.is_damaged() && file.found() == content(1).sha1);
    }
}
