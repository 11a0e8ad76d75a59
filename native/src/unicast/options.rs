//! Options of an endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use servent_core::unicast::Config;

use crate::driver::searching;
use crate::net::udp::LossRate;
use crate::tape::TraceFile;

/// The options of an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// The only peer there will be: it is noticed sooner when nothing listens
    /// there.
    pub only: Option<SocketAddr>,
    /// The protocol's own limits and intervals.
    pub config: Config,
    /// Share of datagrams to drop on purpose, in both directions.
    pub loss: LossRate,
    /// Seed that decides which ones. Ids and tokens never depend on it.
    pub seed: u64,
    /// Peers that may wait for [`super::Endpoint::accept`]. While there are
    /// that many, datagrams of further peers are dropped, and those peers have
    /// to try again.
    pub backlog: usize,
    /// A file that records all inputs and effects of the protocol, for `servent
    /// replay`. It contains the messages and is about twice as long as what is
    /// transferred. The endpoint waits for a slow file.
    pub trace: Option<TraceFile>,
    /// Keep the recording in memory for the lab, bounded.
    pub tape: bool,
    /// Meet others through a place, or let others meet.
    pub meet: Option<servent_core::meet::Config>,
    /// How long a close waits for the last acknowledgement.
    pub close_deadline: Duration,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            only: None,
            config: searching(Config::default()),
            loss: LossRate::NONE,
            seed: 1,
            backlog: 128,
            trace: None,
            tape: false,
            meet: None,
            close_deadline: Duration::from_secs(5),
        }
    }
}
