//! What waits at a relay for its share of the rate (PA-13): how much, not the bytes.
//!
//! Without it a sender hears of the rate by losses alone, and on a short path sends a
//! quarter of all datagrams in vain: a path whose bottleneck lets nothing wait says
//! nothing else.

use alloc::collections::VecDeque;

use super::rate::SAVINGS;

/// The bytes of one side that may wait, at least and at most; between them it is what its
/// share carries in [`LONGEST`]. Of all sides together no more than [`ALL`].
const LEAST: u64 = 64 * 1_024;
const MOST: u64 = 128 * 1_024;
pub(super) const ALL: u64 = 32 << 20;
/// How long they may wait: a few round trips, so that what a sender measures stays true.
const LONGEST: u64 = 10; // Of a second a tenth.
/// What a batch costs besides its bytes, so that empty datagrams are bounded too.
const EACH: u32 = 64;

/// Datagrams that came together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DatagramBatch {
    /// The bytes of each but the last.
    pub(super) segment: u32,
    /// Those of all of them.
    pub(super) bytes: u32,
}

impl DatagramBatch {
    /// So many of its bytes at most: whole datagrams.
    pub(super) fn whole(self, most: u32) -> u32 {
        if self.bytes <= most { self.bytes } else { most / self.segment.max(1) * self.segment }
    }
}

/// What one side has sent and has not been passed on yet.
#[derive(Debug, Clone, Default)]
pub(super) struct RelayQueue {
    batches: VecDeque<DatagramBatch>,
    /// What they cost.
    cost: u32,
}

impl RelayQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// What they cost together.
    pub(super) const fn cost(&self) -> u32 {
        self.cost
    }

    /// Adds whole datagrams of a batch, as far as there is room; returns their bytes.
    /// `share`: the bytes of its meeting a second. `room`: the bytes that may wait besides.
    pub(super) fn add(&mut self, batch: DatagramBatch, (share, room): (u64, u64)) -> u32 {
        let most = (share / LONGEST).clamp(LEAST, MOST);
        let room = most.saturating_sub(u64::from(self.cost)).min(room);
        if u64::from(batch.segment.min(batch.bytes)) > SAVINGS {
            return 0; // No meeting can count on saving up as much: it might wait for ever.
        }
        let bytes = batch.whole(room.saturating_sub(u64::from(EACH)) as u32);
        if bytes > 0 {
            self.batches.push_back(DatagramBatch { bytes, ..batch });
            self.cost += bytes + EACH;
        }
        bytes
    }

    /// The batch that is next.
    pub(super) fn first(&self) -> Option<DatagramBatch> {
        self.batches.front().copied()
    }

    /// So many bytes of the first batch are passed on.
    pub(super) fn pass(&mut self, bytes: u32) {
        let Some(first) = self.batches.front_mut() else { return };
        first.bytes = first.bytes.saturating_sub(bytes);
        self.cost = self.cost.saturating_sub(bytes);
        if first.bytes == 0 {
            self.batches.pop_front();
            self.cost = self.cost.saturating_sub(EACH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share that fills a queue in a tenth of a second, and room for all of that.
    const PLENTY: (u64, u64) = (10 * 64 * 1_024, ALL);

    #[test]
    fn whole_datagrams_wait_as_far_as_there_is_room() {
        let batch = DatagramBatch { segment: 1_200, bytes: 50_000 };
        let mut queue = RelayQueue::default();
        assert_eq!(queue.add(batch, PLENTY), 50_000);
        let second = queue.add(batch, PLENTY);
        assert_eq!(second, (64 * 1_024 - 50_000 - 2 * EACH) / 1_200 * 1_200);
        assert_eq!(queue.add(batch, PLENTY), 0);
        queue.pass(1_200);
        assert_eq!(queue.first(), Some(DatagramBatch { segment: 1_200, bytes: 48_800 }));
        queue.pass(48_800);
        assert_eq!(queue.first(), Some(DatagramBatch { segment: 1_200, bytes: second }));
        queue.pass(second);
        assert!(queue.is_empty() && queue.cost() == 0);
    }

    #[test]
    fn a_small_share_has_a_short_queue_and_none_has_more_than_the_most() {
        let waits = |share, room| {
            let mut queue = RelayQueue::default();
            let batch = DatagramBatch { segment: 1_000, bytes: 1_000 };
            (0..1_000).map(|_| u64::from(queue.add(batch, (share, room)))).sum::<u64>()
        };
        assert!((LEAST - 6_000..=LEAST).contains(&waits(1_000, ALL)));
        assert!((MOST - 10_000..=MOST).contains(&waits(u64::MAX, ALL)));
        assert_eq!(waits(u64::MAX, 1_063), 0, "no room is left");
    }

    #[test]
    fn a_datagram_that_may_never_be_passed_on_does_not_wait() {
        let mut queue = RelayQueue::default();
        let large = DatagramBatch { segment: 60_000, bytes: 60_000 };
        assert_eq!(queue.add(large, PLENTY), 0);
        let last = DatagramBatch { segment: 60_000, bytes: 9_000 };
        assert_eq!(queue.add(last, PLENTY), 9_000, "one of nine thousand");
    }

    #[test]
    fn the_smallest_datagrams_are_bounded_too() {
        let mut queue = RelayQueue::default();
        let batch = DatagramBatch { segment: 1, bytes: 1 };
        let waits = (0..MOST).filter(|_| queue.add(batch, (u64::MAX, ALL)) > 0);
        assert!(waits.count() <= 2_048);
    }
}
