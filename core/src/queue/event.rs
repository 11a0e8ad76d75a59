//! The events of the upload queue.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::{Dialect, PositionLoss, QueuePolicy};
use crate::id::{ConnId, Guid};
use crate::time::{Duration, Instant};

/// Something that happened in the queue or in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A new place at the end of the queue.
    Arrived {
        ticket: Guid,
        arrival: u64,
        peer: IpAddr,
        dialect: Dialect,
        position: u32,
        length: u32,
    },
    /// The holder of a place asked again inside its window.
    Asked { ticket: Guid, conn: ConnId, position: u32 },
    /// It was told to wait.
    Told {
        ticket: Guid,
        dialect: Dialect,
        position: u32,
        length: u32,
        not_before: Instant,
        deadline: Instant,
        keep: bool,
    },
    /// Its request is held: it is answered when there is a slot, or at `until`.
    Held { ticket: Guid, position: u32, length: u32, until: Instant },
    /// It is among the first, and a slot is free for each of these.
    Entitled { ticket: Guid },
    /// It did not ask by its deadline while a slot was reserved for it: the
    /// slot is reserved for the next present client.
    Lapsed { ticket: Guid },
    /// A present client was served ahead of an absent one, which keeps its
    /// place.
    Passed { ticket: Guid, by: Option<Guid> },
    /// A slot was granted and the transfer begins.
    Started { ticket: Guid, conn: ConnId, peer: IpAddr, waited: Duration, free: u32 },
    /// Another range in a slot the client already has (AQ-9).
    Continued { ticket: Guid, conn: ConnId },
    /// A transfer ended and its slot is free.
    Finished { ticket: Guid, free: u32 },
    /// A transfer broke; its slot is reserved for its owner.
    Reserved { ticket: Guid, until: Instant },
    /// The owner of a reserved slot did not come back.
    Unreserved { ticket: Guid, free: u32 },
    /// The slot was given up because others wait: the place is back in the
    /// queue, in order of arrival.
    Returned { ticket: Guid, arrival: u64, position: u32 },
    /// A synchronous connection broke; the place is held.
    Away { ticket: Guid, until: Instant },
    /// A different file was requested, and the place moved to the end (AQ-8).
    Moved { ticket: Guid, arrival: u64, position: u32 },
    /// A place is gone.
    Lost { ticket: Guid, why: PositionLoss, length: u32 },
    /// A request got no place.
    Refused { peer: IpAddr, conn: ConnId, why: QueueRefusal },
    /// The server called a client with `QUEUE`: to make it come back, as
    /// attempt number `attempt`, or (0) to make it come early because of a
    /// slot.
    Called { ticket: Guid, to: SocketAddr, attempt: u8 },
    /// A place was restored from the store.
    Restored { ticket: Guid, arrival: u64, position: u32 },
    /// The number of slots changed.
    Slots { slots: u32 },
    /// Its file belongs to another servent of the site from now on, which keeps
    /// the place. `uploads`: what is being sent is sent to its end here.
    Released { ticket: Guid, uploads: bool },
    /// Waiting clients are told by another rule when to ask, from now on.
    Policy { policy: QueuePolicy },
}

/// Why a request got no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueRefusal {
    /// The queue has its maximum length (AQ-10).
    QueueFull,
    /// Too many places for one address.
    PerAddress,
    /// Too many requests from one address.
    Hammering,
}
