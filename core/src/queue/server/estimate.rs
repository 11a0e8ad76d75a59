//! Estimates when a slot may come (PQ-15, QA-5): from what is left of the
//! running uploads, then from all places ahead, each in the slot that becomes
//! free first.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use super::QueueServer;
use super::slots::Upload;
use super::tables::entry::EntryPhase;
use super::tables::wheel::Wheel;
use crate::queue::QueuePolicy;
use crate::time::{Duration, Instant};

/// How many slots and places ahead are simulated one by one. The rest is summed
/// up: for that many, an average is good enough.
const SINGLY: u32 = 16;

impl QueueServer {
    /// How long until the client of a place may get a slot, in whole seconds at
    /// full scale; `None` while the rate is unknown.
    pub(super) fn eta(&self, at: u32, now: Instant) -> Option<Duration> {
        let left = self.expected(at, now)?;
        let second = Duration::from_secs(1).scaled(self.config.time_scale).as_micros();
        Some(Duration::from_micros(left.as_micros().div_ceil(second).saturating_mul(second)))
    }

    /// The same, not rounded.
    pub(super) fn expected(&self, at: u32, now: Instant) -> Option<Duration> {
        let all = self.rate()?;
        let seat = self.places.slab[at].seat;
        let slots = self.config.slots.max(1);
        if slots > SINGLY {
            let running = self.uploads.values().map(|one| self.unsent(one));
            let ahead = running.fold(self.line.bytes_before(seat), u64::saturating_add);
            return Some(time_for(ahead, all));
        }
        let each = (all / u64::from(slots)).max(1);
        let mut free: BinaryHeap<_> =
            self.uploads.values().map(|one| Reverse(self.slot_in(one, each, now))).collect();
        free.extend((0..self.free()).map(|_| Reverse(Duration::ZERO)));
        let next = |free: &mut BinaryHeap<_>| free.pop().map_or(Duration::ZERO, |Reverse(t)| t);
        // More uploads than slots: the first ones to end free no slot.
        for _ in slots..self.uploads.len() as u32 {
            next(&mut free);
        }
        let ahead = self.line.position(seat) - 1;
        for position in 1..=ahead.min(SINGLY) {
            let Some(other) = self.line.at(position) else { break };
            // An absent client takes no slot.
            if !self.line.is_present(self.places.slab[other].seat) {
                continue;
            }
            let begins = next(&mut free);
            let wanted = self.line.bytes_of(self.places.slab[other].seat);
            free.push(Reverse(begins + time_for(wanted, each)));
        }
        let rest = match self.line.at(SINGLY + 1).filter(|_| ahead > SINGLY) {
            Some(far) => {
                let before = self.line.bytes_before(self.places.slab[far].seat);
                self.line.bytes_before(seat).saturating_sub(before)
            }
            None => 0,
        };
        Some(next(&mut free) + time_for(rest, all))
    }

    /// Total rate of all uploads, in bytes per second.
    fn rate(&self) -> Option<u64> {
        match self.config.bandwidth {
            0 => self.rate.measured(),
            known => Some(known),
        }
    }

    /// When the slot of an upload becomes free, at `each` bytes per second.
    fn slot_in(&self, upload: &Upload, each: u64, now: Instant) -> Duration {
        let entry = &self.places.slab[upload.entry];
        match entry.phase {
            // When it is checked next, and given on if others wait.
            EntryPhase::Reserved if self.config.policy == QueuePolicy::Adaptive => {
                let check = Wheel::deadline(entry).unwrap_or(entry.deadline);
                check.min(entry.deadline).since(now)
            }
            // It comes for the next piece of its file.
            EntryPhase::Pausing if upload.rest > 0 => time_for(upload.rest, each),
            EntryPhase::Reserved | EntryPhase::Pausing => entry.deadline.since(now),
            EntryPhase::Uploading | EntryPhase::Waiting => time_for(self.unsent(upload), each),
        }
    }

    /// Bytes of a running upload that are not sent yet, and those of its file behind
    /// them.
    fn unsent(&self, upload: &Upload) -> u64 {
        self.places.slab[upload.entry].bytes.saturating_sub(upload.sent) + upload.rest
    }
}

/// How long it takes to send so many bytes.
fn time_for(bytes: u64, rate: u64) -> Duration {
    Duration::from_secs(1).ratio(bytes, rate.max(1))
}
