//! How long a missing number may only be late (PA-5, after RFC 8985): longer
//! on paths that have delivered out of order.

use super::gaps::FilledGap;
use crate::time::{Duration, Instant};

/// Repairs without anything late after which patience is halved.
const FORGETS: u32 = 64;

/// What the path has shown.
#[derive(Debug, Clone, Default)]
pub(super) struct ReorderPatience {
    lasts: Duration,
    /// Numbers that were really lost since one was late.
    repairs: u32,
    /// Bytes that were requested and turned out to have been on their way.
    late_bytes: u64,
    /// What is missing since before this may be under way on another path.
    moved_until: Instant,
}

impl ReorderPatience {
    /// How long a gap is waited for; no longer than a round trip and a quarter.
    pub(super) fn lasts(&self, trip: Duration) -> Duration {
        self.lasts.min(trip.ratio(5, 4))
    }

    /// Bytes requested too early, ever.
    pub(super) const fn late_bytes(&self) -> u64 {
        self.late_bytes
    }

    /// The sender reaches us on another path from now on; what it has sent on the old one
    /// comes until then, and says nothing of the new one.
    pub(super) fn moved(&mut self, until: Instant) {
        *self = Self { late_bytes: self.late_bytes, moved_until: until, ..Self::default() };
    }

    /// A missing number has arrived, as a retransmission or not.
    pub(super) fn filled(&mut self, gap: FilledGap, (again, bytes): (bool, u64), now: Instant) {
        if gap.opened < self.moved_until {
            return;
        }
        if again {
            self.repairs += 1;
            if self.repairs >= FORGETS {
                (self.repairs, self.lasts) = (0, self.lasts.ratio(1, 2));
            }
            return;
        }
        if gap.asked > 0 {
            self.late_bytes += bytes;
        }
        // A few datagrams of one train overtake each other all the time; the
        // count is enough for them.
        let late = now.since(gap.opened);
        self.repairs = 0;
        self.lasts = self.lasts.max(late.ratio(9, 8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_late_is_waited_for_and_losses_make_impatient_again() {
        let ms = Duration::from_millis;
        let now = Instant::from_secs(1);
        let gap = |asked| FilledGap { opened: now - ms(16), asked, asked_at: now };
        let mut patience = ReorderPatience::default();
        assert_eq!(patience.lasts(ms(20)), Duration::ZERO);
        patience.filled(gap(1), (true, 100), now);
        assert_eq!((patience.lasts(ms(20)), patience.late_bytes()), (Duration::ZERO, 0));
        patience.filled(gap(1), (false, 100), now);
        assert_eq!((patience.lasts(ms(20)), patience.late_bytes()), (ms(18), 100));
        assert_eq!(patience.lasts(ms(8)), ms(10), "a round trip and a quarter");
        patience.filled(gap(0), (false, 100), now);
        assert_eq!(patience.late_bytes(), 100, "it was not requested");
        (0..64).for_each(|_| patience.filled(gap(1), (true, 100), now));
        assert_eq!(patience.lasts(ms(20)), ms(9));
    }

    #[test]
    fn what_came_on_another_path_says_nothing_of_this_one() {
        let ms = Duration::from_millis;
        let now = Instant::from_secs(1);
        let gap = |opened| FilledGap { opened, asked: 1, asked_at: now };
        let mut patience = ReorderPatience::default();
        patience.filled(gap(now - ms(16)), (false, 100), now);
        patience.moved(now + ms(150));
        assert_eq!(patience.lasts(ms(20)), Duration::ZERO);
        patience.filled(gap(now + ms(1)), (false, 100), now + ms(300));
        assert_eq!((patience.lasts(ms(20)), patience.late_bytes()), (Duration::ZERO, 100));
        patience.filled(gap(now + ms(150)), (false, 100), now + ms(166));
        assert_eq!((patience.lasts(ms(20)), patience.late_bytes()), (ms(18), 200));
    }
}
