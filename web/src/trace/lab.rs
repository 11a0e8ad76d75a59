//! A lab over a recorded trace.

use servent_core::queue::Dialect;
use servent_core::time::Instant;
use servent_core::trace::qlog::{self, RawRecord};
use servent_core::trace::reel::Reel;
use servent_sim::queue::Role;

use crate::board::{Board, NodeInfo, Part, look};
use crate::common::{Columns, NamedRecord, Pin, Verified, diff, json};

pub(crate) struct TraceLab {
    reel: Reel,
    columns: Columns,
}

impl TraceLab {
    pub(crate) const KIND: &str = "trace";

    pub(crate) fn new(reel: Reel) -> Self {
        Self { reel, columns: Columns::default() }
    }

    /// More of a growing trace.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.reel.append(bytes);
    }

    fn name(&self) -> &str {
        self.reel.start().map_or("servent", |s| &s.name)
    }

    pub(crate) fn scenario(&self) -> String {
        String::from("null")
    }

    pub(crate) fn horizon(&self) -> Instant {
        self.reel.frontier()
    }

    pub(crate) fn frontier(&self) -> Instant {
        self.reel.frontier()
    }

    /// What was recorded is known.
    pub(crate) fn explore(&mut self, _: u64) -> bool {
        true
    }

    pub(crate) fn now(&self) -> Instant {
        self.reel.now()
    }

    pub(crate) fn index(&self) -> u32 {
        self.reel.index() as u32
    }

    pub(crate) fn count(&self) -> u32 {
        self.reel.count() as u32
    }

    pub(crate) fn advance(&mut self, to: Instant, _: u64) -> Instant {
        self.reel.seek(to);
        self.reel.now()
    }

    pub(crate) fn seek(&mut self, to: Instant) {
        self.reel.seek(to);
    }

    pub(crate) fn seek_record(&mut self, i: u32) -> bool {
        self.reel.seek_record(i as usize)
    }

    /// One record on, or back.
    pub(crate) fn step(&mut self, forward: bool) -> bool {
        match (forward, self.reel.index()) {
            (true, i) => self.reel.seek_record(i),
            (false, 0) => false,
            (false, 1) => {
                let first = self.reel.record(0).map_or(0, |r| r.at.as_micros());
                self.reel.seek(Instant::from_micros(first.saturating_sub(1)));
                true
            }
            (false, i) => self.reel.seek_record(i - 2),
        }
    }

    /// There is one node.
    pub(crate) fn step_node(&mut self, _: u32, forward: bool) -> bool {
        self.step(forward)
    }

    pub(crate) fn nodes(&self) -> String {
        let start = self.reel.start();
        let id = start.map_or(0, |s| s.node.0);
        let dialect = start.map_or(Dialect::Parq, |s| s.config.dialect);
        let up = self.reel.node().is_some();
        json(&[NodeInfo { id, name: self.name(), role: Role::Server, dialect, up }])
    }

    pub(crate) fn board(&self, _: u32, part: Part) -> Board {
        let (view, lanes) = self.reel.node().map(|n| look(n, part)).unwrap_or_default();
        Board { at: self.reel.now(), queue: view.queue, lanes, ..Board::default() }
    }

    pub(crate) fn inspect(&self, _: u32) -> String {
        json(&self.reel.node().map(|n| n.view(1, 50)))
    }

    pub(crate) fn diff(&self, _: u32) -> String {
        let before = self.reel.node_before().map(|n| n.view(1, 50));
        json(&diff(&before, &self.reel.node().map(|n| n.view(1, 50))))
    }

    pub(crate) fn named(&self, i: u32) -> Option<NamedRecord<'_>> {
        let record = self.reel.record(i as usize)?;
        let RawRecord { at, node, cause, .. } = *record;
        // The page counts what it has; on a tape that lost lines that is less
        // than what was counted when it was written.
        let cause = cause.and_then(|seq| self.reel.index_of(seq)).map(|i| i as u64);
        let event = record.event.as_str().into();
        let (seq, node_name) = (i.into(), self.name());
        Some(NamedRecord { seq, at, node, cause, event, node_name, who: None })
    }

    pub(crate) fn density(&mut self, bins: u32) -> Vec<u32> {
        let from = self.reel.record(0).map_or(Instant::ZERO, |r| r.at);
        let end = self.reel.frontier();
        if !self.columns.serves(end) {
            // A growing trace is counted with room to grow.
            let room = end.since(from).ratio(1, 4);
            self.columns = Columns::new(from, end + room);
        }
        while let Some(record) = self.reel.record(self.columns.seen() as usize) {
            self.columns.count(record.at);
        }
        self.columns.density(bins)
    }

    /// Nobody broke anything in it, and the oracles see worlds only.
    pub(crate) fn pins(&mut self) -> &[Pin] {
        &[]
    }

    pub(crate) fn fault(&mut self, _: &str) -> Result<u32, String> {
        Err(String::from("what was recorded cannot be changed"))
    }

    pub(crate) fn branches(&self) -> String {
        String::from(r#"[{"id":0,"parent":null,"at":0,"name":"main"}]"#)
    }

    pub(crate) fn use_branch(&mut self, id: u32) -> bool {
        id == 0
    }

    pub(crate) fn divergence(&self, _: u32, _: u32) -> Option<u32> {
        None
    }

    pub(crate) fn digest(&self) -> u64 {
        self.reel.digest()
    }

    pub(crate) fn verified(&self) -> Verified {
        let report = self.reel.report();
        Verified {
            checked: report.verified,
            total: self.reel.checkpoints(),
            diverged_at: report.diverged_at,
            text: report.to_string(),
        }
    }

    /// The lines as they were read.
    pub(crate) fn lines(&self) -> &[String] {
        self.reel.lines()
    }

    pub(crate) fn sqlog(&self) -> String {
        self.lines().iter().map(|l| qlog::frame(l)).collect()
    }
}
