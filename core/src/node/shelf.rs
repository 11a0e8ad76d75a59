//! What we have for others, as every service may read it: whole files, finished
//! parts of downloads, and whether the upload queue has room.

use super::catalog::Catalog;
use super::parts::UnfinishedDownloads;

/// What we have for others.
#[derive(Debug, Clone, Default)]
pub(super) struct Shelf {
    /// The files we share.
    pub(super) files: Catalog,
    /// The finished parts of unfinished downloads.
    pub(super) parts: UnfinishedDownloads,
    /// The state of the upload queue after its last input.
    pub(super) queue: QueueRoom,
}

/// Whether the upload queue has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueueRoom {
    /// A new client could get a slot or a place.
    pub(super) has_room: bool,
    /// A slot is free.
    pub(super) has_free_slot: bool,
}
