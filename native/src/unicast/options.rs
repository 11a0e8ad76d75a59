//! What an endpoint can be told.

use std::net::SocketAddr;
use std::time::Duration;

use servent_core::unicast::Config;

use crate::net::udp::Loss;
use crate::tape::TraceFile;

/// How an endpoint is to work.
#[derive(Debug, Clone)]
pub struct Options {
    /// The only peer there will be: that nobody listens there is known sooner.
    pub only: Option<SocketAddr>,
    /// The protocol's own limits and intervals.
    pub config: Config,
    /// Datagrams thrown away on purpose, in both directions.
    pub loss: Loss,
    /// Decides which ones. Ids and tokens never depend on it.
    pub seed: u64,
    /// Peers that may wait for [`super::Endpoint::accept`]; who comes when
    /// there are so many is not heard and has to try again.
    pub backlog: usize,
    /// A file for everything the protocol is given and says, to be run again
    /// by `servent replay`; about twice as long as what is carried. It is
    /// waited for, and holds the messages.
    pub trace: Option<TraceFile>,
    /// How long a close waits for the last acknowledgement.
    pub close_deadline: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            only: None,
            config: Config { prove: true, ..Config::default() },
            loss: Loss::NONE,
            seed: 1,
            backlog: 128,
            trace: None,
            close_deadline: Duration::from_secs(5),
        }
    }
}
