//! The queue: servents, their slots, and who is waiting.

mod outcome;
mod state;

use std::rc::Rc;

use servent_sim::queue;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::lab::{Run, Shared};
use crate::value::{QueryResult, give};

pub(crate) use self::outcome::QueueOutcome;
pub(crate) use self::state::{QueueSlice, QueueState, look};

/// Simulated servents: uploads, queues, downloads.
#[wasm_bindgen]
pub struct Queue {
    pub(crate) lab: Shared<queue::Queue>,
}

#[wasm_bindgen]
impl Queue {
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
        let totals = lab.surveyed().drawing.tally(node).map(|tally| tally.until(now));
        let view = lab.world().node(node).map(|node| look(node, QueueSlice::Positions(1, 0)).0);
        let whole = |totals| QueueOutcome::measure(totals, view.as_ref(), now, up);
        totals.map_or(Ok(JsValue::UNDEFINED), |totals| give(&whole(totals)))
    }
}
