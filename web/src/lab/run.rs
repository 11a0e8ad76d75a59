//! The interface common to all runs, simulated or recorded.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Reflect, Uint8Array, Uint32Array};
use serde_json::Value;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsError, JsValue};
use web_sys::Performance;

use super::{Verified, known};
use crate::value::{QueryResult, give, instant, tree, us};

/// Events between two readings of the clock.
const SLICE: u64 = 64;

/// As what a recording is shown: it has one node of its own, and the others are
/// those that the view is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Cast {
    /// All there is.
    #[default]
    All,
    /// The ends of its datagrams.
    Ends,
    /// Its neighbours in the overlay.
    Neighbours,
    /// The clients of its swarm.
    Clients,
}

/// A run that can be inspected at any instant. The methods of [`Run`] document
/// each of these.
pub(crate) trait Watching {
    fn kind(&self) -> &'static str;
    fn scenario(&self) -> QueryResult;
    fn horizon(&self) -> Instant;
    fn frontier(&self) -> Instant;
    fn now(&self) -> Instant;
    fn index(&self) -> u32;
    fn count(&self) -> u32;
    fn explore(&mut self, most: u64) -> bool;
    fn advance(&mut self, to: Instant, most: u64) -> Instant;
    fn seek(&mut self, to: Instant);
    fn seek_record(&mut self, i: u32) -> bool;
    fn step(&mut self, forward: bool) -> bool;
    fn step_node(&mut self, node: NodeId, forward: bool) -> bool;
    fn size(&self, cast: Cast) -> usize;
    fn nodes(&self, cast: Cast) -> QueryResult;
    fn inspect(&self, node: NodeId, cast: Cast) -> QueryResult;
    fn diff(&self, node: NodeId, cast: Cast) -> QueryResult;
    fn record(&self, i: u32, cast: Cast) -> QueryResult;
    fn records(&self, from: u32, count: u32, filter: &str, cast: Cast) -> QueryResult;
    fn why(&self, i: u32) -> QueryResult;
    fn numbers(&self, i: u32) -> Option<Value>;
    /// Only recordings tell inputs apart.
    fn given(&self, _: u32) -> QueryResult {
        Ok(JsValue::UNDEFINED)
    }
    fn density(&mut self, bins: u32) -> Vec<u32>;
    fn pins(&mut self) -> QueryResult;
    fn fault(&mut self, fault: Value) -> Result<u32, JsError>;
    fn branches(&self) -> QueryResult;
    fn use_branch(&mut self, id: u32) -> bool;
    /// A world is made anew instead.
    fn forget(&mut self) {}
    fn divergence(&self, a: u32, b: u32) -> Option<u32>;
    fn digest(&self) -> u64;
    fn verified(&self) -> Verified;
    fn sqlog(&self) -> String;
}

/// A run: a scenario that is simulated, or a recording that is replayed. It has a
/// cursor, which can be moved to any instant, and a frontier, up to which
/// everything is known.
#[wasm_bindgen]
pub struct Run {
    of: Rc<RefCell<dyn Watching>>,
    cast: Cast,
}

impl Run {
    pub(crate) fn new(of: Rc<RefCell<dyn Watching>>) -> Self {
        Self::cast(of, Cast::All)
    }

    pub(crate) fn cast(of: Rc<RefCell<dyn Watching>>, cast: Cast) -> Self {
        Self { of, cast }
    }

    fn known(&self, node: u32) -> Result<NodeId, JsError> {
        known(node, self.of.borrow().size(self.cast))
    }
}

#[wasm_bindgen]
impl Run {
    /// `scenario` for a simulation, `trace` for a recording.
    #[must_use]
    #[wasm_bindgen(unchecked_return_type = "'scenario' | 'trace'")]
    pub fn kind(&self) -> String {
        self.of.borrow().kind().to_owned()
    }

    /// The core's version.
    #[must_use]
    pub fn version(&self) -> String {
        String::from(env!("CARGO_PKG_VERSION"))
    }

    /// The scenario with every field, and with the faults of the current
    /// branch; `undefined` for a tape.
    ///
    /// # Errors
    /// When it contains a number that JavaScript cannot represent.
    #[wasm_bindgen(unchecked_return_type = "Scenario | undefined")]
    pub fn scenario(&self) -> QueryResult {
        self.of.borrow().scenario()
    }

    /// The end of the timeline.
    #[must_use]
    pub fn horizon(&self) -> f64 {
        us(self.of.borrow().horizon())
    }

    /// Up to where the run is known.
    #[must_use]
    pub fn frontier(&self) -> f64 {
        us(self.of.borrow().frontier())
    }

    /// The cursor's instant.
    #[must_use]
    pub fn now(&self) -> f64 {
        us(self.of.borrow().now())
    }

