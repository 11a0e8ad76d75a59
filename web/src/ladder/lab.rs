//! The class the page talks to.

use servent_core::sim::ladder::{Scenario, World, presets};
use servent_core::trace::NodeId;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use super::answers::{NodeInfo, role};
use crate::common::watch::{Watch, list, world_class};
use crate::common::{instant, json};
use crate::panics;

/// The most arrows or marks one question is answered with.
const MOST: u32 = 10_000;

world_class! {
    /// A world of messengers being simulated.
    Ladder over World
}

#[wasm_bindgen]
impl Ladder {
    /// `[{id, title, text, scenario}]`.
    #[must_use]
    pub fn presets() -> String {
        panics::report();
        let entry = |s: Scenario| {
            let (id, title, text) = (json(&s.id), json(&s.title), json(&s.text));
            format!(r#"{{"id":{id},"title":{title},"text":{text},"scenario":{}}}"#, json(&s))
        };
        list(presets::all().map(entry))
    }

    /// A ladder over a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(json: &str) -> Result<Ladder, JsError> {
        panics::report();
        let scenario = Scenario::parse(json).map_err(|e| JsError::new(&e))?;
        Ok(Self { watch: Watch::new(scenario) })
    }

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
        let sheet = &self.watch.surveyed().sheet;
        list(sheet.arrows(instant(from), instant(to), most.min(MOST) as usize).map(json))
    }

    /// What happened on the lifelines between two instants.
    pub fn marks(&mut self, from: f64, to: f64, most: u32) -> String {
        let sheet = &self.watch.surveyed().sheet;
        json(&sheet.marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
