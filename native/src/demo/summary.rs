//! What the demo measured, from the recording of the busy servent alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use servent_core::queue;
use servent_core::time::Instant;
use servent_core::trace::replay::Replay;
use servent_core::trace::tape::RecordingLine;
use servent_core::trace::{Event, Record, qlog};

use super::DownloadReport;

/// The figures of a demo.
#[derive(Debug, Default, Serialize)]
pub(crate) struct DemoSummary {
    /// Downloads that ended.
    pub(crate) transfers: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Those that hash to the file asked for and equal it byte by byte.
    pub(crate) verified: u64,
    /// Every queue position that a client was told.
    pub(crate) positions: BTreeSet<u32>,
    /// Milliseconds from the end of an upload to the start of the next one,
    /// while a client was waiting.
    pub(crate) handover_gaps_ms: Vec<u64>,
    /// Slot time used as a share of the slot time available while a client was
    /// waiting, in thousandths.
    pub(crate) utilisation_permille: u64,
    /// Places in the queue that were lost, by reason.
    pub(crate) lost_places: BTreeMap<String, u64>,
    /// The result of replaying the busy servent's trace.
    pub(crate) replay: String,
    /// What went wrong.
    pub(crate) errors: Vec<String>,
    #[serde(skip)]
    slots: u64,
    #[serde(skip)]
    load: Load,
}

/// The queue and the slots according to the records.
#[derive(Debug, Default)]
struct Load {
    at: Option<Instant>,
    waiting: BTreeSet<String>,
    busy: BTreeSet<String>,
    /// When the slots that are free now became free.
    freed: Vec<Instant>,
    used_us: u64,
    wanted_us: u64,
}

impl DemoSummary {
    pub(crate) fn new(slots: u32) -> Self {
        Self { slots: u64::from(slots), ..Self::default() }
    }

    /// Processes a line of the tape.
    pub(crate) fn line(&mut self, line: &str) {
        if let Ok(RecordingLine::Record(record)) = qlog::parse(line.as_bytes()) {
            self.record(&record);
        }
    }

    /// Lines were lost, so the slot figures are no longer reliable.
    pub(crate) fn lost_lines(&mut self, lines: u64) {
        self.errors.push(format!("{lines} lines of the tape were missed"));
    }

    /// Processes a client's report.
    pub(crate) fn outcome(&mut self, outcome: DownloadReport) {
        match outcome {
            DownloadReport::Fetched { who, bytes, right } => {
                self.transfers += 1;
                self.bytes += bytes;
                self.verified += u64::from(right);
                if !right {
                    self.errors.push(format!("{who} got other bytes than the file"));
                }
            }
            DownloadReport::Failed { who, why } => self.errors.push(format!("{who}: {why}")),
        }
    }

    fn record(&mut self, record: &Record) {
        let Event::Queue(event) = &record.event else { return };
        self.load.pass(record.at, self.slots);
        self.utilisation_permille =
            (self.load.used_us * 1_000).checked_div(self.load.wanted_us).unwrap_or(0);
        match event {
            queue::Event::Arrived { ticket, .. } => {
                self.load.waiting.insert(ticket.to_string());
            }
            queue::Event::Told { position, .. } => {
                self.positions.insert(*position);
            }
            queue::Event::Started { ticket, .. } => {
                self.load.waiting.remove(&ticket.to_string());
                self.load.busy.insert(ticket.to_string());
                if let Some(freed) = self.load.freed.pop() {
                    self.handover_gaps_ms.push(record.at.since(freed).as_millis());
                }
            }
            queue::Event::Finished { ticket, .. } => {
                self.load.busy.remove(&ticket.to_string());
                if !self.load.waiting.is_empty() {
                    self.load.freed.push(record.at);
                }
            }
            queue::Event::Lost { ticket, why, .. } => {
                self.load.waiting.remove(&ticket.to_string());
                self.load.busy.remove(&ticket.to_string());
                *self.lost_places.entry(format!("{why:?}")).or_default() += 1;
            }
            _ => {}
        }
        if self.load.waiting.is_empty() {
            self.load.freed.clear();
        }
    }

    /// Replays the trace.
    pub(crate) fn replay(&mut self, trace: &Path) {
        match std::fs::read(trace) {
            Ok(bytes) => {
                let mut replay = Replay::new();
                for line in qlog::Split::new(&bytes) {
                    replay.feed(qlog::parse(line));
                }
                let report = replay.report();
                self.replay = report.to_string();
                if report.verified == 0 || report.diverged_at.is_some() || report.gap_at.is_some() {
                    self.errors.push(format!("replay: {report}"));
                }
            }
            Err(e) => self.errors.push(format!("the trace cannot be read: {e}")),
        }
    }

    /// The median of the hand-over gaps.
    pub(crate) fn median_gap_ms(&self) -> Option<u64> {
        let mut gaps = self.handover_gaps_ms.clone();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }
}

impl Load {
    fn pass(&mut self, now: Instant, slots: u64) {
        if let Some(before) = self.at.replace(now) {
            let passed = now.since(before).as_micros();
            if !self.waiting.is_empty() {
                self.used_us += passed * (self.busy.len() as u64).min(slots);
                self.wanted_us += passed * slots;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use servent_core::id::{ConnId, Guid};
    use servent_core::queue::Dialect;
    use servent_core::time::Duration;
    use servent_core::trace::NodeId;

    use super::*;

    fn feed(summary: &mut DemoSummary, at: u64, event: queue::Event) {
        let event = Event::Queue(event);
        let at = Instant::from_secs(at);
        summary.record(&Record { seq: 0, at, node: NodeId(0), cause: None, event });
    }

    fn arrived(n: u8) -> queue::Event {
        let peer = std::net::IpAddr::from([127, 0, 0, 1]);
        queue::Event::Arrived {
            ticket: Guid([n; 16]),
            arrival: u64::from(n),
            peer,
            dialect: Dialect::Parq,
            position: 1,
            length: 1,
        }
    }

    fn started(n: u8) -> queue::Event {
        queue::Event::Started {
            ticket: Guid([n; 16]),
            conn: ConnId(2),
            peer: std::net::IpAddr::from([127, 0, 0, 1]),
            waited: Duration::ZERO,
            free: 0,
        }
    }

    #[test]
    fn gaps_and_utilisation_come_from_the_records() {
        let mut s = DemoSummary::new(1);
        feed(&mut s, 0, arrived(1));
        feed(&mut s, 0, started(1));
        feed(&mut s, 0, arrived(2));
        feed(&mut s, 9, queue::Event::Finished { ticket: Guid([1; 16]), free: 1 });
        feed(&mut s, 10, started(2));
        assert_eq!(s.handover_gaps_ms, [1_000]);
        assert_eq!(s.utilisation_permille, 900);
        assert_eq!(s.median_gap_ms(), Some(1_000));
    }

    #[test]
    fn a_slot_no_client_waits_for_is_no_gap() {
        let mut s = DemoSummary::new(1);
        feed(&mut s, 0, arrived(1));
        feed(&mut s, 0, started(1));
        feed(&mut s, 5, queue::Event::Finished { ticket: Guid([1; 16]), free: 1 });
        feed(&mut s, 60, arrived(2));
        feed(&mut s, 60, started(2));
        assert!(s.handover_gaps_ms.is_empty());
    }
}
