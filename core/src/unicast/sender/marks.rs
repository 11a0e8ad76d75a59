//! Whether what is said of congestion on a path can be believed (PA-7, after RFC 9000
//! §13.4.2 and RFC 9002 §8.3).

/// Datagrams that a router has marked, and none that might have been and was not: after so
/// many the path marks everything. And after so many behind those that left with a mark
/// of our own, of which the receiver has counted none, marks do not arrive.
const ENOUGH: u64 = 100;

/// What the receiver has counted, and what that is worth.
#[derive(Debug, Clone, Default)]
pub(super) struct PathMarks {
    /// Datagrams that arrived with a mark, as the receiver says; and those of them that a
    /// router has marked, on this path.
    counted: u64,
    by_routers: u64,
    /// Something that might have been marked has arrived without a mark. Words, and what is
    /// sent again, never say that they may be.
    unmarked: bool,
    /// Datagrams that left with a mark of our own and are not among those counted.
    own: u64,
    /// When as many bytes as this are delivered, those of our own have arrived or are lost.
    told_by: Option<u64>,
    /// Something was counted since the first of our own left.
    told: bool,
    /// Marks mean nothing here.
    mangled: bool,
}

impl PathMarks {
    /// So many datagrams leave with a mark of our own. With them, so many bytes are
    /// delivered or under way.
    pub(super) fn test(&mut self, datagrams: u64, sent: u64, mtu: u64) {
        if self.told_by.is_none() {
            self.told = false;
        }
        self.own = self.own.saturating_add(datagrams);
        let behind = datagrams.saturating_add(ENOUGH).saturating_mul(mtu);
        self.told_by = Some(sent.saturating_add(behind));
    }

    /// The receiver has counted so many, when `delivered` bytes had arrived ever. `fresh`:
    /// those since the last time fill a datagram, and none of them was sent again. How many
    /// more a router has marked.
    pub(super) fn count(&mut self, counted: u64, fresh: bool, delivered: u64) -> u64 {
        let more = counted.saturating_sub(self.counted);
        self.counted += more;
        self.unmarked |= fresh && more == 0;
        self.told |= more > 0;
        let own = more.min(self.own);
        let by_routers = more - own;
        self.own -= own;
        self.by_routers = self.by_routers.saturating_add(by_routers);
        if self.told_by.is_some_and(|by| delivered >= by) {
            self.mangled |= !self.told;
            (self.own, self.told_by) = (0, None);
        }
        self.mangled |= !self.unmarked && self.by_routers >= ENOUGH;
        if self.mangled { 0 } else { by_routers }
    }

    /// Datagrams may say that they may be marked.
    pub(super) const fn mean_something(&self) -> bool {
        !self.mangled
    }

    /// What was heeded said nothing of the path.
    pub(super) const fn have_misled(&self) -> bool {
        self.mangled && self.by_routers >= ENOUGH
    }

    /// The path is another one. The receiver goes on counting.
    pub(super) fn begin_anew(&mut self) {
        *self = Self { counted: self.counted, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1_000;

    /// So many datagrams arrive, of which the receiver counts some of each ten. How many
    /// count as marked by a router.
    fn arrive(marks: &mut PathMarks, from: u64, datagrams: u64, of_ten: u64) -> u64 {
        let base = marks.counted;
        let count = |n: u64| marks.count(base + n * of_ten / 10, true, (from + n) * MTU);
        (1..=datagrams).map(count).sum()
    }

    #[test]
    fn marks_of_our_own_show_that_marks_arrive_and_slow_nothing_down() {
        let mut marks = PathMarks::default();
        assert_eq!(arrive(&mut marks, 0, 20, 0), 0);
        marks.test(120, 145 * MTU, MTU);
        assert_eq!(marks.count(120, true, 145 * MTU), 0);
        assert_eq!(arrive(&mut marks, 145, 200, 1), 20, "those are a router's");
        assert!(marks.mean_something());
    }

    #[test]
    fn a_path_that_clears_marks_is_found() {
        let mut marks = PathMarks::default();
        arrive(&mut marks, 0, 20, 0);
        marks.test(3, 25 * MTU, MTU);
        marks.test(1, 30 * MTU, MTU);
        arrive(&mut marks, 20, 110, 0);
        assert!(marks.mean_something(), "what is under way may still tell");
        arrive(&mut marks, 130, 2, 0);
        assert!(!marks.mean_something());
        marks.begin_anew();
        assert!(marks.mean_something(), "of another path nothing is known");
    }

    #[test]
    fn tests_that_were_lost_hide_no_mark_of_a_router_for_long() {
        let mut marks = PathMarks::default();
        arrive(&mut marks, 0, 20, 0);
        marks.test(20, 45 * MTU, MTU);
        assert_eq!(marks.count(1, true, 45 * MTU), 0, "the others are lost");
        assert_eq!(arrive(&mut marks, 45, 120, 1), 0);
        assert_eq!(arrive(&mut marks, 165, 100, 1), 10);
    }

    #[test]
    fn a_path_that_marks_everything_that_may_be_marked_is_found() {
        let mut marks = PathMarks::default();
        arrive(&mut marks, 0, 40, 10);
        // Words, and what was sent again.
        assert_eq!((0..50).map(|_| marks.count(40, false, 40 * MTU)).sum::<u64>(), 0);
        marks.test(30, 70 * MTU, MTU);
        arrive(&mut marks, 40, 89, 10);
        assert!(marks.mean_something() && !marks.have_misled());
        assert_eq!(arrive(&mut marks, 129, 50, 10), 0);
        assert!(!marks.mean_something() && marks.have_misled());
        marks.begin_anew();
        assert_eq!(arrive(&mut marks, 179, 50, 10), 50, "not yet, elsewhere");
    }

    #[test]
    fn a_crowded_path_that_marks_nearly_everything_is_heeded() {
        let mut marks = PathMarks::default();
        assert_eq!(arrive(&mut marks, 0, 1, 0), 0);
        assert_eq!(arrive(&mut marks, 1, 800, 10), 800);
        assert!(marks.mean_something());
    }
}
