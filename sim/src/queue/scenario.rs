//! A scenario: everything a world is made of, as data.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::fault::FaultAt;
use super::site::SimulatedSite;
use super::versions::VersionMark;
use crate::error::{self, ScenarioError};
use servent_core::queue::{self, Dialect, QueuePolicy};
use servent_core::time::Duration;

/// A world to be simulated: its nodes, what they want, what goes wrong, and
/// when.
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
    /// `0x…`, because JavaScript's numbers are exact only to 2^53.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long the scenario runs.
    pub horizon: Duration,
    /// The nodes that share files.
    pub servers: Vec<ScenarioServer>,
    /// The servers are members of one site: they share a store and an address,
    /// and one of them leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<SimulatedSite>,
    /// The nodes that download, in groups of equal ones.
    pub clients: Vec<ClientGroup>,
    /// Faults, in order of time.
    pub faults: Vec<FaultAt>,
    /// Variants: the same arrivals with changes applied on top, each with a
    /// name.
    pub variants: Vec<QueueVariant>,
}

/// A node that shares every file of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScenarioServer {
    /// Its name.
    pub name: String,
    /// Its upload queue.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub queue: queue::Config,
    /// Bytes per second it can send, shared evenly by its uploads.
    pub up: u64,
    /// Its half of the latency to any other node.
    pub latency: Duration,
    /// Its copy of one file is damaged: what it sends has the wrong hash.
    pub corrupt: bool,
    /// What it says of the version of a file.
    #[serde(skip_serializing_if = "VersionMark::is_usual")]
    pub mark: VersionMark,
}

/// A group of equal clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientGroup {
    /// The name of each, followed by its number.
    pub name: String,
    /// How many clients.
    pub count: u32,
    /// Their queueing dialect.
    pub dialect: Dialect,
    /// Size of the file they want, in bytes.
    pub size: u64,
    /// Bytes per second each can receive.
    pub down: u64,
    /// Bytes per second each can send.
    pub up: u64,
    /// Their half of the latency to any other node.
    pub latency: Duration,
    /// When the first one arrives.
    pub first: Duration,
    /// Time between two arrivals.
    pub spacing: Duration,
    /// Each arrival is delayed by a random time of up to this.
    pub jitter: Duration,
    /// The shortest time from a reply to the next request, whatever the server
    /// allows: they retry late in their window, as many real clients do.
    pub wait: Duration,
    /// They announce `X-Node`.
    pub callable: bool,
    /// No peer can connect to them.
    pub firewalled: bool,
    /// The servers they ask; all of them when empty.
    pub servers: Vec<u32>,
    /// They know the file by its name, not by its hash: another version will do, too.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub by_name: bool,
}

/// A variant: the same arrivals with other settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueVariant {
    /// Its name.
    pub name: String,
    /// The dialect of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The retry policy of all servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<QueuePolicy>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("scenario"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(1_800),
            servers: alloc::vec![ScenarioServer::default()],
            site: None,
            clients: alloc::vec![ClientGroup::default()],
            faults: Vec::new(),
            variants: Vec::new(),
        }
    }
}

impl Default for ScenarioServer {
    fn default() -> Self {
        Self {
            name: String::from("server"),
            queue: queue::Config::default(),
            up: 100_000,
            latency: Duration::from_millis(20),
            corrupt: false,
            mark: VersionMark::default(),
        }
    }
}

impl Default for ClientGroup {
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
            by_name: false,
        }
    }
}

impl ScenarioServer {
    fn check(&self) -> Result<(), ScenarioError> {
        error::least("up", self.up, 1)?;
        error::least("queue.time_scale", self.queue.time_scale, 1)
    }
}

impl ClientGroup {
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
    /// The number of nodes; servers come first.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        // In 64 bits, because a scenario may ask for two groups of two billion.
        let clients = self.clients.iter().map(|g| u64::from(g.count));
        self.servers.len() as u64 + clients.sum::<u64>()
    }

    /// The most nodes of one world.
    pub const NODES: u64 = 20_000;

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
        if let Some(site) = &self.site {
            let checked = error::least("retry", site.retry.as_micros(), 1);
            checked.map_err(|wrong| wrong.within(format_args!("site")))?;
        }
        Ok(())
    }

    /// True when the leader answers at the one address of all servers.
    pub(super) fn has_one_address(&self) -> bool {
        self.site.as_ref().is_some_and(|site| !site.divided)
    }

    /// The variant of that name.
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
