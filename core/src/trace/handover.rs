//! How quickly one upload slot is handed from one client to the next, from the
//! records of its server alone: simulated, real and measured runs are judged by
//! the same rule.

use alloc::collections::BTreeMap;

use super::{Event, Record};
use crate::id::Guid;
use crate::queue::Event as Queue;
use crate::time::{Duration, Instant};

/// The use of one slot, from its first transfer to the end of its last.
///
/// The idle time that the poll schedule imposes: a slot that becomes free can
/// be given, at the earliest, when the first of the clients waiting at that
/// moment may ask, plus the time a request takes. No server can give it
/// earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handover {
    /// Transfers that were completed; one that is still running is not counted.
    pub turns: u32,
    /// The total time of the transfers.
    pub busy: Duration,
    /// The time from the first byte to the last.
    pub whole: Duration,
    /// The idle time between transfers that the schedule imposed.
    pub allowed: Duration,
}

impl Handover {
    /// Evaluates the records of one server with one slot, where every transfer
    /// is one whole file in one request. `question`: the time from the instant
    /// a client may ask until its request arrives, which is its own delay and
    /// the latency.
    #[must_use]
    pub fn from_records<'a>(
        records: impl IntoIterator<Item = &'a Record>,
        question: Duration,
    ) -> Self {
        let mut this = Self::default();
        let mut told: BTreeMap<Guid, Instant> = BTreeMap::new();
        let (mut first, mut began) = (None, None);
        let mut freed: Option<(Instant, Option<Instant>)> = None;
        for Record { at, event, .. } in records {
            let Event::Queue(event) = event else { continue };
            match event {
                Queue::Told { ticket, not_before, .. } => {
                    told.insert(*ticket, *not_before);
                }
                Queue::Lost { ticket, .. } => {
                    told.remove(ticket);
                }
                Queue::Started { ticket, .. } => {
                    told.remove(ticket);
                    let idle = freed.take().map_or(Duration::ZERO, |(free, soonest)| {
                        // No client was waiting, so none could have been served.
                        soonest.map_or(*at, |may| (may + question).max(free)).since(free)
                    });
                    first.get_or_insert(*at);
                    began = Some((*at, idle));
                }
                Queue::Finished { .. } => {
                    let Some((from, idle)) = began.take() else { continue };
                    this.turns += 1;
                    this.busy = this.busy + at.since(from);
                    this.allowed = this.allowed + idle;
                    this.whole = at.since(first.unwrap_or(*at));
                    freed = Some((*at, told.values().min().copied()));
                }
                _ => {}
            }
        }
        this
    }

    /// The time that the schedule allows, as a percentage of the time it took;
    /// 100 is the best possible.
    #[must_use]
    pub fn percent(&self) -> u64 {
        let needed = (self.busy + self.allowed).as_micros();
        needed.saturating_mul(100) / self.whole.as_micros().max(1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::id::ConnId;
    use crate::queue::Dialect;
    use crate::trace::NodeId;

    fn record(at: u64, event: Queue) -> Record {
        let (at, event) = (Instant::from_secs(at), Event::Queue(event));
        Record { seq: 0, at, node: NodeId(0), cause: None, event }
    }

    fn started(at: u64, n: u8) -> Record {
        let (ticket, peer) = (Guid([n; 16]), "10.0.0.1".parse().unwrap());
        let (conn, waited) = (ConnId(u64::from(n)), Duration::ZERO);
        record(at, Queue::Started { ticket, conn, peer, waited, free: 0 })
    }

    fn finished(at: u64, n: u8) -> Record {
        record(at, Queue::Finished { ticket: Guid([n; 16]), free: 1 })
    }

    fn told(at: u64, n: u8, not_before: u64) -> Record {
        let (ticket, dialect) = (Guid([n; 16]), Dialect::Parq);
        let not_before = Instant::from_secs(not_before);
        let deadline = Instant::from_secs(900);
        let (position, length, keep) = (1, 1, true);
        record(at, Queue::Told { ticket, dialect, position, length, not_before, deadline, keep })
    }

    fn judged(second_at: u64) -> (Handover, u64) {
        let records: Vec<Record> = [
            started(0, 1),
            told(1, 2, 31),
            told(1, 3, 51),
            finished(10, 1),
            started(second_at, 2),
            finished(second_at + 10, 2),
            started(second_at + 40, 3),
        ]
        .into();
        let judged = Handover::from_records(&records, Duration::from_secs(2));
        (judged, judged.percent())
    }

    #[test]
    fn a_slot_given_as_soon_as_a_client_may_ask_is_used_fully() {
        let (judged, percent) = judged(33);
        assert_eq!(judged.turns, 2);
        assert_eq!((judged.busy.as_secs(), judged.whole.as_secs()), (20, 43));
        assert_eq!((judged.allowed.as_secs(), percent), (23, 100));
    }

    #[test]
    fn a_slot_that_stands_idle_longer_is_not() {
        assert_eq!(judged(76).1, 50);
    }
}
