//! A relay, or a provider, that drops what exceeds a rate and lets nothing wait.

use serde::{Deserialize, Serialize};
use servent_core::time::Instant;

/// What passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes that pass at once after a pause.
    pub burst: u64,
}

/// What may pass now.
#[derive(Debug, Clone)]
pub(super) struct PolicerState {
    policer: Policer,
    /// In millionths of a byte.
    left: u128,
    since: Instant,
}

impl PolicerState {
    pub(super) fn new(policer: Policer, begin: Instant) -> Self {
        Self { policer, left: u128::from(policer.burst) * 1_000_000, since: begin }
    }

    /// True when so many bytes pass.
    pub(super) fn pass(&mut self, now: Instant, bytes: u32) -> bool {
        let Policer { rate, burst } = self.policer;
        let more = u128::from(now.since(self.since).as_micros()) * u128::from(rate);
        let bytes = u128::from(bytes) * 1_000_000;
        self.since = now;
        self.left = (self.left + more).min(u128::from(burst) * 1_000_000);
        let passes = bytes <= self.left;
        self.left -= if passes { bytes } else { 0 };
        passes
    }
}
