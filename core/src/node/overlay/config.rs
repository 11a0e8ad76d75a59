//! How a servent takes part in the overlay.

use serde::{Deserialize, Serialize};

use crate::routing;
use crate::time::Duration;

/// How a servent takes part in the overlay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Overlay {
    /// Let neighbours in, and look for some.
    pub enabled: bool,
    /// Neighbours we look for ourselves; a leaf is content with six.
    pub degree: u32,
    /// Neighbours there may be, leaves not counted; whoever comes after them is
    /// told of others.
    pub neighbours: u32,
    /// Leaves there may be.
    pub leaves: u32,
    /// Deflate what is sent to neighbours that can read it.
    pub deflate: bool,
    /// Bytes out of a deflated link for one byte in.
    pub inflate_ratio: u32,
    /// Bytes that one read may unpack to.
    pub inflate_bytes: u32,
    /// Bytes out of a deflated link in a second.
    pub inflate_rate: u32,
    /// Payload bytes of any message.
    pub payload: u32,
    /// Addresses of others that are remembered.
    pub hosts: u32,
    /// An address that nobody has told of for so long is forgotten.
    pub host_life: Duration,
    /// What we share is told to neighbours at most so often, as a table of
    /// its keywords.
    pub keywords_every: Duration,
    /// Time between two attempts at one address.
    pub retry: Duration,
    /// Time until an address that refused us is tried again; doubles with every
    /// refusal in a row, up to 128 times this.
    pub refused: Duration,
    /// Files in our answer to one query.
    pub results: u32,
    /// Others cannot connect to us: they are to ask by push.
    pub firewalled: bool,
    /// The router.
    pub router: routing::Config,
}

impl Default for Overlay {
    fn default() -> Self {
        Self {
            enabled: false,
            degree: 6,
            neighbours: 32,
            leaves: 32,
            deflate: true,
            inflate_ratio: 64,
            inflate_bytes: 4 << 20,
            inflate_rate: 8 << 20,
            payload: 65_536,
            hosts: 500,
            host_life: Duration::from_secs(7 * 86_400),
            keywords_every: Duration::from_secs(30),
            retry: Duration::from_secs(30),
            refused: Duration::from_secs(60),
            results: 50,
            firewalled: false,
            router: routing::Config::default(),
        }
    }
}
