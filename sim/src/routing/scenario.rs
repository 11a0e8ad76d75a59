//! Scenarios of the overlay: its nodes, their links, and who searches.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::action::{RoutingAction, RoutingActionAt};
use super::net::Net;
use crate::error::{self, ScenarioError};
use servent_core::routing::Config;
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// An overlay to be simulated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What there is to see, in two sentences.
    pub text: String,
    /// Seed of all random numbers. In JSON a number, or text in decimal or
    /// `0x…`.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long the scenario runs.
    pub horizon: Duration,
    /// How many nodes there are.
    pub nodes: u32,
    /// How they are connected.
    pub shape: Shape,
    /// The average number of links of a node in random topologies.
    pub degree: u32,
    /// Long links across a small world.
    pub shortcuts: u32,
    /// The last so many of the nodes are leaves: the shape connects the others.
    pub leaves: u32,
    /// The number of ultrapeers of each leaf, chosen at random.
    pub homes: u32,
    /// Additional links.
    pub links: Vec<(NodeId, NodeId)>,
    /// The smallest latency of a link.
    pub latency: Duration,
    /// The largest random addition to it, drawn once for each link.
    pub spread: Duration,
    /// Neighbours ping each other. Without it silent neighbours are kept.
    pub pings: bool,
    /// Limits and intervals of all routers. Tracing of messages is always on,
    /// and links accept any amount of data.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub config: Config,
    /// Names of the first nodes; the others have letters in a small world, and
    /// numbers in a large one.
    pub names: Vec<String>,
    /// The shared files and their owners.
    pub files: Vec<ScenarioFile>,
    /// The second node of each pair has the same servent id as the first.
    pub twins: Vec<(NodeId, NodeId)>,
    /// Nodes leave and come back.
    pub churn: Option<Churn>,
    /// What the nodes do, in order of time.
    pub script: Vec<RoutingActionAt>,
    /// Faults, in order of time.
    pub faults: Vec<RoutingActionAt>,
}

/// The shape of the topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A ring: each node linked with the next, the last with the first.
    Ring,
    /// All linked with the first.
    Star,
    /// A square grid: each linked with those above, below, left and right of
    /// it.
    Mesh,
    /// Random, but connected.
    Random,
    /// A square grid with long links across it.
    SmallWorld,
    /// Only the links in [`Scenario::links`].
    Free,
}

/// A file that is shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioFile {
    /// Its owner.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// How long after a query its owner answers.
    pub after: Duration,
}

