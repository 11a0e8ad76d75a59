//! The datagrams of recorded servents, for the page.

use std::cell::RefCell;
use std::rc::Rc;

use servent_sim::unicast::Diagram;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::recorded::Recorded;
use super::several::Several;
use super::{Tape, Tapes};
use crate::lab::{Cast, Run, Watching as _, known};
use crate::value::{QueryResult, give, instant};

/// The most arrows or marks in one answer.
const MOST: u32 = 10_000;

/// Whose datagrams.
enum LadderOwner {
    One(Rc<RefCell<Recorded>>),
    Several(Rc<RefCell<Several>>),
}

/// The datagrams of recorded servents. Where only one end of each was recorded,
/// the other is estimated from the round-trip time.
#[wasm_bindgen]
pub struct Ladder {
    of: LadderOwner,
}

impl Ladder {
    pub(super) fn from_recorded(recorded: &Rc<RefCell<Recorded>>) -> Option<Self> {
        recorded.borrow_mut().ends()?;
        Some(Self { of: LadderOwner::One(Rc::clone(recorded)) })
    }

    pub(super) fn of_several(several: &Rc<RefCell<Several>>) -> Option<Self> {
        several.borrow().views().contains(&"unicast").then_some(())?;
        Some(Self { of: LadderOwner::Several(Rc::clone(several)) })
    }

    /// Does something with what is drawn.
    fn drawn(&self, work: impl FnOnce(&Diagram) -> QueryResult) -> QueryResult {
        match &self.of {
            LadderOwner::One(of) => {
                let mut of = of.borrow_mut();
                of.ends().map_or_else(|| give(&[(); 0]), |ends| work(ends.diagram()))
            }
            LadderOwner::Several(of) => work(&of.borrow().datagrams().diagram),
        }
    }
}

#[wasm_bindgen]
impl Ladder {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        match &self.of {
            LadderOwner::One(of) => Run::cast(Rc::clone(of) as Rc<RefCell<_>>, Cast::Ends),
            LadderOwner::Several(of) => Run::cast(Rc::clone(of) as Rc<RefCell<_>>, Cast::Ends),
        }
    }

    /// The recording it is from, with the same cursor; `undefined` for several.
    #[must_use]
    pub fn tape(&self) -> Option<Tape> {
        match &self.of {
            LadderOwner::One(of) => Some(Tape { of: Rc::clone(of) }),
            LadderOwner::Several(_) => None,
        }
    }

    /// The recordings it is from, with the same cursor; `undefined` for one.
    #[must_use]
    pub fn tapes(&self) -> Option<Tapes> {
        match &self.of {
            LadderOwner::One(_) => None,
            LadderOwner::Several(of) => Some(Tapes { of: Rc::clone(of) }),
        }
    }

    /// The ends that were recorded; instants at any other are estimated.
    #[must_use]
    pub fn recorded(&self) -> Vec<u32> {
        match &self.of {
            LadderOwner::One(_) => vec![0],
            LadderOwner::Several(of) => (0..of.borrow().many() as u32).collect(),
        }
    }

    /// HA, HS and the windows of a node.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Margins")]
    pub fn margins(&self, node: u32) -> QueryResult {
        match &self.of {
            LadderOwner::One(of) => {
                let of = of.borrow();
                give(&of.margins(known(node, of.size(Cast::Ends))?))
            }
            LadderOwner::Several(of) => {
                let of = of.borrow();
                give(&of.margins(known(node, of.size(Cast::Ends))?))
            }
        }
    }

    /// The totals at the cursor. What was written and has arrived is counted in
    /// sequence numbers.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "UnicastTotals")]
    pub fn totals(&self) -> QueryResult {
        match &self.of {
            LadderOwner::One(of) => {
                let mut of = of.borrow_mut();
                let now = of.now();
                of.ends().map_or(Ok(JsValue::UNDEFINED), |ends| give(&ends.totals(now)))
            }
            LadderOwner::Several(of) => {
                let of = of.borrow();
                give(&of.datagrams().totals(of.now()))
            }
        }
    }

    /// Datagrams in transit between two instants.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Arrow[]")]
    pub fn arrows(&self, from: f64, to: f64, most: u32) -> QueryResult {
        self.drawn(|diagram| {
            let most = most.min(MOST) as usize;
            let arrows = diagram.arrows(instant(from), instant(to), most);
            give(&arrows.collect::<Vec<_>>())
        })
    }

    /// The events at the recorded ends between two instants.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "LifelineMark[]")]
    pub fn marks(&self, from: f64, to: f64, most: u32) -> QueryResult {
        self.drawn(|diagram| {
            give(&diagram.marks(instant(from), instant(to), most.min(MOST) as usize))
        })
    }
}
