//! Datagrams of the reliable unicast: each is a few blocks.
//!
//! `docs/wire-unicast.md` is the format, field by field; its examples are
//! checked against this code. Each block belongs to the connection whose id it
//! carries, so data in one direction and acknowledgements for the other
//! direction share a datagram.

mod encode;
mod parse;
mod seal;
mod varint;

use alloc::vec::Vec;
use core::fmt;

pub use self::parse::PacketError;
pub use self::seal::Seal;
use serde::{Deserialize, Serialize};

pub(crate) use self::encode::{block_len, message_len};

/// The version in every block's first byte.
#[doc(hidden)]
pub const VERSION: u8 = 1;

/// The bytes of a message or of a part of one: cheap to clone and to slice.
pub type UnicastPayload = bytes::Bytes;

/// A connection's id: random, and only ever compared for equality (unicast
/// decision 3). Written as sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnicastConnId(#[serde(with = "crate::hex::number")] pub u64);

/// A datagram.
///
/// ```
/// use servent_core::wire::unicast::{ConnBlock, UnicastConnId, Packet, Seal};
///
/// let packet = Packet { blocks: vec![ConnBlock::Probe { conn: UnicastConnId(7), sent: 3 }] };
/// let mut datagram = Vec::new();
/// packet.encode(&Seal::Checksum, &mut datagram);
/// assert_eq!(Packet::parse(&datagram.into(), &Seal::Checksum), Ok(packet));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Packet {
    /// In the order of the datagram.
    pub blocks: Vec<ConnBlock>,
}

/// A statement about one connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ConnBlock {
    /// Messages with successive sequence numbers.
    Data(Data),
    /// The receiver's acknowledgement: what it has, has room for, and requests.
    Ack(Ack),
    /// The receiver does not know the connection, and requests its first
    /// message (UC-10).
    Request(FirstMessageRequest),
    /// The sender has ended the connection (UC-8).
    Close(Close),
    /// The receiver confirms the end of the connection.
    Closed {
        /// The connection.
        conn: UnicastConnId,
        /// Everything up to this was delivered.
        upto: u64,
    },
    /// The sender requests an acknowledgement now.
    Probe {
        /// The connection.
        conn: UnicastConnId,
        /// The highest number sent.
        sent: u64,
    },
    /// A datagram filled up to a size, to see whether the path carries it
    /// (PA-6). It is the last block of its datagram.
    SizeProbe {
        /// The connection.
        conn: UnicastConnId,
        /// Bytes of the whole datagram.
        size: u32,
    },
    /// A datagram of that size has arrived.
    SizeFound {
        /// The connection.
        conn: UnicastConnId,
        /// The size.
        size: u32,
    },
    /// A known connection, heard from another address, is asked whether it
    /// receives what is sent there (PA-9).
    Challenge {
        /// The connection.
        conn: UnicastConnId,
        /// To be sent back.
        token: u64,
    },
    /// The answer to a challenge.
    Response {
        /// The connection.
        conn: UnicastConnId,
        /// The token of the challenge.
        token: u64,
    },
    /// A piece of a message whose datagram has become too large for the path.
    /// It extends to the end of its datagram.
    Slice(Slice),
}

/// True for a datagram that begins with messages, as far as its first byte says: one
/// that an acknowledgement leads, or that is none of ours, does not.
#[must_use]
pub fn begins_with_messages(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|head| {
        let kind = head & 0x0f;
        head >> 5 == VERSION && (kind < encode::ACK || kind == encode::LONE)
    })
}

/// True where these are retransmissions.
#[must_use]
pub fn begins_with_messages_again(datagram: &[u8]) -> bool {
    let again = |head: &u8| head & 0x0f < encode::ACK && head & encode::AGAIN != 0;
    begins_with_messages(datagram) && datagram.first().is_some_and(again)
}

