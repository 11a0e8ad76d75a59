//! The shapes of what the page is told.

use serde::Serialize;
use servent_core::trace::NodeId;
use servent_core::unicast::Profile;
use servent_sim::unicast::{Act, Scenario};

/// A node in a list.
#[derive(Serialize)]
pub(super) struct NodeInfo<'a> {
    pub(super) id: NodeId,
    pub(super) name: &'a str,
    pub(super) role: &'static str,
    pub(super) profile: Profile,
    pub(super) addr: String,
    pub(super) up: bool,
}

/// What the script has a node do.
pub(super) fn role(scenario: &Scenario, node: NodeId) -> &'static str {
    let (mut sends, mut receives) = (false, false);
    for step in scenario.script.iter().chain(&scenario.faults) {
        if let Act::Send(send) = &step.act {
            sends |= send.from == node;
            receives |= send.to == node;
        }
    }
    match (sends, receives) {
        (true, true) => "both",
        (true, false) => "sender",
        _ => "receiver",
    }
}
