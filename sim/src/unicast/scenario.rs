//! Scenarios of datagrams: the nodes, the links, and who sends what.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::action::{Send, UnicastAction, UnicastActionAt};
use crate::error::{self, ScenarioError};
use crate::links::datagram::DatagramLink;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::{Config, Congestion, Profile};

/// A world to be simulated, of nodes that send each other messages.
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
    /// The retransmission profile of all nodes; it overrides `config.profile`.
    pub profile: Profile,
    /// The nodes.
    pub nodes: Vec<Party>,
    /// Limits and intervals of all nodes. Messages are always traced.
    pub config: Config,
    /// The link for every direction that is not in `ways`.
    pub link: DatagramLink,
    /// All directions to one node share its link: what is sent to it by one
    /// waits behind what is sent by the others.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub shared: bool,
    /// Directions with a link of their own.
    pub ways: Vec<PathDirection>,
    /// What the applications do, in order of time.
    pub script: Vec<UnicastActionAt>,
    /// Faults, in order of time.
    pub faults: Vec<UnicastActionAt>,
    /// The same under another profile or another congestion control.
    pub variants: Vec<UnicastVariant>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Party {
    /// Its name.
    pub name: String,
    /// Its congestion control, if it is another than that of `config`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
}

/// A direction between two nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathDirection {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The link.
    pub link: DatagramLink,
}

/// A variant: the same messages over the same links under another profile, another
/// congestion control, or both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnicastVariant {
    /// Its name.
    pub name: String,
    /// The profile of all nodes.
    pub profile: Profile,
    /// The congestion control of all nodes, also of those that have one of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
}

impl Default for Scenario {
    fn default() -> Self {
        let party = |name| Party { name: String::from(name), ..Party::default() };
        Self {
            id: String::from("scenario"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(10),
            profile: Profile::Adaptive,
            nodes: alloc::vec![party("A"), party("B")],
            // The presets show retransmission, not congestion control.
            config: Config { congestion: Congestion::None, ..Config::default() },
            link: DatagramLink::default(),
            shared: false,
            ways: Vec::new(),
            script: Vec::new(),
            faults: Vec::new(),
            variants: Vec::new(),
        }
    }
}

impl Scenario {
    /// The most nodes of one world.
    pub const NODES: usize = 64;
    /// The most messages of one script.
    pub const MESSAGES: u64 = 100_000;
    /// The most bytes of them.
    pub const BYTES: u64 = 64 << 20;

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
        let nodes = self.nodes.len() as u64;
        error::count("nodes", "nodes", nodes, 2..=Self::NODES as u64)?;
        self.link.check().map_err(|wrong| wrong.within("link"))?;
        for (i, PathDirection { from, to, link }) in self.ways.iter().enumerate() {
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
            for (i, UnicastActionAt { act, .. }) in list.iter().enumerate() {
                self.admits(act).map_err(|wrong| wrong.within(format_args!("{key}[{i}]")))?;
                if let UnicastAction::Send(send) = act {
                    messages += u64::from(send.count);
                    bytes += u64::from(send.count) * u64::from(send.size);
                }
            }
        }
        error::count("script", "messages", messages, 0..=Self::MESSAGES)?;
        error::count("script", "bytes", bytes, 0..=Self::BYTES)
    }

    /// Checks that an action is possible in it.
    ///
    /// # Errors
    /// When it names nodes that do not exist, or a message has a wrong size.
    pub fn admits(&self, act: &UnicastAction) -> Result<(), ScenarioError> {
        let (first, second) = act.nodes();
        error::pair("node", (first.0, second.map(|node| node.0)), self.nodes.len() as u64)?;
        if let UnicastAction::Send(send) = act {
            error::within("send.size", send.size, Send::LEAST..=self.config.max_message)?;
        }
        Ok(())
    }

    /// The variant of that name.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let variant = self.variants.iter().find(|v| v.name == name)?;
        let title = format!("{} — {name}", self.title);
        let mut scenario = Self { profile: variant.profile, title, ..self.clone() };
        if let Some(congestion) = variant.congestion {
            scenario.config.congestion = congestion;
            scenario.nodes.iter_mut().for_each(|node| node.congestion = None);
        }
        Some(scenario)
    }

    /// The link of one direction.
    #[must_use]
    pub fn link(&self, from: NodeId, to: NodeId) -> &DatagramLink {
        let way = self.ways.iter().find(|way| (way.from, way.to) == (from, to));
        way.map_or(&self.link, |way| &way.link)
    }
}
