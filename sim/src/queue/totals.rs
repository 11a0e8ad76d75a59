//! Totals of a server's queue: how long clients waited, how long slots were
//! idle, how much was sent. Computed from its events alone, so that a recorded
//! servent can be summarised too.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use serde::Serialize;

use servent_core::id::Guid;
use servent_core::node::{ConnEvent, WorldEvent};
use servent_core::queue;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Event;

/// Adds up the events of one server.
#[derive(Debug, Clone)]
pub struct QueueTally {
    slots: u32,
    line: BTreeSet<Guid>,
    /// The state from each instant on.
    steps: Vec<TotalsStep>,
    /// When slots were given, and after how long a wait.
    waits: Vec<(Instant, Duration)>,
}

/// The state from an instant until the next.
#[derive(Debug, Clone, Copy, Default)]
struct TotalsStep {
    at: Instant,
    free: u32,
    /// Queued requests.
    waiting: u32,
    /// Idle slot time before.
    idle: Duration,
    /// Bytes of the transfers that ended.
    sent: u64,
    /// Places lost.
    lost: u32,
}

/// The totals up to an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct QueueTotals {
    /// Slots given.
    pub served: u32,
    /// The median wait of those served.
    pub wait_median: Duration,
    /// The longest wait of those served.
    pub wait_most: Duration,
    /// Places lost.
    pub lost: u32,
    /// How long slots were free while requests were queued, summed over all
    /// slots.
    pub idle: Duration,
    /// Bytes of transfers that ended.
    pub sent: u64,
    /// When the first slot was given.
    pub first: Option<Instant>,
}

impl TotalsStep {
    fn idle_at(&self, at: Instant) -> Duration {
        let each = u64::from(self.free.min(self.waiting));
        self.idle + at.since(self.at).ratio(each, 1)
    }
}

impl QueueTally {
    /// For a server with that many slots.
    #[must_use]
    pub const fn new(slots: u32) -> Self {
        Self { slots, line: BTreeSet::new(), steps: Vec::new(), waits: Vec::new() }
    }

    /// Adds its next event.
    pub fn observe(&mut self, at: Instant, event: &Event) {
        let last = self.steps.last().copied().unwrap_or_default();
        let mut step = TotalsStep { at, idle: last.idle_at(at), ..last };
        match event {
            Event::Queue(event) => self.queue(&mut step, event),
            Event::Conn(ConnEvent::Started { .. }) => step.free = self.slots,
            Event::Conn(ConnEvent::Sent { bytes, .. }) => step.sent += bytes,
            // The slots of a server that is down do not count as idle.
            Event::World(WorldEvent::Crashed) | Event::Conn(ConnEvent::Stopped) => {
                self.line.clear();
                step.free = 0;
            }
            _ => return,
        }
        step.waiting = u32::try_from(self.line.len()).unwrap_or(u32::MAX);
        self.steps.push(step);
    }

    fn queue(&mut self, step: &mut TotalsStep, event: &queue::Event) {
        use queue::Event as E;
        match event {
            E::Arrived { ticket, .. } | E::Restored { ticket, .. } | E::Returned { ticket, .. } => {
                self.line.insert(*ticket);
            }
            E::Started { ticket, free, waited, .. } => {
                self.line.remove(ticket);
                step.free = *free;
                self.waits.push((step.at, *waited));
            }
            E::Finished { free, .. } | E::Unreserved { free, .. } => step.free = *free,
            E::Lost { ticket, .. } => {
                step.lost += u32::from(self.line.remove(ticket));
            }
            E::Slots { slots } => {
                step.free = (step.free + slots).saturating_sub(self.slots);
                self.slots = *slots;
            }
            _ => {}
        }
    }

    /// The totals up to an instant.
    #[must_use]
    pub fn until(&self, at: Instant) -> QueueTotals {
        let given = self.waits.partition_point(|(when, _)| *when <= at);
        let mut waits: Vec<Duration> = self.waits[..given].iter().map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        let known = self.steps.partition_point(|step| step.at <= at);
        let step = known.checked_sub(1).map(|i| self.steps[i]).unwrap_or_default();
        QueueTotals {
            served: u32::try_from(given).unwrap_or(u32::MAX),
            wait_median: waits.get(given.saturating_sub(1) / 2).copied().unwrap_or_default(),
            wait_most: waits.last().copied().unwrap_or_default(),
            lost: step.lost,
            idle: step.idle_at(at),
            sent: step.sent,
            first: self.waits.first().map(|(when, _)| *when).filter(|when| *when <= at),
        }
    }
}

#[cfg(test)]
mod tests {
    use servent_core::queue::{Dialect, PositionLoss};

    use super::*;

    fn arrived(n: u8) -> Event {
        Event::Queue(queue::Event::Arrived {
            ticket: Guid([n; 16]),
            arrival: n.into(),
            peer: [10, 0, 0, n].into(),
            dialect: Dialect::Parq,
            position: 1,
            length: 1,
        })
    }

    fn started(n: u8, waited: u64, free: u32) -> Event {
        Event::Queue(queue::Event::Started {
            ticket: Guid([n; 16]),
            conn: servent_core::id::ConnId(n.into()),
            peer: [10, 0, 0, n].into(),
            waited: Duration::from_secs(waited),
            free,
        })
    }

    #[test]
    fn a_free_slot_is_idle_only_while_a_client_waits_for_it() {
        let mut tally = QueueTally::new(2);
        let up = ConnEvent::Started { restored_places: 0, restored_fetches: 0, shared: 1 };
        tally.observe(Instant::ZERO, &Event::Conn(up));
        let at = Instant::from_secs;
        tally.observe(at(10), &arrived(1));
        tally.observe(at(14), &started(1, 4, 1));
        tally.observe(at(20), &arrived(2));
        tally.observe(at(20), &arrived(3));
        tally.observe(at(23), &started(2, 3, 0));
        let lost =
            queue::Event::Lost { ticket: Guid([3; 16]), why: PositionLoss::Overdue, length: 0 };
        tally.observe(at(50), &Event::Queue(lost));
        assert_eq!(tally.until(at(9)), QueueTotals::default());
        assert_eq!(tally.until(at(12)).idle, Duration::from_secs(2));
        let totals = tally.until(at(60));
        assert_eq!(totals.idle, Duration::from_secs(4 + 3));
        assert_eq!((totals.served, totals.lost, totals.first), (2, 1, Some(at(14))));
        assert_eq!(totals.wait_median, Duration::from_secs(3));
        assert_eq!(totals.wait_most, Duration::from_secs(4));
    }
}
