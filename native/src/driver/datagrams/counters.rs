//! The counters of an endpoint.

use serde::Serialize;
use servent_core::unicast;

use crate::net::udp::SocketCounters;

/// What an endpoint has done since it was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct EndpointCounters {
    /// The counters of the protocol.
    #[serde(flatten)]
    pub protocol: unicast::UnicastCounters,
    /// The counters of the socket.
    #[serde(flatten)]
    pub socket: SocketCounters,
    /// Connections that ended because the peer did not answer.
    pub unreachable: u64,
    /// Datagrams dropped because they came from new peers while the backlog was
    /// full.
    pub turned_away: u64,
    /// Turns of the endpoint's task.
    pub turns: u64,
    /// The smoothed round-trip time to the peer heard from last, in
    /// microseconds; 0 before the first measurement.
    pub rtt_us: u64,
    /// The bytes of a full datagram to that peer; 0 before the first.
    pub datagram_out: u32,
    /// The bytes of the largest datagram that came from any peer.
    pub datagram_in: u32,
}

impl EndpointCounters {
    /// What has been counted since `before` was read.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            protocol: protocol(&self.protocol, &before.protocol),
            socket: socket(&self.socket, &before.socket),
            unreachable: self.unreachable - before.unreachable,
            turned_away: self.turned_away - before.turned_away,
            turns: self.turns - before.turns,
            rtt_us: self.rtt_us,
            datagram_out: self.datagram_out,
            datagram_in: self.datagram_in,
        }
    }
}

const fn protocol(
    now: &unicast::UnicastCounters,
    before: &unicast::UnicastCounters,
) -> unicast::UnicastCounters {
    unicast::UnicastCounters {
        sent: now.sent - before.sent,
        sent_bytes: now.sent_bytes - before.sent_bytes,
        resent: now.resent - before.resent,
        probes: now.probes - before.probes,
        delivered: now.delivered - before.delivered,
        delivered_bytes: now.delivered_bytes - before.delivered_bytes,
        duplicates: now.duplicates - before.duplicates,
        acks_sent: now.acks_sent - before.acks_sent,
        acks_received: now.acks_received - before.acks_received,
        requested: now.requested - before.requested,
        rejected: now.rejected - before.rejected,
        refused: now.refused - before.refused,
        undelivered: now.undelivered - before.undelivered,
        packets_out: now.packets_out - before.packets_out,
        packets_in: now.packets_in - before.packets_in,
    }
}

const fn socket(now: &SocketCounters, before: &SocketCounters) -> SocketCounters {
    SocketCounters {
        bytes_out: now.bytes_out - before.bytes_out,
        bytes_in: now.bytes_in - before.bytes_in,
        largest_out: now.largest_out,
        send_calls: now.send_calls - before.send_calls,
        recv_calls: now.recv_calls - before.recv_calls,
        lost_out: now.lost_out - before.lost_out,
        lost_in: now.lost_in - before.lost_in,
        marked_in: now.marked_in - before.marked_in,
        garbage: now.garbage - before.garbage,
        send_failed: now.send_failed - before.send_failed,
        too_big: now.too_big - before.too_big,
    }
}
