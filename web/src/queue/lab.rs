//! The class of a simulated world.

use serde::Deserialize;
use servent_core::trace::tape::Checkpoint;
use servent_sim::queue::Scenario;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use super::scenario::ScenarioLab;
use crate::board::board_class;

board_class! {
    /// A scenario being simulated.
    Lab over ScenarioLab
}

#[wasm_bindgen]
impl Lab {
    /// `[{id, title, text, scenario}]`.
    #[must_use]
    pub fn presets() -> String {
        ScenarioLab::presets()
    }

    /// A lab over a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(json: &str) -> Result<Lab, JsError> {
        let scenario = Scenario::parse(json).map_err(|e| JsError::new(&e))?;
        Ok(Self { inner: ScenarioLab::new(scenario, None) })
    }

    /// A lab over what a file says of a world, `{scenario, claim}`: the claim
    /// is its last checkpoint, or `null`.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(json: &str) -> Result<Lab, JsError> {
        let (scenario, claim) = world(json).map_err(|e| JsError::new(&e))?;
        Ok(Self { inner: ScenarioLab::new(scenario, claim) })
    }
}

/// `{scenario, claim}`, read.
fn world(json: &str) -> Result<(Scenario, Option<Checkpoint>), String> {
    #[derive(Deserialize)]
    struct World {
        scenario: Scenario,
        claim: Option<Checkpoint>,
    }
    let World { scenario, claim } = serde_json::from_str(json).map_err(|why| why.to_string())?;
    scenario.check()?;
    Ok((scenario, claim))
}
