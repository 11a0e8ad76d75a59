//! The class the page talks to.

use servent_core::routing::Why;
use servent_core::trace::NodeId;
use servent_sim::routing::{Chart, Tables, fate};
use wasm_bindgen::prelude::wasm_bindgen;

use super::answers::{NodeInfo, Search, roles};
use super::rows;
use crate::common::lists::list;
use crate::common::watch::world_class;
use crate::common::{instant, json};

/// The most rows one question is answered with.
const MOST: u32 = 100_000;

world_class! {
    /// An overlay being simulated.
    Map over routing::Routing
}

#[wasm_bindgen]
impl Map {
    /// `[{id, name, role, up}]`.
    #[must_use]
    pub fn nodes(&self) -> String {
        let (roles, watch) = (roles(&self.watch.scenario), &self.watch);
        list((0..).zip(&watch.names).map(|(node, name)| {
            let id = NodeId(node);
            let up = watch.world().node(id).is_some();
            json(&NodeInfo { id, name, role: roles[node as usize], up })
        }))
    }

    /// `[a, b, up]` of every link.
    #[must_use]
    pub fn links(&self) -> Vec<u32> {
        let world = self.watch.world();
        let row = |(number, wire): (u32, &servent_sim::routing::Wire)| {
            [wire.a, wire.b, u32::from(world.is_joined(number))]
        };
        (0..).zip(world.net().wires()).flat_map(row).collect()
    }

    /// Another number whenever what is up may differ.
    #[wasm_bindgen(js_name = linksVersion)]
    #[must_use]
    pub fn links_version(&self) -> f64 {
        let branch = self.watch.timeline.branches().1;
        branch as f64 * 1e12 + self.watch.world().changes() as f64
    }

    /// Microseconds over every link.
    #[must_use]
    pub fn latencies(&self) -> Vec<f64> {
        let wires = self.watch.world().net().wires();
        wires.iter().map(|wire| wire.latency.as_micros() as f64).collect()
    }

    /// `{kinds, fates}`: what the numbers mean.
    #[must_use]
    pub fn codes() -> String {
        let mut fates: Vec<(u8, String)> = ["flying", "forwarded", "local"]
            .iter()
            .zip(0..)
            .map(|(name, code)| (code, json(name)))
            .collect();
        fates.extend(Why::ALL.iter().map(|why| (fate::dropped(*why), json(why))));
        fates.extend(["cut", "down", "closed"].iter().zip(fate::LOST..).map(|(n, c)| (c, json(n))));
        let fates: Vec<String> =
            fates.into_iter().map(|(code, name)| format!(r#""{code}":{name}"#)).collect();
        let kinds = r#"["ping","pong","query","hit","push","bye","other"]"#;
        format!(r#"{{"kinds":{kinds},"fates":{{{}}}}}"#, fates.join(","))
    }

    /// Messages in the air between two instants:
    /// `[id, from, to, departs, arrives, kind, fate, guid#, link, seq]`.
    pub fn flights(&mut self, from: f64, to: f64, most: u32) -> Vec<f64> {
        let flights = self.chart().flights(instant(from), instant(to));
        rows::flights(flights.take(most.min(MOST) as usize))
    }

    /// 1 for every node that is up.
    #[must_use]
    pub fn up(&self) -> Vec<u8> {
        let world = self.watch.world();
        let up = |node| u8::from(world.node(NodeId(node)).is_some());
        (0..self.watch.scenario.nodes).map(up).collect()
    }

    /// Searches and pushes, without queries of a flood.
    pub fn searches(&mut self) -> String {
        self.watch.surveyed();
        let journeys = (0..).zip(self.watch.survey().chart.journeys());
        let asked = journeys.filter(|(_, journey)| !journey.flood).take(MOST as usize);
        list(asked.map(|(guid, journey)| json(&Search::of(guid, journey, &self.watch.names))))
    }

    /// The GUID of a number.
    #[wasm_bindgen(js_name = guidHex)]
    pub fn guid_hex(&mut self, guid: u32) -> String {
        let journey = self.chart().journeys().get(guid as usize);
        journey.map_or_else(String::new, |journey| journey.id.to_string())
    }

    /// What a node remembers at the cursor; `null` when there is no such node.
    pub fn tables(&mut self, node: u32, from: u32, count: u32) -> String {
        self.watch.surveyed();
        let (world, chart) = (self.watch.world(), &self.watch.survey().chart);
        json(&Tables::of(world, chart, NodeId(node), from, count.min(MOST)))
    }

    /// Sums over the messages of a node, of all nodes for -1, at the cursor.
    #[must_use]
    pub fn counters(&self, node: i32) -> String {
        let node = u32::try_from(node).ok().map(NodeId);
        json(&self.watch.world().tally(node))
    }
}

impl Map {
    fn chart(&mut self) -> &Chart {
        &self.watch.surveyed().chart
    }
}
