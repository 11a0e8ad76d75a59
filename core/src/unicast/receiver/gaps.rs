//! Which numbers are missing, and when each is to be requested (again).

use alloc::collections::VecDeque;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::time::{Duration, Instant};
use crate::unicast::memory;

#[derive(Debug, Clone, Copy)]
struct Gap {
    last: u64,
    /// How many times it was requested, and when last.
    asked: u32,
    asked_at: Instant,
    due: Instant,
    /// Since when it is known.
    opened: Instant,
}

/// A missing number that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::unicast) struct FilledGap {
    /// Since when it was missing.
    pub(super) opened: Instant,
    /// How many times it was requested, and when last.
    pub(super) asked: u32,
    pub(super) asked_at: Instant,
}

/// Missing numbers, as ranges. Every operation takes logarithmic time in their
/// number, so even half of a large window may be missing.
#[derive(Debug, Clone, Default)]
pub(in crate::unicast) struct Gaps {
    by_first: BTreeMap<u64, Gap>,
    agenda: BTreeSet<(Instant, u64)>,
    /// Gaps that were not requested yet, with the number of the datagram that
    /// revealed them.
    fresh: VecDeque<(u64, u64, u64)>,
    missing: u64,
}

impl Gaps {
    /// How many numbers are missing.
    pub(in crate::unicast) const fn missing(&self) -> u64 {
        self.missing
    }

    pub(in crate::unicast) fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    /// When the next one is to be requested.
    pub(in crate::unicast) fn next_due(&self) -> Option<Instant> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// `first..=last` is missing since the `datagram`-th datagram, and is to be
    /// requested at `due` at the latest.
    pub(super) fn open(
        &mut self,
        (first, last): (u64, u64),
        (now, due): (Instant, Instant),
        datagram: u64,
    ) {
        self.insert(first, Gap { last, asked: 0, asked_at: Instant::ZERO, due, opened: now });
        self.fresh.push_back((datagram, first, last));
        self.missing += last - first + 1;
    }

    /// `seq` has arrived. Returns what was known of it, if it was missing.
    pub(super) fn fill(&mut self, seq: u64) -> Option<FilledGap> {
        let (&first, &gap) = self.by_first.range(..=seq).next_back()?;
        if gap.last < seq {
            return None;
        }
        self.by_first.remove(&first);
        self.agenda.remove(&(gap.due, first));
        if first < seq {
            self.insert(first, Gap { last: seq - 1, ..gap });
        }
        if seq < gap.last {
            self.insert(seq + 1, gap);
        }
        self.missing -= 1;
        let Gap { opened, asked, asked_at, .. } = gap;
        Some(FilledGap { opened, asked, asked_at })
    }

    /// Gaps that `reorder` datagrams have overtaken are due, each after it was
    /// missing for `patience`.
    pub(super) fn overtaken(
        &mut self,
        datagram: u64,
        reorder: u64,
        (now, patience): (Instant, Duration),
    ) {
        while let Some(&(shown, first, last)) = self.fresh.front()
            && datagram >= shown + reorder
        {
            self.fresh.pop_front();
            self.hasten(first, last, (now, patience));
        }
        memory::release(&mut self.fresh);
    }

    /// All gaps that were not requested yet are due now.
    pub(super) fn hasten_fresh(&mut self, now: Instant) {
        while let Some((_, first, last)) = self.fresh.pop_front() {
            self.hasten(first, last, (now, Duration::ZERO));
        }
        memory::release(&mut self.fresh);
    }

    fn hasten(&mut self, first: u64, last: u64, (now, patience): (Instant, Duration)) {
        // A gap may have become several, all of them within it.
        let mut from = first;
        while from <= last
            && let Some((&at, &gap)) = self.by_first.range(from..=last).next()
        {
            let due = now.max(gap.opened + patience);
            if gap.asked == 0 && gap.due > due {
                self.agenda.remove(&(gap.due, at));
                self.insert(at, Gap { due, ..gap });
            }
            from = gap.last + 1;
        }
    }

