//! Overlays from recordings: what one servent saw, what several of them tell together,
//! and the same under pseudonyms.

pub(super) mod merged;
pub(super) mod observed;
pub(super) mod pseudonymise;
pub(super) mod streams;
pub(super) mod traffic;
