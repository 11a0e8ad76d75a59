//! What the reliable unicast says of itself.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::wire::unicast::Conn;

/// Which half of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The one that numbers and keeps messages.
    Sender,
    /// The one that puts them in order.
    Receiver,
}

/// Something that happened on a connection. Those marked *traced* are only
/// told when [`super::Config::trace_messages`] asks; everything is counted
/// in [`super::Counters`] in any case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A connection has a sender or a receiver entry. `next` is the first
    /// number it will send or deliver.
    Opened { peer: SocketAddr, conn: Conn, side: Side, next: u64 },
    /// Traced: messages `from..=to` left for the first time.
    Sent { peer: SocketAddr, conn: Conn, from: u64, to: u64, bytes: u64, first: bool },
    /// Messages `from..=to` left once more.
    Resent { peer: SocketAddr, conn: Conn, from: u64, to: u64, why: Why },
    /// Traced: messages `from..=to` arrived here.
    Received { peer: SocketAddr, conn: Conn, from: u64, to: u64, again: bool },
    /// Traced: a message went to the application; its last number if it had
    /// several.
    Delivered { peer: SocketAddr, conn: Conn, number: u64 },
    /// Traced: the sender's HA and HS after an acknowledgement (UC-4).
    Acked { peer: SocketAddr, conn: Conn, highest_acked: u64, highest_sent: u64 },
    /// Traced: the receiver acknowledged all up to `upto`.
    AckSent { peer: SocketAddr, conn: Conn, upto: u64, newest: u64 },
    /// The receiver asked for `count` missing numbers between `from` and `to`.
    Requested { peer: SocketAddr, conn: Conn, from: u64, to: u64, count: u64, ranges: u32 },
    /// The receiver asked for the first message (UC-10).
    FirstRequested { peer: SocketAddr, conn: Conn },
    /// Messages came that had already been taken; answered with an
    /// acknowledgement (decision 4).
    Duplicate { peer: SocketAddr, conn: Conn, from: u64, to: u64 },
    /// A block, or a part of one, was not taken.
    Rejected { peer: SocketAddr, conn: Conn, why: Rejection },
    /// A message was refused: the send window has no room.
    Full { peer: SocketAddr, messages: u64, bytes: u64 },
    /// The send window has room again.
    Writable { peer: SocketAddr, messages: u64, bytes: u64 },
    /// An entry is CLOSING (UC-7, UC-8).
    Closing { peer: SocketAddr, conn: Conn, side: Side, why: Ending },
    /// A CLOSING entry is OPEN again (UC-7).
    Reopened { peer: SocketAddr, conn: Conn, side: Side },
    /// An entry is CLOSED and gone (UC-8, UC-9). `last` is the last number
    /// acknowledged, or delivered.
    Closed { peer: SocketAddr, conn: Conn, side: Side, last: u64, why: Ending },
    /// Nobody said that messages `from..=to` arrived, and nobody will: they
    /// may or may not have (decision 5). From a receiver: parts of one message
    /// that it dropped before the end of it came.
    Undelivered { peer: SocketAddr, conn: Conn, from: u64, to: u64 },
    /// No word from the peer for so long while messages are unacknowledged
    /// (decision 7).
    PeerUnreachable { peer: SocketAddr, silent: Duration },
    /// Traced: a round trip was measured (RFC 6298).
    Rtt { peer: SocketAddr, smoothed: Duration, variation: Duration, timeout: Duration },
    /// Traced: the task of the text ran for this peer (UC-4, UC-5), whether
    /// there was anything to repair or not.
    Task { peer: SocketAddr },
    /// A limit of the configuration was reached.
    Limit { peer: SocketAddr, limit: Limit },
}

impl Event {
    /// The other end.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        match self {
            Self::Opened { peer, .. }
            | Self::Sent { peer, .. }
            | Self::Resent { peer, .. }
            | Self::Received { peer, .. }
            | Self::Delivered { peer, .. }
            | Self::Acked { peer, .. }
            | Self::AckSent { peer, .. }
            | Self::Requested { peer, .. }
            | Self::FirstRequested { peer, .. }
            | Self::Duplicate { peer, .. }
            | Self::Rejected { peer, .. }
            | Self::Full { peer, .. }
            | Self::Writable { peer, .. }
            | Self::Closing { peer, .. }
            | Self::Reopened { peer, .. }
            | Self::Closed { peer, .. }
            | Self::Undelivered { peer, .. }
            | Self::PeerUnreachable { peer, .. }
            | Self::Rtt { peer, .. }
            | Self::Task { peer }
            | Self::Limit { peer, .. } => *peer,
        }
    }
}

/// Why a message was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// The highest one sent, because nothing moved (UC-4).
    Tail,
    /// The receiver misses it (UC-5).
    Missing,
    /// The receiver does not know the connection (UC-10).
    First,
}

/// Why a block was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rejection {
    /// It speaks of a connection that there is none of here.
    UnknownConnection,
    /// A message that is not the first, and no entry (UC-10).
    NotOpen,
    /// A connection the peer is not yet known to be at the other end of.
    Unproven,
    /// A connection that has ended here.
    Ended,
    /// An acknowledgement of what was never sent (decision 4).
    BeyondSent,
    /// A number the window has no room for (decision 1).
    BeyondWindow,
    /// More bytes than the window has room for.
    NoRoom,
    /// Parts of a message that do not fit each other.
    BadParts,
    /// A message longer than any may be.
    TooLong,
    /// There are too many peers.
    TooManyPeers,
}

/// What ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The application closed it.
    Asked,
    /// Nothing was sent for [`super::Config::conn_expiry`].
    Idle,
    /// The peer is silent.
    Unreachable,
    /// The peer said CLOSE, and everything before was delivered.
    Finished,
    /// The peer said CLOSE and no longer has what is missing.
    Abandoned,
    /// The peer began another connection.
    Replaced,
    /// The host dropped it.
    Forgotten,
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// [`super::Config::peers`]
    Peers,
    /// [`super::Config::tombstones`]
    Tombstones,
    /// [`super::Config::farewells`]
    Farewells,
    /// [`super::Config::answer_messages`]
    AnswerMessages,
    /// [`super::Config::request_ranges`]
    RequestRanges,
    /// Three times the bytes of an unproven peer (decision 9).
    Amplification,
}
