//! The state of the queue as plain data, for the status command and the page.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::QueueServer;
use super::claims::EntryClaim;
use super::slots::Upload;
use super::tables::entry::{EntryPhase, QueueEntry};
use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, FileKey, QueuePolicy};
use crate::time::{Duration, Instant};

/// The state of the upload queue at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// Upload slots.
    pub slots: u32,
    /// How waiting clients are told when to ask.
    pub policy: QueuePolicy,
    /// Slots that no client uses.
    pub free: u32,
    /// The length of the queue.
    pub length: u32,
    /// The maximum length of the queue.
    pub capacity: u32,
    /// The clients in slots, in order of arrival.
    pub uploads: Vec<UploadView>,
    /// Position of the first of `places`; 1 is next.
    pub from: u32,
    /// A window of the queue, in order.
    pub places: Vec<PlaceView>,
    /// The clients that free slots are reserved for, in order of arrival.
    pub kept: Vec<KeptView>,
}

/// A free slot and the client it is reserved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptView {
    /// The id of the client's place.
    pub ticket: Guid,
    /// Its address.
    pub peer: IpAddr,
    /// Its position in the queue; 1 is next.
    pub position: u32,
    /// The client may not ask before this.
    pub not_before: Instant,
    /// From then on the first client of the queue that asks is served.
    pub open_at: Instant,
    /// When the client has not asked by then, the slot is reserved for the next
    /// one.
    pub until: Instant,
}

/// How many places are in each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Places in [`QueueLane::Sync`].
    pub sync: u32,
    /// Places in [`QueueLane::Async`].
    pub asynchronous: u32,
    /// Places in [`QueueLane::Grace`].
    pub grace: u32,
    /// Places further back, in any lane: not counted by lane.
    pub beyond: u32,
}

/// The window of each lane that is requested: the index of its first place,
/// counted from 0, and the number of places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Windows {
    /// Of [`QueueLane::Sync`].
    pub sync: (u32, u32),
    /// Of [`QueueLane::Async`].
    pub asynchronous: (u32, u32),
    /// Of [`QueueLane::Grace`].
    pub grace: (u32, u32),
}

/// Places from the front of the queue that are sorted into lanes: as many as a
/// person can scroll through, in well below a millisecond.
const SORTED: usize = 20_000;

/// A client in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadView {
    /// The id of its place.
    pub ticket: Guid,
    /// Its address.
    pub peer: IpAddr,
    /// Its dialect.
    pub dialect: Dialect,
    /// The file being sent to it.
    pub file: FileKey,
    /// The connection, when there is one.
    pub conn: Option<ConnId>,
    /// Since when it holds the slot.
    pub since: Instant,
    /// Its transfer broke, and the slot is reserved for it until then.
    pub reserved_until: Option<Instant>,
}

/// The lane of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLane {
    /// The connection is kept.
    Sync,
    /// The connection was closed on purpose; the client comes back to poll.
    Async,
    /// The connection broke, or the client is late; the place is still held.
    Grace,
}

/// A client in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaceView {
    /// The id of its place.
    pub ticket: Guid,
    /// Its address.
    pub peer: IpAddr,
    /// Its dialect.
    pub dialect: Dialect,
    /// The file it last requested.
    pub file: FileKey,
    /// Its lane.
    pub lane: QueueLane,
    /// Its position now; 1 is next.
    pub position: u32,
    /// The last position it was told; 0 before the first reply.
    pub told: u32,
    /// When it was told that position.
    pub told_at: Instant,
    /// A request before this is too early.
    pub not_before: Instant,
    /// Without a request by this, the place is lost, or its owner is called.
    pub deadline: Instant,
    /// Estimated time to a slot, if it can be estimated (PQ-15).
    pub eta: Option<Duration>,
    /// The connection, when there is one.
    pub conn: Option<ConnId>,
    /// How often its connection has broken.
    pub breaks: u8,
    /// A slot is reserved for it now.
    pub entitled: bool,
}

impl QueueServer {
    /// The state of all slots, and of `count` places starting at position
    /// `from` (at least 1).
    #[must_use]
    pub fn view(&self, from: u32, count: u32, now: Instant) -> View {
        let from = from.max(1);
        let until = from.saturating_add(count).min(self.line.len().saturating_add(1));
        View {
            slots: self.config.slots,
            policy: self.config.policy,
            free: self.free(),
            length: self.line.len(),
            capacity: self.config.capacity,
            uploads: self.uploads.values().map(|one| self.upload_view(one)).collect(),
            from,
            places: (from..until).filter_map(|p| self.place_view(p, now)).collect(),
            kept: self.claims.all().map(|claim| self.kept_view(claim)).collect(),
        }
    }

    /// True while a client of this address has a slot.
    pub(crate) fn serves(&self, peer: IpAddr) -> bool {
        self.uploads.values().any(|upload| self.places.slab[upload.entry].peer == peer)
    }

    /// The positions of an address within the first 20 000 of the queue.
    pub(crate) fn places_of(&self, peer: IpAddr) -> Vec<u32> {
        let ours = |(i, at)| (self.places.slab[at].peer == peer).then_some(i as u32 + 1);
        self.line.iter().take(SORTED).enumerate().filter_map(ours).collect()
    }

    /// The queue sorted into lanes: how many places are in each, and the places
    /// inside the windows, in queue order.
    #[must_use]
    #[doc(hidden)]
    pub fn lanes(&self, windows: &Windows, now: Instant) -> (Lanes, Vec<PlaceView>) {
        let (mut lanes, mut places) = (Lanes::default(), Vec::new());
        for (i, at) in self.line.iter().take(SORTED).enumerate() {
            let (seen, (first, count)) = match self.lane(&self.places.slab[at], now) {
                QueueLane::Sync => (&mut lanes.sync, windows.sync),
                QueueLane::Async => (&mut lanes.asynchronous, windows.asynchronous),
                QueueLane::Grace => (&mut lanes.grace, windows.grace),
            };
            if (first..first.saturating_add(count)).contains(seen) {
                places.extend(self.place_view(i as u32 + 1, now));
            }
            *seen += 1;
        }
        lanes.beyond = self.line.len().saturating_sub(SORTED as u32);
        (lanes, places)
    }

    fn lane(&self, entry: &QueueEntry, now: Instant) -> QueueLane {
        let late = !self.line.is_present(entry.seat);
        if entry.conn().is_some() {
            QueueLane::Sync
        } else if entry.unheard || late || now > entry.deadline {
            QueueLane::Grace
        } else {
            QueueLane::Async
        }
    }

    fn kept_view(&self, claim: &EntryClaim) -> KeptView {
        let entry = &self.places.slab[claim.entry];
        KeptView {
            ticket: entry.ticket,
            peer: entry.peer,
            position: self.line.position(entry.seat),
            not_before: entry.not_before,
            open_at: claim.open_at,
            until: claim.until,
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
            reserved_until: (entry.phase == EntryPhase::Reserved).then_some(entry.deadline),
        }
    }

    fn place_view(&self, position: u32, now: Instant) -> Option<PlaceView> {
        let at = self.line.at(position)?;
        let entry = &self.places.slab[at];
        Some(PlaceView {
            ticket: entry.ticket,
            peer: entry.peer,
            dialect: entry.dialect,
            file: entry.file,
            lane: self.lane(entry, now),
            position,
            told: entry.told,
            told_at: entry.told_at,
            not_before: entry.not_before,
            deadline: entry.deadline,
            eta: self.eta(at, now),
            conn: entry.conn(),
            breaks: entry.breaks,
            entitled: self.claims.has(entry.arrival),
        })
    }
}
