//! The envelope of vendor messages (RT-14).

use alloc::vec::Vec;

use super::{Fields, OverlayPayload, PayloadError};

/// A message between two servents, never forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Vendor {
    /// A standard message of all vendors.
    pub standard: bool,
    /// The vendor code, four letters; zeros for none.
    pub vendor: [u8; 4],
    /// Which of the vendor's messages it is.
    pub selector: u16,
    /// The version of that message.
    pub version: u16,
    /// Its data.
    pub data: OverlayPayload,
}

impl Vendor {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is too short.
    pub fn parse(payload: &OverlayPayload, standard: bool) -> Result<Self, PayloadError> {
        let mut fields = Fields(payload);
        let vendor = fields.take()?;
        let (selector, version) = (fields.u16()?, fields.u16()?);
        Ok(Self { standard, vendor, selector, version, data: payload.slice(8..) })
    }

    /// Bytes of payload.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        8 + self.data.len()
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.vendor);
        out.extend_from_slice(&self.selector.to_le_bytes());
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&self.data);
    }
}
