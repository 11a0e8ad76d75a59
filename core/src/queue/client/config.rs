//! How long we wait in the queue of another server.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Intervals of a waiting client, at full scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// Time between two requests when the server names none (AQ-13).
    pub interval: Duration,
    /// Maximum delay after the earliest allowed instant: we ask inside the
    /// window, but not so late that a free slot waits for us.
    pub margin: Duration,
    /// The shortest wait, whatever the server allows: waiting in a queue is no
    /// reason to hammer.
    pub shortest: Duration,
    /// Added to `Retry-After` when the lifetime is missing (decision §2.7).
    pub lifetime_slack: Duration,
    /// The longest wait that a server may ask of us; a place that requires a
    /// longer one is not taken.
    pub longest: Duration,
    /// Whether this host may sleep: it wakes only once a minute while its user does not look,
    /// and servers are told, so that they give wider windows (WB-7).
    pub sleeps: bool,
    /// Divides every interval above.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            margin: Duration::from_secs(2),
            shortest: Duration::from_secs(1),
            lifetime_slack: Duration::from_secs(60),
            longest: Duration::from_secs(24 * 3_600),
            sleeps: false,
            time_scale: 1,
        }
    }
}
