//! Acknowledgements that cannot be true: the peer lies, or a program on the way has written
//! to it in our name.

use super::SenderEntry;
use crate::time::{Duration, Instant};
use crate::unicast::rtt::Rtt;
use crate::wire::unicast::Ack;

/// One may be forged, and then true ones follow. So many in a row, for so long and for so many
/// round trips, are all that the peer has to say.
const ENOUGH: u32 = 3;
const LONG: Duration = Duration::from_secs(1);
const TRIPS: u64 = 3;

/// False acknowledgements since the last one that might be true.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FalseAcks {
    count: u32,
    first_at: Instant,
    last_at: Instant,
}

impl FalseAcks {
    pub(super) fn add(&mut self, now: Instant) {
        if self.count == 0 {
            self.first_at = now;
        }
        (self.count, self.last_at) = (self.count.saturating_add(1), now);
    }
}

impl SenderEntry {
    /// True for an acknowledgement, or a request, of what was never sent.
    pub(super) fn is_false(&self, ack: &Ack) -> bool {
        let sent = self.highest_sent();
        ack.newest > sent || ack.wanted.last().is_some_and(|(_, last)| *last > sent)
    }

    /// True when this one, whose peer knew all that it had ever told, tells of less than one
    /// before it: that was false. Up to `before` was missing when the last one came.
    pub(super) const fn exposes(&self, ack: &Ack, before: u64) -> bool {
        let latest = self.base > before || ack.newest > self.newest;
        latest && (ack.newest < self.newest || self.control.tells_less())
    }

    /// True when nothing else comes from the peer any more: what it needs is unknown.
    pub(in crate::unicast) fn is_deceived(&self, rtt: &Rtt) -> bool {
        let FalseAcks { count, first_at, last_at } = self.lies;
        count >= ENOUGH && last_at.since(first_at) >= rtt.smoothed().ratio(TRIPS, 1).max(LONG)
    }
}
