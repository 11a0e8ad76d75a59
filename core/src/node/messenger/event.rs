//! What a messenger says of itself.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::Serialize;

use crate::unicast;
use crate::wire::unicast::PacketError;

/// Something that happened to a messenger, or on one of its connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// Its own.
    Node(NodeEvent),
    /// A connection's.
    Unicast(unicast::Event),
}

/// Something that happened to a messenger.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum NodeEvent {
    /// It runs, knowing nobody.
    Started,
    /// A datagram that is none of ours came and was thrown away.
    Garbled { from: SocketAddr, bytes: u32, why: PacketError },
}
