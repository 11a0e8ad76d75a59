//! Unicast: two ends and the datagrams between them.

mod numbers;
mod watched;

use std::rc::Rc;

use servent_core::trace::tape::Checkpoint;
use servent_sim::unicast::{self, UnicastTotals};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::lab::{Lab, Run, SharedLab, presets};
use crate::value::{QueryResult, give, instant, take};

/// The most arrows or marks in one answer.
const MOST: u32 = 10_000;

/// Simulated messages over datagrams.
#[wasm_bindgen]
pub struct Unicast {
    lab: SharedLab<unicast::Unicast>,
}

#[wasm_bindgen]
impl Unicast {
    /// All presets.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Preset<UnicastScenario>[]")]
    pub fn presets() -> QueryResult {
        presets::<unicast::Unicast>()
    }

    /// The world of a scenario.
    ///
    /// # Errors
    /// A sentence that says what is invalid in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(
        #[wasm_bindgen(unchecked_param_type = "Partial<UnicastScenario>")] scenario: JsValue,
    ) -> Result<Unicast, JsError> {
        Ok(Self { lab: Lab::shared(scenario, None)? })
    }

    /// The world of a file, see `Tape.world`. Its checkpoint is verified once
    /// the run is known up to the end of the file.
    ///
    /// # Errors
    /// A sentence that says what is invalid in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(
        #[wasm_bindgen(unchecked_param_type = "UnicastScenario")] scenario: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Checkpoint | null")] claim: JsValue,
    ) -> Result<Unicast, JsError> {
        let claim: Option<Checkpoint> = take(claim)?;
        Ok(Self { lab: Lab::shared(scenario, claim)? })
    }

    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let lab = Rc::clone(&self.lab);
        Run::new(lab)
    }

    /// HA, HS and the windows of a node.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Margins")]
    pub fn margins(&self, node: u32) -> QueryResult {
        let lab = self.lab.borrow();
        give(&lab.world().margins(lab.known(node)?))
    }

    /// The totals at the cursor.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "UnicastTotals")]
    pub fn totals(&self) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let now = lab.timeline.now();
        give(&UnicastTotals::until(&lab.surveyed().diagram, now))
    }

    /// Datagrams in transit between two instants, as far as they are known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Arrow[]")]
    pub fn arrows(&self, from: f64, to: f64, most: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().diagram;
        let arrows = diagram.arrows(instant(from), instant(to), most.min(MOST) as usize);
        give(&arrows.collect::<Vec<_>>())
    }

    /// The events on the lifelines between two instants.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "LifelineMark[]")]
    pub fn marks(&self, from: f64, to: f64, most: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().diagram;
        give(&diagram.marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
