//! A lab over a recorded trace.

use servent_core::queue::Dialect;
use servent_core::sim::Role;
use servent_core::sim::check::Oracles;
use servent_core::time::Instant;
use servent_core::trace::qlog::RawRecord;
use servent_core::trace::reel::Reel;

use crate::answers::{Board, NamedRecord, NodeInfo, Part, Verified, diff, json, look};
use crate::survey::Survey;

pub(crate) struct TraceLab {
    pub(crate) reel: Reel,
    survey: Survey,
}

impl TraceLab {
    pub(crate) fn new(reel: Reel) -> Self {
        Self { reel, survey: Survey::default() }
    }

    fn name(&self) -> &str {
        self.reel.start().map_or("servent", |s| &s.name)
    }

    pub(crate) fn nodes(&self) -> String {
        let start = self.reel.start();
        let id = start.map_or(0, |s| s.node.0);
        let dialect = start.map_or(Dialect::Parq, |s| s.config.dialect);
        let up = self.reel.node().is_some();
        json(&[NodeInfo { id, name: self.name(), role: Role::Server, dialect, up }])
    }

    pub(crate) fn board(&self, part: Part) -> Board {
        let (view, lanes) = self.reel.node().map(|n| look(n, part)).unwrap_or_default();
        Board { at: self.reel.now(), queue: view.queue, lanes, ..Board::default() }
    }

    pub(crate) fn inspect(&self) -> String {
        json(&self.reel.node().map(|n| n.view(1, 50)))
    }

    pub(crate) fn diff(&self) -> String {
        let before = self.reel.node_before().map(|n| n.view(1, 50));
        json(&diff(&before, &self.reel.node().map(|n| n.view(1, 50))))
    }

    pub(crate) fn named(&self, i: u64) -> Option<NamedRecord<'_>> {
        let record = self.reel.record(usize::try_from(i).ok()?)?;
        let RawRecord { seq, at, node, cause, .. } = *record;
        let event = record.event.as_str().into();
        Some(NamedRecord { seq, at, node, cause, event, node_name: self.name(), who: None })
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

    pub(crate) fn survey(&mut self) -> &Survey {
        let from = self.reel.record(0).map_or(Instant::ZERO, |r| r.at);
        let end = self.reel.frontier();
        if !self.survey.serves(0, end) {
            // A growing trace is surveyed with room to grow.
            let room = end.since(from).ratio(1, 4);
            self.survey = Survey::new(0, from, end + room, Oracles::default());
        }
        while let Some(record) = self.reel.record(self.survey.seen() as usize) {
            self.survey.count(record.at);
        }
        &self.survey
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
}
