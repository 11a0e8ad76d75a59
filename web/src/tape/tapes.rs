//! The recordings of several servents, for the page.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use super::recorded::Recorded;
use super::several::Several;
use super::{Ladder, Matrix, Overlay, Tape};
use crate::lab::{Cast, Run, known};
use crate::queue::QueueSlice;
use crate::value::{QueryResult, give, refused};

/// The recordings of several servents as one run, merged by cause: what one of
/// them sent and another received is one message.
#[wasm_bindgen]
pub struct Tapes {
    pub(super) of: Rc<RefCell<Several>>,
}

#[wasm_bindgen]
impl Tapes {
    /// Joins recordings; each has a name, such as that of its file. They stay as
    /// they are, and share no cursor with what is made of them.
    ///
    /// # Errors
    /// When there are fewer than two, or one is of a simulated world.
    #[wasm_bindgen(constructor)]
    pub fn new(tapes: Vec<Tape>, names: Vec<String>) -> Result<Tapes, JsError> {
        if tapes.len() < 2 || tapes.len() != names.len() {
            return Err(refused("two recordings or more are opened together, each with a name"));
        }
        if tapes.iter().any(|tape| tape.of.borrow().player().world().is_some()) {
            return Err(refused("a simulated world is opened alone"));
        }
        let tapes = tapes.iter().map(|tape| tape.copy().of).collect();
        Ok(Self { of: Rc::new(RefCell::new(Several::new(tapes, names))) })
    }

    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let of = Rc::clone(&self.of);
        Run::cast(of, Cast::All)
    }

    /// The views that can show all of them together; none when they sent each
    /// other nothing.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "string[]")]
    pub fn views(&self) -> QueryResult {
        give(&self.of.borrow().views())
    }

    /// By how many microseconds the clock of each is ahead of the first, as far
    /// as their datagrams tell; what is shown has been set right by that.
    #[must_use]
    pub fn ahead(&self) -> Vec<f64> {
        self.of.borrow().ahead()
    }

    /// Their datagrams; `undefined` when they sent each other none.
    #[must_use]
    pub fn ladder(&self) -> Option<Ladder> {
        Ladder::of_several(&self.of)
    }

    /// The overlay that they and their neighbours are; `undefined` when no two of
    /// them were neighbours.
    #[must_use]
    pub fn overlay(&self) -> Option<Overlay> {
        Overlay::of_several(&self.of)
    }

    /// The clients of a coordinator among them; `undefined` when none is one.
    #[must_use]
    pub fn matrix(&self) -> Option<Matrix> {
        Matrix::from_several(&self.of)
    }

    /// The slots of a servent among them, and its line; see `Tape.positions`.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueState")]
    pub fn positions(&self, node: u32, from: u32, count: u32) -> QueryResult {
        give(&self.servent(node)?.borrow().queue(QueueSlice::Positions(from, count)))
    }

    /// The same with its line sorted into lanes; see `Tape.lanes`.
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
        let part = QueueSlice::lanes([sync, asynchronous, grace], count);
        give(&self.servent(node)?.borrow().queue(part))
    }

    /// The totals of its queue; see `Tape.totals`.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "QueueOutcome | undefined")]
    pub fn totals(&self, node: u32) -> QueryResult {
        let totals = self.servent(node)?.borrow_mut().totals();
        totals.map_or(Ok(JsValue::UNDEFINED), |totals| give(&totals))
    }

    /// The same once more: a run tells by it that several were recorded.
    #[must_use]
    pub fn tapes(&self) -> Tapes {
        self.tape()
    }

    /// The same once more, with the same cursor.
    #[must_use]
    pub fn tape(&self) -> Tapes {
        Self { of: Rc::clone(&self.of) }
    }

    /// The same with a cursor of its own.
    #[must_use]
    pub fn copy(&self) -> Tapes {
        Self { of: Rc::new(RefCell::new(self.of.borrow().copy())) }
    }

    /// Never a simulated world.
    #[must_use]
    #[wasm_bindgen(unchecked_return_type = "undefined")]
    pub fn world(&self) -> JsValue {
        JsValue::UNDEFINED
    }
}

impl Tapes {
    fn servent(&self, node: u32) -> Result<Rc<RefCell<Recorded>>, JsError> {
        let of = self.of.borrow();
        let node = known(node, of.many())?;
        of.recorded(node).cloned().ok_or_else(|| refused("there is no such servent"))
    }
}
