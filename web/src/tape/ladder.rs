//! The datagrams of a recorded servent, for the page.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::Tape;
use super::recorded::Recorded;
use crate::lab::{Cast, Run, Watching as _, known};
use crate::value::{Answer, give, instant};

/// The most arrows or marks in one answer.
const MOST: u32 = 10_000;

/// The datagrams of a recorded servent. Only one end of each was recorded: the
/// other is estimated from the round-trip time.
#[wasm_bindgen]
pub struct Ladder {
    of: Rc<RefCell<Recorded>>,
}

impl Ladder {
    pub(super) fn of(recorded: &Rc<RefCell<Recorded>>) -> Option<Self> {
        recorded.borrow_mut().ends()?;
        Some(Self { of: Rc::clone(recorded) })
    }
}

#[wasm_bindgen]
impl Ladder {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let of = Rc::clone(&self.of);
        Run::cast(of, Cast::Ends)
    }

    /// The tape it is from, with the same cursor.
    #[must_use]
    pub fn tape(&self) -> Tape {
        Tape { of: Rc::clone(&self.of) }
    }

    /// The ends that were recorded; instants at any other are estimated.
    #[must_use]
    pub fn recorded(&self) -> Vec<u32> {
        vec![0]
    }

    /// HA, HS and the windows of a node.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Margins")]
    pub fn margins(&self, node: u32) -> Answer {
        let of = self.of.borrow();
        give(&of.margins(known(node, of.size(Cast::Ends))?))
    }

    /// The totals at the cursor. What was written and has arrived is counted in
    /// sequence numbers.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "UnicastTotals")]
    pub fn totals(&self) -> Answer {
        let mut of = self.of.borrow_mut();
        let now = of.now();
        of.ends().map_or(Ok(JsValue::UNDEFINED), |ends| give(&ends.totals(now)))
    }

    /// Datagrams in transit between two instants.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Arrow[]")]
    pub fn arrows(&self, from: f64, to: f64, most: u32) -> Answer {
        let mut of = self.of.borrow_mut();
        let Some(ends) = of.ends() else { return give(&[(); 0]) };
        let most = most.min(MOST) as usize;
        let arrows = ends.diagram().arrows(instant(from), instant(to), most);
        give(&arrows.collect::<Vec<_>>())
    }

    /// The events at the recorded end between two instants.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Mark[]")]
    pub fn marks(&self, from: f64, to: f64, most: u32) -> Answer {
        let mut of = self.of.borrow_mut();
        let Some(ends) = of.ends() else { return give(&[(); 0]) };
        give(&ends.diagram().marks(instant(from), instant(to), most.min(MOST) as usize))
    }
}
