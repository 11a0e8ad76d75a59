//! Oracles: what must be true of any swarm, checked on its records alone.

mod credit;
mod slots;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use self::credit::Credit;
use self::slots::Slots;
use super::event::{Event, client_of};
use super::scenario::Scenario;
use crate::check::{Oracle, RecordViolations, Violation};
use servent_core::id::ConnId;
use servent_core::swarm::{self, Config, SwarmPolicy};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};

/// What the records say about a client.
#[derive(Debug, Clone, Copy, Default)]
struct RecordedClient {
    active: bool,
    quarantined: bool,
}

/// All oracles over a swarm.
#[derive(Debug, Clone)]
pub struct SwarmOracles {
    config: Config,
    clients: BTreeMap<ConnId, RecordedClient>,
    credit: Credit,
    slots: Slots,
    violations: Vec<Violation>,
}

/// No arguments for a sentence.
const NONE: [(&str, u64); 0] = [];

impl SwarmOracles {
    /// For a scenario: the rules depend on its configuration.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            config: scenario.swarm.clone(),
            clients: BTreeMap::new(),
            credit: Credit::new(scenario),
            slots: Slots::new(scenario),
            violations: Vec::new(),
        }
    }

    /// The remaining credit of a client according to the records.
    #[must_use]
    pub fn credit(&self, client: u32) -> Option<i64> {
        self.credit.balance(client)
    }

    /// Checks which clients may send to which (SW-15), and which are given nothing (SW-25).
    fn selection(&mut self, event: &swarm::Event, found: &mut RecordViolations<'_>) {
        use swarm::Event as E;
        match event {
            E::Registered { client, active, .. } => {
                self.clients.insert(
                    *client,
                    RecordedClient { active: *active, ..RecordedClient::default() },
                );
            }
            E::Mode { client, active, .. } => {
                self.clients.entry(*client).or_default().active = *active
            }
            E::Granted { client, .. } => {
                if self.clients.entry(*client).or_default().quarantined {
                    found.violation_of(
                        NodeId(client_of(*client)),
                        "selection",
                        "check.grant_in_quarantine",
                        NONE,
                    );
                }
                if self.config.policy == SwarmPolicy::Seed2004 {
                    found.violation_of(
                        NodeId(client_of(*client)),
                        "selection",
                        "check.grant_of_2004",
                        NONE,
                    );
                }
            }
            E::Quarantined { client, .. } => {
                self.clients.entry(*client).or_default().quarantined = true
            }
            E::Released { client } => self.clients.entry(*client).or_default().quarantined = false,
            E::Assigned { down, up, put, .. } => self.pair(*down, *up, *put, found),
            E::Left { client } => {
                self.clients.remove(client);
            }
            _ => {}
        }
    }

    fn pair(
        &mut self,
        down: ConnId,
        up: Option<ConnId>,
        put: bool,
        found: &mut RecordViolations<'_>,
    ) {
        let Some(up) = up else { return };
        let (receiver, sender) =
            (*self.clients.entry(down).or_default(), *self.clients.entry(up).or_default());
        let mut broken = |key| {
            let args = [("giver", u64::from(client_of(up)))];
            found.violation_of(NodeId(client_of(down)), "selection", key, args);
        };
        if put == sender.active {
            broken("check.wrong_side_connects");
        }
        if put && !receiver.active {
            broken("check.passive_to_passive");
        }
        if sender.quarantined {
            broken("check.from_quarantine");
        }
        if up == down {
            broken("check.to_itself");
        }
    }
}

impl Oracle for SwarmOracles {
    type Event = Event;

    fn observe(&mut self, record: &Record<Event>) {
        let mut list = core::mem::take(&mut self.violations);
        let mut found = RecordViolations::at(record, &mut list);
        match &record.event {
            Event::Swarm(event) => {
                self.selection(event, &mut found);
                self.credit.observe(event, &mut found);
                self.slots.observe(event, &mut found);
            }
            Event::World(super::SwarmIncident::Coordinator) => {
                self.clients.clear();
                self.credit.restarted();
                self.slots.restarted();
            }
            Event::World(_) | Event::Client(_) => {}
        }
        self.violations = list;
    }

    fn finish(&mut self, _: Instant) {}

    fn violations(&self) -> &[Violation] {
        &self.violations
    }
}
