//! A scenario of datagrams: who there is, what the links do, who says what.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActAt, Send};
use crate::links::datagram::Link;
use servent_core::time::Duration;
use servent_core::trace::NodeId;
use servent_core::unicast::{Config, Profile};

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
            config: Config::default(),
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
        let nodes = self.nodes.len();
        if !(2..=Self::NODES).contains(&nodes) {
            return Err(format!("{nodes} nodes are not 2 to {}", Self::NODES));
        }
        if !self.link.is_sound() || !self.ways.iter().all(|way| way.link.is_sound()) {
            return Err(String::from(
                "a link takes 2 µs to an hour, and its ratios are [n, of] with n ≤ of",
            ));
        }
        let there = |node: NodeId| (node.0 as usize) < nodes;
        if self.ways.iter().any(|way| !there(way.from) || !there(way.to)) {
            return Err(String::from("a way names a node that is not there"));
        }
        if self.config.time_scale == 0 || self.config.max_message < Send::LEAST {
            return Err(format!("`time_scale` is 0, or `max_message` below {}", Send::LEAST));
        }
        let (mut messages, mut bytes) = (0, 0);
        for ActAt { at, act } in self.script.iter().chain(&self.faults) {
            self.admits(act).map_err(|why| format!("at {:?}: {why}", at))?;
            if let Act::Send(send) = act {
                messages += u64::from(send.count);
                bytes += u64::from(send.count) * u64::from(send.size);
            }
        }
        if messages > Self::MESSAGES || bytes > Self::BYTES {
            return Err(format!(
                "{messages} messages of {bytes} bytes are more than {} of {}",
                Self::MESSAGES,
                Self::BYTES
            ));
        }
        Ok(())
    }

    /// Checks that something can be done in it.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn admits(&self, act: &Act) -> Result<(), &'static str> {
        let (first, second) = act.nodes();
        let there = |node: NodeId| (node.0 as usize) < self.nodes.len();
        if !there(first) || second.is_some_and(|node| !there(node) || node == first) {
            return Err("there is no such pair of nodes");
        }
        if let Act::Send(send) = act
            && !(Send::LEAST..=self.config.max_message).contains(&send.size)
        {
            return Err("a message has 8 to `max_message` bytes");
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
