//! What a node tells whoever watches it.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::fetch::{self, DialError};
use crate::id::{ConnId, FileIndex, NodeId};
use crate::wire::unicast::PacketError;
use crate::{queue, routing, swarm, unicast};

/// Everything an engine can tell, one variant per engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// Connections and requests.
    Conn(ConnEvent),
    /// The upload queue.
    Queue(queue::Event),
    /// Downloads.
    Fetch(fetch::Event),
    /// The world around the nodes: faults and the disk.
    World(WorldEvent),
    /// The overlay.
    Routing(routing::Event),
    /// Reliable messages over datagrams.
    Unicast(unicast::Event),
    /// The coordinator of a swarm.
    Swarm(swarm::Event),
    /// A client of a swarm.
    Client(swarm::client::Event),
}

/// Something that happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum ConnEvent {
    /// The node runs.
    Started { restored_places: u32, restored_fetches: u32, shared: u32 },
    /// Somebody connected.
    Accepted { conn: ConnId, peer: SocketAddr },
    /// We connect.
    Dialing { conn: ConnId, to: SocketAddr },
    /// We are connected.
    Dialed { conn: ConnId },
    /// We could not connect.
    DialFailed { conn: ConnId, why: DialError },
    /// A whole request head came in. `range` as asked, `-n` as the last n.
    Request {
        conn: ConnId,
        method: String,
        target: String,
        range: Option<String>,
        agent: Option<String>,
    },
    /// We answered.
    Reply { conn: ConnId, status: u16, start: u64, end: u64 },
    /// A whole response head came in.
    Response { conn: ConnId, status: u16 },
    /// A `QUEUE` or `GIV` line came in.
    Line { conn: ConnId, line: String },
    /// A transfer of ours is done.
    Sent { conn: ConnId, bytes: u64 },
    /// A limit was reached and something was refused for it.
    Limit { conn: ConnId, limit: Limit },
    /// We closed.
    Closing { conn: ConnId, why: String },
    /// It is gone.
    Closed { conn: ConnId },
    /// The node has stopped.
    Stopped,
    /// A datagram that is none of ours came and was thrown away.
    Garbled { from: SocketAddr, bytes: u32, why: PacketError },
    /// The host broke its contract; what it gave was ignored.
    Misuse { fault: Misuse },
}

/// What a host must not do.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Misuse {
    /// Give a node anything before [`super::Input::Start`].
    #[error("an input came before the start")]
    NotStarted,
    /// Start a node twice.
    #[error("the node was started twice")]
    StartedTwice,
    /// Number an accepted connection with an odd number: those are the
    /// node's own.
    #[error("connection {} was accepted under an odd number, and those are the node's own", .conn.0)]
    Parity { conn: ConnId },
    /// Number two connections that are both there alike.
    #[error("connection {} was accepted under the number of one that is there", .conn.0)]
    Repeated { conn: ConnId },
    /// Report on a dial that the node has not asked for, or twice.
    #[error("connection {} is none that is being dialed", .conn.0)]
    NotDialing { conn: ConnId },
    /// Name a file that is not shared.
    #[error("file {} is not shared", .index.0)]
    UnknownFile { index: FileIndex },
}

/// The limits of [`super::Limits`] that a stranger can run into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Connections in all.
    Connections,
    /// Connections of one address.
    ConnectionsPerIp,
    /// Bytes of a head.
    HeadBytes,
    /// Lines of a head.
    HeadLines,
    /// Time for a whole head.
    RequestDeadline,
    /// Time without a request on a kept connection.
    IdleDeadline,
    /// Rate of a reader.
    ReaderRate,
    /// Requests sent ahead of their answers.
    Pipeline,
    /// Unsent reply bytes.
    Backlog,
    /// Not a protocol we speak.
    Garbage,
    /// Dials that strangers named and that led to nobody.
    Knocks,
}

/// What the world around a node does to it: a fault, or its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum WorldEvent {
    /// The wires between two nodes were cut.
    Cut { other: NodeId },
    /// The node was killed; what it had not flushed is lost.
    Crashed,
    /// The node runs again from its disk.
    Restarted,
    /// The node stands still.
    Stalled,
    /// It goes on.
    Resumed,
    /// Nobody can connect to it any more, or again.
    Firewall { closed: bool },
    /// Its clock is off by so many microseconds.
    Clock { offset: i64 },
    /// Its user pressed a button: `ask_now`, `sleep`, `get`, `cancel`.
    User { action: String },
}
