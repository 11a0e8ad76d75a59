//! Options of a datagram socket.

use std::net::SocketAddr;
use std::time::Duration;

use servent_core::unicast::Config;

use crate::net::udp::LossRate;

/// The largest datagram that is searched for: what jumbo frames carry.
pub const LARGEST: u32 = 8_952;
/// The size at which the search begins; every path carries it.
const SMALLEST: u32 = 1_200;

/// The configuration of a socket that strangers can reach, whose datagrams are
/// as large as the path carries (PA-6), and to which no connection goes on that was begun
/// with another process.
#[must_use]
pub fn searching(config: Config) -> Config {
    Config { prove: true, whole: true, mtu: LARGEST, mtu_floor: SMALLEST, ..config }
}

/// A UDP socket that speaks reliable unicast.
#[derive(Debug, Clone)]
pub struct Datagrams {
    /// The address; port 0 takes any free one, `[::]` accepts IPv4 too.
    pub listen: SocketAddr,
    /// The only peer there will be. The socket is then connected to it, so that
    /// the system reports when nothing listens there.
    pub only: Option<SocketAddr>,
    /// The protocol's own limits and intervals.
    pub config: Config,
    /// Share of datagrams to drop on purpose, in both directions.
    pub loss: LossRate,
    /// Seed that decides which ones. Ids and tokens never depend on it.
    pub seed: u64,
    /// Peers that may wait to be accepted. While there are that many, datagrams
    /// of further peers are dropped, and those peers have to try again.
    pub backlog: usize,
    /// How long a close waits for the last acknowledgement.
    pub close_deadline: Duration,
}

impl Datagrams {
    /// Options for this address, without deliberate loss.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            only: None,
            config: searching(Config::default()),
            loss: LossRate::NONE,
            seed: 1,
            backlog: 128,
            close_deadline: Duration::from_secs(5),
        }
    }
}
