//! What a link does to datagrams, as data.

use serde::{Deserialize, Serialize};

use crate::error::{self, ScenarioError};
use servent_core::time::{Duration, Instant};

/// So many of so many; `[1, 20]` in JSON.
pub type Ratio = (u64, u64);

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// The way of every datagram.
    pub latency: Duration,
    /// Up to so much is added at random.
    pub jitter: Duration,
    /// Lost, each for itself.
    pub loss: Ratio,
    /// Lost in bursts besides.
    pub burst: Option<Burst>,
    /// Arrive twice.
    pub duplicate: Ratio,
    /// Arrive later than those behind them.
    pub reorder: Ratio,
    /// By how much these are late, and how far a second copy is behind.
    pub late: Duration,
    /// Longer datagrams are lost; 0: none is too long.
    pub mtu: u32,
    /// Bytes a second; 0: any number.
    pub rate: u64,
    /// Bytes that may wait for the rate; what finds more is lost.
    pub queue: u64,
    /// From then on nothing is lost, doubled or late by chance; 0: never.
    pub until: Instant,
}

/// A link that is good or bad (Gilbert and Elliott): the state may change with
/// every datagram.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Burst {
    /// How often good becomes bad.
    pub enter: Ratio,
    /// How often bad becomes good.
    pub leave: Ratio,
    /// What is lost while it is bad.
    pub loss: Ratio,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency: Duration::from_millis(20),
            jitter: Duration::ZERO,
            loss: (0, 1),
            burst: None,
            duplicate: (0, 1),
            reorder: (0, 1),
            late: Duration::from_millis(30),
            mtu: 0,
            rate: 0,
            queue: 64 * 1024,
            until: Instant::ZERO,
        }
    }
}

impl Default for Burst {
    fn default() -> Self {
        Self { enter: (1, 100), leave: (1, 4), loss: (9, 10) }
    }
}

impl Link {
    /// The shortest way: what is sent can still be stopped a moment later.
    pub const LEAST: Duration = Duration::from_micros(2);

    /// The longest.
    pub const MOST: Duration = Duration::from_secs(3_600);

    /// Checks that its numbers make sense.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        error::within("latency", self.latency, Self::LEAST..=Self::MOST)?;
        error::within("jitter", self.jitter, Duration::ZERO..=Self::MOST)?;
        error::within("late", self.late, Duration::ZERO..=Self::MOST)?;
        error::ratio("loss", self.loss)?;
        error::ratio("duplicate", self.duplicate)?;
        error::ratio("reorder", self.reorder)?;
        if let Some(burst) = &self.burst {
            error::ratio("burst.enter", burst.enter)?;
            error::ratio("burst.leave", burst.leave)?;
            error::ratio("burst.loss", burst.loss)?;
        }
        Ok(())
    }
}
