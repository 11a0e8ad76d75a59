//! What places and visitors report.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{KnockStep, MeetPacketError, MeetRefusal, MeetSide, NatMapping};

/// Something that happened at a place or to a visitor.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A visitor has taken a seat at this place.
    Seated { peer: SocketAddr, side: MeetSide },
    /// A registration was refused.
    TurnedAway { peer: SocketAddr, reason: MeetRefusal },
    /// The two sides of a meeting were introduced to each other.
    Introduced { peer: SocketAddr, other: SocketAddr, relayed: bool },
    /// A visitor left its seat, or was silent for too long.
    Left { peer: SocketAddr, silent: bool },
    /// A relayed meeting ended; so many bytes of this side were passed on.
    RelayEnded { peer: SocketAddr, bytes: u64 },
    /// We ask a place for a cookie.
    Asking { peer: SocketAddr },
    /// The place sees us at this address.
    Located { peer: SocketAddr, seen: SocketAddr, mapping: NatMapping },
    /// We have our seat, and the other side is not there yet.
    Waiting { peer: SocketAddr },
    /// The place has introduced the other side, which may be reached at so many
    /// addresses.
    Met { peer: SocketAddr, candidates: u32, mapping: NatMapping, relayed: bool },
    /// We sent a knock, or what follows one.
    Knocked { peer: SocketAddr, step: KnockStep },
    /// The other side knocked.
    Heard { peer: SocketAddr, step: KnockStep },
    /// This pair of addresses is proven and chosen.
    Chosen { peer: SocketAddr },
    /// What was sent to us is not signed with the key of this meeting.
    Unsigned { peer: SocketAddr },
    /// We do not knock at an address: it is not plausible, or there are too many.
    Skipped { peer: SocketAddr },
    /// The visit ended without a path.
    NoPath { peer: SocketAddr, failure: MeetFailure },
    /// A datagram that cannot be read.
    Malformed { peer: SocketAddr, error: MeetPacketError },
}

/// Why a visit ended without a path (PA-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum MeetFailure {
    /// The place does not answer: it does not run, or UDP is blocked.
    Silent,
    /// The place refuses us.
    Refused { refusal: MeetRefusal },
    /// No knock came through. `ours` and `theirs`: how the routers map addresses.
    Unreachable { ours: NatMapping, theirs: NatMapping },
}

impl Event {
    /// The peer it is about.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        match self {
            Self::Seated { peer, .. }
            | Self::TurnedAway { peer, .. }
            | Self::Introduced { peer, .. }
            | Self::Left { peer, .. }
            | Self::RelayEnded { peer, .. }
            | Self::Asking { peer }
            | Self::Located { peer, .. }
            | Self::Waiting { peer }
            | Self::Met { peer, .. }
            | Self::Knocked { peer, .. }
            | Self::Heard { peer, .. }
            | Self::Chosen { peer }
            | Self::Unsigned { peer }
            | Self::Skipped { peer }
            | Self::NoPath { peer, .. }
            | Self::Malformed { peer, .. } => *peer,
        }
    }
}
