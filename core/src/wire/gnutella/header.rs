//! The 23 bytes before every payload.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Guid;

/// Bytes of a header.
pub const HEADER: usize = 23;

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Asks which hosts are there.
    Ping,
    /// Names a host that is there.
    Pong,
    /// Says goodbye.
    Bye,
    /// A part of a keyword table.
    Qrp,
    /// A message between two servents of one vendor.
    Vendor,
    /// A message between two servents of any vendor.
    Standard,
    /// Asks a servent to connect and offer a file.
    Push,
    /// Asks for files.
    Query,
    /// Answers a query.
    Hit,
}

impl MessageKind {
    /// All kinds, in the order of their codes.
    pub const ALL: [Self; 9] = [
        Self::Ping,
        Self::Pong,
        Self::Bye,
        Self::Qrp,
        Self::Vendor,
        Self::Standard,
        Self::Push,
        Self::Query,
        Self::Hit,
    ];

    /// The kind with this code.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x00 => Self::Ping,
            0x01 => Self::Pong,
            0x02 => Self::Bye,
            0x30 => Self::Qrp,
            0x31 => Self::Vendor,
            0x32 => Self::Standard,
            0x40 => Self::Push,
            0x80 => Self::Query,
            0x81 => Self::Hit,
            _ => return None,
        })
    }

    /// Its code on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ping => 0x00,
            Self::Pong => 0x01,
            Self::Bye => 0x02,
            Self::Qrp => 0x30,
            Self::Vendor => 0x31,
            Self::Standard => 0x32,
            Self::Push => 0x40,
            Self::Query => 0x80,
            Self::Hit => 0x81,
        }
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ping => "ping",
            Self::Pong => "pong",
            Self::Bye => "bye",
            Self::Qrp => "qrp",
            Self::Vendor => "vendor message",
            Self::Standard => "standard vendor message",
            Self::Push => "push",
            Self::Query => "query",
            Self::Hit => "query hit",
        })
    }
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageHeader {
    /// The message's id; for a pong or a hit, the id of what it answers.
    pub guid: Guid,
    /// The kind; `None` for an unknown code.
    pub kind: Option<MessageKind>,
    /// The code of the kind, as received.
    pub code: u8,
    /// How many more hops the message may make.
    pub ttl: u8,
    /// How many hops it has made.
    pub hops: u8,
    /// Bytes of payload.
    pub length: u32,
}

impl MessageHeader {
    /// Parses a header. Any bytes are a header; whether it is acceptable is for
    /// the frame reader to decide.
    #[must_use]
    pub fn parse(bytes: &[u8; HEADER]) -> Self {
        let [guid @ .., code, ttl, hops, a, b, c, d] = *bytes;
        let length = u32::from_le_bytes([a, b, c, d]);
        Self { guid: Guid(guid), kind: MessageKind::from_code(code), code, ttl, hops, length }
    }

    /// The bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[..16].copy_from_slice(&self.guid.0);
        out[16..19].copy_from_slice(&[self.code, self.ttl, self.hops]);
        out[19..].copy_from_slice(&self.length.to_le_bytes());
        out
    }
}
