//! Every limit and interval of a client of a swarm, by name.

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::wire::pdtp::Text;

/// Limits and intervals of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Its id, unique at the coordinator.
    pub id: Text,
    /// Where it accepts its peers; `None` when it cannot.
    pub listen_port: Option<u16>,
    /// Downloads at once, if the coordinator is to be told (SW-12).
    pub max_download: Option<u32>,
    /// Uploads at once, if the coordinator is to be told.
    pub max_upload: Option<u32>,
    /// Uploads that send at the same time; others wait their turn, so that
    /// each piece is passed on as early as can be.
    pub send_at_once: u32,
    /// Peers that wait for an answer, at most.
    pub waiting: u32,
    /// Peers that may come without asking again, at most.
    pub allowed: u32,
    /// Jobs at once, at most.
    pub jobs: u32,
    /// Pieces of a file, at most.
    pub pieces: u32,
    /// A job that has not ended by then has failed.
    pub job_timeout: Duration,
    /// The coordinator answers `ask_verify` by then, or the peer is refused.
    pub verify_timeout: Duration,
    /// The coordinator's early word about a peer may come so much after the
    /// peer itself; after that it is asked.
    pub early_wait: Duration,
    /// The first wait before connecting again; it doubles.
    pub retry_first: Duration,
    /// The longest wait before connecting again.
    pub retry_most: Duration,
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
        }
    }
}
