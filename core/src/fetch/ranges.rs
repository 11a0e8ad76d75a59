//! Sets of bytes: sorted, disjoint ranges `start..end`.

use alloc::vec::Vec;

use crate::ranges::join;

/// A range of bytes, half-open.
pub(super) type ByteRange = (u64, u64);

/// A set of bytes of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RangeSet(Vec<ByteRange>);

impl RangeSet {
    /// From ranges in any order.
    pub(super) fn new(ranges: &[ByteRange]) -> Self {
        let mut set = Self::default();
        for &range in ranges {
            set.insert(range);
        }
        set
    }

    /// Adds a range.
    pub(super) fn insert(&mut self, (start, end): ByteRange) {
        if start < end {
            join(&mut self.0, start, end);
        }
    }

    /// Removes a range.
    pub(super) fn remove(&mut self, (start, end): ByteRange) {
        if start >= end || self.gaps((start, end)) == [(start, end)] {
            return;
        }
        let rest = |&(s, e): &ByteRange| [(s, e.min(start)), (s.max(end), e)];
        self.0 = self.0.iter().flat_map(rest).filter(|(s, e)| s < e).collect();
    }

    /// Removes all ranges of another set.
    pub(super) fn remove_all(&mut self, other: &Self) {
        other.0.iter().for_each(|range| self.remove(*range));
    }

    /// The length of the gapless beginning of the file in the set.
    pub(super) fn front(&self) -> u64 {
        self.0.first().filter(|(start, _)| *start == 0).map_or(0, |(_, end)| *end)
    }

    /// True when `range` overlaps the set.
    pub(super) fn meets(&self, range: ByteRange) -> bool {
        let at = self.0.partition_point(|r| r.1 <= range.0);
        self.0.get(at).is_some_and(|r| r.0 < range.1) && range.0 < range.1
    }

    /// True when the set is empty.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts of `range` that are not in the set, in order.
    pub(super) fn gaps(&self, (start, end): ByteRange) -> Vec<ByteRange> {
        let mut out = Vec::new();
        let mut at = start;
        let first = self.0.partition_point(|r| r.1 <= start);
        for &(s, e) in self.0[first..].iter().take_while(|r| r.0 < end) {
            if at < s {
                out.push((at, s));
            }
            at = e;
        }
        if at < end {
            out.push((at, end));
        }
        out
    }

    /// How many bytes are in it.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|(s, e)| e - s).sum()
    }

    /// The ranges in order.
    pub(super) fn as_slice(&self) -> &[ByteRange] {
        &self.0
    }

    /// The largest `most` ranges, in order.
    pub(super) fn largest(&self, most: usize) -> Vec<ByteRange> {
        let mut out = self.0.clone();
        if out.len() > most {
            let mut sizes: Vec<_> = out.iter().map(|(s, e)| (u64::MAX - (e - s), *s)).collect();
            sizes.sort_unstable();
            sizes.truncate(most);
            out = sizes.into_iter().map(|(size, s)| (s, s + (u64::MAX - size))).collect();
            out.sort_unstable();
        }
        out
    }
}

/// The intersection of two ranges.
pub(super) fn common(a: ByteRange, b: ByteRange) -> Option<ByteRange> {
    let (start, end) = (a.0.max(b.0), a.1.min(b.1));
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_melt_and_gaps_are_what_is_missing() {
        let set = RangeSet::new(&[(0, 10), (20, 30), (10, 12), (29, 35), (40, 40)]);
        assert_eq!(set.as_slice(), [(0, 12), (20, 35)]);
        assert_eq!(set.gaps((5, 50)), [(12, 20), (35, 50)]);
        assert_eq!(set.gaps((0, 12)), vec![]);
        assert_eq!(set.largest(1), [(20, 35)]);
        assert_eq!(set.bytes(), 27);
    }

    proptest! {
        #[test]
        fn a_range_set_is_a_set_of_bytes(
            ranges in prop::collection::vec((0..60_u64, 0..60_u64), 0..12),
            out in (0..60_u64, 0..60_u64), ask in (0..60_u64, 0..60_u64),
        ) {
            let mut model = [false; 60];
            for &(s, e) in &ranges {
                (s..e).for_each(|i| model[i as usize] = true);
            }
            let mut set = RangeSet::new(&ranges);
            (out.0..out.1).for_each(|i| model[i as usize] = false);
            set.remove(out);
            prop_assert_eq!(set.is_empty(), !model.contains(&true));
            prop_assert!(set.as_slice().windows(2).all(|w| w[0].1 < w[1].0));
            prop_assert_eq!(set.bytes(), model.iter().filter(|&&b| b).count() as u64);
            let mut gap = [false; 60];
            for (s, e) in set.gaps(ask) {
                (s..e).for_each(|i| gap[i as usize] = true);
            }
            prop_assert_eq!(set.meets(ask), (ask.0..ask.1).any(|i| model[i as usize]));
            for i in 0..60 {
                prop_assert_eq!(gap[i], !model[i] && (ask.0..ask.1).contains(&(i as u64)));
            }
        }
    }
}
