//! What a node does in swarms, and its limits there.

use serde::{Deserialize, Serialize};

use crate::swarm::{self, client};
use crate::time::Duration;

/// A node's part in swarms. Both parts are off unless configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Config {
    /// Be the coordinator of files, and their source.
    pub coordinator: Option<swarm::Config>,
    /// Be a client of another coordinator. Its listening port is that of the
    /// host; when no id is given, one is drawn.
    pub client: Option<client::Config>,
    /// What peers and clients can make us spend.
    pub limits: SwarmLimits,
}

impl Config {
    /// True when either part is configured.
    pub(in crate::node) const fn is_on(&self) -> bool {
        self.coordinator.is_some() || self.client.is_some()
    }
}

/// What the peers of a swarm, and the clients of its coordinator, can make a
/// node spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SwarmLimits {
    /// Bytes of a head. An id alone may have 4 095 bytes.
    pub head_bytes: u32,
    /// Lines of a head.
    pub head_lines: u32,
    /// Bytes of a body that may be received before the transfer may start, from
    /// a sender that does not wait for our answer.
    pub early: u32,
    /// Unsent bytes of messages to a client of the coordinator.
    pub backlog: u64,
    /// A peer that neither sends nor reads for this long is given up.
    pub stall: Duration,
    /// How long a peer that is busy sending to others may take to answer.
    pub turn: Duration,
    /// A connection without requests is closed after this time by the end that
    /// accepted it; some time before that the end that dialed it stops using
    /// it.
    pub idle: Duration,
    /// Idle connections to peers that are kept.
    pub kept: u32,
    /// Peers with a counter of their own.
    pub counted: u32,
}

impl Default for SwarmLimits {
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
