//! What a link does to datagrams, as data.

use serde::{Deserialize, Serialize};

use crate::error::{self, ScenarioError};
use servent_core::time::{Duration, Instant};

/// A ratio: numerator and denominator; `[1, 20]` in JSON.
pub type Ratio = (u64, u64);

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatagramLink {
    /// The latency of every datagram.
    pub latency: Duration,
    /// A random delay of up to this is added.
    pub jitter: Duration,
    /// The probability of loss, for each datagram independently.
    pub loss: Ratio,
    /// Additional loss in bursts.
    pub burst: Option<Burst>,
    /// The probability of arriving twice.
    pub duplicate: Ratio,
    /// The probability of arriving after later ones.
    pub reorder: Ratio,
    /// The extra delay of these, and of the second copy of a duplicate.
    pub late: Duration,
    /// Larger datagrams are lost; 0: no limit.
    pub mtu: u32,
    /// Bytes per second; 0: no limit.
    pub rate: u64,
    /// Bytes that may wait for the rate; a datagram that finds more is lost.
    pub queue: u64,
    /// From then on nothing is lost, duplicated or delayed by chance; 0: never.
    pub until: Instant,
}

/// A link with a good and a bad state (Gilbert-Elliott model): the state may
/// change with every datagram.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Burst {
    /// The probability of changing from good to bad.
    pub enter: Ratio,
    /// The probability of changing from bad to good.
    pub leave: Ratio,
    /// The probability of loss in the bad state.
    pub loss: Ratio,
}

impl Default for DatagramLink {
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

impl DatagramLink {
    /// The smallest latency: what is sent can still be dropped a moment later.
    pub const LEAST: Duration = Duration::from_micros(2);

    /// The largest latency.
    pub const MOST: Duration = Duration::from_secs(3_600);

    /// Checks that its values are valid.
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
