//! The swarm: a coordinator, its source, and clients that trade pieces.

mod numbers;
mod picture;
mod selection;
mod watched;

use std::rc::Rc;

use js_sys::{Float64Array, Uint8Array, Uint32Array};
use servent_core::time::Instant;
use servent_core::trace::tape::Checkpoint;
use servent_sim::swarm;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use self::selection::{Selection, Totals};
use crate::lab::{Lab, Run, Shared, presets};
use crate::value::{Answer, give, take, us};

/// The most rows one question is answered with.
const MOST: u32 = 10_000;
/// The most points of the progress.
const POINTS: u32 = 2_000;

/// A swarm that is simulated.
#[wasm_bindgen]
pub struct Swarm {
    lab: Shared<swarm::Swarm>,
}

#[wasm_bindgen]
impl Swarm {
    /// Every story there is.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Preset<SwarmScenario>[]")]
    pub fn presets() -> Answer {
        presets::<swarm::Swarm>()
    }

    /// A swarm of a scenario. The coordinator is its last node.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromScenario)]
    pub fn from_scenario(
        #[wasm_bindgen(unchecked_param_type = "Partial<SwarmScenario>")] scenario: JsValue,
    ) -> Result<Swarm, JsError> {
        Ok(Self { lab: Lab::shared(scenario, None)? })
    }

    /// The world of a file, see `Tape.world`. Its claim is verified once the
    /// run is known as far as the file goes.
    ///
    /// # Errors
    /// A sentence that says what makes no sense in it.
    #[wasm_bindgen(js_name = fromWorld)]
    pub fn from_world(
        #[wasm_bindgen(unchecked_param_type = "SwarmScenario")] scenario: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Checkpoint | null")] claim: JsValue,
    ) -> Result<Swarm, JsError> {
        let claim: Option<Checkpoint> = take(claim)?;
        Ok(Self { lab: Lab::shared(scenario, claim)? })
    }

    /// What is asked of every run.
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

    /// A number that differs whenever anything drawn may differ.
    #[must_use]
    pub fn changes(&self) -> f64 {
        const BRANCH: f64 = (1_u64 << 44) as f64;
        let lab = self.lab.borrow();
        lab.world().events() as f64 + lab.timeline.branches().1 as f64 * BRANCH
    }

    /// Every piece at every client, row by row.
    #[must_use]
    pub fn cells(&self) -> Uint8Array {
        Uint8Array::from(&self.lab.borrow().world().cells()[..])
    }

    /// Rows of clients from one on, 14 numbers each.
    #[must_use]
    pub fn rows(&self, from: u32, count: u32) -> Float64Array {
        Float64Array::from(&picture::rows(self.lab.borrow().world(), from, count)[..])
    }

    /// The same for people.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "ClientRow[]")]
    pub fn clients(&self, from: u32, count: u32) -> Answer {
        let lab = self.lab.borrow();
        let world = lab.world();
        let to = from.saturating_add(count.min(MOST)).min(world.size().0);
        give(&(from..to).filter_map(|client| world.row(client)).collect::<Vec<_>>())
    }

    /// Transfers at the cursor, 10 numbers each.
    #[must_use]
    pub fn transfers(&self) -> Float64Array {
        let lab = self.lab.borrow();
        Float64Array::from(&picture::transfers(lab.world(), lab.timeline.now())[..])
    }

    /// Of each piece, how many clients hold it; what is on its way is not held.
    #[must_use]
    pub fn rarity(&self) -> Uint32Array {
        Uint32Array::from(&self.lab.borrow().world().holders()[..])
    }

    /// Totals at the cursor.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Totals")]
    pub fn counters(&self) -> Answer {
        give(&Totals::of(self.lab.borrow().world()))
    }

    /// What a client may still take, as a sum, at the cursor; `undefined` while
    /// the coordinator does not know it.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "{ key: string, [name: string]: any } | undefined")]
    pub fn ledger(&self, client: u32) -> Answer {
        let lab = self.lab.borrow();
        lab.known(client)?;
        let sum = numbers::sum(lab.world(), client);
        sum.map_or(Ok(JsValue::UNDEFINED), |sum| give(&sum))
    }

    /// How a transfer was chosen, by the number of its record; `undefined`
    /// when that is no assignment.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmSelection | undefined")]
    pub fn funnel(&self, transfer: f64) -> Answer {
        let lab = self.lab.borrow();
        let Some(record) = lab.timeline.record(transfer as u64) else {
            return Ok(JsValue::UNDEFINED);
        };
        let told = Selection::of(record);
        let found = told.or_else(|| selection::explained(&lab.timeline, record.seq));
        found.map_or(Ok(JsValue::UNDEFINED), |found| give(&found))
    }

    /// `[at, held, the most that could be]` from the beginning on, in so many
    /// steps; held is -1 where it is not known.
    #[must_use]
    pub fn progress(&self, bins: u32) -> Float64Array {
        let bins = bins.clamp(1, POINTS);
        let mut lab = self.lab.borrow_mut();
        let bound = Instant::ZERO + lab.scenario.bound();
        let known = lab.timeline.frontier();
        let curve = lab.scenario.most_held_until(known.max(bound), bins);
        let tally = &lab.surveyed().tally;
        let point = |(at, most): (Instant, u64)| {
            let held = if at <= known { tally.arrived_by(at) as f64 } else { -1.0 };
            [us(at), held, most as f64 / 1_000.0]
        };
        Float64Array::from(&curve.into_iter().flat_map(point).collect::<Vec<_>>()[..])
    }

    /// The least time everybody needs.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.lab.borrow().scenario.bound().as_micros() as f64
    }

    /// How it goes, as far as it is known.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "SwarmResult")]
    pub fn outcome(&self) -> Answer {
        let mut lab = self.lab.borrow_mut();
        lab.surveyed();
        give(&lab.survey().tally.result(lab.timeline.farthest()))
    }
}
