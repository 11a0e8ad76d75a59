//! The events of the reliable unicast.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::ControlPhase;
use crate::time::Duration;
use crate::wire::unicast::UnicastConnId;

/// The two halves of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The half that numbers messages and keeps them.
    Sender,
    /// The half that puts them in order.
    Receiver,
}

/// Something that happened on a connection. Events marked *traced* are only
/// emitted with [`super::Config::trace_messages`]; everything is counted in
/// [`super::UnicastCounters`] in any case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A connection has a sender or a receiver entry. `next` is the first
    /// number it will send or deliver.
    Opened { peer: SocketAddr, conn: UnicastConnId, side: Side, next: u64 },
    /// Traced: messages `from..=to` were sent for the first time.
    Sent { peer: SocketAddr, conn: UnicastConnId, from: u64, to: u64, bytes: u64, first: bool },
    /// Messages `from..=to` were retransmitted.
    Resent { peer: SocketAddr, conn: UnicastConnId, from: u64, to: u64, why: RetransmitReason },
    /// Traced: messages `from..=to` were received.
    Received { peer: SocketAddr, conn: UnicastConnId, from: u64, to: u64, again: bool },
    /// Traced: a message was delivered to the application; `number` is its last
    /// one if it had several.
    Delivered { peer: SocketAddr, conn: UnicastConnId, number: u64 },
    /// Traced: the sender's HA and HS after an acknowledgement (UC-4).
    Acked { peer: SocketAddr, conn: UnicastConnId, highest_acked: u64, highest_sent: u64 },
    /// Traced: the receiver acknowledged everything up to `upto`.
    AckSent { peer: SocketAddr, conn: UnicastConnId, upto: u64, newest: u64 },
    /// The receiver requested `count` missing numbers between `from` and `to`.
    Requested { peer: SocketAddr, conn: UnicastConnId, from: u64, to: u64, count: u64, ranges: u32 },
    /// The receiver requested the first message (UC-10).
    FirstRequested { peer: SocketAddr, conn: UnicastConnId },
    /// Messages were received again; answered with an acknowledgement (decision
    /// 4).
    Duplicate { peer: SocketAddr, conn: UnicastConnId, from: u64, to: u64 },
    /// A block, or a part of one, was rejected.
    Rejected { peer: SocketAddr, conn: UnicastConnId, why: Rejection },
    /// A message was refused: the send window is full.
    Full { peer: SocketAddr, messages: u64, bytes: u64 },
    /// The send window has room again.
    Writable { peer: SocketAddr, messages: u64, bytes: u64 },
    /// An entry is CLOSING (UC-7, UC-8).
    Closing { peer: SocketAddr, conn: UnicastConnId, side: Side, why: ConnEnding },
    /// A CLOSING entry is OPEN again (UC-7).
    Reopened { peer: SocketAddr, conn: UnicastConnId, side: Side },
    /// An entry is CLOSED and gone (UC-8, UC-9). `last` is the last number
    /// acknowledged, or delivered.
    Closed { peer: SocketAddr, conn: UnicastConnId, side: Side, last: u64, why: ConnEnding },
    /// Messages `from..=to` were never acknowledged and will not be: they may
    /// or may not have arrived (decision 5). From a receiver: the parts of an
    /// incomplete message that it dropped.
    Undelivered { peer: SocketAddr, conn: UnicastConnId, from: u64, to: u64 },
    /// Nothing was received from the peer for this long while messages are
    /// unacknowledged (decision 7).
    PeerUnreachable { peer: SocketAddr, silent: Duration },
    /// Traced: a round trip was measured (RFC 6298).
    Rtt { peer: SocketAddr, smoothed: Duration, variation: Duration, timeout: Duration },
    /// Traced: the task of [`super::Profile::Unicast3`] ran for this peer
    /// (UC-4, UC-5), whether or not there was anything to do.
    Task { peer: SocketAddr },
    /// A limit of the configuration was reached.
    Limit { peer: SocketAddr, limit: UnicastLimit },
    /// Datagrams to the peer have another size now (PA-6).
    Resized { peer: SocketAddr, bytes: u32 },
    /// The peer proved that it is now at another address: its datagrams are
    /// sent there (PA-9). `peer` stays its name.
    Moved { peer: SocketAddr, conn: UnicastConnId, to: SocketAddr },
    /// Traced: the congestion control has another phase, or allows a rate or a
    /// window that differs by a tenth or more (UC-14, PA-1): bytes under way,
    /// and bytes a second, if it says so many. `trip` is the round trip now,
    /// `least` the shortest one: what is between them is a queue. `lost` bytes
    /// are reported missing by the acknowledgement that led to it.
    Controlled {
        peer: SocketAddr,
        conn: UnicastConnId,
        phase: ControlPhase,
        window: u64,
        rate: Option<u64>,
        trip: Duration,
        least: Duration,
        lost: u64,
    },
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
            | Self::Controlled { peer, .. }
            | Self::Task { peer }
            | Self::Limit { peer, .. }
            | Self::Resized { peer, .. }
            | Self::Moved { peer, .. } => *peer,
        }
    }
}

/// Why a message was retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RetransmitReason {
    /// It is the highest one sent, and there was no progress (UC-4).
    Tail,
    /// The receiver reported it missing (UC-5).
    Missing,
    /// The receiver does not know the connection (UC-10).
    First,
}

/// Why a block was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rejection {
    /// It is about a connection that does not exist here.
    UnknownConnection,
    /// It is not a first message, and there is no entry (UC-10).
    NotOpen,
    /// A connection whose peer has not proven its address yet.
    Unproven,
    /// A connection that has ended here.
    Ended,
    /// An acknowledgement of a number that was never sent (decision 4).
    BeyondSent,
    /// A number beyond the window (decision 1).
    BeyondWindow,
    /// More bytes than the window has room for.
    NoRoom,
    /// Parts of a message that do not fit together.
    BadParts,
    /// A message longer than the maximum.
    TooLong,
    /// There are too many peers.
    TooManyPeers,
}

/// What ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnEnding {
    /// The application closed it.
    Asked,
    /// Nothing was sent for [`super::Config::conn_expiry`].
    Idle,
    /// The peer does not answer.
    Unreachable,
    /// The peer sent CLOSE, and everything before it was delivered.
    Finished,
    /// The peer sent CLOSE and no longer has what is missing.
    Abandoned,
    /// The peer started another connection, or another peer is at its address.
    Replaced,
    /// The host dropped it.
    Forgotten,
    /// The peer acknowledged what was never sent, again and again.
    Deceived,
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnicastLimit {
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
    /// Three times the bytes received from an unproven peer (decision 9).
    Amplification,
    /// [`super::Config::grown_total`]
    Windows,
}
