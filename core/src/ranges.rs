//! Sorted lists of disjoint ranges.

use alloc::vec::Vec;

/// Adds the range `start..end`, merged with those it overlaps or touches.
pub fn join(list: &mut Vec<(u64, u64)>, mut start: u64, mut end: u64) {
    let from = list.partition_point(|(_, e)| *e < start);
    let to = list.partition_point(|(s, _)| *s <= end);
    if from >= to {
        return list.insert(from, (start, end));
    }
    if let (Some(first), Some(last)) = (list.get(from), list.get(to - 1)) {
        start = start.min(first.0);
        end = end.max(last.1);
    }
    list[from] = (start, end);
    list.copy_within(to.., from + 1);
    list.truncate(list.len() - (to - from - 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut list = Vec::new();
        for (start, end) in [(10, 20), (40, 50), (0, 5), (20, 30), (25, 40), (60, 70), (61, 62)] {
            join(&mut list, start, end);
        }
        assert_eq!(list, [(0, 5), (10, 50), (60, 70)]);
        join(&mut list, 5, 100);
        assert_eq!(list, [(0, 100)]);
    }
}
