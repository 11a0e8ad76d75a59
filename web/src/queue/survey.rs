//! What is gathered from the records once, as they become known: pins for
//! the timeline and how densely they stand.

use serde_json::Value;
use servent_core::time::Instant;
use servent_core::trace::{Event, Record, why};
use servent_sim::Oracle as _;
use servent_sim::queue::check::Oracles;

use crate::common::{Columns, Pin};

/// Findings over the records of one branch.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) branch: usize,
    columns: Columns,
    oracles: Oracles,
    pub(crate) pins: Vec<Pin>,
}

impl Survey {
    /// Over a branch, whose records lie between two instants.
    pub(crate) fn new(branch: usize, from: Instant, to: Instant, oracles: Oracles) -> Self {
        Self { branch, columns: Columns::new(from, to), oracles, pins: Vec::new() }
    }

    /// True while it can be carried on for this branch and end.
    pub(crate) fn serves(&self, branch: usize, to: Instant) -> bool {
        self.branch == branch && self.columns.serves(to)
    }

    /// How many records it has seen.
    pub(crate) const fn seen(&self) -> u64 {
        self.columns.seen()
    }

    /// Takes a record of a world.
    pub(crate) fn see(&mut self, record: &Record) {
        self.columns.count(record.at);
        let found = self.oracles.violations().len();
        self.oracles.see(record);
        for v in &self.oracles.violations()[found..] {
            let args = v.args.iter().map(|(k, v)| (*k, v.as_str())).collect();
            let (at, seq, key) = (v.at, v.seq, v.key.to_owned());
            self.pins.push(Pin { at, seq, kind: "violation", key, args });
        }
        if matches!(record.event, Event::World(_)) {
            let why = why::of(record);
            let mut args = why.args;
            if let Value::Object(fields) = &mut args {
                fields.insert(String::from("node"), record.node.0.into());
            }
            self.pins.push(Pin {
                at: record.at,
                seq: record.seq,
                kind: "fault",
                key: why.key,
                args,
            });
        }
    }

    /// Records per bin.
    pub(crate) fn density(&self, bins: u32) -> Vec<u32> {
        self.columns.density(bins)
    }
}
