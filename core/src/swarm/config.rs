//! Every limit and interval of the swarm, by name.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Who decides, and how.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The rules of 2004 to the letter. They deadlock.
    Seed2004,
    /// The same order of selection, and no useful upload slot stays idle.
    #[default]
    Adaptive,
}

/// Limits and intervals of the coordinator. Ratios are in thousandths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The rules.
    pub policy: Policy,
    /// Downloads one upload earns, in thousandths (SW-10).
    pub ratio: u32,
    /// Pieces without any upload (SW-7).
    pub free_pieces: u32,
    /// How long an absent address is remembered (SW-8).
    pub purge: Duration,
    /// Failed connects before a client counts as passive: one more than this
    /// (SW-4).
    pub connect_failures: u32,
    /// Concurrent downloads of a client that does not say (SW-12).
    pub default_download: u32,
    /// Concurrent uploads of a client that does not say (SW-12).
    pub default_upload: u32,
    /// The most a client may ask for (SW-12).
    pub hard_limit: u32,
    /// The most the coordinator finds by itself (SW-12).
    pub search_limit: u32,
    /// Take a random piece of the rarest, not of all (SW-21).
    pub rarest: bool,
    /// A client that has not confirmed gets nothing at all (SW-22). Always so
    /// with [`Policy::Seed2004`], as its text says.
    pub strict: bool,
    /// A transfer nobody has reported on ends after this long (SW-25).
    pub transfer_timeout: Duration,
    /// After one side's report, the other's has to come (SW-22).
    pub confirm_timeout: Duration,
    /// Weighed failures from which on a client is in quarantine, unless it
    /// has uploaded more (SW-25); pieces to it that failed from which on it
    /// gets none it has not earned (SW-27).
    pub quarantine: u32,
    /// Failures count half after this long.
    pub failure_decay: Duration,
    /// How long a stalled client waits for its grant, in piece times (§4).
    pub grant_after: u32,
    /// How often the ratio is looked at, in piece times (SW-11).
    pub ratio_every: u32,
    /// A port may change again after this long (SW-17).
    pub port_change: Duration,
    /// The time of a piece before any has been seen.
    pub piece_time: Duration,
    /// Who has not registered by then is hung up on.
    pub register_timeout: Duration,
    /// Clients at most.
    pub clients: u32,
    /// Clients of one address at most; a /64 network of IPv6 is one.
    pub per_address: u32,
    /// Addresses remembered at most.
    pub ledger: u32,
    /// Files at most.
    pub files: u32,
    /// Pieces of a file at most.
    pub pieces: u32,
    /// Files of one client at most.
    pub files_per_client: u32,
    /// Tell with each choice how it was made. Looks at every client.
    pub explain: bool,
}

impl Config {
    /// Whether a client that has not confirmed gets nothing at all.
    pub(super) fn is_strict(&self) -> bool {
        self.strict || self.policy == Policy::Seed2004
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policy::Adaptive,
            ratio: 2_000,
            free_pieces: 1,
            purge: Duration::from_secs(1_800),
            connect_failures: 4,
            default_download: 4,
            default_upload: 4,
            hard_limit: 16,
            search_limit: 8,
            rarest: true,
            strict: false,
            transfer_timeout: Duration::from_secs(120),
            confirm_timeout: Duration::from_secs(30),
            quarantine: 3,
            failure_decay: Duration::from_secs(600),
            grant_after: 16,
            ratio_every: 8,
            port_change: Duration::from_secs(10),
            piece_time: Duration::from_secs(1),
            register_timeout: Duration::from_secs(30),
            clients: 20_000,
            per_address: 256,
            ledger: 100_000,
            files: 1_000,
            pieces: 65_536,
            files_per_client: 64,
            explain: false,
        }
    }
}
