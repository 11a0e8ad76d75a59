//! Every limit and interval of downloads, by name.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Limits and intervals of downloads. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together for tests. What a
/// server tells us is taken as told and never scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Downloads at once; one more fails at once.
    pub fetches: u32,
    /// Finished downloads that still show in the view.
    pub finished: u32,
    /// Sources of one download, given and learnt together.
    pub sources: u32,
    /// Sources learnt from one `X-Alt`.
    pub alts_per_reply: u32,
    /// Learnt sources of one download at one address.
    pub alts_per_ip: u32,
    /// The lowest port a learnt source may have: nobody makes us knock at a
    /// mail server.
    pub alt_port: u16,
    /// Alternate locations told in one request.
    pub alts_told: u32,
    /// Bytes asked for at once when a download has several sources.
    pub chunk: u64,
    /// Bytes on disk after which the progress is remembered again.
    pub save_bytes: u64,
    /// Pieces of a part file that are remembered, the largest ones.
    pub pieces: u32,
    /// Bytes of a source that are compared with those of others where no hash is
    /// known.
    pub probe: u64,
    /// Time for a source to give its hash tree, from the dial on: a wrong file
    /// may have to wait for it.
    pub tree_deadline: Duration,
    /// The longest hash tree that is read, in bytes. Those of deployed servents
    /// have 4095 hashes of 24 bytes at most.
    pub tree_bytes: u64,
    /// Pieces of one download that the host hashes at once.
    pub checks: u32,
    /// The largest file we take; a longer one is a lie.
    pub largest: u64,
    /// The longest body of a refusal that is read past to keep its connection.
    pub refusal_body: u64,
    /// How often a source may send us elsewhere before it is given up.
    pub moves: u32,
    /// Time for a dial.
    pub dial_deadline: Duration,
    /// Time from a request to the head of its reply.
    pub answer_deadline: Duration,
    /// Bytes a second a source must send, over [`Config::stall_window`].
    pub stall_rate: u64,
    /// Time over which the rate of a source is judged.
    pub stall_window: Duration,
    /// Pause before a source that has just been good is asked again.
    pub reconnect: Duration,
    /// First pause after a failure; doubles with each further one.
    pub backoff: Duration,
    /// Longest pause after a failure.
    pub backoff_most: Duration,
    /// Failures in a row before a source is given up.
    pub attempts: u32,
    /// Time in which some source must be reached for the first time, or the
    /// download ends; until then pauses are a fifth of it at most. Zero: no
    /// such limit.
    pub first_contact: Duration,
    /// Pause after a plain busy reply that names none (AQ-13).
    pub busy_retry: Duration,
    /// Time for an expected `GIV` to come.
    pub giv_deadline: Duration,
    /// Waiting at servers.
    pub place: crate::queue::client::Config,
    /// Divides every interval above.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            fetches: 256,
            finished: 16,
            sources: 32,
            alts_per_reply: 10,
            alts_per_ip: 2,
            alt_port: 1_024,
            alts_told: 10,
            chunk: 1024 * 1024,
            save_bytes: 4 * 1024 * 1024,
            pieces: 4_096,
            probe: 64 * 1024,
            tree_deadline: Duration::from_secs(15),
            tree_bytes: 128 * 1024,
            checks: 4,
            largest: 1 << 44,
            refusal_body: 64 * 1024,
            moves: 10,
            dial_deadline: Duration::from_secs(30),
            answer_deadline: Duration::from_secs(45),
            stall_rate: 64,
            stall_window: Duration::from_secs(60),
            reconnect: Duration::from_secs(1),
            backoff: Duration::from_secs(10),
            backoff_most: Duration::from_secs(600),
            attempts: 8,
            first_contact: Duration::ZERO,
            busy_retry: Duration::from_secs(60),
            giv_deadline: Duration::from_secs(60),
            place: crate::queue::client::Config::default(),
            time_scale: 1,
        }
    }
}
