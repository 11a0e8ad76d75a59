//! The 23 bytes before every payload.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Guid;

/// Bytes of a header.
pub const HEADER: usize = 23;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Who is there?
    Ping,
    /// I am.
    Pong,
    /// I am going.
    Bye,
    /// A part of a keyword table.
    Qrp,
    /// Something between two servents of one vendor.
    Vendor,
    /// Something between two servents of any vendor.
    Standard,
    /// Connect to me and offer that file.
    Push,
    /// Who has something like this?
    Query,
    /// I have.
    Hit,
}

impl Kind {
    /// All of them, in the order of their numbers on the wire.
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

    /// The kind of a number on the wire.
    #[must_use]
    pub const fn of(code: u8) -> Option<Self> {
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

    /// Its number on the wire.
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

impl fmt::Display for Kind {
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

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The message's id; of a pong and a hit, the id of what they answer.
    pub guid: Guid,
    /// What it is; `None` for a number nobody gave a meaning.
    pub kind: Option<Kind>,
    /// The number of the kind, as it came.
    pub code: u8,
    /// How many more links it may travel.
    pub ttl: u8,
    /// How many it has.
    pub hops: u8,
    /// Bytes of payload.
    pub length: u32,
}

impl Header {
    /// Reads a header. All bytes are one; whether it is possible is for
    /// whoever reads the stream.
    #[must_use]
    pub fn parse(bytes: &[u8; HEADER]) -> Self {
        let [guid @ .., code, ttl, hops, a, b, c, d] = *bytes;
        let length = u32::from_le_bytes([a, b, c, d]);
        Self { guid: Guid(guid), kind: Kind::of(code), code, ttl, hops, length }
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
