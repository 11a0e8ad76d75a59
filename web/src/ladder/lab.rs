//! The class the page talks to.

use servent_core::trace::NodeId;
use servent_sim::unicast::World;
use wasm_bindgen::prelude::wasm_bindgen;

use super::answers::{NodeInfo, role};
use crate::common::lists::list;
use crate::common::watch::world_class;
use crate::common::{instant, json};

/// The most arrows or marks one question is answered with.
const MOST: u32 = 10_000;

world_class! {
    /// A world of messengers being simulated.
    Ladder over unicast::Unicast
}

#[wasm_bindgen]
impl Ladder {
    /// `[{id, name, role, profile, addr, up}]`.
    #[must_use]
    pub fn nodes(&self) -> String {
        let scenario = &self.watch.scenario;
        list((0..).zip(&self.watch.names).map(|(id, name)| {
            let id = NodeId(id);
            json(&NodeInfo {
                id,
                name,
                role: role(scenario, id),
                profile: scenario.profile,
                addr: json(&World::address(id)).trim_matches('"').to_owned(),
                up: self.watch.world().node(id).is_some(),
            })
        }))
    }

    /// HA, HS and the windows of a node; `null` when there is no such node.
    #[must_use]
    pub fn margins(&self, node: u32) -> String {
        self.watch.inspect(node)
    }

    /// Datagrams on their way between two instants, as far as they are known.
    pub fn arrows(&mut self, from: f64, to: f64, most: u32) -> String {
        let diagram = &self.watch.surveyed().diagram;
        list(diagram.arrows(instant(from), instant(to), most.min(MOST) as usize).map(json))
    }

    /// What happened on the lifelines between two instants.
    pub fn marks(&mut self, from: f64, to: f64, most: u32) -> String {
        let diagram = &self.watch.surveyed().diagram;
        json(&diagram.marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
