//! Oracles: what must be true of any run, checked on its records alone.
//!
//! They share no code with the engines. Each keeps its own small model of what
//! the records say, and reports a violation when two records contradict each
//! other.

mod download;
mod line;
mod loss;
mod partitioned;
mod remanence;
mod reservations;
mod shares;
mod site;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use self::download::Downloads;
use self::line::RecordedLine;
use self::partitioned::Division;
use self::remanence::LastReply;
use self::site::Members;
use super::scenario::Scenario;
use crate::check::{Oracle, RecordViolations, Violation};
use servent_core::id::Guid;
use servent_core::node::WorldEvent;
use servent_core::queue::{Config, Event as Queue};
use servent_core::time::Instant;
use servent_core::trace::{Event, NodeId, Record};

/// All oracles over all nodes.
#[derive(Debug, Clone, Default)]
pub struct QueueOracles {
    configs: Vec<Config>,
    lines: BTreeMap<NodeId, RecordedLine>,
    downloads: Downloads,
    site: Option<Members>,
    division: Option<Division>,
    /// The addresses of places, by which another server restores them.
    peers: BTreeMap<Guid, IpAddr>,
    /// What the clients of places were told last.
    replies: BTreeMap<Guid, LastReply>,
    /// The last record: what is not done by then never will be.
    last: (u64, Instant, NodeId),
    violations: Vec<Violation>,
}

impl QueueOracles {
    /// For a scenario's nodes: the rules depend on their configuration.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let configs = scenario.servers.iter().map(|s| s.queue).collect();
        let divided = scenario.site.as_ref().is_some_and(|site| site.divided);
        let whole = scenario.site.as_ref().filter(|_| !divided);
        let site = whole.map(|_| Members::new(scenario.servers.len()));
        let division = divided.then(|| Division::new(scenario));
        let downloads = Downloads::new(scenario);
        Self { configs, downloads, site, division, ..Self::default() }
    }
}

impl Oracle for QueueOracles {
    type Event = Event;

    fn observe(&mut self, record: &Record) {
        self.last = (record.seq, record.at, record.node);
        let mut found = RecordViolations::at(record, &mut self.violations);
        if let Some(site) = &mut self.site {
            site.observe(record, &mut found);
        }
        if let Some(division) = &mut self.division {
            division.observe(record, &mut found);
        }
        match &record.event {
            Event::Fetch(event) => self.downloads.observe(event, &mut found),
            Event::World(WorldEvent::Changed { size }) => {
                self.downloads.changed(record.node, *size);
            }
            event if !matches!(event, Event::Queue(_) | Event::Conn(_) | Event::World(_)) => {}
            _ => {
                let config = self.configs.get(record.node.0 as usize);
                if let Some(config) = config {
                    let line =
                        self.lines.entry(record.node).or_insert_with(|| RecordedLine::new(config));
                    match &record.event {
                        Event::Queue(
                            Queue::Arrived { ticket, peer, .. }
                            | Queue::Started { ticket, peer, .. },
                        ) => drop(self.peers.insert(*ticket, *peer)),
                        Event::Queue(Queue::Told { ticket, keep, deadline, .. }) => {
                            let reply = LastReply { keep: *keep, deadline: *deadline };
                            self.replies.insert(*ticket, reply);
                        }
                        // It was not there before a restart either.
                        Event::Queue(
                            Queue::Away { ticket, .. } | Queue::Returned { ticket, .. },
                        ) => {
                            let gone = LastReply { keep: true, deadline: record.at };
                            self.replies.insert(*ticket, gone);
                        }
                        Event::Queue(Queue::Restored { ticket, .. }) => {
                            if let Some(reply) = self.replies.get(ticket) {
                                line.learn_reply(*ticket, *reply);
                            }
                            if let Some(peer) = self.peers.get(ticket) {
                                line.knows(*ticket, *peer);
                            }
                        }
                        _ => {}
                    }
                    line.observe(record, &mut found);
                }
            }
        }
    }

    /// The run has ended, long enough after its last fault: everything that was
    /// begun must be finished.
    fn finish(&mut self, end: Instant) {
        let mut found = RecordViolations::about(self.last, &mut self.violations);
        self.downloads.finish(&mut found);
        if let Some(site) = &mut self.site {
            site.finish(end, &mut found);
        }
        if let Some(division) = &mut self.division {
            division.finish(end, &mut found);
        }
    }

    fn violations(&self) -> &[Violation] {
        &self.violations
    }
}
