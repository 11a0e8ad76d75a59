//! What an exploration of a small world may use.

use serde::{Deserialize, Serialize};
use servent_core::time::Duration;

/// What an exploration may use, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Messages that may be lost.
    pub losses: u32,
    /// Messages that may arrive twice.
    pub doubles: u32,
    /// Nodes that may crash.
    pub crashes: u32,
    /// Events of one story.
    pub depth: u32,
    /// States that are walked.
    pub states: u64,
    /// The scenario's actions happen within this time: no timer that is due later
    /// runs before the last of them.
    pub acting: Duration,
    /// A message is under way for no longer: no timer that is due later runs
    /// before it has arrived or is lost.
    pub transit: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            losses: 1,
            doubles: 0,
            crashes: 0,
            depth: 200,
            states: 2_000_000,
            acting: Duration::from_secs(1),
            transit: Duration::from_millis(100),
        }
    }
}
