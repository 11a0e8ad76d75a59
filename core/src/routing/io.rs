//! What goes into the router and what comes out of it.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr, SocketAddrV4};

use serde::{Deserialize, Serialize};

use crate::id::{ConnId, FileIndex, Guid};
use crate::wire::gnutella::{FrameError, Hit, Keywords, Kind, Message, PayloadError, Push, Query};

/// Something for the router.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// A handshake is done.
    Opened { conn: ConnId, peer: SocketAddr, neighbour: Neighbour },
    /// A message came.
    Message { conn: ConnId, message: Message },
    /// A message came that makes no sense.
    Improper { conn: ConnId, kind: Kind, why: PayloadError },
    /// The neighbour's stream cannot be read any further.
    Broken { conn: ConnId, why: Breakage },
    /// So many bytes of what was sent to a neighbour have not left yet.
    Backlog { conn: ConnId, bytes: u64 },
    /// The connection is gone.
    Closed { conn: ConnId },
    /// Where we can be reached, if at all, and what we share.
    Ourselves { servent: Guid, listen: Option<SocketAddrV4>, files: u32, kilobytes: u32 },
    /// The keywords of what we share, all of them.
    Keywords { table: Keywords },
    /// Search for something. `guid` is new.
    Search { guid: Guid, query: Query },
    /// Neighbours that come are not asked any more; hits still are welcome.
    EndSearch { guid: Guid },
    /// Answer a query of somebody else's. `hops` are the query's.
    Answer { guid: Guid, hops: u8, hit: Hit },
    /// Ask a servent that cannot be reached to connect. `guid` is new. `via`
    /// is a neighbour that is said to know the way, should we not.
    Push { guid: Guid, push: Push, via: Option<ConnId> },
    /// Pass a push on to a neighbour that we are the proxy of: somebody asks
    /// for it otherwise than over the overlay. `guid` is new.
    Proxied { guid: Guid, push: Push },
    /// Say goodbye to everybody.
    Shutdown,
}

/// What a neighbour told of itself in the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Neighbour {
    pub agent: String,
    /// It passes queries on; leaves do not.
    pub relays: bool,
    pub ggep: bool,
    pub bye: bool,
    /// It understands vendor messages.
    pub vendor: bool,
    /// It wants to know the keywords of what we have.
    pub keywords: bool,
    /// A query that came with a single link to go may come again and go
    /// farther.
    pub probes: bool,
    /// How many neighbours it has, and the largest TTL it takes, if it said.
    pub degree: Option<u32>,
    pub max_ttl: Option<u8>,
    /// Where it can be reached.
    pub listen: Option<SocketAddr>,
}

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Breakage {
    /// An impossible header.
    Frame(FrameError),
    /// A deflated link that is damaged, or unpacks to too much.
    Deflate,
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send a message to some neighbours.
    Send { to: Vec<ConnId>, message: Message },
    /// Close, after what was sent before. The router has forgotten it.
    Close { conn: ConnId },
    /// Somebody asks; answer with [`Input::Answer`] if there is something.
    Query { guid: Guid, hops: u8, query: Query },
    /// An answer to a search of ours.
    Hit { guid: Guid, conn: ConnId, from: IpAddr, hops: u8, hit: Hit },
    /// Somebody wants us to connect and offer a file.
    Push { index: FileIndex, at: SocketAddrV4 },
    /// Nobody knows the way to a servent we want a push of.
    NoWay { servent: Guid },
    /// Somebody can be reached there.
    Host { at: SocketAddrV4 },
}

/// What becomes of a message: decided once, in one place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes on to these, TTL one less, hops one more. A query is looked
    /// at here besides.
    Forward { to: Vec<ConnId> },
    /// It ends here and was meant for us.
    Local,
    /// It ends here and is of no use.
    Drop { why: Why },
}

/// Why a message is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// It came before.
    Duplicate,
    /// Nobody asked, or too long ago.
    NoRoute,
    /// The connection it should go to is gone.
    RouteGone,
    /// It should go back to whom it comes from.
    WayItCame,
    /// It may not travel any further.
    TtlSpent,
    /// It never could.
    TtlZero,
    /// [`super::Config::hard_ttl`]
    TtlTooLarge,
    /// Larger than what is passed on.
    TooLong,
    /// Its sender has had all it may have remembered.
    Quota,
    /// Enough answers to that query.
    ResultLimit,
    /// Too soon after the one before.
    TooSoon,
    /// An address that cannot be, or that the teller cannot know.
    BadAddress,
    /// A pong nobody asked for.
    Unasked,
    /// Too many pushes for one target.
    PushLimit,
    /// It makes no sense.
    Improper,
    /// A vendor message we do not know.
    Unknown,
    /// The neighbour's queue is full.
    Overflow,
}

impl Why {
    /// All of them, in order.
    pub const ALL: [Self; 17] = [
        Self::Duplicate,
        Self::NoRoute,
        Self::RouteGone,
        Self::WayItCame,
        Self::TtlSpent,
        Self::TtlZero,
        Self::TtlTooLarge,
        Self::TooLong,
        Self::Quota,
        Self::ResultLimit,
        Self::TooSoon,
        Self::BadAddress,
        Self::Unasked,
        Self::PushLimit,
        Self::Improper,
        Self::Unknown,
        Self::Overflow,
    ];
}
