//! How the servent of a page is configured.

use servent_core::node;
use servent_core::time::Duration;
use servent_core::unicast::{self, Congestion};

use super::Rules;
use super::socket::MESSAGE;

/// Connections in total, and uploads at once.
pub(super) const CONNECTIONS: u32 = 64;
const SLOTS: u32 = 2;
/// Neighbours that are looked for, and the most there may be.
const DEGREE: [u32; 2] = [3, 16];
/// Bytes of a datagram: with the headers of SCTP and DTLS it fits into a packet of
/// every network, so that one lost packet is one lost datagram.
const DATAGRAM: u32 = 1_100;
/// Bytes on their way to one page, and from one.
const WINDOW: u64 = 1 << 20;

/// The configuration of a servent that only pages can connect to.
pub(super) fn config(name: &str, rules: Option<Rules>) -> node::Config {
    let mut config = node::Config::default();
    let visible = |c: &char| c.is_ascii_graphic() || *c == ' ';
    let name: String = name.chars().filter(visible).take(32).collect();
    config.agent = format!("{} (tab) {name}", config.agent);
    config.callable = false;
    config.calls_back = false;
    // A browser wakes a tab that is in the background once a minute.
    config.fetch.place.sleeps = true;
    config.queue.slots = SLOTS;
    config.limits.connections = CONNECTIONS;
    config.overlay.enabled = true;
    config.overlay.firewalled = true;
    [config.overlay.degree, config.overlay.neighbours] = DEGREE;
    config.overlay.leaves = 0;
    config.datagrams = Some(datagrams());
    if let Some(Rules { slots, degree, ttl, policy }) = rules {
        (config.queue.slots, config.overlay.degree) = (slots, degree);
        config.queue.policy = policy;
        config.overlay.router.max_ttl = ttl.clamp(1, config.overlay.router.max_ttl);
    }
    config
}

/// What makes a channel reliable.
fn datagrams() -> unicast::Config {
    unicast::Config {
        // SCTP, below, shares the network with others.
        congestion: Congestion::None,
        mtu: DATAGRAM,
        max_message: MESSAGE,
        send_bytes: WINDOW,
        recv_bytes: WINDOW,
        recv_total: 16 * WINDOW,
        peers: CONNECTIONS,
        peers_per_ip: CONNECTIONS,
        // A browser's timers are that coarse.
        ack_delay: Duration::from_millis(4),
        rto_min: Duration::from_millis(20),
        // A tab in the background runs its timers once a second at most.
        unreachable: Duration::from_secs(30),
        // A channel that is silent is open as long as its connection.
        conn_expiry: Duration::ZERO,
        ..unicast::Config::default()
    }
}
