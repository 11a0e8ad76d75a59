//! A scenario of datagrams: who there is, what the links do, who says what.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActAt, Send};
use crate::error::{self, ScenarioError};
use crate::links::datagram::Link;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::{Config, Congestion, Profile};

/// A world of nodes that send each other messages to be.
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
    /// What times the repairs, for all nodes; it wins over `config.profile`.
    pub profile: Profile,
    /// Who there is.
    pub nodes: Vec<Party>,
    /// Limits and intervals of all nodes. Messages are always traced.
    pub config: Config,
    /// Every direction that `ways` does not name.
    pub link: Link,
    /// Directions of their own.
    pub ways: Vec<Way>,
    /// What the applications do, in order of time.
    pub script: Vec<ActAt>,
    /// What goes wrong, in order of time.
    pub faults: Vec<ActAt>,
    /// The same under another profile.
    pub variants: Vec<Variant>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Party {
    /// What it is called.
    pub name: String,
}

/// A direction between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// From here.
    pub from: NodeId,
    /// To there.
    pub to: NodeId,
    /// What happens between.
    pub link: Link,
}

/// Another profile for the same messages and the same losses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The profile of all nodes.
    pub profile: Profile,
}

impl Default for Scenario {
    fn default() -> Self {
        let party = |name| Party { name: String::from(name) };
        Self {
            id: String::from("scenario"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(10),
            profile: Profile::Adaptive,
            nodes: alloc::vec![party("A"), party("B")],
            // What is shown are the repairs.
            config: Config { congestion: Congestion::None, ..Config::default() },
            link: Link::default(),
            ways: Vec::new(),
            script: Vec::new(),
            faults: Vec::new(),
            variants: Vec::new(),
        }
    }
}

impl Scenario {
    /// Most nodes of one world.
    pub const NODES: usize = 64;
    /// Most messages of one script.
    pub const MESSAGES: u64 = 100_000;
    /// Most bytes of them.
    pub const BYTES: u64 = 64 << 20;

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
        let nodes = self.nodes.len() as u64;
        error::count("nodes", "nodes", nodes, 2..=Self::NODES as u64)?;
        self.link.check().map_err(|wrong| wrong.within("link"))?;
        for (i, Way { from, to, link }) in self.ways.iter().enumerate() {
            let within = |wrong: ScenarioError| wrong.within(format_args!("ways[{i}]"));
            for (key, node) in [("from", from), ("to", to)] {
                let there = error::there("node", node.0, nodes);
                there.map_err(|why| within(ScenarioError::at(key, why)))?;
            }
            link.check().map_err(|wrong| within(wrong.within("link")))?;
        }
        error::least("config.time_scale", self.config.time_scale, 1)?;
        error::least("config.max_message", self.config.max_message, Send::LEAST)?;
        let (mut messages, mut bytes) = (0, 0);
        for (key, list) in [("script", &self.script), ("faults", &self.faults)] {
            for (i, ActAt { act, .. }) in list.iter().enumerate() {
                self.admits(act).map_err(|wrong| wrong.within(format_args!("{key}[{i}]")))?;
                if let Act::Send(send) = act {
                    messages += u64::from(send.count);
                    bytes += u64::from(send.count) * u64::from(send.size);
                }
            }
        }
        error::count("script", "messages", messages, 0..=Self::MESSAGES)?;
        error::count("script", "bytes", bytes, 0..=Self::BYTES)
    }

    /// Checks that something can be done in it.
    ///
    /// # Errors
    /// When it names nodes that there are not, or a message has a wrong size.
    pub fn admits(&self, act: &Act) -> Result<(), ScenarioError> {
        let (first, second) = act.nodes();
        error::pair("node", (first.0, second.map(|node| node.0)), self.nodes.len() as u64)?;
        if let Act::Send(send) = act {
            error::within("send.size", send.size, Send::LEAST..=self.config.max_message)?;
        }
        Ok(())
    }

    /// The same under another of its profiles.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let Variant { name, profile } = self.variants.iter().find(|v| v.name == name)?;
        let title = format!("{} — {name}", self.title);
        Some(Self { profile: *profile, title, ..self.clone() })
    }

    /// One direction.
    #[must_use]
    pub fn link(&self, from: NodeId, to: NodeId) -> &Link {
        let way = self.ways.iter().find(|way| (way.from, way.to) == (from, to));
        way.map_or(&self.link, |way| &way.link)
    }
}
