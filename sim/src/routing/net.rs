//! The topology of an overlay.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::scenario::{Scenario, Shape};
use crate::error::{self, ScenarioError};
use servent_core::rng::Rng;
use servent_core::time::Duration;

/// A link: its ends, and its latency, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkLink {
    /// One end.
    pub a: u32,
    /// The other one.
    pub b: u32,
    /// The latency.
    pub latency: Duration,
}

impl NetworkLink {
    /// The other end.
    #[must_use]
    pub const fn other(&self, node: u32) -> u32 {
        if self.a == node { self.b } else { self.a }
    }
}

/// All links of a scenario, up or down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Net {
    wires: Vec<NetworkLink>,
    /// Where each node's links begin in `around`.
    starts: Vec<u32>,
    around: Vec<u32>,
}

/// Links being generated, without duplicates.
struct Drawn<'a> {
    pairs: Vec<(u32, u32)>,
    known: BTreeSet<(u32, u32)>,
    dice: &'a mut Rng,
}

impl Drawn<'_> {
    fn join(&mut self, a: u32, b: u32) {
        let pair = (a.min(b), a.max(b));
        if a != b && self.known.insert(pair) {
            self.pairs.push(pair);
        }
    }

    /// Adds random links; a few less when it does not find enough unconnected
    /// pairs.
    fn add_random_links(&mut self, nodes: u32, links: usize) {
        let (enough, mut tries) = (self.pairs.len() + links, 4 * links + 64);
        while self.pairs.len() < enough && tries > 0 {
            let mut draw = || self.dice.below(nodes.into()) as u32;
            let (a, b) = (draw(), draw());
            self.join(a, b);
            tries -= 1;
        }
    }

    fn grid(&mut self, nodes: u32) {
        let columns = columns(nodes);
        for node in 0..nodes {
            if (node + 1) % columns != 0 && node + 1 < nodes {
                self.join(node, node + 1);
            }
            if node + columns < nodes {
                self.join(node, node + columns);
            }
        }
    }
}

/// The columns of a square grid of that many nodes.
#[must_use]
pub(super) const fn columns(nodes: u32) -> u32 {
    let root = nodes.isqrt();
    if root * root < nodes { root + 1 } else { root }
}

