//! Unicast: two ends and the datagrams between them.

use std::rc::Rc;

use servent_sim::unicast::{self, UnicastTotals};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::lab::{Run, Shared};
use crate::value::{QueryResult, give, instant};

/// The most arrows or marks in one answer.
const MOST: u32 = 10_000;

/// Simulated messages over datagrams.
#[wasm_bindgen]
pub struct Unicast {
    pub(crate) lab: Shared<unicast::Unicast>,
}

#[wasm_bindgen]
impl Unicast {
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
        give(&UnicastTotals::until(&lab.surveyed().drawing, now))
    }

    /// Datagrams in transit between two instants, as far as they are known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Arrow[]")]
    pub fn arrows(&self, from: f64, to: f64, most: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().drawing;
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
        let diagram = &lab.surveyed().drawing;
        give(&diagram.marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
