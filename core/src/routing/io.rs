//! The inputs and outputs of the router.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr, SocketAddrV4};

use serde::{Deserialize, Serialize};

use crate::id::{ConnId, FileIndex, Guid};
use crate::wire::gnutella::{
    Keywords, MessageFrameError, MessageKind, OverlayMessage, PayloadError, Push, Query, QueryHit,
};

/// Something that happened to the router.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// A handshake is complete.
    Opened { conn: ConnId, peer: SocketAddr, neighbour: Neighbour },
    /// A message was received.
    Message { conn: ConnId, message: OverlayMessage },
    /// A malformed message was received.
    Improper { conn: ConnId, kind: MessageKind, why: PayloadError },
    /// The stream of a neighbour cannot be parsed any further.
    Broken { conn: ConnId, why: Breakage },
    /// So many bytes for a neighbour are still unsent.
    Backlog { conn: ConnId, bytes: u64 },
    /// The connection is gone.
    Closed { conn: ConnId },
    /// Where we can be reached, if at all, and how much we share.
    Ourselves { servent: Guid, listen: Option<SocketAddrV4>, files: u32, kilobytes: u32 },
    /// The complete keyword table of what we share.
    Keywords { table: Keywords },
    /// Start a search. `guid` is new.
    Search { guid: Guid, query: Query },
    /// Do not send a search to new neighbours any more; hits are still
    /// accepted.
    EndSearch { guid: Guid },
    /// Answer another's query. `hops` are the query's.
    Answer { guid: Guid, hops: u8, hit: QueryHit },
    /// Ask a servent that cannot be reached to connect. `guid` is new. `via` is
    /// a neighbour said to have a route, in case we have none.
    Push { guid: Guid, push: Push, via: Option<ConnId> },
    /// Pass a push on to a neighbour whose proxy we are: it was requested by
    /// other means than the overlay. `guid` is new.
    Proxied { guid: Guid, push: Push },
    /// Ask a neighbour that offered it to connect to us, at this port of ours.
    AskDialBack { conn: ConnId, port: u16 },
    /// Say goodbye to all neighbours.
    Shutdown,
}

/// What a neighbour said about itself in the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Neighbour {
    pub agent: String,
    /// It forwards queries; leaves do not.
    pub relays: bool,
    pub ggep: bool,
    pub bye: bool,
    /// It understands vendor messages.
    pub vendor: bool,
    /// It accepts our keyword table.
    pub keywords: bool,
    /// A query that came with a TTL of 1 may be sent to it again with a larger
    /// one.
    pub probes: bool,
    /// How many neighbours it has, and the largest TTL it accepts, if it said
    /// so.
    pub degree: Option<u32>,
    pub max_ttl: Option<u8>,
    /// Where it can be reached.
    pub listen: Option<SocketAddr>,
}

/// Why a stream cannot be parsed any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Breakage {
    /// An invalid header.
    Frame(MessageFrameError),
    /// A compressed link that is damaged, or inflates to too much.
    Deflate,
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send a message to some neighbours.
    Send { to: Vec<ConnId>, message: OverlayMessage },
    /// Close, after sending what was written before. The router has forgotten
    /// it.
    Close { conn: ConnId },
    /// A query of another; answer with [`Input::Answer`] if there are matches.
    Query { guid: Guid, hops: u8, query: Query },
    /// An answer to a search of ours.
    Hit { guid: Guid, conn: ConnId, from: IpAddr, hops: u8, hit: QueryHit },
    /// A client wants us to connect and offer a file.
    Push { index: FileIndex, at: SocketAddrV4 },
    /// No route is known to a servent we want to send a push.
    NoWay { servent: Guid },
    /// A host that can be reached.
    Host { at: SocketAddrV4 },
    /// A neighbour connects to us when it is asked ([`Input::AskDialBack`]).
    OffersDialBack { conn: ConnId },
    /// A neighbour asks whether its port can be connected to.
    DialBack { conn: ConnId, port: u16 },
}

/// The decision on a message, made once, in one place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoutingVerdict {
    /// It is forwarded to these neighbours, with TTL one less and hops one
    /// more. A query is also answered here.
    Forward { to: Vec<ConnId> },
    /// It ends here and is for us.
    Local,
    /// It is dropped.
    Drop { why: DropReason },
}

/// Why a message is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DropReason {
    /// It was received before.
    Duplicate,
    /// No request for it is known, or it was too long ago.
    NoRoute,
    /// The connection it should go to is gone.
    RouteGone,
    /// Its route leads back to where it comes from.
    WayItCame,
    /// Its TTL does not allow forwarding it.
    TtlSpent,
    /// It was sent with a TTL of zero.
    TtlZero,
    /// [`super::Config::hard_ttl`]
    TtlTooLarge,
    /// Too large to be forwarded.
    TooLong,
    /// Its sender's quota of remembered entries is used up.
    Quota,
    /// There were enough hits for that query.
    ResultLimit,
    /// Too soon after the one before.
    TooSoon,
    /// An implausible address, or one that its sender cannot know.
    BadAddress,
    /// A pong that was not requested.
    Unasked,
    /// Too many pushes for one target.
    PushLimit,
    /// It is malformed.
    Improper,
    /// An unknown vendor message.
    Unknown,
    /// The neighbour's queue is full.
    Overflow,
}

impl DropReason {
    /// All reasons, in order.
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
