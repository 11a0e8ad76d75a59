//! The limits and intervals of the reliable unicast.

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::wire::unicast::Seal;

/// How retransmissions are timed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Exactly as the design says: one task, every [`Config::task_interval`],
    /// does all retransmissions and acknowledgements.
    Unicast3,
    /// The same retransmissions, timed by the connection's measured round trip.
    #[default]
    Adaptive,
}

/// What limits the bytes in flight, besides the send and receive windows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// Nothing but the windows. For private networks: elsewhere it takes
    /// bandwidth from others.
    None,
    /// A congestion window that grows until a loss, is then reduced, and grows
    /// along a cubic curve (RFC 9438, in integers).
    Cubic,
    /// A fixed number of bytes.
    Fixed(u64),
    /// The rate and the round trip of the path, as measured (after BBR version
    /// 3): what a line loses by itself does not slow it down (UC-14, PA-1). On
    /// loopback too: the buffer of a socket is a bottleneck like any other.
    #[default]
    Bbr,
}

impl Congestion {
    /// True when what the path does decides how much is sent.
    pub(in crate::unicast) const fn adapts(self) -> bool {
        match self {
            Self::None | Self::Fixed(_) => false,
            Self::Cubic | Self::Bbr => true,
        }
    }
}

/// Limits and intervals of the reliable unicast. Intervals are at full scale;
/// [`Config::time_scale`] shortens all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How retransmissions are timed.
    pub profile: Profile,
    /// The limit of bytes in flight. Adaptive only.
    pub congestion: Congestion,
    /// Bytes of messages that a peer is sent in a second at most, those sent again
    /// included; 0: as many as the congestion control allows. What was not sent in time,
    /// because the window was full or the path dark, is not made up for beyond a twentieth
    /// of a second (PA-2).
    pub max_pacing_rate: u64,
    /// The largest datagram sent, in bytes: 200 to 65 000.
    pub mtu: u32,
    /// The size of datagrams with which a connection begins, if it is to search
    /// for the largest that its path carries, up to `mtu` (PA-6); 0: all have
    /// `mtu` from the beginning.
    pub mtu_floor: u32,
    /// How the integrity of a datagram is checked.
    pub seal: Seal,
    /// The largest message, in bytes; larger ones are refused. At most half of
    /// [`Config::recv_bytes`] and of [`Config::send_bytes`].
    pub max_message: u32,
    /// Messages (and parts of long ones) buffered for one peer until they are
    /// acknowledged.
    pub send_messages: u32,
    /// Bytes buffered for one peer until they are acknowledged: at most. What
    /// it is at first is `send_start`; it follows what is under way.
    pub send_bytes: u64,
    /// Bytes buffered for one peer at first, and when little is under way.
    pub send_start: u64,
    /// Messages from one peer that wait for earlier ones or for the
    /// application.
    pub recv_messages: u32,
    /// Bytes from one peer that wait for the application, at most; as many
    /// again may wait for earlier ones, from a sender that exceeds its window.
    /// What a peer is granted at first is `recv_start`; it follows what arrives
    /// in two round trips (PA-3).
    pub recv_bytes: u64,
    /// Bytes granted to a peer at first, and again when it has been idle.
    pub recv_start: u64,
    /// Bytes from all peers together that wait for earlier ones.
    pub recv_total: u64,
    /// Bytes by which the windows of all peers together, in both directions,
    /// may exceed what they are at first.
    pub grown_total: u64,
    /// Messages sent before the first acknowledgement of a connection.
    pub initial_messages: u32,
    /// Bytes sent before the first acknowledgement of a connection.
    pub initial_flight: u64,
    /// Maximum number of messages retransmitted for one acknowledgement.
    pub answer_messages: u32,
    /// Maximum number of missing ranges requested in one acknowledgement; they
    /// must also fit into a datagram.
    pub request_ranges: u32,
    /// Datagrams with requests sent in one turn.
    pub request_packets: u32,
    /// Maximum number of peers.
    pub peers: u32,
    /// Peers of one address that spoke first; an IPv6 /64 network is one
    /// address.
    pub peers_per_ip: u32,
    /// A first message alone opens no connection: it is requested once more,
    /// with a token, and nothing is remembered until the token comes back. This
    /// costs a peer that speaks first one round trip; one that answers us shows with an
    /// acknowledgement that it has heard us, and two that speak first at once are both
    /// asked. Listeners that strangers can reach should use it.
    pub prove: bool,
    /// A connection of which nothing is known here, and that begins in the middle, is not
    /// taken: another process had what came before, and has ended. Its sender is told so.
    pub whole: bool,
    /// Closed connections that are remembered (decision 6).
    pub tombstones: u32,
    /// How long a closed connection is remembered.
    pub tombstone_time: Duration,
    /// Ended connections of one peer whose end is not acknowledged yet.
    pub farewells: u32,
    /// The period of the one task of [`Profile::Unicast3`] (UC-4, UC-5), and
    /// the minimum time between its acknowledgements (UC-3).
    pub task_interval: Duration,
    /// How long an acknowledgement that is not urgent is delayed to be combined
    /// with others: the minimum time between two, and the maximum a message
    /// waits (UC-3). Adaptive only.
    pub ack_delay: Duration,
    /// Bytes after which an acknowledgement is not delayed any more: on a path that is
    /// faster than so many in [`Config::ack_delay`], the delay would be most of what is
    /// under way, and no socket has room for that. Adaptive only.
    pub ack_bytes: u64,
    /// Datagrams that may overtake a missing one before it is requested.
    /// Adaptive only.
    pub reorder: u32,
    /// The round-trip time assumed before one is measured.
    pub initial_rtt: Duration,
    /// The shortest retransmission timeout.
    pub rto_min: Duration,
    /// The longest retransmission timeout, and the limit of every back-off.
    pub rto_max: Duration,
    /// OPEN becomes CLOSING after this time without a message about it (UC-8,
    /// UC-13); zero: never.
    pub conn_expiry: Duration,
    /// CLOSING becomes CLOSED after this time (UC-8).
    pub conn_close: Duration,
    /// After this time without an acknowledgement or any other message, a peer
    /// that has never answered is unreachable and the connection CLOSING
    /// (decision 7).
    pub unreachable: Duration,
    /// The same for a peer that has answered before: its path may be dark for
    /// a while (PA-8).
    pub blackout: Duration,
    /// Emit an event for every message, not only for faults.
    pub trace_messages: bool,
    /// Divides every interval.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: Profile::Adaptive,
            congestion: Congestion::Bbr,
            max_pacing_rate: 0,
            mtu: 1_400,
            mtu_floor: 0,
            seal: Seal::None,
            max_message: 256 * 1024,
            send_messages: 65_536,
            send_bytes: 64 << 20,
            send_start: 4 << 20,
            recv_messages: 65_536,
            recv_bytes: 64 << 20,
            recv_start: 2 << 20,
            recv_total: 256 << 20,
            grown_total: 512 << 20,
            initial_messages: 1_024,
            initial_flight: 64 * 1024,
            answer_messages: 4_096,
            request_ranges: 1_024,
            request_packets: 16,
            peers: 10_000,
            peers_per_ip: 64,
            prove: false,
            whole: false,
            tombstones: 4_096,
            tombstone_time: Duration::from_secs(600),
            farewells: 8,
            task_interval: Duration::from_millis(500),
            ack_delay: Duration::from_millis(2),
            ack_bytes: 256 * 1_024,
            reorder: 3,
            initial_rtt: Duration::from_millis(50),
            rto_min: Duration::from_millis(5),
            rto_max: Duration::from_secs(2),
            conn_expiry: Duration::from_secs(120),
            conn_close: Duration::from_secs(60),
            unreachable: Duration::from_secs(10),
            blackout: Duration::from_secs(90),
            trace_messages: false,
            time_scale: 1,
        }
    }
}

impl Config {
    /// True when the timing is exactly that of the design.
    #[must_use]
    pub fn to_the_letter(&self) -> bool {
        self.profile == Profile::Unicast3
    }

    /// True when a connection searches for the size of its datagrams (PA-6).
    pub(super) const fn searches_size(&self) -> bool {
        self.mtu_floor != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_from_its_text() {
        let config = Config {
            profile: Profile::Unicast3,
            congestion: Congestion::Fixed(9),
            seal: Seal::Key(1, u64::MAX),
            mtu: 300,
            ..Config::default()
        };
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config);
        assert!(serde_json::from_str::<Config>(r#"{"mut":1}"#).is_err());
    }
}
