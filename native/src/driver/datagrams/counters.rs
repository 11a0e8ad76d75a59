//! Numbers that only grow.

use serde::Serialize;
use servent_core::unicast;

use crate::net::udp::SocketCounters;

/// What an endpoint has done since it was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// The protocol's own.
    #[serde(flatten)]
    pub protocol: unicast::Counters,
    /// The socket's.
    #[serde(flatten)]
    pub socket: SocketCounters,
    /// Connections that ended because the peer did not answer.
    pub unreachable: u64,
    /// Datagrams of newcomers that found the backlog full.
    pub turned_away: u64,
    /// Turns of the endpoint's task.
    pub turns: u64,
    /// The round trip of the peer heard last, smoothed, in microseconds; 0
    /// before one was measured.
    pub rtt_us: u64,
}
