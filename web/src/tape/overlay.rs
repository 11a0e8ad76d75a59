//! The neighbours of recorded servents, for the page.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Float64Array, Uint8Array, Uint32Array};
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::routing::{Lives, Tables, Traffic};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use super::recorded::Recorded;
use super::several::Several;
use super::{Tape, Tapes};
use crate::lab::{Cast, Run, Watching as _, known};
use crate::routing::{Search, flights};
use crate::value::{QueryResult, give, instant};

/// The most rows in one answer.
const MOST: u32 = 100_000;

/// How long a message is drawn on its way where that was not recorded, in
/// microseconds.
const WAY: f64 = servent_sim::routing::WAY.as_micros() as f64;

/// Whose neighbours.
enum OverlayOwner {
    One(Rc<RefCell<Recorded>>),
    Several(Rc<RefCell<Several>>),
}

/// The neighbours of recorded servents, and the messages between them: of one
/// servent a star with node 0 in the middle. Of several, those come first, and
/// then who recorded nothing.
#[wasm_bindgen]
pub struct Overlay {
    of: OverlayOwner,
}

impl Overlay {
    pub(super) fn from_recorded(recorded: &Rc<RefCell<Recorded>>) -> Option<Self> {
        recorded.borrow_mut().around().filter(|around| !around.neighbours().is_empty())?;
        Some(Self { of: OverlayOwner::One(Rc::clone(recorded)) })
    }

    pub(super) fn of_several(several: &Rc<RefCell<Several>>) -> Option<Self> {
        several.borrow().views().contains(&"routing").then_some(())?;
        Some(Self { of: OverlayOwner::Several(Rc::clone(several)) })
    }

    /// What is drawn, and the instant of the cursor.
    fn drawn<T: Default>(&self, work: impl FnOnce(&Traffic, Instant) -> T) -> T {
        match &self.of {
            OverlayOwner::One(of) => {
                let mut of = of.borrow_mut();
                let now = of.now();
                of.around().map_or_else(T::default, |around| work(around.traffic(), now))
            }
            OverlayOwner::Several(of) => {
                let of = of.borrow();
                work(of.traffic(), of.now())
            }
        }
    }

    fn size(&self) -> usize {
        match &self.of {
            OverlayOwner::One(of) => of.borrow().size(Cast::Neighbours),
            OverlayOwner::Several(of) => of.borrow().size(Cast::Neighbours),
        }
    }

    fn names(&self) -> Vec<String> {
        match &self.of {
            OverlayOwner::One(of) => of.borrow().names(),
            OverlayOwner::Several(of) => of.borrow().neighbours(),
        }
    }
}

#[wasm_bindgen]
impl Overlay {
    /// The interface common to all runs.
    #[must_use]
    pub fn run(&self) -> Run {
        match &self.of {
            OverlayOwner::One(of) => Run::cast(Rc::clone(of) as Rc<RefCell<_>>, Cast::Neighbours),
            OverlayOwner::Several(of) => {
                Run::cast(Rc::clone(of) as Rc<RefCell<_>>, Cast::Neighbours)
            }
        }
    }

    /// The recording it is from, with the same cursor; `undefined` for several.
    #[must_use]
    pub fn tape(&self) -> Option<Tape> {
        match &self.of {
            OverlayOwner::One(of) => Some(Tape { of: Rc::clone(of) }),
            OverlayOwner::Several(_) => None,
        }
    }

    /// The recordings it is from, with the same cursor; `undefined` for one.
    #[must_use]
    pub fn tapes(&self) -> Option<Tapes> {
        match &self.of {
            OverlayOwner::One(_) => None,
            OverlayOwner::Several(of) => Some(Tapes { of: Rc::clone(of) }),
        }
    }

    /// `[a, b, up]` of every link.
    #[must_use]
    pub fn links(&self) -> Uint32Array {
        let rows: Vec<u32> = self.drawn(|traffic, now| {
            let row = |([a, b], up): (&[u32; 2], bool)| [*a, *b, u32::from(up)];
            traffic.wires().iter().zip(traffic.up(now).0).flat_map(row).collect()
        });
        Uint32Array::from(&rows[..])
    }

    /// A version that changes whenever a link may have gone up or down.
    #[wasm_bindgen(js_name = linksVersion)]
    #[must_use]
    pub fn links_version(&self) -> f64 {
        self.drawn(|traffic, now| {
            let (up, turns) = traffic.up(now);
            up.len() as f64 * 1e12 + turns as f64
        })
    }

