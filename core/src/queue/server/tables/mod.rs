//! What the queue keeps: who waits, by arrival, by id and by deadline.

pub(super) mod entry;
pub(super) mod index;
pub(super) mod line;
pub(super) mod places;
pub(super) mod slab;
pub(super) mod sums;
pub(super) mod wheel;
