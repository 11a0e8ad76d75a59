//! What goes into a messenger and what comes out of it.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::unicast::{Conn, Order, Payload, Refusal, Side};

/// Something for the messenger.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// It runs.
    Start,
    /// A datagram came.
    Datagram {
        from: SocketAddr,
        #[serde(with = "crate::hex")]
        data: Payload,
    },
    /// The application wants something.
    Command(Command),
    /// The turn is over: what is due now leaves.
    Flush,
}

/// What an application may want.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Send a message: [`Output::Refused`] gives it back when there is no room.
    Send {
        to: SocketAddr,
        order: Order,
        #[serde(with = "crate::hex")]
        data: Payload,
    },
    /// So much of what was delivered has been consumed; without this the
    /// peer's window closes.
    Taken { from: SocketAddr, messages: u64, bytes: u64 },
    /// Send what is kept, then end the connection (UC-7).
    Close { to: SocketAddr },
    /// Drop an entry as if it had never been: for tests and faults.
    Forget { peer: SocketAddr, side: Side },
}

/// Something for the host, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send a datagram.
    Datagram { to: SocketAddr, data: Payload },
    /// A message for the application, exactly once.
    Deliver { from: SocketAddr, conn: Conn, order: Order, data: Payload },
    /// A message that was not taken, back to whoever sent it.
    Refused { to: SocketAddr, order: Order, data: Payload, why: Refusal },
    /// After [`Refusal::Full`]: there is room again.
    Writable { to: SocketAddr },
}
