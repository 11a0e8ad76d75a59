//! Routing: an overlay, and every message in it.

mod rows;
mod searches;

use std::collections::BTreeMap;
use std::rc::Rc;

use js_sys::{Float64Array, Uint8Array, Uint32Array};
use serde::Serialize;
use serde_json::Value;
use servent_core::routing::DropReason;
use servent_core::trace::NodeId;
use servent_sim::routing::{self, RoutingTotals, Tables, fate};
use wasm_bindgen::prelude::wasm_bindgen;

pub(crate) use self::rows::flights;
pub(crate) use self::searches::Search;
use crate::lab::{Run, Shared};
use crate::value::{QueryResult, give, instant, us};

/// The most rows in one answer.
const MOST: u32 = 100_000;

/// A simulated overlay.
#[wasm_bindgen]
pub struct Routing {
    pub(crate) lab: Shared<routing::Routing>,
}

/// The meaning of the numbers in `flights`.
#[derive(Serialize)]
struct Codes {
    /// The kinds of messages, by number.
    kinds: [&'static str; 7],
    /// The fates of messages, by number.
    fates: BTreeMap<String, Value>,
}

#[wasm_bindgen]
impl Routing {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let lab = Rc::clone(&self.lab);
        Run::new(lab)
    }

    /// `[a, b, up]` of every link.
    #[must_use]
    pub fn links(&self) -> Uint32Array {
        let lab = self.lab.borrow();
        let world = lab.world();
        let row = |(number, wire): (u32, &routing::NetworkLink)| {
            [wire.a, wire.b, u32::from(world.is_joined(number))]
        };
        let rows: Vec<u32> = (0..).zip(world.net().wires()).flat_map(row).collect();
        Uint32Array::from(&rows[..])
    }

    /// A version that changes whenever a link may have gone up or down.
    #[wasm_bindgen(js_name = linksVersion)]
    #[must_use]
    pub fn links_version(&self) -> f64 {
        let lab = self.lab.borrow();
        lab.timeline.branches().1 as f64 * 1e12 + lab.world().changes() as f64
    }

    /// The latency of every link in microseconds.
    #[must_use]
    pub fn latencies(&self) -> Float64Array {
        let lab = self.lab.borrow();
        let wires = lab.world().net().wires();
        let all: Vec<f64> = wires.iter().map(|wire| wire.latency.as_micros() as f64).collect();
        Float64Array::from(&all[..])
    }

    /// The meaning of the numbers in `flights`.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Codes")]
    pub fn codes() -> QueryResult {
        let mut fates = BTreeMap::new();
        let mut named = |names: &[&str], from: u8| {
            for (code, name) in (from..).zip(names) {
                fates.insert(code.to_string(), Value::from(*name));
            }
        };
        named(&["flying", "forwarded", "local"], 0);
        named(&["cut", "down", "closed"], fate::LOST);
        for why in DropReason::ALL {
            fates.insert(fate::dropped(why).to_string(), serde_json::to_value(why)?);
        }
        let kinds = ["ping", "pong", "query", "hit", "push", "bye", "other"];
        give(&Codes { kinds, fates })
    }

    /// Messages in transit between two instants, ten numbers each:
    /// `[id, from, to, departs, arrives, kind, fate, guid, link, seq]`.
    #[must_use]
    pub fn flights(&self, from: f64, to: f64, most: u32) -> Float64Array {
        let mut lab = self.lab.borrow_mut();
        let flights = lab.surveyed().drawing.flights(instant(from), instant(to));
        Float64Array::from(&rows::flights(flights.take(most.min(MOST) as usize))[..])
    }

    /// 1 for every node that is up.
    #[must_use]
    pub fn up(&self) -> Uint8Array {
        let lab = self.lab.borrow();
        let up = |node| u8::from(lab.world().node(NodeId(node)).is_some());
        let all: Vec<u8> = (0..lab.scenario.nodes).map(up).collect();
        Uint8Array::from(&all[..])
    }

    /// 1 for every node behind a firewall.
    #[must_use]
    pub fn closed(&self) -> Uint8Array {
        let lab = self.lab.borrow();
        let closed = |node| u8::from(lab.world().is_closed(node));
        let all: Vec<u8> = (0..lab.scenario.nodes).map(closed).collect();
        Uint8Array::from(&all[..])
    }

    /// Connections that a firewall prevented, three numbers each:
    /// `[at, from, by]`.
    #[must_use]
    pub fn refusals(&self) -> Float64Array {
        let mut lab = self.lab.borrow_mut();
        let refusals = lab.surveyed().drawing.refusals().iter().take(MOST as usize);
        let row =
            |one: &routing::ConnectRefusal| [us(one.at), f64::from(one.from), f64::from(one.by)];
        Float64Array::from(&refusals.flat_map(row).collect::<Vec<_>>()[..])
    }

    /// Searches and pushes, without the queries of a flood.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Search[]")]
    pub fn searches(&self) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        lab.surveyed();
        let journeys = (0..).zip(lab.survey().drawing.journeys());
        let asked = journeys.filter(|(_, journey)| !journey.flood).take(MOST as usize);
        let searches = asked.map(|(guid, journey)| Search::describe(guid, journey, &lab.names));
        give(&searches.collect::<Vec<_>>())
    }

    /// The GUID with a number, as 32 hexadecimal digits; `undefined` when there
    /// is none.
    #[wasm_bindgen(js_name = guidHex)]
    #[must_use]
    pub fn guid_hex(&self, guid: u32) -> Option<String> {
        let mut lab = self.lab.borrow_mut();
        let journey = lab.surveyed().drawing.journeys().get(guid as usize);
        journey.map(|journey| journey.id.to_string())
    }

    /// A node's routing tables at the cursor, `count` rows from `from` on.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Tables")]
    pub fn tables(&self, node: u32, from: u32, count: u32) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        let node = lab.known(node)?;
        lab.surveyed();
        let (world, chart) = (lab.world(), &lab.survey().drawing);
        give(&Tables::read(world, chart, node, from, count.min(MOST)))
    }

    /// The totals of all searches at the cursor.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "RoutingTotals")]
    pub fn totals(&self) -> QueryResult {
        let mut lab = self.lab.borrow_mut();
        lab.surveyed();
        give(&RoutingTotals::measure(lab.world(), &lab.survey().drawing))
    }

    /// The message counts of a node at the cursor; without a node, of all.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "TallyView")]
    pub fn counters(&self, node: Option<u32>) -> QueryResult {
        let lab = self.lab.borrow();
        let node = node.map(|node| lab.known(node)).transpose()?;
        give(&lab.world().tally(node))
    }
}
