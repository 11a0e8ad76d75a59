//! What is gathered from the records once, as they become known: the picture,
//! pins for the timeline, and how densely the records stand.

use servent_core::json::Json;
use servent_core::sim::ladder::check::Oracles;
use servent_core::sim::ladder::{Event, Scenario, Sheet, World, why};
use servent_core::time::Instant;
use servent_core::trace::Record;

use crate::common::{Columns, Pin};

/// Findings over the records of one branch.
#[derive(Default)]
pub(super) struct Survey {
    branch: usize,
    pub(super) columns: Columns,
    pub(super) sheet: Sheet,
    oracles: Oracles,
    pub(super) pins: Vec<Pin>,
}

impl Survey {
    /// Over a branch whose records end here.
    pub(super) fn new(branch: usize, to: Instant, scenario: &Scenario) -> Self {
        let (columns, oracles) = (Columns::new(Instant::ZERO, to), Oracles::new(scenario));
        Self { branch, columns, oracles, ..Self::default() }
    }

    /// True while it can be carried on for this branch and end.
    pub(super) fn serves(&self, branch: usize, to: Instant) -> bool {
        self.branch == branch && self.columns.serves(to)
    }

    /// Takes the next record.
    pub(super) fn see(&mut self, world: &World, record: &Record<Event>) {
        self.columns.count(record.at);
        self.sheet.see(world, record);
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
