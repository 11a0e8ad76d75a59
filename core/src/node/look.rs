//! Builds a [`NodeView`]: the queue knows ids and keys; the node knows names
//! and how far each body has been sent.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::connections::Connections;
use super::inbox::InboxLimits;
use super::services::Services;
use super::shelf::Shelf;
use super::{Card, LaneTotals, LaneView, NodeView, QueueView, ReservedSlot, SlotCard};
use crate::id::ConnId;
use crate::queue::FileKey;
use crate::queue::server;
use crate::time::Instant;

/// The services a view is put together from.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) now: Instant,
    pub(super) io: &'a Connections,
    pub(super) shelf: &'a Shelf,
    pub(super) services: &'a Services,
    pub(super) inbox: &'a InboxLimits,
}

impl Look<'_> {
    /// A view of the whole node, with `count` places of the queue starting at
    /// position `from` (the first is 1).
    pub(super) fn node(self, from: u32, count: u32) -> NodeView {
        let raw = self.services.http.queue.view(from, count, self.now);
        NodeView {
            queue: QueueView {
                slots: raw.slots,
                policy: raw.policy,
                free: raw.free,
                length: raw.length,
                capacity: raw.capacity,
                uploads: raw.uploads.iter().map(|u| self.slot_card(u)).collect(),
                from: raw.from,
                cards: raw.places.iter().map(|p| self.card(p)).collect(),
                kept: raw.kept.iter().map(ReservedSlot::from).collect(),
            },
            fetches: self.services.downloads.view(),
            leaving: u32::try_from(self.services.downloads.leaving()).unwrap_or(u32::MAX),
            connections: u32::try_from(self.io.len()).unwrap_or(u32::MAX),
            shared: u32::try_from(self.shelf.files.len()).unwrap_or(u32::MAX),
            inbox: self.services.http.inbox_view(self.inbox, |conn| self.address(Some(conn))),
        }
    }

    /// The queue sorted into lanes: how many places are in each, and the cards
    /// inside the windows, in queue order.
    pub(super) fn lanes(self, windows: &server::Windows) -> (LaneTotals, Vec<Card>) {
        let (totals, places) = self.services.http.queue.lanes(windows, self.now);
        let server::Lanes { sync, asynchronous, grace, beyond } = totals;
        let cards = places.iter().map(|p| self.card(p)).collect();
        (LaneTotals { sync, asynchronous, grace, beyond }, cards)
    }

    fn slot_card(self, upload: &server::UploadView) -> SlotCard {
        let (start, end, sent) = self.progress(upload.conn);
        SlotCard {
            ticket: upload.ticket.to_string(),
            peer: self.address(upload.conn).unwrap_or_else(|| upload.peer.to_string()),
            dialect: upload.dialect,
            file: self.file_name(upload.file),
            files: self.files_below(upload.file),
            conn: upload.conn.map(|c| c.0),
            start,
            end,
            sent,
            since: upload.since.as_micros(),
            reserved_until: upload.reserved_until.map(|t| t.as_micros()),
        }
    }

    fn card(self, place: &server::PlaceView) -> Card {
        Card {
            ticket: place.ticket.to_string(),
            peer: self.address(place.conn).unwrap_or_else(|| place.peer.to_string()),
            dialect: place.dialect,
            file: self.file_name(place.file),
            files: self.files_below(place.file),
            lane: match place.lane {
                server::QueueLane::Sync => LaneView::Sync,
                server::QueueLane::Async => LaneView::Async,
                server::QueueLane::Grace => LaneView::Grace,
            },
            position: place.position,
            told: place.told,
            told_at: place.told_at.as_micros(),
            not_before: place.not_before.as_micros(),
            deadline: place.deadline.as_micros(),
            eta: place.eta.map(|eta| eta.as_secs_ceil()),
            present: place.conn.is_some(),
            conn: place.conn.map(|c| c.0),
            breaks: place.breaks,
        }
    }

    /// The full address of a client that is connected.
    fn address(self, conn: Option<ConnId>) -> Option<String> {
        Some(self.io.get(conn?)?.peer.to_string())
    }

    /// The range being sent, and how many bytes of it have been sent.
    fn progress(self, conn: Option<ConnId>) -> (u64, u64, u64) {
        conn.and_then(|conn| self.services.http.progress(conn)).unwrap_or_default()
    }

    /// How many files a folder has that is uploaded as one.
    fn files_below(self, key: FileKey) -> Option<u32> {
        Some(self.services.http.folder_of(key)?.files)
    }

    /// A file's or a folder's name, or its key when it is no longer shared.
    fn file_name(self, key: FileKey) -> String {
        let shared = self.shelf.files.by_key(key).map(|f| &f.name[..]);
        let folder = || Some(&self.services.http.folder_of(key)?.name[..]);
        let name = shared.or_else(|| self.shelf.parts.name(key)).or_else(folder);
        name.map_or_else(|| format!("#{:016x}", key.0), String::from)
    }
}

impl From<&server::KeptView> for ReservedSlot {
    fn from(kept: &server::KeptView) -> Self {
        Self {
            ticket: kept.ticket.to_string(),
            peer: kept.peer.to_string(),
            position: kept.position,
            not_before: kept.not_before.as_micros(),
            open_at: kept.open_at.as_micros(),
            until: kept.until.as_micros(),
        }
    }
}
