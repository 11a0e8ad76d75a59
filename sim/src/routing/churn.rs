//! Nodes that come and go.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::event::Event;
use super::world::{Due, World};
use servent_core::time::Instant;
use servent_core::trace::Record;

impl World {
    /// One of those who are there goes, to come back later.
    pub(super) fn churn(&mut self, out: &mut Vec<Record<Event>>) {
        let stage = Arc::clone(&self.stage);
        let Some(churn) = &stage.plan.churn else { return };
        let host = self.dice.below(stage.plan.nodes.into()) as u32;
        if self.hosts[host as usize].router.is_some() {
            self.kill(host, out);
            let boot = self.hosts[host as usize].boot;
            self.plan(self.agenda.now() + churn.down, Due::Return { host, boot });
        }
        if self.agenda.now() + churn.every <= Instant::ZERO + churn.until {
            self.plan(self.agenda.now() + churn.every, Due::Churn);
        }
    }
}
