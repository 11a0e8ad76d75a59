//! Where a message came from: a slot, and which of its successive users.

use core::num::NonZeroU32;

/// Bits of a slot's number.
const SLOT: u32 = 12;
/// A number that no slot has.
const NO_SLOT: u32 = (1 << SLOT) - 1;

/// A route back. A slot that is used again gets a new number of use, so nothing
/// for its predecessor ever reaches the next user, and closing a connection
/// changes no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(NonZeroU32);

impl Route {
    /// Ourselves (RT-2).
    pub(crate) const LOCAL: Self = Self(NonZeroU32::MAX);

    /// The route of a slot below 4 000 and its number of use, which wraps at a
    /// million.
    #[must_use]
    pub const fn new(slot: u32, used: u32) -> Self {
        let number = (used % ((1 << (32 - SLOT)) - 2) + 1) << SLOT | slot;
        match NonZeroU32::new(number) {
            Some(number) => Self(number),
            None => Self::LOCAL,
        }
    }

    /// Its slot; `None` for ourselves.
    pub(crate) const fn slot(self) -> Option<u32> {
        let slot = self.0.get() & NO_SLOT;
        if slot == NO_SLOT { None } else { Some(slot) }
    }

    /// Stores any non-zero number, for tables that hold numbers.
    pub(crate) const fn from_number(number: u32) -> Self {
        match NonZeroU32::new(number) {
            Some(number) => Self(number),
            None => Self::LOCAL,
        }
    }

    /// The stored number.
    pub(crate) const fn number(self) -> u32 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_used_again_is_another_route() {
        assert_ne!(Route::new(3, 0), Route::new(3, 1));
        assert_ne!(Route::new(3, 0), Route::new(4, 0));
        assert_eq!(Route::new(3_999, u32::MAX).slot(), Some(3_999));
        assert_eq!(Route::LOCAL.slot(), None);
        assert_eq!(size_of::<Option<Route>>(), 4);
    }
}
