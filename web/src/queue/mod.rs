//! The queue: servents, their slots, and who is waiting.

pub(crate) mod cases;
pub(crate) mod numbers;
mod outcome;
mod state;
mod watched;

use std::rc::Rc;

use servent_core::trace::tape::Checkpoint;
use servent_sim::queue;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::lab::{Lab, Run, SharedLab, presets};
use crate::value::{QueryResult, give, take};

pub(crate) use self::outcome::QueueOutcome;
pub(crate) use self::state::{QueueSlice, QueueState, look};

/// Simulated servents: uploads, queues, downloads.
#[wasm_bindgen]
pub struct Queue {
    lab: SharedLab<queue::Queue>,
}

#[wasm_bindgen]
impl Queue {
    /// All presets.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Preset<QueueScenario>[]")]
    pub fn presets() -> QueryResult {
        presets::<queue::Queue>()
    }

    /// The world of a scenario.
    ///
    /// # Errors
    /// A sentence that says what is invalid in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(
        #[wasm_bindgen(unchecked_param_type = "Partial<QueueScenario>")] scenario: JsValue,
    ) -> Result<Queue, JsError> {
        Ok(Self { lab: Lab::shared(scenario, None)? })
    }

    /// The world of a file, see `Tape.world`. Its checkpoint is verified once
    /// the run is known up to the end of the file.
    ///
    /// # Errors
    /// A sentence that says what is invalid in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(
        #[wasm_bindgen(unchecked_param_type = "QueueScenario")] scenario: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Checkpoint | null")] claim: JsValue,
    ) -> Result<Queue, JsError> {
        let claim: Option<Checkpoint> = take(claim)?;
        Ok(Self { lab: Lab::shared(scenario, claim)? })
    }

    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let lab = Rc::clone(&self.lab);
        Run::new(lab)
    }

    /// A server's slots and `count` positions of its queue from `from` on;
    /// which clients these are, and the state of all others.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn positions(&self, node: u32, from: u32, count: u32) -> QueryResult {
        let lab = self.lab.borrow();
        give(&state::read_state(&lab, lab.known(node)?, QueueSlice::Positions(from, count)))
    }

    /// The same, with the queue sorted into lanes: a window of `count` requests
    /// in each, which starts at the given index, counted from 0.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn lanes(
        &self,
        node: u32,
        sync: u32,
        asynchronous: u32,
        grace: u32,
        count: u32,
    ) -> QueryResult {
        let lab = self.lab.borrow();
        let part = QueueSlice::lanes([sync, asynchronous, grace], count);
        give(&state::read_state(&lab, lab.known(node)?, part))
    }

    /// The totals of a server's queue at the cursor; `undefined` for a client.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueOutcome | undefined")]
    pub fn totals(&self, node: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let (node, now) = (lab.known(node)?, lab.timeline.now());
        let up = lab.scenario.servers.get(node.0 as usize).map(|server| server.up);
        let totals = lab.surveyed().tally(node).map(|tally| tally.until(now));
        let view = lab.world().node(node).map(|node| look(node, QueueSlice::Positions(1, 0)).0);
        let whole = |totals| QueueOutcome::measure(totals, view.as_ref(), now, up);
        totals.map_or(Ok(JsValue::UNDEFINED), |totals| give(&whole(totals)))
    }
}
