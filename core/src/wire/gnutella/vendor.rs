//! The envelope of vendor messages (RT-14).

use alloc::vec::Vec;

use super::{Fields, Payload, PayloadError};

/// Something between two servents, never passed on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Vendor {
    /// One that all vendors agreed on.
    pub standard: bool,
    /// Whose it is, as four letters; zeros for nobody's.
    pub vendor: [u8; 4],
    /// Which of that vendor's.
    pub selector: u16,
    /// Its version.
    pub version: u16,
    /// What it says.
    pub data: Payload,
}

impl Vendor {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is too short.
    pub fn parse(payload: &Payload, standard: bool) -> Result<Self, PayloadError> {
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
