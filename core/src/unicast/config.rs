//! Every limit and interval of the reliable unicast, by name.

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::wire::unicast::Seal;

/// What times the repairs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The design's text to the letter: one task every
    /// [`Config::task_interval`] does all repairs and acknowledgements.
    Unicast3,
    /// The same repairs, timed by the connection's own round trip.
    #[default]
    Adaptive,
}

/// What bounds the bytes under way, beside both windows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// Nothing: the windows alone. For networks of one's own: elsewhere it
    /// takes what others need.
    None,
    /// Grows until something is lost, then steps back and grows along a
    /// cubic curve (after RFC 9438, in integers). Not towards the loopback,
    /// where nothing is shared with anybody (UC-14).
    #[default]
    Cubic,
    /// So many bytes.
    Fixed(u64),
}

/// Limits and intervals of the reliable unicast. Intervals are at full
/// scale; [`Config::time_scale`] shortens all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What times the repairs.
    pub profile: Profile,
    /// What else bounds the bytes under way. Adaptive only.
    pub congestion: Congestion,
    /// The largest datagram that is sent, in bytes: 200 to 65 000.
    pub mtu: u32,
    /// How a datagram shows that it arrived as it was sent.
    pub seal: Seal,
    /// The largest message, in bytes; larger ones are refused. At most half
    /// of [`Config::recv_bytes`] and of [`Config::send_bytes`].
    pub max_message: u32,
    /// Messages (and parts of long ones) kept for one peer until they are
    /// acknowledged.
    pub send_messages: u32,
    /// Bytes kept for one peer until they are acknowledged.
    pub send_bytes: u64,
    /// Messages from one peer that wait here for earlier ones or for the
    /// application.
    pub recv_messages: u32,
    /// Bytes from one peer that wait here for the application; as many again
    /// may wait for earlier ones, from a sender that oversteps its window.
    pub recv_bytes: u64,
    /// Bytes from all peers together that wait here for earlier ones.
    pub recv_total: u64,
    /// Messages sent before the first acknowledgement of a connection.
    pub initial_messages: u32,
    /// Bytes sent before the first acknowledgement of a connection.
    pub initial_flight: u64,
    /// Messages sent again for one acknowledgement, at most.
    pub answer_messages: u32,
    /// Missing ranges asked for in one acknowledgement, at most; it has to
    /// fit a datagram besides.
    pub request_ranges: u32,
    /// Datagrams of requests in one turn.
    pub request_packets: u32,
    /// Peers there can be.
    pub peers: u32,
    /// Peers of one address that spoke first; a /64 network of IPv6 is one.
    pub peers_per_ip: u32,
    /// Nobody is known by its first message alone: it is asked for once more,
    /// with a token in it, and until that comes back nothing is remembered. Costs
    /// whoever speaks first a round trip. It is how a listener should be that
    /// strangers reach.
    pub prove: bool,
    /// Closed connections that are remembered (decision 6).
    pub tombstones: u32,
    /// How long a closed connection is remembered.
    pub tombstone_time: Duration,
    /// Ended connections of one peer whose end is not acknowledged.
    pub farewells: u32,
    /// The period of the one task of [`Profile::Unicast3`] (UC-4, UC-5), and
    /// the least time between its acknowledgements (UC-3).
    pub task_interval: Duration,
    /// An acknowledgement without urgency waits so long for company: the
    /// least time between two, and the most a message waits (UC-3).
    /// Adaptive only.
    pub ack_delay: Duration,
    /// Datagrams that may overtake a missing one before it is asked for.
    /// Adaptive only.
    pub reorder: u32,
    /// The round trip assumed before one is measured.
    pub initial_rtt: Duration,
    /// The shortest retransmission timeout.
    pub rto_min: Duration,
    /// The longest retransmission timeout, and the end of every back-off.
    pub rto_max: Duration,
    /// OPEN without a word about it for so long becomes CLOSING (UC-8,
    /// UC-13); zero: never.
    pub conn_expiry: Duration,
    /// CLOSING for so long becomes CLOSED (UC-8).
    pub conn_close: Duration,
    /// Unacknowledged and silent for so long: the peer is unreachable and
    /// the connection CLOSING (decision 7).
    pub unreachable: Duration,
    /// An event for every message, not only for what went wrong.
    pub trace_messages: bool,
    /// Divides every interval.
    pub time_scale: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: Profile::Adaptive,
            congestion: Congestion::Cubic,
            mtu: 1_400,
            seal: Seal::None,
            max_message: 256 * 1024,
            send_messages: 65_536,
            send_bytes: 4 << 20,
            recv_messages: 65_536,
            recv_bytes: 2 << 20,
            recv_total: 256 << 20,
            initial_messages: 1_024,
            initial_flight: 64 * 1024,
            answer_messages: 4_096,
            request_ranges: 1_024,
            request_packets: 16,
            peers: 10_000,
            peers_per_ip: 64,
            prove: false,
            tombstones: 4_096,
            tombstone_time: Duration::from_secs(600),
            farewells: 8,
            task_interval: Duration::from_millis(500),
            ack_delay: Duration::from_millis(2),
            reorder: 3,
            initial_rtt: Duration::from_millis(50),
            rto_min: Duration::from_millis(5),
            rto_max: Duration::from_secs(2),
            conn_expiry: Duration::from_secs(120),
            conn_close: Duration::from_secs(60),
            unreachable: Duration::from_secs(10),
            trace_messages: false,
            time_scale: 1,
        }
    }
}

impl Config {
    /// True when the text's own timing is asked for.
    #[must_use]
    pub fn to_the_letter(&self) -> bool {
        self.profile == Profile::Unicast3
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
