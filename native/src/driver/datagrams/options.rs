//! How datagrams are to be heard and sent.

use std::net::SocketAddr;
use std::time::Duration;

use servent_core::unicast::Config;

use crate::net::udp::Loss;

/// A UDP socket that speaks reliable unicast.
#[derive(Debug, Clone)]
pub struct Datagrams {
    /// The address; port 0 takes any free one, `[::]` takes IPv4 too.
    pub listen: SocketAddr,
    /// The only peer there will be. Then its system can tell when nobody
    /// listens there.
    pub only: Option<SocketAddr>,
    /// The protocol's own limits and intervals.
    pub config: Config,
    /// Datagrams thrown away on purpose, in both directions.
    pub loss: Loss,
    /// Decides which ones. Ids and tokens never depend on it.
    pub seed: u64,
    /// Peers that may wait to be accepted; who comes when there are so many is
    /// not heard and has to try again.
    pub backlog: usize,
    /// How long a close waits for the last acknowledgement.
    pub close_deadline: Duration,
}

impl Datagrams {
    /// On this address, without any loss on purpose.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            only: None,
            config: Config { prove: true, ..Config::default() },
            loss: Loss::NONE,
            seed: 1,
            backlog: 128,
            close_deadline: Duration::from_secs(5),
        }
    }
}
