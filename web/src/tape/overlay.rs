//! The neighbours of a recorded servent, for the page.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Float64Array, Uint8Array, Uint32Array};
use servent_core::trace::NodeId;
use servent_sim::routing::{Lives, Tables};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::Tape;
use super::around::WAY;
use super::recorded::Recorded;
use crate::lab::{Cast, Run, Watching as _, known};
use crate::routing::{Search, flights};
use crate::value::{Answer, give, instant};

/// The most rows in one answer.
const MOST: u32 = 100_000;

/// The neighbours of a recorded servent, and the messages between it and them:
/// node 0 in the middle of a star.
#[wasm_bindgen]
pub struct Overlay {
    of: Rc<RefCell<Recorded>>,
}

impl Overlay {
    pub(super) fn of(recorded: &Rc<RefCell<Recorded>>) -> Option<Self> {
        recorded.borrow_mut().around().filter(|around| !around.neighbours().is_empty())?;
        Some(Self { of: Rc::clone(recorded) })
    }
}

#[wasm_bindgen]
impl Overlay {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        let of = Rc::clone(&self.of);
        Run::cast(of, Cast::Neighbours)
    }

    /// The tape it is from, with the same cursor.
    #[must_use]
    pub fn tape(&self) -> Tape {
        Tape { of: Rc::clone(&self.of) }
    }

    /// `[a, b, up]` of every link.
    #[must_use]
    pub fn links(&self) -> Uint32Array {
        let mut of = self.of.borrow_mut();
        let now = of.now();
        let up = of.around().map(|around| around.links(now).0).unwrap_or_default();
        let row = |(peer, up): (u32, bool)| [0, peer, u32::from(up)];
        let rows: Vec<u32> = (1..).zip(up).flat_map(row).collect();
        Uint32Array::from(&rows[..])
    }

    /// A version that changes whenever a link may have gone up or down.
    #[wasm_bindgen(js_name = linksVersion)]
    #[must_use]
    pub fn links_version(&self) -> f64 {
        let mut of = self.of.borrow_mut();
        let now = of.now();
        of.around().map_or(0.0, |around| {
            let (up, turns) = around.links(now);
            up.len() as f64 * 1e12 + turns as f64
        })
    }

    /// How long a message is drawn on its way, in microseconds: the real time
    /// was not recorded.
    #[must_use]
    pub fn latencies(&self) -> Float64Array {
        let nodes = self.of.borrow().size(Cast::Neighbours);
        Float64Array::from(&vec![WAY.as_micros() as f64; nodes.saturating_sub(1)][..])
    }

    /// Messages in transit between two instants, ten numbers each; see
    /// `Routing.flights`.
    #[must_use]
    pub fn flights(&self, from: f64, to: f64, most: u32) -> Float64Array {
        let mut of = self.of.borrow_mut();
        let rows = of.around().map_or_else(Vec::new, |around| {
            let legs = around.flights(instant(from), instant(to));
            flights(legs.take(most.min(MOST) as usize))
        });
        Float64Array::from(&rows[..])
    }

    /// 1 for every node that is connected.
    #[must_use]
    pub fn up(&self) -> Uint8Array {
        let mut of = self.of.borrow_mut();
        let now = of.now();
        let up = of.around().map(|around| around.links(now).0).unwrap_or_default();
        let all: Vec<u8> = [true].into_iter().chain(up).map(u8::from).collect();
        Uint8Array::from(&all[..])
    }

    /// Searches and pushes that passed here; of those of others the words are
    /// not known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Search[]")]
    pub fn searches(&self) -> Answer {
        let mut of = self.of.borrow_mut();
        let names = of.names();
        let Some(around) = of.around() else { return give(&[(); 0]) };
        let all = (0..).zip(around.journeys());
        let searches = all.map(|(number, journey)| Search::of(number, journey, &names));
        give(&searches.collect::<Vec<_>>())
    }

    /// The GUID of a search or push; `undefined` when there is none.
    #[wasm_bindgen(js_name = guidHex)]
    #[must_use]
    pub fn guid_hex(&self, guid: u32) -> Option<String> {
        let mut of = self.of.borrow_mut();
        let journey = of.around()?.journeys().get(guid as usize);
        journey.map(|journey| journey.id.to_string())
    }

    /// A node's routing tables at the cursor, without their rows; those of
    /// neighbours are not known.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Tables")]
    pub fn tables(&self, node: u32, _: u32, _: u32) -> Answer {
        let of = self.of.borrow();
        let node = known(node, of.size(Cast::Neighbours))?;
        let config = of.router();
        let life = Lives {
            query: config.query_life.scaled(config.time_scale),
            push: config.push_life.scaled(config.time_scale),
            duplicate: config.duplicate_life.scaled(config.time_scale),
        };
        let view = of.player().node().filter(|_| node == NodeId(0)).and_then(|n| n.overlay());
        let (up, tables) = (view.is_some(), view.map(|view| view.tables).unwrap_or_default());
        let total = tables.first().map_or(0, |table| (table.young + table.old) as u32);
        give(&Tables {
            at: of.now(),
            up: up || node != NodeId(0),
            total,
            life,
            tables,
            rows: Vec::new(),
        })
    }

    /// The totals of all searches at the cursor.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "RoutingTotals")]
    pub fn totals(&self) -> Answer {
        let mut of = self.of.borrow_mut();
        let now = of.now();
        of.around().map_or(Ok(JsValue::UNDEFINED), |around| give(&around.totals(now)))
    }

    /// The message counts of a node at the cursor; without a node, of all.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "TallyView")]
    pub fn counters(&self, node: Option<u32>) -> Answer {
        let mut of = self.of.borrow_mut();
        let (now, nodes) = (of.now(), of.size(Cast::Neighbours));
        let node = node.map(|node| known(node, nodes)).transpose()?.map(|node| node.0);
        of.around().map_or(Ok(JsValue::UNDEFINED), |around| give(&around.tally(node, now)))
    }
}
