//! The lanes as plain data: what a status command and a board show.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::Server;
use super::entry::Phase;
use super::slots::Upload;
use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, FileKey};
use crate::time::{Duration, Instant};

/// The upload side at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Upload slots.
    pub slots: u32,
    /// Slots nobody holds.
    pub free: u32,
    /// Places in the line, all of them.
    pub length: u32,
    /// The most places there can be.
    pub capacity: u32,
    /// Those in a slot, in order of arrival.
    pub uploads: Vec<UploadView>,
    /// Position of the first of `places`; 1 is next.
    pub from: u32,
    /// A window of the line, in order.
    pub places: Vec<PlaceView>,
}

/// A client in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadView {
    /// The id of its place.
    pub ticket: Guid,
    /// Its address.
    pub peer: IpAddr,
    /// Its language.
    pub dialect: Dialect,
    /// The file it gets.
    pub file: FileKey,
    /// The connection, when there is one.
    pub conn: Option<ConnId>,
    /// Since when it holds the slot.
    pub since: Instant,
    /// Its transfer broke and the slot is held for it until then.
    pub reserved_until: Option<Instant>,
}

/// Which lane a place stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The connection is kept.
    Sync,
    /// The connection was closed on purpose; the client comes back.
    Async,
    /// The connection broke, or the client is late; the place is held.
    Grace,
}

/// A client in the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceView {
    /// The id of its place.
    pub ticket: Guid,
    /// Its address.
    pub peer: IpAddr,
    /// Its language.
    pub dialect: Dialect,
    /// The file it asked for last.
    pub file: FileKey,
    /// Its lane.
    pub lane: Lane,
    /// Its position now; 1 is next.
    pub position: u32,
    /// The position it was told last; 0 before the first reply.
    pub told: u32,
    /// When it was told.
    pub told_at: Instant,
    /// A request before this is too early.
    pub not_before: Instant,
    /// Without a request by this the place is lost or its owner called.
    pub deadline: Instant,
    /// When a slot may come, if that can be said (PQ-15).
    pub eta: Option<Duration>,
    /// The connection, when there is one.
    pub conn: Option<ConnId>,
    /// How often its connection broke.
    pub breaks: u8,
    /// A slot is kept free for it right now.
    pub entitled: bool,
}

impl Server {
    /// The lanes: all slots, and `count` places from position `from` (at
    /// least 1) on.
    #[must_use]
    pub fn view(&self, from: u32, count: u32, now: Instant) -> View {
        let from = from.max(1);
        let until = from.saturating_add(count).min(self.line.len().saturating_add(1));
        View {
            slots: self.config.slots,
            free: self.free(),
            length: self.line.len(),
            capacity: self.config.capacity,
            uploads: self.uploads.values().map(|one| self.upload_view(one)).collect(),
            from,
            places: (from..until).filter_map(|p| self.place_view(p, now)).collect(),
        }
    }

    fn upload_view(&self, upload: &Upload) -> UploadView {
        let entry = &self.places.slab[upload.entry];
        UploadView {
            ticket: entry.ticket,
            peer: entry.peer,
            dialect: entry.dialect,
            file: entry.file,
            conn: entry.conn(),
            since: upload.since,
            reserved_until: (entry.phase == Phase::Reserved).then_some(entry.deadline),
        }
    }

    fn place_view(&self, position: u32, now: Instant) -> Option<PlaceView> {
        let at = self.line.at(position)?;
        let entry = &self.places.slab[at];
        // Who was told to hang up and may not ask yet is not late, even where a
        // free slot has been held for it in vain.
        let late = !self.line.is_present(entry.seat) && now >= entry.not_before;
        let lane = if entry.conn().is_some() {
            Lane::Sync
        } else if entry.unheard || late || now > entry.deadline {
            Lane::Grace
        } else {
            Lane::Async
        };
        Some(PlaceView {
            ticket: entry.ticket,
            peer: entry.peer,
            dialect: entry.dialect,
            file: entry.file,
            lane,
            position,
            told: entry.told,
            told_at: entry.told_at,
            not_before: entry.not_before,
            deadline: entry.deadline,
            eta: self.eta(at),
            conn: entry.conn(),
            breaks: entry.breaks,
            entitled: self.claims.has(entry.arrival),
        })
    }
}
