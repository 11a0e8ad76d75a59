//! Meetings: people, their routers, and the datagrams between them.

use std::rc::Rc;

use servent_sim::meet;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::lab::{Run, Shared};
use crate::value::{QueryResult, give, instant};

/// The most arrows or marks in one answer.
const MOST: u32 = 10_000;

/// Simulated meetings.
#[wasm_bindgen]
pub struct Meet {
    pub(crate) lab: Shared<meet::Meet>,
}

#[wasm_bindgen]
impl Meet {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let lab = Rc::clone(&self.lab);
        Run::new(lab)
    }

    /// A person, a router with its table, or the meeting place; nothing while it is
    /// down.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "MeetNodeView | null")]
    pub fn look(&self, node: u32) -> QueryResult {
        let lab = self.lab.borrow();
        give(&lab.world().look(lab.known(node)?))
    }

    /// The totals at the cursor.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "MeetTotals")]
    pub fn totals(&self) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let now = lab.timeline.now();
        give(&lab.surveyed().drawing.totals(now))
    }

    /// Datagrams under way between two instants, as far as they are known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "MeetArrow[]")]
    pub fn arrows(&self, from: f64, to: f64, most: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().drawing;
        let arrows = diagram.arrows(instant(from), instant(to), most.min(MOST) as usize);
        give(&arrows.collect::<Vec<_>>())
    }

    /// What else happened between two instants.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "MeetMark[]")]
    pub fn marks(&self, from: f64, to: f64, most: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let diagram = &lab.surveyed().drawing;
        give(&diagram.marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
