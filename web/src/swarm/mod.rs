//! The swarm: a coordinator, its source, and clients that exchange pieces.

mod picture;
mod selection;

use std::rc::Rc;

use js_sys::{Float64Array, Uint8Array, Uint32Array};
use servent_core::time::Instant;
use servent_sim::swarm;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

pub(crate) use self::selection::{Selection, Totals};
use crate::lab::{Run, Shared};
use crate::value::{QueryResult, give, us};

/// The most rows in one answer.
const MOST: u32 = 10_000;
/// The most points in the progress curve.
const POINTS: u32 = 2_000;

/// A simulated swarm.
#[wasm_bindgen]
pub struct Swarm {
    pub(crate) lab: Shared<swarm::Swarm>,
}

#[wasm_bindgen]
impl Swarm {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let lab = Rc::clone(&self.lab);
        Run::new(lab)
    }

    /// `[clients, pieces]`.
    #[must_use]
    pub fn size(&self) -> Uint32Array {
        let (clients, pieces) = self.lab.borrow().world().size();
        Uint32Array::from(&[clients, pieces][..])
    }

    /// A version that changes whenever something drawn may have changed.
    #[must_use]
    pub fn changes(&self) -> f64 {
        const BRANCH: f64 = (1_u64 << 44) as f64;
        let lab = self.lab.borrow();
        lab.world().events() as f64 + lab.timeline.branches().1 as f64 * BRANCH
    }

    /// The state of every piece at every client, row by row.
    #[must_use]
    pub fn cells(&self) -> Uint8Array {
        Uint8Array::from(&self.lab.borrow().world().cells()[..])
    }

    /// Rows of clients from `from` on, 14 numbers each.
    #[must_use]
    pub fn rows(&self, from: u32, count: u32) -> Float64Array {
        Float64Array::from(&picture::rows(self.lab.borrow().world(), from, count)[..])
    }

    /// The same rows as objects.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "ClientRow[]")]
    pub fn clients(&self, from: u32, count: u32) -> QueryResult {
        let lab = self.lab.borrow();
        let world = lab.world();
        let to = from.saturating_add(count.min(MOST)).min(world.size().0);
        give(&(from..to).filter_map(|client| world.row(client)).collect::<Vec<_>>())
    }

    /// Active transfers at the cursor, 10 numbers each.
    #[must_use]
    pub fn transfers(&self) -> Float64Array {
        let lab = self.lab.borrow();
        Float64Array::from(&picture::transfers(lab.world(), lab.timeline.now())[..])
    }

    /// For each piece, how many clients hold it; pieces in transit do not
    /// count.
    #[must_use]
    pub fn rarity(&self) -> Uint32Array {
        Uint32Array::from(&self.lab.borrow().world().holders()[..])
    }

    /// Totals at the cursor.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Totals")]
    pub fn counters(&self) -> QueryResult {
        give(&Totals::from_world(self.lab.borrow().world()))
    }

    /// The sum that makes up a client's credit at the cursor; `undefined` while
    /// the coordinator does not know the client.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "{ key: string, [name: string]: any } | undefined")]
    pub fn ledger(&self, client: u32) -> QueryResult {
        let lab = self.lab.borrow();
        lab.known(client)?;
        let sum = swarm::numbers::sum(lab.world(), client);
        sum.map_or(Ok(JsValue::UNDEFINED), |sum| give(&sum))
    }

    /// How a transfer was chosen, by the number of its record; `undefined` if
    /// that is not an assignment.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmSelection | undefined")]
    pub fn funnel(&self, transfer: f64) -> QueryResult {
        let lab = self.lab.borrow();
        let Some(record) = lab.timeline.record(transfer as u64) else {
            return Ok(JsValue::UNDEFINED);
        };
        let told = Selection::from_record(record);
        let found = told.or_else(|| selection::explained(&lab.timeline, record.seq));
        found.map_or(Ok(JsValue::UNDEFINED), |found| give(&found))
    }

    /// `[at, held, upper bound]` from the start on, in `bins` steps; held is -1
    /// where it is not known.
    #[must_use]
    pub fn progress(&self, bins: u32) -> Float64Array {
        let bins = bins.clamp(1, POINTS);
        let mut lab = self.lab.borrow_mut();
        let bound = Instant::ZERO + lab.scenario.bound();
        let known = lab.timeline.frontier();
        let curve = lab.scenario.most_held_until(known.max(bound), bins);
        let tally = &lab.surveyed().drawing;
        let point = |(at, most): (Instant, u64)| {
            let held = if at <= known { tally.arrived_by(at) as f64 } else { -1.0 };
            [us(at), held, most as f64 / 1_000.0]
        };
        Float64Array::from(&curve.into_iter().flat_map(point).collect::<Vec<_>>()[..])
    }

    /// The lower bound of the time that all clients need.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.lab.borrow().scenario.bound().as_micros() as f64
    }

    /// The result, as far as it is known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmResult")]
    pub fn outcome(&self) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        lab.surveyed();
        give(&lab.survey().drawing.result(lab.timeline.farthest()))
    }
}
