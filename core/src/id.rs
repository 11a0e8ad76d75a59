//! Names for things: small typed numbers, and the random 128-bit ids that
//! travel as 32 hexadecimal digits.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::hex_bytes;

/// The digits of base 32, in order.
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A connection of a node. The host numbers the ones it accepts with even
/// numbers, the node numbers the ones it dials with odd ones; no number is
/// ever used twice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnId(pub u64);

/// A shared file's number, as in `/get/<index>/<name>`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FileIndex(pub u32);

/// A download of ours.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FetchId(pub u32);

/// A node of a world; a servent on its own is number 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// What a file is, whatever its URL says: equal keys mean equal content.
/// The host derives it from path, size and mtime, so that it stays the same
/// while the SHA-1 becomes known, and over a restart.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FileKey(pub u64);

/// A 128-bit random id: a PARQ queue id, a servent id, a message GUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Guid(pub [u8; 16]);

/// The SHA-1 of a file, written as 32 base-32 digits in `urn:sha1:…`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha1(pub [u8; 20]);

impl Guid {
    /// From 32 hexadecimal digits of either case.
    #[must_use]
    pub fn parse(hex: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = hex.try_into().ok()?;
        let mut id = Self::default();
        for (byte, pair) in id.0.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = hex_bytes::byte(*pair)?;
        }
        Some(id)
    }
}

impl Sha1 {
    /// From 32 base-32 digits of either case.
    #[must_use]
    pub fn parse(base32: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = base32.try_into().ok()?;
        let mut out = [0; 20];
        // Eight digits of five bits are five bytes.
        for (digits, bytes) in digits.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<5>().0) {
            let mut bits = 0u64;
            for digit in digits {
                let value = match digit {
                    b'A'..=b'Z' => digit - b'A',
                    b'a'..=b'z' => digit - b'a',
                    b'2'..=b'7' => digit - b'2' + 26,
                    _ => return None,
                };
                bits = bits << 5 | u64::from(value);
            }
            bytes.copy_from_slice(&bits.to_be_bytes()[3..]);
        }
        Some(Self(out))
    }

    /// From `urn:sha1:<32 base-32 digits>`, the prefix in either case.
    #[must_use]
    pub fn parse_urn(urn: &[u8]) -> Option<Self> {
        let (prefix, digits) = urn.split_at_checked(9)?;
        if prefix.eq_ignore_ascii_case(b"urn:sha1:") { Self::parse(digits) } else { None }
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 32];
        hex_bytes::digits(&self.0, &mut text);
        f.write_str(core::str::from_utf8(&text).unwrap_or_default())
    }
}
impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 32];
        for (bytes, digits) in self.0.as_chunks::<5>().0.iter().zip(text.as_chunks_mut::<8>().0) {
            let bits = bytes.iter().fold(0u64, |bits, b| bits << 8 | u64::from(*b));
            for (digit, shift) in digits.iter_mut().zip((0..8).rev()) {
                *digit = BASE32[(bits >> (5 * shift)) as usize & 31];
            }
        }
        f.write_str(core::str::from_utf8(&text).unwrap_or_default())
    }
}
impl fmt::Debug for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! serde_as_text {
    ($type:ty, $name:literal) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                Self::parse(text.as_bytes())
                    .ok_or_else(|| serde::de::Error::custom(concat!("not a ", $name)))
            }
        }
    };
}
serde_as_text!(Guid, "128-bit id of 32 hexadecimal digits");
serde_as_text!(Sha1, "SHA-1 of 32 base-32 digits");

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn ids_round_trip_in_either_case() {
        let id = Guid::parse(b"6A074979f3201edbf323b6425fef4a53").unwrap();
        assert_eq!(id.to_string(), "6a074979f3201edbf323b6425fef4a53");
        assert_eq!(Guid::parse(b"6a07"), None);
        let sha = Sha1::parse_urn(b"URN:sha1:plstHIPQGSSZTS5FJUPAKUZWUGYQYPFB").unwrap();
        assert_eq!(sha.to_string(), "PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB");
        assert_eq!(Sha1::parse_urn(b"urn:md5:plst"), None);
        let known = Sha1(core::array::from_fn(|i| 236 + i as u8));
        assert_eq!(known.to_string(), "5TW6537Q6HZPH5HV6337R6P27P6P37X7");
        assert_eq!(Sha1::parse(known.to_string().as_bytes()), Some(known));
        assert_eq!(Sha1::parse(b"PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPF1"), None);
    }
}