    /// How long a message is drawn on the way of every link where its real time
    /// was not recorded, in microseconds.
    #[must_use]
    pub fn latencies(&self) -> Float64Array {
        let links = self.drawn(|traffic, _| traffic.wires().len());
        Float64Array::from(&vec![WAY; links][..])
    }

    /// Messages in transit between two instants, ten numbers each; see
    /// `Routing.flights`.
    #[must_use]
    pub fn flights(&self, from: f64, to: f64, most: u32) -> Float64Array {
        let rows = self.drawn(|traffic, _| {
            let legs = traffic.flights(instant(from), instant(to));
            flights(legs.take(most.min(MOST) as usize))
        });
        Float64Array::from(&rows[..])
    }

    /// 1 for every node that is connected.
    #[must_use]
    pub fn up(&self) -> Uint8Array {
        let mut all = vec![0; self.size()];
        // A node that is alone is there all the same, as far as it was recorded.
        if let OverlayOwner::One(_) = &self.of {
            all[0] = 1;
        }
        let wires: Vec<([u32; 2], bool)> = self
            .drawn(|traffic, now| traffic.wires().iter().copied().zip(traffic.up(now).0).collect());
        for ([a, b], _) in wires.into_iter().filter(|(_, up)| *up) {
            for end in [a, b] {
                all[end as usize] = 1;
            }
        }
        Uint8Array::from(&all[..])
    }

    /// Searches and pushes that passed here; of those that began where nothing
    /// was recorded the words are not known.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "Search[]")]
    pub fn searches(&self) -> QueryResult {
        let names = self.names();
        self.drawn(|traffic, _| {
            let all = (0..).zip(traffic.journeys());
            let searches = all.map(|(number, journey)| Search::describe(number, journey, &names));
            Some(give(&searches.collect::<Vec<_>>()))
        })
        .unwrap_or_else(|| give(&[(); 0]))
    }

    /// The GUID of a search or push; `undefined` when there is none.
    #[wasm_bindgen(js_name = guidHex)]
    #[must_use]
    pub fn guid_hex(&self, guid: u32) -> Option<String> {
        self.drawn(|traffic, _| Some(traffic.journeys().get(guid as usize)?.id.to_string()))
    }

    /// A node's routing tables at the cursor, without their rows; of one that
    /// recorded nothing they are not known.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "Tables")]
    pub fn tables(&self, node: u32, _: u32, _: u32) -> QueryResult {
        let node = known(node, self.size())?;
        match &self.of {
            OverlayOwner::One(of) => give(&tables(&of.borrow(), node == NodeId(0))),
            OverlayOwner::Several(of) => {
                let of = of.borrow();
                let own = of.recorded(node);
                let any = own.or_else(|| of.recorded(NodeId(0)));
                any.map_or(Ok(JsValue::UNDEFINED), |tape| {
                    let tables = tables(&tape.borrow(), own.is_some());
                    give(&Tables { at: of.now(), ..tables })
                })
            }
        }
    }

    /// The totals of all searches at the cursor.
    ///
    /// # Errors
    /// When a value cannot be represented in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "RoutingTotals")]
    pub fn totals(&self) -> QueryResult {
        let totals = self.drawn(|traffic, now| Some(traffic.totals(now)));
        totals.map_or(Ok(JsValue::UNDEFINED), |totals| give(&totals))
    }

    /// The message counts of a node at the cursor; without a node, of all.
    ///
    /// # Errors
    /// When there is no such node.
    #[wasm_bindgen(unchecked_return_type = "TallyView")]
    pub fn counters(&self, node: Option<u32>) -> QueryResult {
        let node = node.map(|node| known(node, self.size())).transpose()?.map(|node| node.0);
        let tally = self.drawn(|traffic, now| Some(traffic.tally(node, now)));
        tally.map_or(Ok(JsValue::UNDEFINED), |tally| give(&tally))
    }
}

/// The routing tables of a recorded servent, or of a neighbour, of which they are
/// not known.
fn tables(of: &Recorded, own: bool) -> Tables {
    let config = of.router();
    let life = Lives {
        query: config.query_life.scaled(config.time_scale),
        push: config.push_life.scaled(config.time_scale),
        duplicate: config.duplicate_life.scaled(config.time_scale),
    };
    let view = of.player().node().filter(|_| own).and_then(|node| node.overlay());
    let (up, tables) = (view.is_some(), view.map(|view| view.tables).unwrap_or_default());
    let total = tables.first().map_or(0, |table| (table.young + table.old) as u32);
    Tables { at: of.now(), up: up || !own, total, life, tables, rows: Vec::new() }
}
