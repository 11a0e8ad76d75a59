//! What a node does in swarms, and its limits there.

use serde::{Deserialize, Serialize};

use crate::swarm::{self, client};
use crate::time::Duration;

/// A node's part in swarms. Both halves are off unless they are configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Be the coordinator of files, and their source.
    pub coordinator: Option<swarm::Config>,
    /// Be a client of somebody else's coordinator. The port it is reached at
    /// is the one the host listens on, and without an id one is drawn.
    pub client: Option<client::Config>,
    /// What peers and clients can make us spend.
    pub limits: Limits,
}

impl Config {
    /// True when either half is configured.
    pub(in crate::node) const fn is_on(&self) -> bool {
        self.coordinator.is_some() || self.client.is_some()
    }
}

/// What peers of a swarm, and the clients of its coordinator, can make a node
/// spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Bytes of a head. An id may have 4 095 bytes.
    pub head_bytes: u32,
    /// Lines of a head.
    pub head_lines: u32,
    /// Bytes that may come ahead of their turn: of a body whose sender does
    /// not wait until it is asked for.
    pub early: u32,
    /// Unsent bytes of messages to a client of the coordinator.
    pub backlog: u64,
    /// A peer that neither sends nor takes anything for so long is given up.
    pub stall: Duration,
    /// A peer that sends to others first answers by then.
    pub turn: Duration,
    /// A connection nothing is asked on for so long is closed by whom it came
    /// to, and some time before that not used any more by who made it.
    pub idle: Duration,
    /// Connections to peers kept although nothing happens on them.
    pub kept: u32,
    /// Peers told apart in what is counted.
    pub counted: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 16 * 1024,
            head_lines: 64,
            early: 1 << 20,
            backlog: 1 << 20,
            stall: Duration::from_secs(30),
            turn: Duration::from_secs(90),
            idle: Duration::from_secs(60),
            kept: 128,
            counted: 4_096,
        }
    }
}
