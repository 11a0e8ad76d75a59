//! The last eight bytes of a datagram, if both sides have agreed on them.

use core::hash::Hasher as _;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// How the integrity of a datagram is checked.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Seal {
    /// Not at all: UDP's own checksum is enough.
    #[default]
    None,
    /// Eight bytes of SipHash-2-4 with the key zero: against corruption.
    Checksum,
    /// Eight bytes of SipHash-2-4 with a shared key: also against attackers on
    /// the path. It authenticates the sender, but does not prevent replay.
    Key(u64, u64),
}

impl Seal {
    /// Bytes it takes at the end of a datagram.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Checksum | Self::Key(..) => 8,
        }
    }

    /// True when there is no seal.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The seal of `bytes`.
    pub(super) fn compute(&self, bytes: &[u8]) -> Option<[u8; 8]> {
        let (a, b) = match *self {
            Self::None => return None,
            Self::Checksum => (0, 0),
            Self::Key(a, b) => (a, b),
        };
        let mut hasher = SipHasher24::new_with_keys(a, b);
        hasher.write(bytes);
        Some(hasher.finish().to_be_bytes())
    }
}
