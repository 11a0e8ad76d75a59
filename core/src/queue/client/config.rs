//! How long we wait at somebody else's line.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Intervals of a waiting client, at full scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Time between two requests when the server names none (AQ-13).
    pub interval: Duration,
    /// How long after the earliest allowed instant we ask, at most: inside
    /// the window, but not so deep that a free slot would wait for us.
    pub margin: Duration,
    /// The shortest wait, whatever the server allows: a line is no reason
    /// to hammer.
    pub shortest: Duration,
    /// What is added to `Retry-After` for a missing lifetime (decision §2.7).
    pub lifetime_slack: Duration,
    /// The longest wait a server may ask of us; a place that needs a longer
    /// one is none.
    pub longest: Duration,
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
            time_scale: 1,
        }
    }
}
