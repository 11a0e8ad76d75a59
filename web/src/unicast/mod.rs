//! Unicast: two ends and the datagrams between them.

mod numbers;
mod watched;

use std::rc::Rc;

use servent_core::trace::tape::Checkpoint;
use servent_sim::unicast::{self, UnicastTotals};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::lab::{Lab, Run, Shared, presets};
use crate::value::{Answer, give, instant, take};

/// The most arrows or marks one question is answered with.
const MOST: u32 = 10_000;

/// Messages over datagrams that are simulated.
#[wasm_bindgen]
pub struct Unicast {
    lab: Shared<unicast::Unicast>,
}

#[wasm_bindgen]
impl Unicast {
    /// Every story there is.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Preset<UnicastScenario>[]")]
    pub fn presets() -> Answer {
        presets::<unicast::Unicast>()
    }

    /// A world of a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(
        #[wasm_bindgen(unchecked_param_type = "Partial<UnicastScenario>")] scenario: JsValue,
    ) -> Result<Unicast, JsError> {
        Ok(Self { lab: Lab::shared(scenario, None)? })
    }

    /// The world of a file, see `Tape.world`. Its claim is verified once the
    /// run is known as far as the file goes.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(
        #[wasm_bindgen(unchecked_param_type = "UnicastScenario")] scenario: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Checkpoint | null")] claim: JsValue,
    ) -> Result<Unicast, JsError> {
        let claim: Option<Checkpoint> = take(claim)?;
        Ok(Self { lab: Lab::shared(scenario, claim)? })
    }

    /// What is asked of every run.
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
    pub fn margins(&self, node: u32) -> Answer {
        let lab = self.lab.borrow();
        give(&lab.world().margins(lab.known(node)?))
    }

    /// What it comes to at the cursor.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "UnicastTotals")]
    pub fn totals(&self) -> Answer {
        let mut lab = self.lab.borrow_mut();
        let now = lab.timeline.now();
        give(&UnicastTotals::until(&lab.surveyed().diagram, now))
    }

    /// Datagrams on their way between two instants, as far as they are known.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Arrow[]")]
    pub fn arrows(&self, from: f64, to: f64, most: u32) -> Answer {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().diagram;
        let arrows = diagram.arrows(instant(from), instant(to), most.min(MOST) as usize);
        give(&arrows.collect::<Vec<_>>())
    }

    /// What happened on the lifelines between two instants.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Mark[]")]
    pub fn marks(&self, from: f64, to: f64, most: u32) -> Answer {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().diagram;
        give(&diagram.marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
