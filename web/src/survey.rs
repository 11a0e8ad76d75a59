//! What is gathered from the records once, as they become known: pins for
//! the timeline and how densely they stand.

use servent_core::json::Json;
use servent_core::sim::check::Oracles;
use servent_core::time::Instant;
use servent_core::trace::{Event, Record, why};

use crate::answers::Pin;

/// Columns in which records are counted before they are shared out to the
/// bins a page asks for.
const COLUMNS: u64 = 4_096;

/// Findings over the records of one branch.
#[derive(Default)]
pub(crate) struct Survey {
    pub(crate) branch: usize,
    seen: u64,
    from: Instant,
    span: u64,
    columns: Vec<u32>,
    oracles: Oracles,
    pub(crate) pins: Vec<Pin>,
}

impl Survey {
    /// Over a branch, whose records lie between two instants.
    pub(crate) fn new(branch: usize, from: Instant, to: Instant, oracles: Oracles) -> Self {
        let span = to.since(from).as_micros().max(1);
        Self { branch, from, span, columns: vec![0; COLUMNS as usize], oracles, ..Self::default() }
    }

    /// True while it can be carried on for this branch and end.
    pub(crate) fn serves(&self, branch: usize, to: Instant) -> bool {
        self.branch == branch
            && !self.columns.is_empty()
            && to.since(self.from).as_micros() <= self.span
    }

    /// How many records it has seen.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// Counts a record; for a trace that is all.
    pub(crate) fn count(&mut self, at: Instant) {
        self.seen += 1;
        let at = at.since(self.from).as_micros();
        let column = (u128::from(at) * u128::from(COLUMNS) / u128::from(self.span + 1)) as usize;
        if let Some(count) = self.columns.get_mut(column) {
            *count += 1;
        }
    }

    /// Takes a record of a world.
    pub(crate) fn see(&mut self, record: &Record) {
        self.count(record.at);
        let found = self.oracles.violations().len();
        self.oracles.see(record);
        for v in &self.oracles.violations()[found..] {
            let args = v.args.iter().map(|(k, v)| ((*k).to_owned(), Json::Text(v.clone())));
            let args = Json::Object(args.collect());
            let (at, seq, key) = (v.at, v.seq, v.key.to_owned());
            self.pins.push(Pin { at, seq, kind: "violation", key, args });
        }
        if matches!(record.event, Event::World(_)) {
            let why = why::of(record);
            let mut args = why.args;
            if let Json::Object(fields) = &mut args {
                fields.push((String::from("node"), Json::Whole(record.node.0.into())));
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
        let bins = bins.clamp(1, COLUMNS as u32) as usize;
        let mut out = vec![0; bins];
        for (i, count) in self.columns.iter().enumerate() {
            out[i * bins / self.columns.len()] += count;
        }
        out
    }
}
