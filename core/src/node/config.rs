//! A node's configuration: its engines' and its own limits.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::fetch;
use crate::queue::{self, Dialect};
use crate::time::Duration;
use crate::unicast;
use crate::wire::http::HeadLimits;

/// Everything that shapes a node's decisions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `Server` and `User-Agent`.
    pub agent: String,
    /// The upload queue.
    pub queue: queue::Config,
    /// Downloads.
    pub fetch: fetch::Config,
    /// What a stranger can make us spend.
    pub limits: Limits,
    /// Names by which browsers nearby may call us, besides addresses and the names
    /// of a local network. Any other may be one that a web page chose to reach us.
    pub hosts: Vec<String>,
    /// Give files away. Switched off, every request is refused with 503.
    pub http: bool,
    /// Download. Switched off, remembered downloads rest.
    pub download: bool,
    /// The language our downloads speak.
    pub dialect: Dialect,
    /// Serve what there is of downloads that are not whole yet.
    pub share_parts: bool,
    /// Announce `X-Node`, so that servers may call us back.
    pub callable: bool,
    /// Call clients back to their places. Who is not called comes by itself in
    /// its time.
    pub calls_back: bool,
    /// Serve only who proves to know a password ([`super::Output::Judge`]).
    pub guarded: bool,
    /// The overlay.
    pub overlay: super::overlay::Config,
    /// Reliable messages over datagrams; `None`: datagrams are not heard.
    pub datagrams: Option<unicast::Config>,
    /// Swarms.
    pub swarm: super::swarm::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            agent: String::from(concat!("Servent/", env!("CARGO_PKG_VERSION"))),
            queue: queue::Config::default(),
            fetch: fetch::Config::default(),
            limits: Limits::default(),
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
            swarm: super::swarm::Config::default(),
        }
    }
}

impl Limits {
    /// Those of a head.
    pub(super) const fn head(&self) -> HeadLimits {
        HeadLimits { bytes: self.head_bytes, lines: self.head_lines }
    }
}

/// What a stranger can make us spend. Reaching one is an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Connections in all.
    pub connections: u32,
    /// Connections of one address.
    pub connections_per_ip: u32,
    /// Bytes of a head, request line included.
    pub head_bytes: u32,
    /// Lines of a head.
    pub head_lines: u32,
    /// Time from the first byte of a head to its last, and from a connection
    /// to its first head.
    pub request_deadline: Duration,
    /// Time a kept connection may be silent when it holds no place.
    pub idle_deadline: Duration,
    /// Bytes a second a reader must take, over [`Limits::reader_window`].
    pub reader_rate: u64,
    /// Time over which the rate of a reader is judged.
    pub reader_window: Duration,
    /// Requests a client may send ahead of their answers.
    pub pipeline: u32,
    /// Unsent reply bytes of one connection.
    pub backlog: u64,
    /// Dials to one target in a row that a stranger named and that led to
    /// nobody; then it is left alone for a while.
    pub knocks_per_target: u32,
    /// The same for all targets of one address; a /64 network of IPv6 is one.
    pub knocks_per_ip: u32,
    /// The same for all, within ten seconds.
    pub knocks: u32,
    /// Files on one page of the list for browsers.
    pub index_page: u32,
    /// Other holders of a file that are remembered.
    pub alternates: u32,
    /// Other holders of a file that one reply tells.
    pub alternates_told: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            connections_per_ip: 64,
            head_bytes: 16 * 1024,
            head_lines: 64,
            request_deadline: Duration::from_secs(15),
            idle_deadline: Duration::from_secs(60),
            reader_rate: 256,
            // A slow reader's system opens its window in lumps: those of a
            // loopback at 1 KB/s come a minute apart.
            reader_window: Duration::from_secs(120),
            pipeline: 8,
            backlog: 256 * 1024,
            knocks_per_target: 8,
            knocks_per_ip: 32,
            knocks: 512,
            index_page: 200,
            alternates: 32,
            alternates_told: 10,
        }
    }
}
