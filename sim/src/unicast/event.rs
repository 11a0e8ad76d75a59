//! What happens in a world of nodes that send each other messages.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::vec::Vec;

use serde::Serialize;

use crate::links::datagram::Loss;
use servent_core::node::ConnEvent;
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_core::unicast::{self, Conn, Order, Side, Why};
use servent_core::wire::unicast::Block;

/// Everything that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// A node's own.
    Conn(ConnEvent),
    /// A connection's.
    Unicast(unicast::Event),
    /// A datagram's.
    Datagram(DatagramEvent),
    /// What the applications do.
    App(AppEvent),
    /// What goes wrong.
    World(Happening),
}

/// A datagram. One that was sent: sender, receiver and number, from the top 10
/// + 10 + 32 bits. A copy of one: a negative number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct DatagramId(pub i64);

impl DatagramId {
    /// The `n`-th datagram of a direction, counted from 1.
    #[must_use]
    pub fn new(from: NodeId, to: NodeId, n: u32) -> Self {
        Self(i64::from(from.0) << 42 | i64::from(to.0) << 32 | i64::from(n))
    }
}

/// What becomes of a datagram. `sent`, `duplicated`, `delayed` and `lost` are
/// records of the node that sent it, `arrived` of the other one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum DatagramEvent {
    /// It left. `due` is when it will arrive, or would have.
    Sent { id: DatagramId, to: NodeId, n: u32, bytes: u32, due: Instant, blocks: Vec<Label> },
    /// It is here.
    Arrived { id: DatagramId, from: NodeId },
    /// It will never arrive.
    Lost { id: DatagramId, to: NodeId, why: Loss },
    /// There are two of it now.
    Duplicated { id: DatagramId, to: NodeId, copy: DatagramId, due: Instant },
    /// It will arrive later than it would have.
    Delayed { id: DatagramId, to: NodeId, due: Instant },
}

/// What a block says, in short.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Messages `from..=to`; sent again for a reason.
    Data { conn: Conn, from: u64, to: u64, first: bool, again: Option<Why> },
    /// All up to `upto` is there; `missing` numbers are asked for, the first
    /// ranges of them being `wanted`.
    Ack {
        conn: Conn,
        upto: u64,
        newest: u64,
        wanted: Vec<(u64, u64)>,
        missing: u64,
        messages: u64,
        bytes: u64,
    },
    /// The first message is asked for.
    Request { conn: Conn },
    /// The sender has ended it.
    Close { conn: Conn, last: u64, abandoned: bool },
    /// The receiver agrees.
    Closed { conn: Conn, upto: u64 },
    /// An acknowledgement is asked for.
    Probe { conn: Conn, sent: u64 },
}

impl Label {
    /// Ranges of an acknowledgement that are told.
    const RANGES: usize = 16;

    /// What a block says. `why` finds the reason messages were sent again for.
    pub(super) fn of(block: &Block, why: impl Fn(Conn, u64) -> Option<Why>) -> Self {
        match block {
            Block::Data(data) => Self::Data {
                conn: data.conn,
                from: data.seq,
                to: data.last(),
                first: data.first,
                again: if data.again { why(data.conn, data.seq) } else { None },
            },
            Block::Ack(ack) => Self::Ack {
                conn: ack.conn,
                upto: ack.upto,
                newest: ack.newest,
                missing: ack.wanted.iter().map(|(first, last)| last - first + 1).sum(),
                wanted: ack.wanted.iter().copied().take(Self::RANGES).collect(),
                messages: ack.messages,
                bytes: ack.bytes,
            },
            Block::Request(request) => Self::Request { conn: request.conn },
            Block::Close(close) => {
                Self::Close { conn: close.conn, last: close.last, abandoned: close.abandoned }
            }
            Block::Closed { conn, upto } => Self::Closed { conn: *conn, upto: *upto },
            Block::Probe { conn, sent } => Self::Probe { conn: *conn, sent: *sent },
        }
    }
}

/// What an application does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum AppEvent {
    /// Its `n`-th message for a node was taken and has numbers `from..=last`.
    Wrote { to: NodeId, n: u64, bytes: u32, order: Order, conn: Conn, from: u64, last: u64 },
    /// Its `n`-th message and all behind it wait for room.
    Waits { to: NodeId, n: u64 },
    /// It got the `n`-th message of a node.
    Read { from: NodeId, n: u64, order: Order, conn: Conn },
    /// It closes.
    Closes { to: NodeId },
    /// It stops reading, or goes on.
    Reads { on: bool },
}

/// What goes wrong, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Happening {
    /// Nothing gets through to a node any more.
    Cut { to: NodeId },
    /// It does again.
    Healed { to: NodeId },
    /// The node ended without a word; all it knew is gone.
    Crashed,
    /// It runs again.
    Restarted,
    /// It stands still.
    Stalled,
    /// It goes on.
    Resumed,
    /// It dropped an entry as if it had never been.
    Forgot { peer: NodeId, side: Side },
}