    /// Takes up to `most` ranges that are due, in ascending order, and sets when each is due again: `again(times asked)` from now.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        most: usize,
        again: impl Fn(u32) -> Duration,
    ) -> Vec<(u64, u64)> {
        let mut wanted = Vec::new();
        while wanted.len() < most
            && let Some(&(due, first)) = self.agenda.first()
            && due <= now
        {
            self.agenda.remove(&(due, first));
            let Some(&gap) = self.by_first.get(&first) else { continue };
            wanted.push((first, gap.last));
            let due = now + again(gap.asked).max(Duration::from_micros(1));
            self.insert(first, Gap { asked: gap.asked + 1, asked_at: now, due, ..gap });
        }
        wanted.sort_unstable();
        wanted
    }

    fn insert(&mut self, first: u64, gap: Gap) {
        self.agenda.insert((gap.due, first));
        self.by_first.insert(first, gap);
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;
    use crate::rng::Rng;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    #[test]
    fn a_gap_splits_and_keeps_its_times() {
        let mut gaps = Gaps::default();
        gaps.open((10, 19), (at(3), at(5)), 1);
        let filled =
            |asked, at| Some(FilledGap { opened: Instant::from_secs(3), asked, asked_at: at });
        assert_eq!(gaps.fill(9), None);
        assert_eq!(gaps.fill(14), filled(0, Instant::ZERO), "it was not requested");
        assert_eq!(gaps.missing(), 9);
        assert!(gaps.ask(at(4), 9, |_| SECOND).is_empty());
        assert_eq!(gaps.ask(at(5), 9, |_| SECOND), [(10, 13), (15, 19)]);
        assert_eq!(gaps.fill(10), filled(1, at(5)));
        assert_eq!(gaps.next_due(), Some(at(6)));
        assert_eq!(gaps.ask(at(6), 1, |times| SECOND.ratio(u64::from(times), 1)), [(11, 13)]);
        assert_eq!(gaps.fill(12), filled(2, at(6)));
    }

    #[test]
    fn a_gap_that_was_overtaken_is_due() {
        let mut gaps = Gaps::default();
        gaps.open((5, 5), (at(0), at(100)), 7);
        gaps.open((8, 9), (at(0), at(100)), 8);
        gaps.overtaken(9, 3, (at(1), Duration::ZERO));
        assert_eq!(gaps.next_due(), Some(at(100)));
        gaps.fill(9);
        gaps.overtaken(10, 3, (at(1), SECOND + SECOND));
        assert_eq!(gaps.next_due(), Some(at(2)), "it may only be late");
        assert_eq!(gaps.ask(at(2), 9, |_| SECOND), [(5, 5)]);
        gaps.hasten_fresh(at(2));
        assert_eq!(gaps.ask(at(2), 9, |_| SECOND), [(8, 8)]);
    }

    #[test]
    fn agrees_with_a_plain_set() {
        let mut rng = Rng::new(3);
        let (mut gaps, mut model, mut top) = (Gaps::default(), BTreeSet::new(), 0_u64);
        for step in 0..5_000 {
            if rng.chance(1, 10) {
                let (first, last) = (top + 2, top + 2 + rng.below(9));
                gaps.open((first, last), (at(step), at(step)), step);
                model.extend(first..=last);
                top = last + 1;
            } else {
                let seq = rng.below(top + 2);
                gaps.fill(seq);
                model.remove(&seq);
            }
            gaps.overtaken(step, 3, (at(step), Duration::ZERO));
            if rng.chance(1, 50) {
                let asked = gaps.ask(at((1 << 30) + 10 * step), usize::MAX, |_| SECOND);
                let asked: Vec<u64> = asked.iter().flat_map(|(a, b)| *a..=*b).collect();
                assert_eq!(asked, model.iter().copied().collect::<Vec<_>>());
            }
            assert_eq!(gaps.missing(), model.len() as u64);
        }
    }
}
