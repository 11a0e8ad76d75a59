//! A scenario of an overlay: who there is, how they are joined, who asks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActAt};
use super::net::Net;
use crate::error::{self, ScenarioError};
use servent_core::routing::Config;
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// An overlay to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What there is to see, in two sentences.
    pub text: String,
    /// Every draw follows from it. In JSON a number, or text in decimal or
    /// `0x…`.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long it is worth watching.
    pub horizon: Duration,
    /// How many nodes there are.
    pub nodes: u32,
    /// How they are joined.
    pub shape: Shape,
    /// Links of a node, on average, where they are drawn at random.
    pub degree: u32,
    /// Long links across a small world.
    pub shortcuts: u32,
    /// So many of the nodes, the last ones, are leaves: the shape joins the
    /// others.
    pub leaves: u32,
    /// Ultrapeers of each leaf, drawn at random.
    pub homes: u32,
    /// Links besides those of the shape.
    pub links: Vec<(NodeId, NodeId)>,
    /// The way over a link takes so long at least.
    pub latency: Duration,
    /// Up to so much more, drawn for each link once and for all.
    pub spread: Duration,
    /// Neighbours ping each other. Without it nobody is given up for silence.
    pub pings: bool,
    /// Limits and intervals of all routers. What is made of messages is
    /// always traced, and a link takes all there is for it.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub config: Config,
    /// What the first nodes are called; of the others, those of a small world
    /// have letters, and those of a large one numbers.
    pub names: Vec<String>,
    /// What is shared, and by whom.
    pub files: Vec<File>,
    /// The second of each pair bears the servent id of the first.
    pub twins: Vec<(NodeId, NodeId)>,
    /// Nodes come and go.
    pub churn: Option<Churn>,
    /// What the nodes do, in order of time.
    pub script: Vec<ActAt>,
    /// What goes wrong, in order of time.
    pub faults: Vec<ActAt>,
}

/// How nodes are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Each with the next, the last with the first.
    Ring,
    /// All with the first.
    Star,
    /// A square grid: each with those above, below, left and right of it.
    Mesh,
    /// At random, but so that everybody can reach everybody.
    Random,
    /// A square grid with long links across it.
    SmallWorld,
    /// Only by [`Scenario::links`].
    Free,
}

/// A file that is shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct File {
    /// By whom.
    pub node: NodeId,
    /// What it is called.
    pub name: String,
    /// Its owner answers so much later than asked.
    pub after: Duration,
}

/// Nodes that come and go.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Churn {
    /// One is killed so often.
    pub every: Duration,
    /// It comes back so much later.
    pub down: Duration,
    /// None is killed any more from then on.
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
    /// Most nodes of one world.
    pub const NODES: u32 = 10_000;
    /// Most links.
    pub const LINKS: usize = 100_000;
    /// Most links of one node: the router has a slot for each.
    pub const DEGREE: usize = 2_000;
    /// Most queries of one flood.
    pub const FLOOD: u32 = 100_000;
    /// Most nodes that churn may kill.
    pub const KILLS: u64 = 100_000;
    /// The shortest way over a link.
    pub const LEAST: Duration = Duration::from_micros(2);
    /// The longest.
    pub const MOST: Duration = Duration::from_secs(3_600);
    /// The longest time there is to watch.
    pub const LONGEST: Duration = Duration::from_secs(7 * 86_400);
    /// Most bytes of the words of a search, and of the name of a file.
    pub const WORDS: usize = 200;

    /// Reads a scenario and checks that a world can be made of it.
    ///
    /// # Errors
    /// When the text is none, or no world can be made of it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = error::read(text)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks that a world can be made of it.
    ///
    /// # Errors
    /// The first thing that makes no sense.
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
            for (i, ActAt { act, .. }) in list.iter().enumerate() {
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

    /// Checks that something can be done in it.
    ///
    /// # Errors
    /// When it names nodes that there are not, or asks for too much.
    pub fn admits(&self, act: &Act) -> Result<(), ScenarioError> {
        let (first, second) = act.nodes();
        error::pair("node", (first.0, second.map(|node| node.0)), self.nodes.into())?;
        match act {
            Act::Search { words, .. } => {
                let bytes = words.len() as u64;
                error::count("search.words", "bytes", bytes, 0..=Self::WORDS as u64)
            }
            Act::Flood { count, .. } => error::within("flood.count", *count, 0..=Self::FLOOD),
            _ => Ok(()),
        }
    }

    /// True for a node that passes nothing on.
    #[must_use]
    pub const fn is_leaf(&self, node: u32) -> bool {
        node >= self.nodes.saturating_sub(self.leaves)
    }

    /// What a node is called.
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
