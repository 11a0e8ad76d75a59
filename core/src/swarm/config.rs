//! The limits and intervals of the swarm.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// The selection policy of the coordinator.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SwarmPolicy {
    /// Exactly the rules of 2004. They deadlock.
    Seed2004,
    /// The same order of selection, but no useful upload slot stays idle.
    #[default]
    Adaptive,
}

/// Limits and intervals of the coordinator. Ratios are in thousandths.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// By which rules pieces are given: `adaptive`, or `seed2004` as the text has
    /// them. Change it to compare the two, or for clients that rely on the text.
    pub policy: SwarmPolicy,
    /// Pieces a client may get for each one it has given, in thousandths: 1500 is
    /// three for two (SW-10). Lower it where many only take; raise it where the
    /// source itself has room to spare.
    pub ratio: u32,
    /// Pieces a client gets before it has given any (SW-7). More of them let
    /// newcomers begin sooner, and those who give nothing get more for it.
    pub free_pieces: u32,
    /// How long what a client gave and took is remembered after it has gone, so
    /// that it cannot begin anew for the asking (SW-8). Lengthen it for files that
    /// people take over several days.
    pub purge: Duration,
    /// Attempts of others to connect to a client that may fail; with one more it
    /// counts as behind a firewall and connects by itself from then on (SW-4).
    pub connect_failures: u32,
    /// Pieces a client that names no number gets at once (SW-12). Raise it for fast
    /// lines whose round trips are long.
    pub default_download: u32,
    /// Pieces a client that names no number gives at once (SW-12).
    pub default_upload: u32,
    /// The largest number of pieces at once that a client may name, in either
    /// direction (SW-12); what is beyond it is cut.
    pub hard_limit: u32,
    /// The largest number of pieces at once that the coordinator goes up to by
    /// itself while a client has room for more (SW-12).
    pub search_limit: u32,
    /// Give a client one of the pieces that the fewest have, instead of any it
    /// lacks (SW-21). Off only to see what that does: a piece may then be lost with
    /// the one client that has it.
    pub rarest: bool,
    /// Give nothing at all to a client that has a piece still to confirm (SW-22).
    /// Always so with the policy `seed2004`, as its text says. On where clients
    /// are not trusted to report; they then wait for a report between pieces.
    pub strict: bool,
    /// A transfer of which neither side has said anything for this long counts as
    /// failed (SW-25). Lengthen it where a piece takes longer than that.
    pub transfer_timeout: Duration,
    /// How long after the report of one side that of the other has to come, or the
    /// transfer counts as failed (SW-22).
    pub confirm_timeout: Duration,
    /// From so many failures on, of which older ones count less, a client gets
    /// nothing for a while, unless it has given more pieces than that (SW-25); and
    /// from so many failed pieces to it on, none that it has not earned (SW-27).
    /// Raise it for bad lines, lower it against cheats.
    pub quarantine: u32,
    /// After this long a failure counts half of what it did.
    pub failure_decay: Duration,
    /// How many times as long as a piece takes a client waits that can go on
    /// neither with what it has earned nor by giving; then it gets a piece for
    /// nothing. Lower it when clients stand still while the source has room.
    pub grant_after: u32,
    /// How many times as long as a piece takes pass between two looks at whether
    /// the ratio fits what is given (SW-11).
    pub ratio_every: u32,
    /// How long a client has to keep the port it listens on before it may name
    /// another one (SW-17).
    pub port_change: Duration,
    /// How long a piece is taken to need until the first one has been seen.
    pub piece_time: Duration,
    /// How long a client that connects has to say which file it wants before we
    /// hang up.
    pub register_timeout: Duration,
    /// Clients at once; one more is refused. Each keeps a connection, so more than
    /// `limits.connections` of them never come.
    pub clients: u32,
    /// Clients at once of one address; a /64 network of IPv6 is one. Raise it where
    /// many sit behind one router.
    pub per_address: u32,
    /// Addresses whose gifts and takings are remembered; beyond it no new address
    /// is served until `swarm.purge` has let one be forgotten.
    pub ledger: u32,
    /// Files served at once.
    pub files: u32,
    /// Pieces of a file; one with more is refused. Larger pieces make fewer of
    /// them.
    pub pieces: u32,
    /// Files that one client may take at once.
    pub files_per_client: u32,
    /// Say in the trace with each choice of a client how it was made, for the lab
    /// and for readers who wonder. Every choice then looks at every client: off for
    /// large swarms.
    pub explain: bool,
}

impl Config {
    /// Whether a client with an unconfirmed transfer gets no further piece.
    pub(super) fn is_strict(&self) -> bool {
        self.strict || self.policy == SwarmPolicy::Seed2004
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: SwarmPolicy::Adaptive,
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
