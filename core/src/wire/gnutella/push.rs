//! Asks a servent that we cannot connect to, to connect to us.

use alloc::vec::Vec;
use core::net::SocketAddrV4;

use super::{Fields, OverlayPayload, PayloadError};
use crate::id::{FileIndex, Guid};

/// Asks a servent to connect to `at` and offer a file (`GIV`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Push {
    /// The servent that is asked.
    pub servent: Guid,
    /// The file to offer, by its number in the hit.
    pub index: FileIndex,
    /// The address to connect to.
    pub at: SocketAddrV4,
    /// Extension blocks.
    pub ggep: OverlayPayload,
}

impl Push {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is too short.
    pub fn parse(payload: &OverlayPayload) -> Result<Self, PayloadError> {
        let mut fields = Fields(payload);
        let servent = Guid(fields.take()?);
        let index = FileIndex(fields.u32()?);
        let ip = fields.ip()?;
        let at = SocketAddrV4::new(ip, fields.u16()?);
        Ok(Self { servent, index, at, ggep: payload.slice(26..) })
    }

    /// Bytes of payload.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        26 + self.ggep.len()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.servent.0);
        out.extend_from_slice(&self.index.0.to_le_bytes());
        out.extend_from_slice(&self.at.ip().octets());
        out.extend_from_slice(&self.at.port().to_le_bytes());
        out.extend_from_slice(&self.ggep);
    }
}
