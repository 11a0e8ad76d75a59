//! What a run came to, counted from its records.

use alloc::format;
use alloc::string::String;

use serde::Serialize;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;

use super::event::{Event, PacketEvent, PacketKind, PersonEvent};
use super::scenario::{PairSetup, Scenario};
use crate::registry::amount;

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // The fields are named by what they count.
pub struct MeetTotals {
    /// People who have a direct path, one through the meeting place, or none.
    pub direct: u64,
    pub relayed: u64,
    pub alone: u64,
    /// Knocks that were sent, that arrived, and that a router dropped.
    pub knocks: u64,
    pub heard: u64,
    pub dropped: u64,
    pub wrote: u64,
    pub read: u64,
    /// How long after both were there the first path was there, and the first direct
    /// one.
    pub first_path: Option<Duration>,
    pub first_direct: Option<Duration>,
    /// When both of the first pair are there.
    #[serde(skip)]
    both: Instant,
}

impl MeetTotals {
    /// Before the first record.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let both = scenario.pairs.first().map_or(Instant::ZERO, PairSetup::both_at);
        Self { both, ..Self::default() }
    }

    /// Counts the next record.
    pub fn count(&mut self, record: &Record<Event>) {
        let both = self.both;
        let since = || Some(record.at.since(both));
        match &record.event {
            Event::Packet(PacketEvent::Sent { kind: PacketKind::Knock, .. }) => self.knocks += 1,
            Event::Packet(PacketEvent::Arrived { kind: PacketKind::Knock, .. }) => self.heard += 1,
            Event::Packet(PacketEvent::Dropped { kind: PacketKind::Knock, .. }) => {
                self.dropped += 1;
            }
            Event::Person(PersonEvent::Connected { relayed, .. }) => {
                self.first_path = self.first_path.or_else(since);
                if *relayed {
                    self.relayed += 1;
                } else {
                    self.direct += 1;
                    self.first_direct = self.first_direct.or_else(since);
                }
            }
            Event::Person(PersonEvent::Moved { .. }) => {
                // The listener may move to another address of the caller once more.
                self.relayed = self.relayed.saturating_sub(1);
                self.direct += 1;
                self.first_direct = self.first_direct.or_else(since);
            }
            Event::Person(PersonEvent::Alone { .. }) => self.alone += 1,
            Event::Person(PersonEvent::Wrote { .. }) => self.wrote += 1,
            Event::Person(PersonEvent::Read { .. }) => self.read += 1,
            _ => {}
        }
    }

    pub(super) fn sentence(&self) -> String {
        let Self { direct, relayed, alone, knocks, heard, dropped, wrote, read, .. } = self;
        let took = self
            .first_direct
            .map_or_else(String::new, |took| format!(" after {} ms", took.as_millis()));
        format!(
            "{direct} direct{took}, {relayed} relayed, {alone} without a path, {}: {heard} arrived \
             and {dropped} were dropped, {read} of {} read",
            amount(*knocks, "knock"),
            amount(*wrote, "message"),
        )
    }
}
