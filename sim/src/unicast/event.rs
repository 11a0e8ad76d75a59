//! The events in a world of nodes that send each other messages.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::links::datagram::DatagramLoss;
use servent_core::node::ConnEvent;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_core::unicast::{self, DeliveryOrder, RetransmitReason, Side, UnicastConnId};
use servent_core::wire::unicast::ConnBlock;

/// An event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// Of a node.
    Conn(ConnEvent),
    /// Of a connection.
    Unicast(unicast::Event),
    /// Of a datagram.
    Datagram(DatagramEvent),
    /// Of an application.
    App(MessagingEvent),
    /// Faults.
    World(UnicastIncident),
}

/// A datagram. For one that was sent: sender, receiver and number, from the top
/// in 10 + 10 + 32 bits. For a duplicate: a negative number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DatagramId(pub i64);

impl DatagramId {
    /// The `n`-th datagram of a direction, counted from 1.
    #[must_use]
    pub fn new(from: NodeId, to: NodeId, n: u32) -> Self {
        Self(i64::from(from.0) << 42 | i64::from(to.0) << 32 | i64::from(n))
    }
}

/// What happens to a datagram. `sent`, `duplicated`, `delayed` and `lost` are
/// records of the node that sent it, `arrived` of the receiver.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum DatagramEvent {
    /// It was sent. `due` is when it will arrive, or would have.
    Sent { id: DatagramId, to: NodeId, n: u32, bytes: u32, due: Instant, blocks: Vec<Label> },
    /// It arrived.
    Arrived { id: DatagramId, from: NodeId },
    /// It was lost.
    Lost { id: DatagramId, to: NodeId, why: DatagramLoss },
    /// It was duplicated.
    Duplicated { id: DatagramId, to: NodeId, copy: DatagramId, due: Instant },
    /// It will arrive later than it would have.
    Delayed { id: DatagramId, to: NodeId, due: Instant },
}

/// The content of a block, in short.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Messages `from..=to`; `again` is the reason if they are retransmitted.
    Data { conn: UnicastConnId, from: u64, to: u64, first: bool, again: Option<RetransmitReason> },
    /// Everything up to `upto` has arrived; `missing` numbers are requested,
    /// the first ranges of them in `wanted`.
    Ack {
        conn: UnicastConnId,
        upto: u64,
        newest: u64,
        wanted: Vec<(u64, u64)>,
        missing: u64,
        messages: u64,
        bytes: u64,
    },
    /// Requests the first message.
    Request { conn: UnicastConnId },
    /// The sender closes the connection.
    Close { conn: UnicastConnId, last: u64, abandoned: bool },
    /// The receiver confirms that.
    Closed { conn: UnicastConnId, upto: u64 },
    /// Requests an acknowledgement.
    Probe { conn: UnicastConnId, sent: u64 },
    /// Looks whether the path carries a datagram of this size.
    SizeProbe { conn: UnicastConnId, size: u32 },
    /// It does.
    SizeFound { conn: UnicastConnId, size: u32 },
    /// Asks whether the peer receives at its new address.
    Challenge { conn: UnicastConnId },
    /// It does.
    Response { conn: UnicastConnId },
}

impl Label {
    /// The most ranges of an acknowledgement that are listed.
    const RANGES: usize = 16;

    /// The label of a block. `why` finds the reason for a retransmission.
    #[must_use]
    #[doc(hidden)]
    pub fn describe(
        block: &ConnBlock,
        why: impl Fn(UnicastConnId, u64) -> Option<RetransmitReason>,
    ) -> Self {
        match block {
            ConnBlock::Data(data) => Self::Data {
                conn: data.conn,
                from: data.seq,
                to: data.last(),
                first: data.first,
                again: if data.again { why(data.conn, data.seq) } else { None },
            },
            ConnBlock::Ack(ack) => Self::Ack {
                conn: ack.conn,
                upto: ack.upto,
                newest: ack.newest,
                missing: ack.wanted.iter().map(|(first, last)| last - first + 1).sum(),
                wanted: ack.wanted.iter().copied().take(Self::RANGES).collect(),
                messages: ack.messages,
                bytes: ack.bytes,
            },
            ConnBlock::Request(request) => Self::Request { conn: request.conn },
            ConnBlock::Close(close) => {
                Self::Close { conn: close.conn, last: close.last, abandoned: close.abandoned }
            }
            ConnBlock::Closed { conn, upto } => Self::Closed { conn: *conn, upto: *upto },
            ConnBlock::Probe { conn, sent } => Self::Probe { conn: *conn, sent: *sent },
            ConnBlock::SizeProbe { conn, size } => Self::SizeProbe { conn: *conn, size: *size },
            ConnBlock::SizeFound { conn, size } => Self::SizeFound { conn: *conn, size: *size },
            ConnBlock::Challenge { conn, .. } => Self::Challenge { conn: *conn },
            ConnBlock::Response { conn, .. } => Self::Response { conn: *conn },
            ConnBlock::Slice(piece) => Self::Data {
                conn: piece.conn,
                from: piece.seq,
                to: piece.seq,
                first: false,
                again: why(piece.conn, piece.seq),
            },
        }
    }
}

/// What an application does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum MessagingEvent {
    /// Its `n`-th message for a node was accepted and has numbers
    /// `from..=last`.
    Wrote {
        to: NodeId,
        n: u64,
        bytes: u32,
        order: DeliveryOrder,
        conn: UnicastConnId,
        from: u64,
        last: u64,
    },
    /// Its `n`-th message and all later ones wait for room.
    Waits { to: NodeId, n: u64 },
    /// It read the `n`-th message of a node.
    Read { from: NodeId, n: u64, order: DeliveryOrder, conn: UnicastConnId },
    /// It closes the connection.
    Closes { to: NodeId },
    /// It stops reading, or resumes.
    Reads { on: bool },
}

/// Faults and their ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum UnicastIncident {
    /// Connectivity to a node is broken.
    Cut { to: NodeId },
    /// It is restored.
    Healed { to: NodeId },
    /// The node died without notice; its state is lost.
    Crashed,
    /// It is running again.
    Restarted,
    /// It is stalled.
    Stalled,
    /// The stall has ended.
    Resumed,
    /// It dropped an entry as if it had never existed.
    Forgot { peer: NodeId, side: Side },
}
