//! A scenario of an overlay: who there is, how they are joined, who asks.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActAt};
use super::net::Net;
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
    /// A sentence with the line, or with what makes no sense.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = serde_json::from_str(text).map_err(|why| why.to_string())?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks that a world can be made of it.
    ///
    /// # Errors
    /// A sentence that says what makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if !(2..=Self::NODES).contains(&self.nodes) {
            return Err(format!("{} nodes are not 2 to {}", self.nodes, Self::NODES));
        }
        self.check_numbers().map_err(String::from)?;
        let there = |node: &NodeId| node.0 < self.nodes;
        let pairs = self.links.iter().chain(&self.twins);
        if pairs.clone().any(|(a, b)| !there(a) || !there(b) || a == b) {
            return Err(String::from("a link or a pair of twins names nodes that are not there"));
        }
        if self.files.iter().any(|file| !there(&file.node) || file.name.len() > Self::WORDS) {
            return Err(format!(
                "a file belongs to a node that is there, and its name has at most {} bytes",
                Self::WORDS
            ));
        }
        if self.names.len() > self.nodes as usize {
            return Err(String::from("there are more names than nodes"));
        }
        for ActAt { at, act } in self.script.iter().chain(&self.faults) {
            self.admits(act).map_err(|why| format!("at {at:?}: {why}"))?;
        }
        Net::new(self).check()
    }

    fn check_numbers(&self) -> Result<(), &'static str> {
        let longest = self.latency.as_micros().saturating_add(self.spread.as_micros());
        if self.latency < Self::LEAST || longest > Self::MOST.as_micros() {
            return Err("a link takes 2 µs to an hour");
        }
        if self.horizon > Self::LONGEST {
            return Err("a scenario is watched for a week at most");
        }
        let drawn = u64::from(self.nodes) * u64::from(self.degree) / 2;
        if drawn.max(self.shortcuts.into()).max(self.links.len() as u64) > Self::LINKS as u64 {
            return Err("there are at most 100 000 links");
        }
        let config = &self.config;
        let lives = [config.query_life, config.push_life, config.duplicate_life];
        if config.time_scale == 0 || lives.contains(&Duration::ZERO) {
            return Err("`time_scale` and the lives of the tables are more than 0");
        }
        match &self.churn {
            Some(churn) if churn.every == Duration::ZERO => {
                Err("churn kills a node at most once a microsecond")
            }
            Some(churn) if churn.until.as_micros() / churn.every.as_micros() > Self::KILLS => {
                Err("churn kills at most 100 000 nodes")
            }
            _ => Ok(()),
        }
    }

    /// Checks that something can be done in it.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn admits(&self, act: &Act) -> Result<(), &'static str> {
        let (first, second) = act.nodes();
        if first.0 >= self.nodes || second.is_some_and(|node| node.0 >= self.nodes || node == first)
        {
            return Err("there are no such nodes");
        }
        match act {
            Act::Search { words, .. } if words.len() > Self::WORDS => {
                Err("the words of a search have at most 200 bytes")
            }
            Act::Flood { count, .. } if *count > Self::FLOOD => {
                Err("a flood has at most 100 000 queries")
            }
            _ => Ok(()),
        }
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
