//! A node's configuration: its own limits and those of its engines.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::inbox::InboxLimits;
use crate::fetch;
use crate::meet;
use crate::queue::{self, Dialect};
use crate::time::Duration;
use crate::unicast;
use crate::wire::http::HeadLimits;

/// Everything that shapes a node's decisions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Config {
    /// `Server` and `User-Agent`.
    pub agent: String,
    /// The upload queue.
    pub queue: queue::Config,
    /// Downloads.
    pub fetch: fetch::Config,
    /// Connections to us are TLS: links that name us begin with `https`.
    pub secure: bool,
    /// What a stranger can make us spend.
    pub limits: NodeLimits,
    /// What visitors may upload.
    pub inbox: InboxLimits,
    /// Host names by which browsers of our own network may address us, besides
    /// IP addresses and names of local networks. Any other name may have been
    /// chosen by a web page to reach us.
    pub hosts: Vec<String>,
    /// Serve files. When off, every request is refused with 503.
    pub http: bool,
    /// Download. When off, remembered downloads are not continued.
    pub download: bool,
    /// The queueing dialect of our downloads.
    pub dialect: Dialect,
    /// Serve the finished parts of unfinished downloads.
    pub share_parts: bool,
    /// Announce `X-Node`, so that servers may call us back.
    pub callable: bool,
    /// Call clients back when their turn comes. A client that is not called
    /// polls when its interval is over.
    pub calls_back: bool,
    /// Serve only clients that prove to know a password
    /// ([`super::ConnOutput::Authenticate`]).
    pub guarded: bool,
    /// The overlay.
    pub overlay: super::overlay::Config,
    /// Reliable messages over datagrams; `None`: datagrams are ignored.
    pub datagrams: Option<unicast::Config>,
    /// Meetings with others that cannot be reached otherwise; `None`: none.
    pub meet: Option<meet::Config>,
    /// Swarms.
    pub swarm: super::swarm::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            agent: String::from(concat!("Servent/", env!("CARGO_PKG_VERSION"))),
            queue: queue::Config::default(),
            fetch: fetch::Config::default(),
            secure: false,
            limits: NodeLimits::default(),
            inbox: InboxLimits::default(),
            hosts: Vec::new(),
            http: true,
            download: true,
            dialect: Dialect::Parq,
            share_parts: false,
            callable: true,
            calls_back: true,
            guarded: false,
            overlay: super::overlay::Config::default(),
            datagrams: None,
            meet: None,
            swarm: super::swarm::Config::default(),
        }
    }
}

impl NodeLimits {
    /// The limits of a head.
    pub(super) const fn head(&self) -> HeadLimits {
        HeadLimits { bytes: self.head_bytes, lines: self.head_lines }
    }
}

/// What a stranger can make us spend. Reaching one is an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NodeLimits {
    /// Connections in total.
    pub connections: u32,
    /// Connections of one address.
    pub connections_per_ip: u32,
    /// Bytes of a head, request line included.
    pub head_bytes: u32,
    /// Lines of a head.
    pub head_lines: u32,
    /// Time from the first byte of a head to its last, and from the opening of
    /// a connection to the end of its first head.
    pub request_deadline: Duration,
    /// Time a kept connection may be silent when its client holds no place.
    pub idle_deadline: Duration,
    /// Minimum rate in bytes per second at which a client must read, averaged
    /// over [`NodeLimits::reader_window`].
    pub reader_rate: u64,
    /// Time over which the rate of a reader is averaged.
    pub reader_window: Duration,
    /// Requests a client may pipeline, that is send before they are answered.
    pub pipeline: u32,
    /// Unsent reply bytes of one connection.
    pub backlog: u64,
    /// Failed dials in a row to one target that strangers named; after that the
    /// target is not dialed for a while.
    pub stranger_dials_per_target: u32,
    /// Failed dials in a row to one address, whatever the port, that strangers
    /// named; after that the address is not dialed for a while. An IPv6 /64 network
    /// counts as one address.
    pub stranger_dials_per_ip: u32,
    /// Failed dials that strangers named, to any target, within ten seconds; after
    /// that none of them is dialed until the ten seconds are over. Raise it where
    /// many peers come and go.
    pub stranger_dials: u32,
    /// Files on one page of the listing for browsers.
    pub index_page: u32,
    /// Alternate locations remembered for a file.
    pub alternates: u32,
    /// Alternate locations named in one reply.
    pub alternates_told: u32,
}

impl Default for NodeLimits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            connections_per_ip: 64,
            head_bytes: 16 * 1024,
            head_lines: 64,
            request_deadline: Duration::from_secs(15),
            idle_deadline: Duration::from_secs(60),
            reader_rate: 256,
            // The TCP window of a slow reader opens in large steps: on loopback
            // at 1 KB/s they come a minute apart.
            reader_window: Duration::from_secs(120),
            pipeline: 8,
            backlog: 256 * 1024,
            stranger_dials_per_target: 8,
            stranger_dials_per_ip: 32,
            stranger_dials: 512,
            index_page: 200,
            alternates: 32,
            alternates_told: 10,
        }
    }
}
