//! The queue: servents, their slots, and who stands in line.

pub(crate) mod numbers;
mod outcome;
mod state;
mod watched;

use std::rc::Rc;

use servent_core::trace::tape::Checkpoint;
use servent_sim::queue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::lab::{Lab, Run, Shared, presets};
use crate::value::{Answer, give, take};

pub(crate) use self::outcome::Outcome;
pub(crate) use self::state::{Part, QueueState, look};

/// Servents that are simulated: uploads, queues, downloads.
#[wasm_bindgen]
pub struct Queue {
    lab: Shared<queue::Queue>,
}

#[wasm_bindgen]
impl Queue {
    /// Every story there is.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Preset<QueueScenario>[]")]
    pub fn presets() -> Answer {
        presets::<queue::Queue>()
    }

    /// A world of a scenario.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(
        #[wasm_bindgen(unchecked_param_type = "Partial<QueueScenario>")] scenario: JsValue,
    ) -> Result<Queue, JsError> {
        Ok(Self { lab: Lab::shared(scenario, None)? })
    }

    /// The world of a file, see `Tape.world`. Its claim is verified once the
    /// run is known as far as the file goes.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(
        #[wasm_bindgen(unchecked_param_type = "QueueScenario")] scenario: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Checkpoint | null")] claim: JsValue,
    ) -> Result<Queue, JsError> {
        let claim: Option<Checkpoint> = take(claim)?;
        Ok(Self { lab: Lab::shared(scenario, claim)? })
    }

    /// What is asked of every run.
    #[must_use]
    pub fn run(&self) -> Run {
        let lab = Rc::clone(&self.lab);
        Run::new(lab)
    }

    /// A server's slots and so many positions of its line from one on; who is
    /// who on it, and how everybody else is doing.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn positions(&self, node: u32, from: u32, count: u32) -> Answer {
        let lab = self.lab.borrow();
        give(&state::of(&lab, lab.known(node)?, Part::Positions(from, count)))
    }

    /// The same, with the line sorted into lanes: a window of each, of so many
    /// cards from the one on that is named, counted from 0.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn lanes(&self, node: u32, sync: u32, asynchronous: u32, grace: u32, count: u32) -> Answer {
        let lab = self.lab.borrow();
        let part = Part::lanes([sync, asynchronous, grace], count);
        give(&state::of(&lab, lab.known(node)?, part))
    }

    /// What a server's queue comes to at the cursor; `undefined` for a client.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Outcome | undefined")]
    pub fn totals(&self, node: u32) -> Answer {
        let mut lab = self.lab.borrow_mut();
        let (node, now) = (lab.known(node)?, lab.timeline.now());
        let up = lab.scenario.servers.get(node.0 as usize).map(|server| server.up);
        let totals = lab.surveyed().tally(node).map(|tally| tally.until(now));
        let view = lab.world().node(node).map(|node| look(node, Part::Positions(1, 0)).0);
        let whole = |totals| Outcome::of(totals, view.as_ref(), now, up);
        totals.map_or(Ok(JsValue::UNDEFINED), |totals| give(&whole(totals)))
    }
}
