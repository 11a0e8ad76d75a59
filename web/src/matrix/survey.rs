//! What is gathered from the records once, as they become known: how many
//! pieces were there when, pins for the timeline, and how densely the records
//! stand.

use servent_core::json::Json;
use servent_core::sim::pieces::check::Oracles;
use servent_core::sim::pieces::{Event, Scenario, Tally, why};
use servent_core::time::Instant;
use servent_core::trace::Record;

use crate::common::{Columns, Pin};

/// Findings over the records of one branch.
pub(super) struct Survey {
    branch: usize,
    pub(super) columns: Columns,
    pub(super) tally: Tally,
    oracles: Oracles,
    pub(super) pins: Vec<Pin>,
}

impl Survey {
    /// Over a branch whose records end here.
    pub(super) fn new(branch: usize, to: Instant, scenario: &Scenario) -> Self {
        Self {
            branch,
            columns: Columns::new(Instant::ZERO, to),
            tally: Tally::new(scenario),
            oracles: Oracles::new(scenario),
            pins: Vec::new(),
        }
    }

    /// True while it can be carried on for this branch and end.
    pub(super) fn serves(&self, branch: usize, to: Instant) -> bool {
        self.branch == branch && self.columns.serves(to)
    }

    /// Takes the next record.
    pub(super) fn see(&mut self, record: &Record<Event>) {
        self.columns.count(record.at);
        self.tally.see(record);
        let found = self.oracles.violations().len();
        self.oracles.see(record);
        for v in &self.oracles.violations()[found..] {
            let args = v.args.iter().map(|(k, v)| ((*k).to_owned(), Json::Text(v.clone())));
            let args = Json::Object(args.collect());
            let (at, seq, key) = (v.at, v.seq, v.key.to_owned());
            self.pins.push(Pin { at, seq, kind: "violation", key, args });
        }
        if record.event.is_fault() {
            let why = why::of(record);
            let mut args = why.args;
            if let Json::Object(fields) = &mut args {
                fields.push((String::from("node"), Json::Whole(record.node.0.into())));
            }
            let Record { at, seq, .. } = *record;
            self.pins.push(Pin { at, seq, kind: "fault", key: why.key, args });
        }
    }
}
