//! Identifiers: small typed numbers, and the random 128-bit ids that are
//! written as 32 hexadecimal digits.

use alloc::string::String;
use core::cmp::Ordering;
use core::fmt;

use data_encoding::{BASE32_NOPAD, BASE32_NOPAD_NOCASE, HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

/// A connection of a node. The host numbers the ones it accepts with even
/// numbers, the node numbers the ones it dials with odd ones; no number is
/// ever used twice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnId(pub u64);

impl ConnId {
    /// True when the peer opened the connection, false when we dialed it: a host
    /// numbers those it accepts with even numbers, a node those it dials with odd
    /// ones.
    #[must_use]
    pub const fn is_inbound(self) -> bool {
        self.0.is_multiple_of(2)
    }
}

/// A shared file's number, as in `/get/<index>/<name>`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FileIndex(pub u32);

/// One of our downloads.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FetchId(pub u32);

/// A node of a simulated world; a servent outside of one is number 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// Identifies a file for the queue. The host derives it so that it does not change
/// when the SHA-1 becomes known, nor over a restart: from path, size and mtime, so
/// that equal keys mean equal content whatever the URLs are; or, where several
/// machines share a line, from the name, so that it is the same at all of them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FileKey(pub u64);

/// A 128-bit random id: a PARQ queue id, a servent id, a message GUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Guid(pub [u8; 16]);

/// Ordered by the bytes as one big-endian number; maps are keyed by it.
impl Ord for Guid {
    fn cmp(&self, other: &Self) -> Ordering {
        u128::from_be_bytes(self.0).cmp(&u128::from_be_bytes(other.0))
    }
}
impl PartialOrd for Guid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The SHA-1 of a file, written as 32 base-32 digits in `urn:sha1:…`.
///
/// ```
/// use servent_core::id::Sha1;
///
/// let sha1 = Sha1::parse_urn(b"urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB").unwrap();
/// assert_eq!(sha1.to_string(), "PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha1(pub [u8; 20]);

/// The root, or another node, of a file's hash tree (THEX), written as 39
/// base-32 digits.
///
/// ```
/// use servent_core::id::Tth;
///
/// let nothing = Tth::parse(b"LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ").unwrap();
/// assert_eq!(nothing.to_string(), "LWPNACQDBZRYXW3VHJVCJ64QBZNGHOHHHZWCLNQ");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tth(pub [u8; 24]);

impl Guid {
    /// From 32 hexadecimal digits of either case.
    #[must_use]
    pub fn parse(hex: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = hex.try_into().ok()?;
        let mut id = Self::default();
        HEXLOWER_PERMISSIVE.decode_mut(digits, &mut id.0).ok()?;
        Some(id)
    }
}

impl Sha1 {
    /// From 32 base-32 digits of either case.
    #[must_use]
    pub fn parse(base32: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = base32.try_into().ok()?;
        let mut sha1 = Self([0; 20]);
        BASE32_NOPAD_NOCASE.decode_mut(digits, &mut sha1.0).ok()?;
        Some(sha1)
    }

    /// From `urn:sha1:<32 base-32 digits>`, or from a bitprint:
    /// `urn:bitprint:`, the same digits, a dot and the root of the hash tree.
    /// The prefix may be in either case.
    #[must_use]
    pub fn parse_urn(urn: &[u8]) -> Option<Self> {
        let after = |name: &[u8]| {
            let (prefix, digits) = urn.split_at_checked(name.len())?;
            prefix.eq_ignore_ascii_case(name).then_some(digits)
        };
        if let Some(digits) = after(b"urn:sha1:") {
            return Self::parse(digits);
        }
        Self::parse(after(b"urn:bitprint:")?.split(|b| *b == b'.').next()?)
    }
}

impl Tth {
    /// From 39 base-32 digits of either case.
    #[must_use]
    pub fn parse(base32: &[u8]) -> Option<Self> {
        let digits: &[u8; 39] = base32.try_into().ok()?;
        let mut tth = Self([0; 24]);
        BASE32_NOPAD_NOCASE.decode_mut(digits, &mut tth.0).ok()?;
        Some(tth)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEXLOWER.encode_mut_str(&self.0, &mut [0; 32]))
    }
}
impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BASE32_NOPAD.encode_mut_str(&self.0, &mut [0; 32]))
    }
}
impl fmt::Debug for Sha1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for Tth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(BASE32_NOPAD.encode_mut_str(&self.0, &mut [0; 39]))
    }
}
impl fmt::Debug for Tth {
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
serde_as_text!(Tth, "hash tree's node of 39 base-32 digits");

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
        let bitprint = b"urn:bitprint:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB.LWPN";
        assert_eq!(Sha1::parse_urn(bitprint), Some(sha));
        let known = Sha1(core::array::from_fn(|i| 236 + i as u8));
        assert_eq!(known.to_string(), "5TW6537Q6HZPH5HV6337R6P27P6P37X7");
        assert_eq!(Sha1::parse(known.to_string().as_bytes()), Some(known));
        assert_eq!(Sha1::parse(b"PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPF1"), None);
    }
}