/// Nodes that leave and come back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Churn {
    /// The interval at which one is killed.
    pub every: Duration,
    /// How long it stays down.
    pub down: Duration,
    /// When this stops.
    pub until: Duration,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("scenario"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(10),
            nodes: 12,
            shape: Shape::Ring,
            degree: 4,
            shortcuts: 0,
            leaves: 0,
            homes: 1,
            links: Vec::new(),
            latency: Duration::from_millis(100),
            spread: Duration::ZERO,
            pings: false,
            config: Config::default(),
            names: Vec::new(),
            files: Vec::new(),
            twins: Vec::new(),
            churn: None,
            script: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Scenario {
    /// The most nodes of one world.
    pub const NODES: u32 = 10_000;
    /// The most links.
    pub const LINKS: usize = 100_000;
    /// The most links of one node: the router has a slot for each.
    pub const DEGREE: usize = 2_000;
    /// The most queries of one flood.
    pub const FLOOD: u32 = 100_000;
    /// The most nodes that churn may kill.
    pub const KILLS: u64 = 100_000;
    /// The smallest latency of a link.
    pub const LEAST: Duration = Duration::from_micros(2);
    /// The largest latency.
    pub const MOST: Duration = Duration::from_secs(3_600);
    /// The longest horizon.
    pub const LONGEST: Duration = Duration::from_secs(7 * 86_400);
    /// The most bytes of the words of a search, and of the name of a file.
    pub const WORDS: usize = 200;

    /// Parses a scenario and checks that a world can be made from it.
    ///
    /// # Errors
    /// When the text is not a scenario, or no world can be made from it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = error::read(text)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks that a world can be made from it.
    ///
    /// # Errors
    /// The first value that is invalid.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let nodes = u64::from(self.nodes);
        error::count("nodes", "nodes", nodes, 2..=Self::NODES.into())?;
        let others = nodes.saturating_sub(self.leaves.into());
        error::count("leaves", "other nodes", others, 1..=Self::NODES.into())?;
        self.check_numbers()?;
        for (key, pairs) in [("links", &self.links), ("twins", &self.twins)] {
            for (i, (a, b)) in pairs.iter().enumerate() {
                let pair = error::pair("node", (a.0, Some(b.0)), nodes);
                pair.map_err(|why| ScenarioError::at(format!("{key}[{i}]"), why))?;
            }
        }
        for (i, file) in self.files.iter().enumerate() {
            let within = |wrong: ScenarioError| wrong.within(format_args!("files[{i}]"));
            let there = error::there("node", file.node.0, nodes);
            there.map_err(|why| within(ScenarioError::at("node", why)))?;
            let bytes = file.name.len() as u64;
            error::count("name", "bytes", bytes, 0..=Self::WORDS as u64).map_err(within)?;
        }
        error::count("names", "names", self.names.len() as u64, 0..=nodes)?;
        for (key, list) in [("script", &self.script), ("faults", &self.faults)] {
            for (i, RoutingActionAt { act, .. }) in list.iter().enumerate() {
                self.admits(act).map_err(|wrong| wrong.within(format_args!("{key}[{i}]")))?;
            }
        }
        Net::new(self).check()
    }

    fn check_numbers(&self) -> Result<(), ScenarioError> {
        error::within("latency", self.latency, Self::LEAST..=Self::MOST)?;
        error::within("spread", self.spread, Duration::ZERO..=Self::MOST - self.latency)?;
        error::within("horizon", self.horizon, Duration::ZERO..=Self::LONGEST)?;
        let links = 0..=Self::LINKS as u64;
        let drawn = u64::from(self.nodes - self.leaves) * u64::from(self.degree) / 2;
        error::count("degree", "links", drawn, links.clone())?;
        error::count("shortcuts", "links", self.shortcuts.into(), links.clone())?;
        let homes = u64::from(self.leaves) * u64::from(self.homes);
        error::count("homes", "links", homes, links.clone())?;
        error::count("links", "links", self.links.len() as u64, links)?;
        let config = &self.config;
        error::least("config.time_scale", config.time_scale, 1)?;
        let shortest = Duration::from_micros(1);
        error::least("config.query_life", config.query_life, shortest)?;
        error::least("config.push_life", config.push_life, shortest)?;
        error::least("config.duplicate_life", config.duplicate_life, shortest)?;
        let Some(churn) = &self.churn else { return Ok(()) };
        error::least("churn.every", churn.every, shortest)?;
        let kills = churn.until.as_micros() / churn.every.as_micros();
        error::count("churn", "kills", kills, 0..=Self::KILLS)
    }

    /// Checks that an action is possible in it.
    ///
    /// # Errors
    /// When it names nodes that do not exist, or exceeds a limit.
    pub fn admits(&self, act: &RoutingAction) -> Result<(), ScenarioError> {
        let (first, second) = act.nodes();
        error::pair("node", (first.0, second.map(|node| node.0)), self.nodes.into())?;
        match act {
            RoutingAction::Search { words, .. } => {
                let bytes = words.len() as u64;
                error::count("search.words", "bytes", bytes, 0..=Self::WORDS as u64)
            }
            RoutingAction::Flood { count, .. } => {
                error::within("flood.count", *count, 0..=Self::FLOOD)
            }
            _ => Ok(()),
        }
    }

    /// True for a leaf.
    #[must_use]
    pub const fn is_leaf(&self, node: u32) -> bool {
        node >= self.nodes.saturating_sub(self.leaves)
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, node: NodeId) -> String {
        let name = self.names.get(node.0 as usize).filter(|name| !name.is_empty());
        name.map_or_else(
            || match u8::try_from(node.0) {
                Ok(n) if self.nodes <= 26 => String::from(char::from(b'A' + n)),
                _ => format!("{}", node.0),
            },
            String::clone,
        )
    }
}
