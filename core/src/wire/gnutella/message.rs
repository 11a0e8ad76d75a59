//! A message with its payload, and the kinds of payload.

use alloc::vec::Vec;

use thiserror::Error;

use super::{
    Bye, HEADER, MessageFrame, MessageHeader, MessageKind, OverlayPayload, Ping, Pong, Push, Qrp,
    Query, QueryHit, Vendor,
};
use crate::id::Guid;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OverlayMessage {
    /// The message's id; for a pong or a hit, the id of what it answers.
    pub guid: Guid,
    /// How many more hops it may make.
    pub ttl: u8,
    /// How many hops it has made.
    pub hops: u8,
    /// Its payload.
    pub body: MessageBody,
}

/// The payload of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Each is what its type says.
pub enum MessageBody {
    Ping(Ping),
    Pong(Pong),
    Bye(Bye),
    Qrp(Qrp),
    Vendor(Vendor),
    Push(Push),
    Query(Query),
    Hit(QueryHit),
}

/// Why a payload is invalid. The next message can be parsed nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// It ends too early.
    #[error("the payload ends too early")]
    Short,
    /// It is longer than it may be.
    #[error("the payload goes on where it must end")]
    Long,
    /// A text that is not terminated.
    #[error("a text has no end")]
    Unterminated,
    /// A number that is not allowed.
    #[error("an impossible number")]
    Number,
}

impl OverlayMessage {
    /// Parses the payload of a frame.
    ///
    /// # Errors
    /// When the payload is not valid for its kind.
    pub fn parse(frame: MessageFrame) -> Result<Self, PayloadError> {
        let MessageFrame { header: MessageHeader { guid, ttl, hops, .. }, kind, payload } = frame;
        Ok(Self { guid, ttl, hops, body: MessageBody::parse(kind, payload)? })
    }

    /// The kind of the message.
    #[must_use]
    pub const fn kind(&self) -> MessageKind {
        self.body.kind()
    }

    /// Length on the wire in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        HEADER + self.body.len()
    }

    /// Never: there is always a header.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Appends the bytes of the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, length) = (self.kind(), self.body.len() as u32);
        let Self { guid, ttl, hops, .. } = *self;
        let header = MessageHeader { guid, kind: Some(kind), code: kind.code(), ttl, hops, length };
        out.reserve(HEADER + length as usize);
        out.extend_from_slice(&header.to_bytes());
        self.body.write(out);
    }

    /// The bytes of the message.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// A copy in memory of its own, so that keeping it keeps no other buffer.
    #[must_use]
    pub fn detached(&self) -> Self {
        let mut copy = self.clone();
        let payload = match &mut copy.body {
            MessageBody::Ping(ping) => &mut ping.ggep,
            MessageBody::Pong(pong) => &mut pong.ggep,
            MessageBody::Qrp(Qrp::Patch { data, .. }) => data,
            MessageBody::Vendor(vendor) => &mut vendor.data,
            MessageBody::Push(push) => &mut push.ggep,
            MessageBody::Query(query) => query.payload_mut(),
            MessageBody::Hit(hit) => hit.payload_mut(),
            MessageBody::Bye(_) | MessageBody::Qrp(Qrp::Reset { .. }) => return copy,
        };
        *payload = OverlayPayload::copy_from_slice(payload);
        copy
    }
}

impl MessageBody {
    /// Parses a payload.
    ///
    /// # Errors
    /// When it is not valid for that kind.
    pub fn parse(kind: MessageKind, payload: OverlayPayload) -> Result<Self, PayloadError> {
        Ok(match kind {
            MessageKind::Ping => Self::Ping(Ping { ggep: payload }),
            MessageKind::Pong => Self::Pong(Pong::parse(&payload)?),
            MessageKind::Bye => Self::Bye(Bye::parse(&payload)?),
            MessageKind::Qrp => Self::Qrp(Qrp::parse(&payload)?),
            MessageKind::Vendor => Self::Vendor(Vendor::parse(&payload, false)?),
            MessageKind::Standard => Self::Vendor(Vendor::parse(&payload, true)?),
            MessageKind::Push => Self::Push(Push::parse(&payload)?),
            MessageKind::Query => Self::Query(Query::parse(payload)?),
            MessageKind::Hit => Self::Hit(QueryHit::parse(payload)?),
        })
    }

    /// The kind of the payload.
    #[must_use]
    pub const fn kind(&self) -> MessageKind {
        match self {
            Self::Ping(_) => MessageKind::Ping,
            Self::Pong(_) => MessageKind::Pong,
            Self::Bye(_) => MessageKind::Bye,
            Self::Qrp(_) => MessageKind::Qrp,
            Self::Vendor(Vendor { standard: false, .. }) => MessageKind::Vendor,
            Self::Vendor(Vendor { standard: true, .. }) => MessageKind::Standard,
            Self::Push(_) => MessageKind::Push,
            Self::Query(_) => MessageKind::Query,
            Self::Hit(_) => MessageKind::Hit,
        }
    }

    /// Length of the payload in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // A payload without bytes is nothing special.
    pub fn len(&self) -> usize {
        match self {
            Self::Ping(ping) => ping.ggep.len(),
            Self::Pong(pong) => pong.len(),
            Self::Bye(bye) => bye.len(),
            Self::Qrp(qrp) => qrp.len(),
            Self::Vendor(vendor) => vendor.len(),
            Self::Push(push) => push.len(),
            Self::Query(query) => query.payload().len(),
            Self::Hit(hit) => hit.payload().len(),
        }
    }

    /// Appends the bytes of the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping(ping) => out.extend_from_slice(&ping.ggep),
            Self::Pong(pong) => pong.write(out),
            Self::Bye(bye) => bye.write(out),
            Self::Qrp(qrp) => qrp.write(out),
            Self::Vendor(vendor) => vendor.write(out),
            Self::Push(push) => push.write(out),
            Self::Query(query) => out.extend_from_slice(query.payload()),
            Self::Hit(hit) => out.extend_from_slice(hit.payload()),
        }
    }
}
