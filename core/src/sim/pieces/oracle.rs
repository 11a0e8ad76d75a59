//! Rules that see what happened and nothing else.

use alloc::vec::Vec;

use serde::Serialize;

use crate::id::ConnId;
use crate::swarm::{Config, Event, Policy};
use crate::table::Table;
use crate::time::Instant;

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// When.
    pub at: Instant,
    /// Which rule.
    pub rule: &'static str,
    /// Whom it is about.
    pub client: ConnId,
}

/// What the log says of a client.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    active: bool,
    quarantined: bool,
}

/// Watches the coordinator's events.
#[derive(Debug, Clone)]
pub struct Oracle {
    config: Config,
    clients: Table<ConnId, Standing>,
    found: Vec<Violation>,
}

impl Oracle {
    /// For a coordinator with this configuration.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self { config, clients: Table::new(), found: Vec::new() }
    }

    /// What was broken so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.found
    }

    fn broken(&mut self, at: Instant, rule: &'static str, client: ConnId) {
        self.found.push(Violation { at, rule, client });
    }

    /// Looks at an event.
    pub fn see(&mut self, at: Instant, event: &Event) {
        match event {
            Event::Registered { client, active, .. } => {
                self.clients.insert(*client, Standing { active: *active, ..Standing::default() });
            }
            Event::Mode { client, active, .. } => self.clients.or_default(*client).active = *active,
            Event::Granted { client, .. } => {
                let standing = *self.clients.or_default(*client);
                if standing.quarantined {
                    self.broken(at, "a grant in quarantine", *client);
                }
                if self.config.policy == Policy::Seed2004 {
                    self.broken(at, "a grant that the text does not know", *client);
                }
            }
            Event::Quarantined { client, .. } => {
                self.clients.or_default(*client).quarantined = true
            }
            Event::Released { client } => self.clients.or_default(*client).quarantined = false,
            Event::Assigned { down, up, put, .. } => {
                self.assigned(at, (*down, *up), *put);
            }
            _ => {}
        }
    }

    fn assigned(&mut self, at: Instant, (down, up): (ConnId, Option<ConnId>), put: bool) {
        let receiver = *self.clients.or_default(down);
        if let Some(up) = up {
            let sender = *self.clients.or_default(up);
            if put == sender.active {
                self.broken(at, "who can be connected to need not connect", up);
            }
            if put && !receiver.active {
                self.broken(at, "from a passive client to a passive client", down);
            }
            if sender.quarantined {
                self.broken(at, "from a client in quarantine", up);
            }
            if up == down {
                self.broken(at, "from a client to itself", down);
            }
        }
    }
}