impl Net {
    /// Generates the topology of a scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let nodes = scenario.nodes.saturating_sub(scenario.leaves);
        let mut dice = Rng::new(scenario.seed).fork("links", 0);
        let mut drawn = Drawn { pairs: Vec::new(), known: BTreeSet::new(), dice: &mut dice };
        match scenario.shape {
            Shape::Ring => (0..nodes).for_each(|node| drawn.join(node, (node + 1) % nodes)),
            Shape::Star => (1..nodes).for_each(|node| drawn.join(0, node)),
            Shape::Mesh => drawn.grid(nodes),
            Shape::SmallWorld => {
                drawn.grid(nodes);
                drawn.add_random_links(nodes, scenario.shortcuts as usize);
            }
            Shape::Random => {
                for node in 1..nodes {
                    let earlier = drawn.dice.below(node.into()) as u32;
                    drawn.join(earlier, node);
                }
                let wanted = nodes as usize * scenario.degree as usize / 2;
                drawn.add_random_links(nodes, wanted.saturating_sub(drawn.pairs.len()));
            }
            Shape::Free => {}
        }
        for leaf in nodes..scenario.nodes {
            for _ in 0..scenario.homes {
                let home = drawn.dice.below(nodes.max(1).into()) as u32;
                drawn.join(home, leaf);
            }
        }
        scenario.links.iter().for_each(|(a, b)| drawn.join(a.0, b.0));
        let pairs = drawn.pairs;
        let mut slow = Rng::new(scenario.seed).fork("latency", 0);
        let mut latency = || {
            let more = slow.between(0, scenario.spread.as_micros());
            scenario.latency + Duration::from_micros(more)
        };
        let wires = pairs.into_iter().map(|(a, b)| NetworkLink { a, b, latency: latency() });
        Self::from_wires(scenario.nodes, wires.collect())
    }

    fn from_wires(nodes: u32, wires: Vec<NetworkLink>) -> Self {
        let mut starts = alloc::vec![0_u32; nodes as usize + 1];
        for wire in &wires {
            starts[wire.a as usize + 1] += 1;
            starts[wire.b as usize + 1] += 1;
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let (mut next, mut around) = (starts.clone(), alloc::vec![0; 2 * wires.len()]);
        for (number, wire) in (0_u32..).zip(&wires) {
            for end in [wire.a, wire.b] {
                around[next[end as usize] as usize] = number;
                next[end as usize] += 1;
            }
        }
        Self { wires, starts, around }
    }

    /// Checks that routers can be connected like that: each has a slot for each
    /// of its links.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let slots = 0..=Scenario::DEGREE as u64;
        error::count("links", "links of one node", self.degree() as u64, slots)?;
        error::count("links", "links", self.wires.len() as u64, 0..=Scenario::LINKS as u64)
    }

    /// Every link, in the order of their numbers.
    #[must_use]
    pub fn wires(&self) -> &[NetworkLink] {
        &self.wires
    }

    /// The numbers of a node's links.
    #[must_use]
    pub fn around(&self, node: u32) -> &[u32] {
        let at = |node: u32| self.starts.get(node as usize).map_or(0, |at| *at as usize);
        self.around.get(at(node)..at(node + 1)).unwrap_or_default()
    }

    /// The number of the link between two nodes.
    #[must_use]
    pub fn between(&self, a: u32, b: u32) -> Option<u32> {
        let leads = |wire: &&u32| self.wires[**wire as usize].other(a) == b;
        self.around(a).iter().find(leads).copied()
    }

    /// The most links of any node.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servent_core::trace::NodeId;

    fn net(shape: Shape, nodes: u32) -> Net {
        Net::new(&Scenario { shape, nodes, shortcuts: nodes, ..Scenario::default() })
    }

    /// The number of nodes that the first node can reach.
    fn reached(net: &Net, nodes: u32) -> usize {
        let (mut known, mut todo) = (alloc::vec![false; nodes as usize], alloc::vec![0]);
        while let Some(node) = todo.pop() {
            if !core::mem::replace(&mut known[node as usize], true) {
                todo.extend(net.around(node).iter().map(|w| net.wires[*w as usize].other(node)));
            }
        }
        known.iter().filter(|known| **known).count()
    }

    #[test]
    fn every_shape_joins_all_nodes() {
        for nodes in [2, 3, 5, 16, 17, 240, 1_000] {
            for shape in [Shape::Ring, Shape::Star, Shape::Mesh, Shape::Random, Shape::SmallWorld] {
                let net = net(shape, nodes);
                assert_eq!(reached(&net, nodes), nodes as usize, "{shape:?} of {nodes}");
                assert!(net.wires.iter().all(|wire| wire.a < wire.b && wire.b < nodes));
            }
        }
    }

    #[test]
    fn shapes_have_the_links_they_should() {
        assert_eq!((net(Shape::Ring, 9).wires.len(), net(Shape::Ring, 9).degree()), (9, 2));
        assert_eq!((net(Shape::Star, 9).wires.len(), net(Shape::Star, 9).degree()), (8, 8));
        assert_eq!((net(Shape::Mesh, 9).wires.len(), net(Shape::Mesh, 9).degree()), (12, 4));
        assert_eq!(net(Shape::Random, 100).wires.len(), 200);
        assert_eq!(net(Shape::SmallWorld, 100).wires.len(), 180 + 100);
        let free = Scenario {
            shape: Shape::Free,
            links: alloc::vec![(NodeId(2), NodeId(1)), (NodeId(1), NodeId(2))],
            ..Scenario::default()
        };
        let net = Net::new(&free);
        assert_eq!((net.wires.len(), net.between(1, 2), net.between(0, 1)), (1, Some(0), None));
    }
}
