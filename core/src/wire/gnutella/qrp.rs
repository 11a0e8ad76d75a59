//! The two messages that transfer a keyword table.

use alloc::vec::Vec;

use super::{Fields, OverlayPayload, PayloadError};

/// A part of a keyword table (RT-14).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Qrp {
    /// Begins an empty table.
    Reset {
        /// The number of its entries.
        length: u32,
        /// The value of entries that no word maps to.
        infinity: u8,
    },
    /// A part of a patch to the table.
    Patch {
        /// The number of the part, from 1.
        seq: u8,
        /// The number of parts.
        count: u8,
        /// How the concatenated parts are compressed.
        compressor: Compressor,
        /// Bits of an entry's change: 4 or 8.
        bits: u8,
        /// The bytes of the part.
        data: OverlayPayload,
    },
}

/// How a patch is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// Not at all.
    None,
    /// As a zlib stream.
    Zlib,
}

impl Qrp {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is too short, or a number is not allowed.
    pub fn parse(payload: &OverlayPayload) -> Result<Self, PayloadError> {
        let mut fields = Fields(payload);
        match fields.u8()? {
            0 => {
                let (length, infinity) = (fields.u32()?, fields.u8()?);
                if !fields.0.is_empty() {
                    return Err(PayloadError::Long);
                }
                Ok(Self::Reset { length, infinity })
            }
            1 => {
                let (seq, count) = (fields.u8()?, fields.u8()?);
                let compressor = match fields.u8()? {
                    0 => Compressor::None,
                    1 => Compressor::Zlib,
                    _ => return Err(PayloadError::Number),
                };
                let bits = fields.u8()?;
                if !matches!(bits, 4 | 8) || seq == 0 || seq > count {
                    return Err(PayloadError::Number);
                }
                Ok(Self::Patch { seq, count, compressor, bits, data: payload.slice(5..) })
            }
            _ => Err(PayloadError::Number),
        }
    }

    /// Bytes of payload.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        match self {
            Self::Reset { .. } => 6,
            Self::Patch { data, .. } => 5 + data.len(),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Reset { length, infinity } => {
                out.push(0);
                out.extend_from_slice(&length.to_le_bytes());
                out.push(*infinity);
            }
            Self::Patch { seq, count, compressor, bits, data } => {
                let compressor = u8::from(*compressor == Compressor::Zlib);
                out.extend_from_slice(&[1, *seq, *count, compressor, *bits]);
                out.extend_from_slice(data);
            }
        }
    }
}
