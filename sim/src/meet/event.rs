//! The events in a world of meetings.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};
use servent_core::meet::{self, KnockStep, MeetFailure};
use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_core::wire::meet::MeetPacket;

use super::router::RouterDrop;
use crate::links::datagram::DatagramLoss;

/// An event of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// Of a meeting.
    Meet(meet::Event),
    /// Of a datagram.
    Packet(PacketEvent),
    /// Of a router.
    Router(RouterEvent),
    /// Of a person.
    Person(PersonEvent),
    /// Faults.
    World(MeetIncident),
}

/// What happens to a datagram. `sent` and `lost` are records of the node that sent
/// it, `arrived` of the receiver, `dropped` of the router.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum PacketEvent {
    /// It was sent. `seen` is the address that others see as its sender. `toward`
    /// is the node at which it arrives at `due`; none has its address otherwise.
    Sent {
        id: u32,
        from: SocketAddr,
        seen: SocketAddr,
        to: SocketAddr,
        toward: Option<NodeId>,
        due: Instant,
        kind: PacketKind,
        step: Option<KnockStep>,
        bytes: u32,
    },
    /// It arrived.
    Arrived { id: u32, from: SocketAddr, sender: NodeId, kind: PacketKind, step: Option<KnockStep> },
    /// It was lost.
    Lost { id: u32, to: SocketAddr, why: DatagramLoss, kind: PacketKind },
    /// A router dropped it.
    Dropped {
        id: u32,
        from: SocketAddr,
        to: SocketAddr,
        sender: NodeId,
        why: RouterDrop,
        kind: PacketKind,
    },
}

/// What a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// A question to the meeting place.
    Question,
    /// Its answer.
    Cookie,
    /// A visitor takes its seat.
    Register,
    /// The other side is not there yet.
    Waiting,
    /// Each side is told about the other.
    Introduce,
    /// A visitor has received that.
    Heard,
    /// A visitor leaves.
    Leave,
    /// The place refuses, or points elsewhere.
    Refused,
    /// A knock, or what follows one.
    Knock,
    /// What two people send each other once they have a path.
    Data,
}

impl PacketKind {
    /// What a datagram is.
    #[must_use]
    pub fn read(datagram: &[u8]) -> (Self, Option<KnockStep>) {
        let kind = match MeetPacket::parse(datagram) {
            Ok(MeetPacket::Knock(knock)) => return (Self::Knock, Some(knock.step)),
            Ok(MeetPacket::Question { .. }) => Self::Question,
            Ok(MeetPacket::Cookie { .. }) => Self::Cookie,
            Ok(MeetPacket::Register(_)) => Self::Register,
            Ok(MeetPacket::Waiting { .. }) => Self::Waiting,
            Ok(MeetPacket::Introduce(_)) => Self::Introduce,
            Ok(MeetPacket::Heard { .. }) => Self::Heard,
            Ok(MeetPacket::Leave { .. } | MeetPacket::Over { .. }) => Self::Leave,
            Ok(
                MeetPacket::Refused { .. }
                | MeetPacket::Ended { .. }
                | MeetPacket::Elsewhere { .. },
            ) => Self::Refused,
            Err(_) => Self::Data,
        };
        (kind, None)
    }
}

/// What happens in a router.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum RouterEvent {
    /// It has a new entry: others see the address `inside` as `outside`.
    Mapped { inside: SocketAddr, outside: SocketAddr, only: Option<SocketAddr> },
    /// An entry has run out.
    Expired { inside: SocketAddr, outside: SocketAddr },
    /// All ports are taken: an entry has lost its port to a new one.
    Evicted { inside: SocketAddr, outside: SocketAddr },
}

/// What a person does, and is told by the own servent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum PersonEvent {
    /// The person wants to meet the other one.
    Came { other: NodeId },
    /// There is a path, direct or through the meeting place.
    Connected { other: NodeId, peer: SocketAddr, relayed: bool },
    /// What went through the meeting place is sent directly from now on.
    Moved { other: NodeId, to: SocketAddr },
    /// There is no path.
    Alone { other: NodeId, failure: MeetFailure },
    /// The person sent a message.
    Wrote { other: NodeId, n: u64 },
    /// The person got a message.
    Read { other: NodeId, n: u64 },
}

/// What is done to the world from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum MeetIncident {
    /// A node went off without notice.
    Crashed,
    /// It is running again.
    Restarted,
    /// It is stalled.
    Stalled,
    /// The stall has ended.
    Resumed,
}

impl Event {
    /// The requirement behind it, and its place in the specification.
    #[must_use]
    pub const fn source(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Meet(event) => Some((event.id(), event.clause())),
            Self::Packet(PacketEvent::Dropped { why, .. }) => Some(("PA-17", why.clause())),
            Self::Router(event) => Some(("PA-17", event.clause())),
            Self::Person(
                PersonEvent::Connected { relayed: true, .. } | PersonEvent::Moved { .. },
            ) => Some(("PA-13", "relay first, then direct")),
            Self::Person(PersonEvent::Connected { .. }) => {
                Some(("PA-12", "the first proven pair carries the connection"))
            }
            Self::Person(PersonEvent::Alone { .. }) => {
                Some(("PA-15", "it says why there is no path"))
            }
            _ => None,
        }
    }

    /// True for what was done to the world from outside.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::World(_) | Self::Packet(PacketEvent::Lost { why: DatagramLoss::Drop, .. })
        )
    }
}

impl RouterDrop {
    const fn clause(self) -> &'static str {
        match self {
            Self::Blocked | Self::Off => "a network without UDP",
            Self::NoMapping => "RFC 4787 §4.1, mapping",
            Self::Address => "RFC 4787 §5, address-dependent filtering",
            Self::Port => "RFC 4787 §5, address and port-dependent filtering",
            Self::Hairpin => "RFC 4787 §6, hairpinning",
        }
    }
}

impl RouterEvent {
    const fn clause(&self) -> &'static str {
        match self {
            Self::Mapped { only: None, .. } => "RFC 4787 §4.1, endpoint-independent mapping",
            Self::Mapped { .. } => "RFC 4787 §4.1, address and port-dependent mapping",
            Self::Expired { .. } => "RFC 4787 §4.3, mapping refresh",
            Self::Evicted { .. } => "RFC 4787 §4.2, port assignment",
        }
    }
}
