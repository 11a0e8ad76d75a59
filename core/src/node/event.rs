//! What a node says of its connections.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::io::DialError;
use crate::id::ConnId;

/// Something that happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
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
}
