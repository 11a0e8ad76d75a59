//! Oracles: what must be true of any run, judged by its records alone.
//!
//! They know nothing of the engines. Each keeps its own small model of what
//! the records claim, and speaks up when two records cannot both be right.

mod download;
mod kept;
mod line;
mod loss;

use alloc::collections::BTreeMap;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::fmt::Display;

use self::download::Downloads;
use self::line::Line;
use super::scenario::Scenario;
use crate::check::{LIMIT, Violation};
use servent_core::queue::Config;
use servent_core::trace::{Event, NodeId, Record};

/// All oracles over all nodes.
#[derive(Debug, Clone, Default)]
pub struct Oracles {
    configs: Vec<Config>,
    lines: BTreeMap<NodeId, Line>,
    downloads: Downloads,
    violations: Vec<Violation>,
}

/// Where an oracle puts what it found.
pub(super) struct Verdicts<'a> {
    pub(super) record: &'a Record,
    pub(super) list: &'a mut Vec<Violation>,
}

impl Verdicts<'_> {
    pub(super) fn violation(
        &mut self,
        oracle: &'static str,
        key: &'static str,
        args: &[(&'static str, &dyn Display)],
    ) {
        if self.list.len() < LIMIT {
            let Record { seq, at, node, .. } = *self.record;
            let args = args.iter().map(|(name, value)| (*name, value.to_string())).collect();
            self.list.push(Violation { seq, at, node, oracle, key, args });
        }
    }
}

impl Oracles {
    /// For the nodes of a scenario: the rules depend on their configuration.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let configs = scenario.servers.iter().map(|s| s.queue).collect();
        Self { configs, ..Self::default() }
    }

    /// Takes the next record.
    pub fn see(&mut self, record: &Record) {
        let mut verdicts = Verdicts { record, list: &mut self.violations };
        match &record.event {
            Event::Fetch(event) => self.downloads.see(event, &mut verdicts),
            event if !matches!(event, Event::Queue(_) | Event::Conn(_) | Event::World(_)) => {}
            _ => {
                let config = self.configs.get(record.node.0 as usize);
                if let Some(config) = config {
                    let line = self.lines.entry(record.node).or_insert_with(|| Line::new(config));
                    line.see(record, &mut verdicts);
                }
            }
        }
    }

    /// The run has ended, and long enough after its last fault: whatever was
    /// begun must be done.
    pub fn finish(&mut self, last: &Record) {
        let mut verdicts = Verdicts { record: last, list: &mut self.violations };
        self.downloads.finish(&mut verdicts);
    }

    /// What was found so far, the first [`LIMIT`] of it.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}
