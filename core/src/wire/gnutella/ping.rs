//! Pings, pongs and byes.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddrV4;

use super::{Fields, OverlayPayload, PayloadError};

/// Asks which hosts are there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Ping {
    /// Extension blocks; usually none.
    pub ggep: OverlayPayload,
}

/// Names a host that is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pong {
    /// Where it listens.
    pub at: SocketAddrV4,
    /// Files it shares.
    pub files: u32,
    /// Their size in kilobytes.
    pub kilobytes: u32,
    /// Extension blocks.
    pub ggep: OverlayPayload,
}

impl Pong {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is too short.
    pub fn parse(payload: &OverlayPayload) -> Result<Self, PayloadError> {
        let mut fields = Fields(payload);
        let port = fields.u16()?;
        let at = SocketAddrV4::new(fields.ip()?, port);
        let (files, kilobytes) = (fields.u32()?, fields.u32()?);
        Ok(Self { at, files, kilobytes, ggep: payload.slice(14..) })
    }

    /// Bytes of payload.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        14 + self.ggep.len()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.at.port().to_le_bytes());
        out.extend_from_slice(&self.at.ip().octets());
        out.extend_from_slice(&self.files.to_le_bytes());
        out.extend_from_slice(&self.kilobytes.to_le_bytes());
        out.extend_from_slice(&self.ggep);
    }
}

/// Says goodbye (RT-11).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bye {
    /// The reason; see [`code`].
    pub code: u16,
    /// The reason, in words.
    pub text: String,
}

/// The reasons of a Bye.
#[allow(missing_docs)] // Each is what its name says.
pub mod code {
    pub const EXIT: u16 = 200;
    pub const TOO_BIG: u16 = 400;
    pub const DUPLICATES: u16 = 401;
    pub const IMPROPER: u16 = 402;
    pub const TTL_TOO_LARGE: u16 = 403;
    pub const UNKNOWN: u16 = 404;
    pub const INACTIVE: u16 = 405;
    pub const NO_PONG: u16 = 406;
    pub const IO: u16 = 500;
    pub const DESYNCHRONISED: u16 = 501;
    pub const OVERFLOW: u16 = 502;
    pub const NO_SLOT: u16 = 503;
}

impl Bye {
    /// Parses a payload; what follows the text is ignored.
    ///
    /// # Errors
    /// When it is too short.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let mut fields = Fields(payload);
        let code = fields.u16()?;
        let text = fields.text().unwrap_or(fields.0);
        Ok(Self { code, text: String::from_utf8_lossy(text).into_owned() })
    }

    /// Bytes of payload.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        3 + self.text.len()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.code.to_le_bytes());
        // A NUL in the text would end it here, and the rest would be read as
        // something else.
        out.extend(self.text.bytes().map(|b| if b == 0 { b' ' } else { b }));
        out.push(0);
    }
}