/// A piece of the message, or part of one, with one number (PA-6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The connection.
    pub conn: UnicastConnId,
    /// The number.
    pub seq: u64,
    /// Where in the message it begins, and how long the message is.
    pub offset: u32,
    /// The bytes of all its pieces.
    pub total: u32,
    /// When the message is delivered.
    pub order: DeliveryOrder,
    /// It continues the message of the previous number.
    pub continues: bool,
    /// It is continued in the next number.
    pub more: bool,
    /// The bytes of this piece.
    pub bytes: UnicastPayload,
}

/// Messages `seq`, `seq + 1`, … of a connection (UC-1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Data {
    /// The connection.
    pub conn: UnicastConnId,
    /// The number of the first message here; 1 begins a connection.
    pub seq: u64,
    /// The message `seq` is the first one the sender still has: it opens the
    /// receiver's window (UC-10).
    pub first: bool,
    /// These are retransmissions.
    pub again: bool,
    /// The token of a [`FirstMessageRequest`], sent back.
    pub token: Option<u64>,
    /// At least one message.
    pub messages: Vec<MessageFragment>,
}

/// A message, or a part of one that did not fit a datagram.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageFragment {
    /// When it is delivered.
    pub order: DeliveryOrder,
    /// It continues the message of the previous number.
    pub continues: bool,
    /// It is continued in the next number.
    pub more: bool,
    /// Its bytes.
    pub payload: UnicastPayload,
}

/// When a message is delivered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOrder {
    /// After all messages sent before it.
    #[default]
    InOrder,
    /// As soon as it is complete.
    AtOnce,
}

/// What a receiver has and requests (UC-2, UC-5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ack {
    /// The connection.
    pub conn: UnicastConnId,
    /// Everything up to this has arrived.
    pub upto: u64,
    /// The highest number that has arrived; at least `upto`.
    pub newest: u64,
    /// How long ago `newest` arrived, in microseconds: the sender subtracts it
    /// from the round trip.
    pub delay: u64,
    /// Messages beyond `upto` that there is room for.
    pub messages: u64,
    /// Bytes beyond `upto` that there is room for.
    pub bytes: u64,
    /// Missing numbers to be retransmitted: `(first, last)`, ascending, beyond
    /// `upto`.
    pub wanted: Vec<(u64, u64)>,
    /// What a controller wants to know besides; mostly nothing.
    pub counts: AckCounts,
}

/// What has arrived out of order, late or with a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AckCounts {
    /// Bytes of messages that have arrived beyond `upto`.
    pub early: u64,
    /// Bytes requested that turned out to have been on their way, ever.
    pub late: u64,
    /// Datagrams that arrived with a mark of congestion, ever (RFC 3168).
    pub marked: u64,
}

impl AckCounts {
    /// Nothing out of the ordinary: it need not be sent.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.early == 0 && self.late == 0 && self.marked == 0
    }
}

/// Requests the first message of a connection (UC-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FirstMessageRequest {
    /// The connection.
    pub conn: UnicastConnId,
    /// Sent back with the first message, as proof that the sender receives at
    /// its address.
    pub token: u64,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Close {
    /// The connection.
    pub conn: UnicastConnId,
    /// The last number used; 0 when there was none.
    pub last: u64,
    /// The sender no longer has what is missing.
    pub abandoned: bool,
}

impl ConnBlock {
    /// The connection it is about.
    #[must_use]
    pub const fn conn(&self) -> UnicastConnId {
        match self {
            Self::Data(Data { conn, .. })
            | Self::Ack(Ack { conn, .. })
            | Self::Request(FirstMessageRequest { conn, .. })
            | Self::Close(Close { conn, .. })
            | Self::Closed { conn, .. }
            | Self::Probe { conn, .. }
            | Self::SizeProbe { conn, .. }
            | Self::SizeFound { conn, .. }
            | Self::Challenge { conn, .. }
            | Self::Response { conn, .. }
            | Self::Slice(Slice { conn, .. }) => *conn,
        }
    }
}

impl Data {
    /// The number of its last message.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.seq + (self.messages.len() as u64).saturating_sub(1)
    }
}

impl fmt::Display for UnicastConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for UnicastConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