    /// Records up to the cursor.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.of.borrow().index()
    }

    /// Records known.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.of.borrow().count()
    }

    /// Runs the frontier on for about `ms` milliseconds; true when the horizon
    /// is reached.
    pub fn explore(&self, ms: f64) -> bool {
        let clock = Clock::new(ms);
        let mut run = self.of.borrow_mut();
        while !run.explore(SLICE) {
            if clock.is_over() {
                return false;
            }
        }
        true
    }

    /// Advances the cursor to an instant, but works no longer than about `ms`
    /// milliseconds; returns the instant reached.
    pub fn advance(&self, to: f64, ms: f64) -> f64 {
        let (to, clock) = (instant(to), Clock::new(ms));
        let mut run = self.of.borrow_mut();
        let mut reached = run.advance(to, SLICE);
        while reached < to && !clock.is_over() {
            let next = run.advance(to, SLICE);
            if next <= reached && run.frontier() <= reached {
                break;
            }
            reached = next;
        }
        us(reached)
    }

    /// Moves the cursor to an instant.
    pub fn seek(&self, to: f64) {
        self.of.borrow_mut().seek(instant(to));
    }

    /// Moves the cursor to just after record `i`; false when there is none.
    #[wasm_bindgen(js_name = seekEvent)]
    pub fn seek_event(&self, i: u32) -> bool {
        self.of.borrow_mut().seek_record(i)
    }

    /// Moves one record forward, or back when `by` is negative; false at the
    /// end.
    pub fn step(&self, by: i32) -> bool {
        self.of.borrow_mut().step(by > 0)
    }

    /// Moves one record of one node forward or back.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(js_name = stepNode)]
    pub fn step_node(&self, node: u32, by: i32) -> Result<bool, JsError> {
        let node = self.known(node)?;
        Ok(self.of.borrow_mut().step_node(node, by > 0))
    }

    /// All nodes.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "NodeInfo[]")]
    pub fn nodes(&self) -> QueryResult {
        self.of.borrow().nodes(self.cast)
    }

    /// A node's state; `null` while it is down.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "NodeState | null")]
    pub fn inspect(&self, node: u32) -> QueryResult {
        self.of.borrow().inspect(self.known(node)?, self.cast)
    }

    /// The changes at a node made by the input that led to the newest record.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "ValueChange[]")]
    pub fn diff(&self, node: u32) -> QueryResult {
        self.of.borrow().diff(self.known(node)?, self.cast)
    }

    /// A record with names; `undefined` when there is none.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "NamedRecord<AnyEvent> | undefined")]
    pub fn record(&self, i: u32) -> QueryResult {
        self.of.borrow().record(i, self.cast)
    }

    /// Records from number `from` on, at most `count`, that contain every word
    /// of a filter.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "NamedRecord<AnyEvent>[]")]
    pub fn records(&self, from: u32, count: u32, filter: &str) -> QueryResult {
        self.of.borrow().records(from, count, filter, self.cast)
    }

    /// The explanation of a record; `undefined` when there is no such record.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "RecordReason | undefined")]
    pub fn why(&self, i: u32) -> QueryResult {
        self.of.borrow().why(i)
    }

    /// The numbers that the decision in record `i` depends on, and the key of
    /// their sentence; `undefined` where there are none.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "{ key: string, [name: string]: any } | undefined")]
    pub fn numbers(&self, i: u32) -> QueryResult {
        let numbers = self.of.borrow().numbers(i);
        numbers.map_or(Ok(JsValue::UNDEFINED), |numbers| give(&numbers))
    }

    /// What led to record `i` of a recording: in `what` one of `datagram`,
    /// `connection`, `arrival`, `dial`, `command`, `file`, `timer` and `own`, and
    /// in `who` the peer. `undefined` in a simulation.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "{ what: string, who?: string } | undefined")]
    pub fn given(&self, i: u32) -> QueryResult {
        self.of.borrow().given(i)
    }

    /// Records per bin, from the start to the horizon.
    #[must_use]
    pub fn density(&self, bins: u32) -> Uint32Array {
        Uint32Array::from(&self.of.borrow_mut().density(bins)[..])
    }

    /// Faults and violations found by oracles, as far as the run is known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Pin[]")]
    pub fn pins(&self) -> QueryResult {
        self.of.borrow_mut().pins()
    }

    /// Injects a fault now; returns its branch. If the future is already known,
    /// that is a new one.
    ///
    /// On a recording it changes one thing that the node was given, wherever the
    /// cursor is, and always opens a branch: everything else it is given is what
    /// was recorded.
    ///
    /// # Errors
    /// A sentence, when the fault is invalid, or names nothing there is.
    pub fn fault(
        &self,
        #[wasm_bindgen(unchecked_param_type = "AnyFault")] fault: JsValue,
    ) -> Result<u32, JsError> {
        // Reading the value may run JavaScript code that uses this run.
        let fault = tree(fault)?;
        self.of.borrow_mut().fault(fault)
    }

    /// All branches.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "BranchInfo[]")]
    pub fn branches(&self) -> QueryResult {
        self.of.borrow().branches()
    }

    /// Switches to another branch at the same instant; false when there is
    /// none.
    #[wasm_bindgen(js_name = useBranch)]
    pub fn use_branch(&self, id: u32) -> bool {
        self.of.borrow_mut().use_branch(id)
    }

    /// Drops all branches of a recording.
    pub fn forget(&self) {
        self.of.borrow_mut().forget();
    }

    /// The first record in which two branches differ.
    #[must_use]
    pub fn divergence(&self, a: u32, b: u32) -> Option<u32> {
        self.of.borrow().divergence(a, b)
    }

    /// The fingerprint of everything up to the cursor, as 16 hexadecimal
    /// digits.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("{:016x}", self.of.borrow().digest())
    }

    /// How far the checkpoints of a file have been verified.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Verified")]
    pub fn verified(&self) -> QueryResult {
        give(&self.of.borrow().verified())
    }

    /// The current branch, or the recording, as a `.sqlog` file.
    #[wasm_bindgen(js_name = exportSqlog)]
    #[must_use]
    pub fn export_sqlog(&self) -> Uint8Array {
        Uint8Array::from(self.of.borrow().sqlog().as_bytes())
    }
}

/// A deadline in milliseconds from now.
struct Clock {
    performance: Performance,
    end: f64,
}

impl Clock {
    fn new(ms: f64) -> Self {
        // In a page and in Node `performance` is a property of the global
        // object.
        let performance = Reflect::get(&js_sys::global(), &"performance".into());
        let performance: Performance = performance.unwrap_or_default().unchecked_into();
        let end = performance.now() + ms;
        Self { performance, end }
    }

    fn is_over(&self) -> bool {
        self.performance.now() >= self.end
    }
}
