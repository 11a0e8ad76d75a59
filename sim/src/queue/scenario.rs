//! A scenario: everything a world is made of, as data.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::fault::FaultAt;
use crate::error::{self, ScenarioError};
use servent_core::queue::{self, Dialect, Policy};
use servent_core::time::Duration;

/// A world to be: who is in it, what they want, what goes wrong, and when.
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
    /// `0x…`: JavaScript's numbers end at 2^53.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long it is worth watching.
    pub horizon: Duration,
    /// Those who share.
    pub servers: Vec<Server>,
    /// Those who download, in groups alike.
    pub clients: Vec<Group>,
    /// What goes wrong, in order of time.
    pub faults: Vec<FaultAt>,
    /// The same arrivals under other rules: changes to apply on top, each
    /// with a name.
    pub variants: Vec<Variant>,
}

/// Somebody who shares every file of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// Its upload queue.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub queue: queue::Config,
    /// Bytes a second it can send, shared evenly by its uploads.
    pub up: u64,
    /// Its half of the way to anybody.
    pub latency: Duration,
    /// One of its copies is damaged: what it sends does not hash.
    pub corrupt: bool,
}

/// Clients alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Group {
    /// What each is called, followed by its number.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Their language.
    pub dialect: Dialect,
    /// Bytes of the file all of them want.
    pub size: u64,
    /// Bytes a second each can receive.
    pub down: u64,
    /// Bytes a second each can send.
    pub up: u64,
    /// Their half of the way to anybody.
    pub latency: Duration,
    /// When the first arrives.
    pub first: Duration,
    /// Time between two arrivals.
    pub spacing: Duration,
    /// Each arrival is moved by up to so much, later.
    pub jitter: Duration,
    /// The least time from a reply to the next request, whatever the server
    /// allows: they come late in their window, as many do.
    pub wait: Duration,
    /// Announce `X-Node`.
    pub callable: bool,
    /// Nobody can connect to them.
    pub firewalled: bool,
    /// Which servers they ask; all of them when empty.
    pub servers: Vec<u32>,
}

/// Other rules for the same arrivals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The language all clients speak instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// When all servers tell those in line to ask, instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("scenario"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(1_800),
            servers: alloc::vec![Server::default()],
            clients: alloc::vec![Group::default()],
            faults: Vec::new(),
            variants: Vec::new(),
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            name: String::from("server"),
            queue: queue::Config::default(),
            up: 100_000,
            latency: Duration::from_millis(20),
            corrupt: false,
        }
    }
}

impl Default for Group {
    fn default() -> Self {
        Self {
            name: String::from("client"),
            count: 8,
            dialect: Dialect::Parq,
            size: 3_000_000,
            down: 1_000_000,
            up: 50_000,
            latency: Duration::from_millis(30),
            first: Duration::ZERO,
            spacing: Duration::from_secs(5),
            jitter: Duration::ZERO,
            wait: Duration::from_secs(1),
            callable: true,
            firewalled: false,
            servers: Vec::new(),
        }
    }
}

impl Server {
    fn check(&self) -> Result<(), ScenarioError> {
        error::least("up", self.up, 1)?;
        error::least("queue.time_scale", self.queue.time_scale, 1)
    }
}

impl Group {
    fn check(&self, servers: usize) -> Result<(), ScenarioError> {
        error::least("up", self.up, 1)?;
        error::least("down", self.down, 1)?;
        for server in &self.servers {
            let there = error::there("server", *server, servers as u64);
            there.map_err(|why| ScenarioError::at("servers", why))?;
        }
        Ok(())
    }
}

impl Scenario {
    /// Nodes in all; servers come first.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        // In 64 bits, because anybody may write two groups of two billion.
        let clients = self.clients.iter().map(|g| u64::from(g.count));
        self.servers.len() as u64 + clients.sum::<u64>()
    }

    /// Most nodes of one world.
    pub const NODES: u64 = 20_000;

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
        error::count("servers", "servers", self.servers.len() as u64, 1..=Self::NODES)?;
        error::count("clients", "nodes", self.nodes(), 1..=Self::NODES)?;
        for (i, server) in self.servers.iter().enumerate() {
            server.check().map_err(|wrong| wrong.within(format_args!("servers[{i}]")))?;
        }
        for (i, group) in self.clients.iter().enumerate() {
            let checked = group.check(self.servers.len());
            checked.map_err(|wrong| wrong.within(format_args!("clients[{i}]")))?;
        }
        for (i, FaultAt { act, .. }) in self.faults.iter().enumerate() {
            let named = act.check(self.nodes());
            named.map_err(|why| ScenarioError::at(format!("faults[{i}]"), why))?;
        }
        Ok(())
    }

    /// The same arrivals under one of the other rules.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let variant = self.variants.iter().find(|v| v.name == name)?;
        let mut other = self.clone();
        for group in &mut other.clients {
            group.dialect = variant.dialect.unwrap_or(group.dialect);
        }
        for server in &mut other.servers {
            server.queue.policy = variant.policy.unwrap_or(server.queue.policy);
        }
        other.title = format!("{} — {}", self.title, variant.name);
        Some(other)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_seed_may_be_a_number_or_text() {
        let seed = |json: &str| Scenario::parse(json).map(|s| s.seed);
        assert_eq!(seed(r#"{"seed": 7}"#), Ok(7));
        assert_eq!(seed(r#"{"seed": "18446744073709551615"}"#), Ok(u64::MAX));
        assert_eq!(seed(r#"{"seed": "0x5eed2a"}"#), Ok(0x5e_ed2a));
        assert!(seed(r#"{"seed": "seven"}"#).is_err());
        let big = Scenario { seed: u64::MAX, ..Scenario::default() };
        let json = serde_json::to_string(&big).unwrap();
        assert_eq!(Scenario::parse(&json), Ok(big));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        for (json, what) in [
            (r#"{"servers": []}"#, "`servers`: 0 servers are fewer than 1"),
            (r#"{"clients": [{"count": 90000}]}"#, "more than"),
            (
                r#"{"clients": [{"count": 2147483648}, {"count": 2147483648}]}"#,
                "4294967297 nodes are more than",
            ),
            (r#"{"clients": [{}, {"down": 0}]}"#, "`clients[1].down`: 0 is not 1 or more"),
            (
                r#"{"faults": [{"at": 1, "crash": {"node": 99}}]}"#,
                "`faults[0]`: there is no node 99",
            ),
            (r#"{"sevrers": []}"#, "unknown field"),
            (r#"{"servers": [{"queue": {"slotz": 1}}]}"#, "unknown field `slotz`"),
            (r#"{"servers": [{"queue": {"slots": -1}}]}"#, "invalid value: integer `-1`"),
            ("{", "line 1"),
        ] {
            let error = Scenario::parse(json).unwrap_err().to_string();
            assert!(error.contains(what), "{json}: {error}");
        }
    }
}
