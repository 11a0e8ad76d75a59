//! Putting a [`NodeView`] together: the queue knows ids and keys, the node
//! knows names and how far each body has come.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::conn::Phase;
use super::{Card, Kept, Lane, LaneTotals, Node, NodeView, QueueView, SlotCard};
use crate::id::ConnId;
use crate::queue::FileKey;
use crate::queue::server;

impl Node {
    /// What the node looks like since its last input or timeout, with
    /// `count` places of the line from position `from` (the first is 1) on.
    #[must_use]
    pub fn view(&self, from: u32, count: u32) -> NodeView {
        let raw = self.queue.view(from, count, self.now);
        NodeView {
            queue: QueueView {
                slots: raw.slots,
                free: raw.free,
                length: raw.length,
                capacity: raw.capacity,
                uploads: raw.uploads.iter().map(|u| self.slot_card(u)).collect(),
                from: raw.from,
                cards: raw.places.iter().map(|p| self.card(p)).collect(),
                kept: raw.kept.iter().map(Kept::from).collect(),
            },
            fetches: self.fetches.view(),
            connections: u32::try_from(self.conns.len()).unwrap_or(u32::MAX),
            shared: u32::try_from(self.files.len()).unwrap_or(u32::MAX),
        }
    }

    /// The line sorted into its lanes: how many stand in each, and the cards
    /// inside the windows, in the order of the line.
    #[must_use]
    pub fn lanes(&self, windows: &server::Windows) -> (LaneTotals, Vec<Card>) {
        let (totals, places) = self.queue.lanes(windows, self.now);
        let server::Lanes { sync, asynchronous, grace, beyond } = totals;
        let cards = places.iter().map(|p| self.card(p)).collect();
        (LaneTotals { sync, asynchronous, grace, beyond }, cards)
    }

    fn slot_card(&self, upload: &server::UploadView) -> SlotCard {
        let (start, end, sent) = self.progress(upload.conn);
        SlotCard {
            ticket: upload.ticket.to_string(),
            peer: self.address(upload.conn).unwrap_or_else(|| upload.peer.to_string()),
            dialect: upload.dialect,
            file: self.file_name(upload.file),
            conn: upload.conn.map(|c| c.0),
            start,
            end,
            sent,
            since: upload.since.as_micros(),
            reserved_until: upload.reserved_until.map(|t| t.as_micros()),
        }
    }

    fn card(&self, place: &server::PlaceView) -> Card {
        Card {
            ticket: place.ticket.to_string(),
            peer: self.address(place.conn).unwrap_or_else(|| place.peer.to_string()),
            dialect: place.dialect,
            file: self.file_name(place.file),
            lane: match place.lane {
                server::Lane::Sync => Lane::Sync,
                server::Lane::Async => Lane::Async,
                server::Lane::Grace => Lane::Grace,
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

    /// The whole address of who is connected.
    fn address(&self, conn: Option<ConnId>) -> Option<String> {
        Some(self.conns.get(conn?)?.peer.to_string())
    }

    /// The range on its way out, and how much of it has left.
    fn progress(&self, conn: Option<ConnId>) -> (u64, u64, u64) {
        match conn.and_then(|c| self.conns.get(c)).map(|c| &c.phase) {
            Some(Phase::Sending(t)) => (t.start, t.end, t.sent),
            _ => (0, 0, 0),
        }
    }

    /// A file's name, or its key when it is no longer shared.
    fn file_name(&self, key: FileKey) -> String {
        let shared = self.files.by_key(key).map(|f| &f.name[..]);
        let name = shared.or_else(|| self.parts.name(key));
        name.map_or_else(|| format!("#{:016x}", key.0), String::from)
    }
}

impl From<&server::KeptView> for Kept {
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
