//! The inputs and outputs of the endpoint.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::unicast::Side;
use crate::wire::unicast::{DeliveryOrder, Packet, UnicastConnId, UnicastPayload};

/// Something for the endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// Send a message. It is numbered and buffered at once, and sent when a
    /// datagram is full or the turn ends ([`Input::Flush`]).
    Send { peer: SocketAddr, payload: UnicastPayload, order: DeliveryOrder },
    /// A datagram was received. `bytes` is its length on the wire.
    Packet { peer: SocketAddr, packet: Packet, bytes: u32 },
    /// The application has consumed so many of the delivered messages and
    /// bytes. Without this the peer's window closes.
    Taken { peer: SocketAddr, messages: u64, bytes: u64 },
    /// Send what is buffered, then end the connection (UC-7).
    Close { peer: SocketAddr },
    /// Drop an entry without a trace: for tests and faults.
    Forget { peer: SocketAddr, side: Side },
    /// So many of the datagrams received from an address had a mark of
    /// congestion (RFC 3168).
    Marked { peer: SocketAddr, datagrams: u64 },
    /// So many datagrams left for an address with a mark of our own, which shows whether
    /// marks arrive (RFC 9002 §8.3).
    TestMarks { peer: SocketAddr, datagrams: u64 },
    /// The system refused to send a datagram of so many bytes there.
    TooLarge { peer: SocketAddr, bytes: u32 },
    /// What is for a peer goes to this address from now on, and what comes from
    /// there is of that peer: both have proven it in another way (PA-13). The connections
    /// with another peer that was there end ([`super::ConnEnding::Replaced`]).
    Route { peer: SocketAddr, to: SocketAddr },
    /// The turn is over: whatever is due is sent now, several messages and
    /// acknowledgements in one datagram. A host that does not say so gets the
    /// same from [`crate::engine::Engine::handle_timeout`], because the
    /// deadline is the present as long as something is due.
    Flush,
    /// End the connection now, whatever is still to be sent: the peer is told at once that
    /// the rest does not come (UC-8).
    Abandon { peer: SocketAddr },
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send a datagram. `peer` is where the peer is now; everywhere else it is
    /// its name, the address at which it was first known.
    Packet { peer: SocketAddr, packet: Packet },
    /// A message for the application, delivered exactly once.
    Deliver { peer: SocketAddr, conn: UnicastConnId, order: DeliveryOrder, payload: UnicastPayload },
    /// A message that was refused, back to its sender.
    Refused { peer: SocketAddr, order: DeliveryOrder, payload: UnicastPayload, why: MessageRefusal },
    /// After [`MessageRefusal::Full`]: there is room again.
    Writable { peer: SocketAddr },
}

/// Why a message was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageRefusal {
    /// The send window is full; [`Output::Writable`] follows when there is
    /// room.
    Full,
    /// The message is longer than [`super::Config::max_message`].
    TooLong,
    /// There are [`super::Config::peers`] already.
    TooManyPeers,
}

/// The free space of a peer's send window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Room {
    /// Messages, or parts of long ones.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}
