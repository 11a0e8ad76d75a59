//! Nodes that leave and come back.

use alloc::sync::Arc;

use super::world::{RoutingPlan, RoutingWorld};
use servent_core::time::Instant;
use servent_core::trace::NodeId;

impl RoutingWorld {
    /// One of the running nodes leaves, to come back later.
    pub(super) fn churn(&mut self) {
        let stage = Arc::clone(&self.net.stage);
        let Some(churn) = &stage.plan.churn else { return };
        let host = self.net.dice.below(stage.plan.nodes.into()) as u32;
        if self.is_up(NodeId(host)) {
            self.crash(host);
            let boot = self.slot(host).starts;
            self.plan(self.now() + churn.down, RoutingPlan::Return { host, boot });
        }
        if self.now() + churn.every <= Instant::ZERO + churn.until {
            self.plan(self.now() + churn.every, RoutingPlan::Churn);
        }
    }
}
