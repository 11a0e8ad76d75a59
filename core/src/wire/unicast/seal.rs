//! The last eight bytes of a datagram, where both sides have agreed on them.

use core::hash::Hasher as _;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// How a datagram shows that it arrived as it was sent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Seal {
    /// Not at all: UDP's own checksum is enough.
    #[default]
    None,
    /// Eight bytes of SipHash-2-4 with the key zero: against damage.
    Checksum,
    /// Eight bytes of SipHash-2-4 with a shared key: against strangers on
    /// the path too. It proves the sender, not that a datagram is new.
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

    /// True when it takes none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The seal of `bytes`.
    pub(super) fn of(&self, bytes: &[u8]) -> Option<[u8; 8]> {
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
