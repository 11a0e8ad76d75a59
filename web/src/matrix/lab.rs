//! The class the page talks to.

use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_sim::swarm::Event;
use wasm_bindgen::prelude::wasm_bindgen;

use super::answers::{NodeInfo, Selection, Totals};
use super::picture;
use crate::common::lists::list;
use crate::common::watch::world_class;
use crate::common::{json, us};

/// The most rows one question is answered with.
const MOST: u32 = 10_000;
/// The most points of the progress.
const POINTS: u32 = 2_000;

world_class! {
    /// A swarm being simulated.
    Matrix over swarm::Swarm
}

#[wasm_bindgen]
impl Matrix {
    /// `[{id, name, role, up}]`, the coordinator last.
    #[must_use]
    pub fn nodes(&self) -> String {
        let world = self.watch.world();
        list((0..).zip(&self.watch.names).map(|(node, name)| {
            let id = NodeId(node);
            let (role, up) = match world.glance(node) {
                Some(glance) => (picture::role(glance.habit), glance.up),
                None => ("coordinator", true),
            };
            json(&NodeInfo { id, name, role, up })
        }))
    }

    /// `[clients, pieces]`.
    #[must_use]
    pub fn size(&self) -> Vec<u32> {
        let (clients, pieces) = self.watch.world().size();
        vec![clients, pieces]
    }

    /// A number that differs whenever anything drawn may differ.
    #[must_use]
    pub fn changes(&self) -> f64 {
        const BRANCH: f64 = (1_u64 << 44) as f64;
        let branch = self.watch.timeline.branches().1;
        self.watch.world().events() as f64 + branch as f64 * BRANCH
    }

    /// Every piece at every client, row by row: see `Cell`.
    #[must_use]
    pub fn cells(&self) -> Vec<u8> {
        self.watch.world().cells()
    }

    /// Rows of clients from one on, 14 numbers each.
    #[must_use]
    pub fn rows(&self, from: u32, count: u32) -> Vec<f64> {
        picture::rows(self.watch.world(), from, count)
    }

    /// The same for people: a list of objects.
    #[must_use]
    pub fn clients(&self, from: u32, count: u32) -> String {
        let world = self.watch.world();
        let to = from.saturating_add(count.min(MOST)).min(world.size().0);
        list((from..to).filter_map(|client| world.row(client)).map(|row| json(&row)))
    }

    /// Transfers at the cursor, 10 numbers each.
    #[must_use]
    pub fn transfers(&self) -> Vec<f64> {
        picture::transfers(self.watch.world(), self.watch.timeline.now())
    }

    /// Copies of each piece among the clients.
    #[must_use]
    pub fn rarity(&self) -> Vec<u32> {
        let world = self.watch.world();
        (0..world.size().1).map(|piece| world.manager().copies(0, piece)).collect()
    }

    /// Totals at the cursor.
    #[must_use]
    pub fn counters(&self) -> String {
        json(&Totals::of(self.watch.world()))
    }

    /// How a transfer was chosen, by the number of its record; `null` when
    /// that is no assignment.
    #[must_use]
    pub fn funnel(&self, transfer: f64) -> String {
        let Some(record) = self.watch.timeline.record(transfer as u64) else {
            return String::from("null");
        };
        if let Some(selection) = Selection::of(record) {
            return json(&selection);
        }
        json(&self.explained(record.seq).as_ref().and_then(Selection::of))
    }

    /// `[at, held, the most that could be]` from the beginning on.
    pub fn progress(&mut self, bins: u32) -> Vec<f64> {
        let bins = bins.clamp(1, POINTS);
        let bound = Instant::ZERO + self.watch.scenario.bound();
        let known = self.watch.timeline.frontier();
        let curve = self.watch.scenario.most_held_until(known.max(bound), bins);
        let tally = &self.watch.surveyed().tally;
        let point = |(at, most): (Instant, u64)| {
            let held = if at <= known { tally.arrived_by(at) as f64 } else { -1.0 };
            [us(at), held, most as f64 / 1_000.0]
        };
        curve.into_iter().flat_map(point).collect()
    }

    /// The least time everybody needs.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.watch.scenario.bound().as_micros() as f64
    }

    /// How it goes, as far as it is known.
    pub fn outcome(&mut self) -> String {
        self.watch.surveyed();
        json(&self.watch.survey().tally.result(self.watch.timeline.farthest()))
    }
}

impl Matrix {
    /// A record made again, with the reasons of its choice: the same run from
    /// the nearest keyframe, only more is said.
    fn explained(&self, seq: u64) -> Option<Record<Event>> {
        let mut world = self.watch.timeline.world_before(seq);
        world.explain();
        let mut records = Vec::new();
        while world.records() <= seq && world.step(&mut records) {}
        records.into_iter().find(|record| record.seq == seq)
    }
}
