//! Datagrams of the reliable unicast: a few blocks each, one protocol.
//!
//! `docs/wire-unicast.md` is the format, field by field; its examples are
//! checked against this code. A block belongs to the connection whose id it
//! carries, so data one way and acknowledgements of the other way share a
//! datagram.

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
pub type Payload = bytes::Bytes;

/// A connection's id: random, and only ever compared for equality (unicast
/// decision 3). In text sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conn(#[serde(with = "crate::hex::number")] pub u64);

/// A datagram.
///
/// ```
/// use servent_core::wire::unicast::{Block, Conn, Packet, Seal};
///
/// let packet = Packet { blocks: vec![Block::Probe { conn: Conn(7), sent: 3 }] };
/// let mut datagram = Vec::new();
/// packet.encode(&Seal::Checksum, &mut datagram);
/// assert_eq!(Packet::parse(&datagram.into(), &Seal::Checksum), Ok(packet));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Packet {
    /// In the order they stand in the datagram.
    pub blocks: Vec<Block>,
}

/// One statement about one connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Block {
    /// Messages with successive sequence numbers.
    Data(Data),
    /// The receiver's word: what it has, what it has room for, what it wants.
    Ack(Ack),
    /// The receiver does not know the connection and asks for its first
    /// message (UC-10).
    Request(Request),
    /// The sender has ended the connection (UC-8).
    Close(Close),
    /// The receiver agrees that it has ended.
    Closed {
        /// The connection.
        conn: Conn,
        /// All up to here were delivered.
        upto: u64,
    },
    /// The sender asks for an acknowledgement now.
    Probe {
        /// The connection.
        conn: Conn,
        /// The highest number sent.
        sent: u64,
    },
}

/// Messages `seq`, `seq + 1`, … of a connection (UC-1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Data {
    /// The connection.
    pub conn: Conn,
    /// The number of the first message here; 1 begins a connection.
    pub seq: u64,
    /// The message `seq` is the first one the sender still has: it opens the
    /// receiver's window (UC-10).
    pub first: bool,
    /// These were sent before.
    pub again: bool,
    /// The number of a [`Request`], given back.
    pub token: Option<u64>,
    /// At least one.
    pub messages: Vec<Message>,
}

/// A message, or a part of one that did not fit a datagram.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// When it is delivered.
    pub order: Order,
    /// It goes on where the previous number ends.
    pub continues: bool,
    /// It goes on in the next number.
    pub more: bool,
    /// Its bytes.
    pub payload: Payload,
}

/// When a message is delivered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// After all that were sent before it.
    #[default]
    InOrder,
    /// As soon as it is complete.
    AtOnce,
}

/// What a receiver has and wants (UC-2, UC-5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ack {
    /// The connection.
    pub conn: Conn,
    /// Everything up to here has arrived.
    pub upto: u64,
    /// The highest number that has arrived; at least `upto`.
    pub newest: u64,
    /// How long ago `newest` arrived, in microseconds: the sender takes it
    /// out of the round trip.
    pub delay: u64,
    /// Messages behind `upto` that there is room for.
    pub messages: u64,
    /// Bytes behind `upto` that there is room for.
    pub bytes: u64,
    /// Missing numbers that are to be sent again: `(first, last)`, ascending,
    /// behind `upto`.
    pub wanted: Vec<(u64, u64)>,
}

/// Asks for the first message of a connection (UC-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The connection.
    pub conn: Conn,
    /// Comes back with the first message, as the proof that the sender is
    /// where it says.
    pub token: u64,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Close {
    /// The connection.
    pub conn: Conn,
    /// The last number used; 0 when there was none.
    pub last: u64,
    /// The sender no longer has what is missing.
    pub abandoned: bool,
}

impl Block {
    /// The connection it speaks of.
    #[must_use]
    pub const fn conn(&self) -> Conn {
        match self {
            Self::Data(Data { conn, .. })
            | Self::Ack(Ack { conn, .. })
            | Self::Request(Request { conn, .. })
            | Self::Close(Close { conn, .. })
            | Self::Closed { conn, .. }
            | Self::Probe { conn, .. } => *conn,
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

impl fmt::Display for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
