//! How a servent takes part in the overlay.

use serde::{Deserialize, Serialize};

use crate::routing;
use crate::time::Duration;

/// How a servent takes part in the overlay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OverlayConfig {
    /// Accept neighbours, and look for some.
    pub enabled: bool,
    /// Neighbours we look for; a leaf looks for six.
    pub degree: u32,
    /// Maximum number of neighbours, without leaves; further hosts are refused,
    /// and told of others.
    pub neighbours: u32,
    /// Maximum number of leaves.
    pub leaves: u32,
    /// Compress what is sent to neighbours that can inflate it.
    pub deflate: bool,
    /// Maximum ratio of inflated to received bytes of a compressed link.
    pub inflate_ratio: u32,
    /// Maximum number of bytes that one read may inflate to.
    pub inflate_bytes: u32,
    /// Maximum inflated bytes per second of a compressed link.
    pub inflate_rate: u32,
    /// Maximum payload bytes of a message.
    pub payload: u32,
    /// Maximum number of host addresses that are remembered.
    pub hosts: u32,
    /// An address that no host has named for this long is forgotten.
    pub host_life: Duration,
    /// Minimum time between two updates of the keyword table that tells
    /// neighbours what we share.
    pub keywords_every: Duration,
    /// Minimum time between two attempts to connect to one address.
    pub retry: Duration,
    /// Time until an address that refused us is tried again; doubles with each
    /// further refusal in a row, up to 128 times this.
    pub refused: Duration,
    /// Maximum number of files in our answer to one query.
    pub results: u32,
    /// Others cannot connect to us and must request a push. Otherwise that is found out:
    /// a neighbour that was asked to connect to us does not (`router.dial_back`), or a
    /// push comes while no host has.
    pub firewalled: bool,
    /// The router.
    pub router: routing::Config,
}

impl Default for OverlayConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            degree: 6,
            neighbours: 32,
            leaves: 32,
            deflate: true,
            inflate_ratio: 64,
            inflate_bytes: 4 << 20,
            inflate_rate: 8 << 20,
            payload: 65_536,
            hosts: 500,
            host_life: Duration::from_secs(7 * 86_400),
            keywords_every: Duration::from_secs(30),
            retry: Duration::from_secs(30),
            refused: Duration::from_secs(60),
            results: 50,
            firewalled: false,
            router: routing::Config::default(),
        }
    }
}
