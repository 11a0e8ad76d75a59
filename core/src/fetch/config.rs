//! The limits and intervals of downloads.

use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Limits and intervals of downloads. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together for tests. Times that a
/// server announces are never scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// Maximum number of downloads at a time; a further one waits its turn.
    pub fetches: u32,
    /// Maximum number of downloads that wait their turn; a further one fails
    /// at once.
    pub fetches_waiting: u32,
    /// Finished downloads that remain in the view.
    pub finished: u32,
    /// Maximum number of sources of one download, given and learnt.
    pub sources: u32,
    /// Maximum number of sources learnt from one `X-Alt`.
    pub alts_per_reply: u32,
    /// Maximum number of learnt sources of one download at one address.
    pub alts_per_ip: u32,
    /// The lowest port that a learnt source may have, so that no peer makes us
    /// connect to, say, a mail server.
    pub alt_port: u16,
    /// Alternate locations named in one request.
    pub alts_told: u32,
    /// Bytes requested at a time when a download has several sources.
    pub chunk: u64,
    /// Bytes stored after which the progress is saved again.
    pub save_bytes: u64,
    /// Time after which bytes that came are saved, however few they are: on a slow
    /// line they took long.
    pub save_interval: Duration,
    /// Maximum number of ranges of a part file that are saved: the largest
    /// ones.
    pub pieces: u32,
    /// Bytes of a source that are compared with those of others when no hash is
    /// known.
    pub probe: u64,
    /// Time for a source to send its hash tree, counted from the dial: a file
    /// whose hash is wrong may have to wait for it.
    pub tree_deadline: Duration,
    /// Maximum length of a hash tree, in bytes. Those of deployed servents have
    /// at most 4095 hashes of 24 bytes.
    pub tree_bytes: u64,
    /// Pieces of one download that the host hashes at a time.
    pub checks: u32,
    /// The largest file we accept; a larger size is taken for a lie.
    pub largest: u64,
    /// The longest body of a refusal that is read and discarded to keep the
    /// connection.
    pub refusal_body: u64,
    /// How many times a source may redirect us before it is given up.
    pub moves: u32,
    /// Maximum number of connections that finished downloads leave to the next
    /// ones from the same server.
    pub spares: u32,
    /// How long such a connection may be unused.
    pub spare_time: Duration,
    /// Time for a dial.
    pub dial_deadline: Duration,
    /// Time from a request to the head of its reply.
    pub answer_deadline: Duration,
    /// Minimum rate of a source in bytes per second, averaged over
    /// [`Config::stall_window`].
    pub stall_rate: u64,
    /// Time over which the rate of a source is averaged.
    pub stall_window: Duration,
    /// Pause before a source whose last transfer went well is asked again.
    pub reconnect: Duration,
    /// First pause after a failure; doubles with each further one.
    pub backoff: Duration,
    /// Longest pause after a failure.
    pub backoff_most: Duration,
    /// Failures in a row after which a source is given up.
    pub attempts: u32,
    /// Replies in a row by which a source says that it is busy without giving us a
    /// place (503, 429), after which it is given up. Zero: it is asked as long as it
    /// likes.
    pub refusals: u32,
    /// Time within which some source must be reached for the first time, or the
    /// download ends; until then pauses are at most a fifth of it. Zero: no
    /// such limit.
    pub first_contact: Duration,
    /// Pause after a plain busy reply without `Retry-After` (AQ-13).
    pub busy_retry: Duration,
    /// Pause before a member of a site is asked again when the one that it named
    /// cannot be reached: another one may have the file by then.
    pub site_retry: Duration,
    /// How long an expected `GIV` may take.
    pub giv_deadline: Duration,
    /// Waiting in servers' queues.
    pub place: crate::queue::client::Config,
    /// The host decodes files that come encoded although they were asked for as they
    /// are. Only whole files from a sole source do, whose hash is not known.
    pub decodes: bool,
    /// Divides every interval above.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            fetches: 256,
            fetches_waiting: 65_536,
            finished: 16,
            sources: 32,
            alts_per_reply: 10,
            alts_per_ip: 2,
            alt_port: 1_024,
            alts_told: 10,
            chunk: 1024 * 1024,
            save_bytes: 4 * 1024 * 1024,
            save_interval: Duration::from_secs(1),
            pieces: 4_096,
            probe: 64 * 1024,
            tree_deadline: Duration::from_secs(15),
            tree_bytes: 128 * 1024,
            checks: 4,
            largest: 1 << 44,
            refusal_body: 64 * 1024,
            moves: 10,
            spares: 0,
            spare_time: Duration::from_secs(4),
            dial_deadline: Duration::from_secs(30),
            answer_deadline: Duration::from_secs(45),
            stall_rate: 64,
            stall_window: Duration::from_secs(60),
            reconnect: Duration::from_secs(1),
            backoff: Duration::from_secs(10),
            backoff_most: Duration::from_secs(600),
            attempts: 8,
            refusals: 0,
            first_contact: Duration::ZERO,
            busy_retry: Duration::from_secs(60),
            site_retry: Duration::from_secs(3),
            giv_deadline: Duration::from_secs(60),
            place: crate::queue::client::Config::default(),
            decodes: false,
            time_scale: 1,
        }
    }
}
