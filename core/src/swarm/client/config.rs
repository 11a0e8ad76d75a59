//! The limits and intervals of a client of a swarm.

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::wire::pdtp::Text;

/// Limits and intervals of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Config {
    /// Its id, unique among the clients of the coordinator.
    pub id: Text,
    /// The port on which it accepts peers; `None` when it cannot.
    pub listen_port: Option<u16>,
    /// Concurrent downloads to request of the coordinator, if any (SW-12).
    pub max_download: Option<u32>,
    /// Concurrent uploads to request of the coordinator, if any.
    pub max_upload: Option<u32>,
    /// Uploads that send at the same time; others wait, so that each piece is
    /// complete, and passed on, as early as possible.
    pub send_at_once: u32,
    /// Maximum number of peers that wait for verification.
    pub waiting: u32,
    /// Maximum number of peers that are allowed in advance.
    pub allowed: u32,
    /// Maximum number of concurrent jobs.
    pub jobs: u32,
    /// Maximum number of pieces of a file.
    pub pieces: u32,
    /// A job that has not ended after this time has failed.
    pub job_timeout: Duration,
    /// Time for the coordinator to answer `ask_verify`; then the peer is
    /// refused.
    pub verify_timeout: Duration,
    /// How much later than a peer itself the coordinator's announcement of it
    /// may come; after that the coordinator is asked.
    pub early_wait: Duration,
    /// The first pause before reconnecting; it doubles.
    pub retry_first: Duration,
    /// The longest pause before reconnecting.
    pub retry_most: Duration,
    /// How often in a row coordinators may send us on to another one.
    pub moves: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            id: "client".into(),
            listen_port: None,
            max_download: None,
            max_upload: None,
            send_at_once: 1,
            waiting: 64,
            allowed: 256,
            jobs: 64,
            pieces: 65_536,
            job_timeout: Duration::from_secs(90),
            verify_timeout: Duration::from_secs(15),
            early_wait: Duration::from_millis(250),
            retry_first: Duration::from_secs(1),
            retry_most: Duration::from_secs(60),
            moves: 4,
        }
    }
}
