//! The lanes as plain data: what a status command and a page show.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::Server;
use super::claims::Claim;
use super::entry::{Entry, Phase};
use super::slots::Upload;
use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, FileKey};
use crate::time::{Duration, Instant};

/// The upload side at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// For whom free slots are kept, in order of arrival.
    pub kept: Vec<KeptView>,
}

/// A free slot and whom it is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptView {
    /// The id of the place.
    pub ticket: Guid,
    /// Its address.
    pub peer: IpAddr,
    /// Its position in the line; 1 is next.
    pub position: u32,
    /// It may not ask before this.
    pub not_before: Instant,
    /// From then on whoever of the line asks first is served.
    pub open_at: Instant,
    /// By then it has to ask, or the slot is kept for the next.
    pub until: Instant,
}

/// How many places of the line stand in which lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Places in [`Lane::Sync`].
    pub sync: u32,
    /// Places in [`Lane::Async`].
    pub asynchronous: u32,
    /// Places in [`Lane::Grace`].
    pub grace: u32,
    /// Places further back, in whichever lane: not looked at.
    pub beyond: u32,
}

/// Of each lane, which of its places are wanted: the first, counted from 0,
/// and how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Windows {
    /// Of [`Lane::Sync`].
    pub sync: (u32, u32),
    /// Of [`Lane::Async`].
    pub asynchronous: (u32, u32),
    /// Of [`Lane::Grace`].
    pub grace: (u32, u32),
}

/// Places from the head of the line that are sorted into lanes: what a person
/// can scroll through, at the cost of well below a millisecond.
const SORTED: usize = 20_000;

/// A client in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
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
            kept: self.claims.all().map(|claim| self.kept_view(claim)).collect(),
        }
    }

    /// True while somebody of this address holds a slot.
    pub(crate) fn serves(&self, peer: IpAddr) -> bool {
        self.uploads.values().any(|upload| self.places.slab[upload.entry].peer == peer)
    }

    /// The places of an address among the first 20 000 of the line.
    pub(crate) fn places_of(&self, peer: IpAddr) -> Vec<u32> {
        let ours = |(i, at)| (self.places.slab[at].peer == peer).then_some(i as u32 + 1);
        self.line.iter().take(SORTED).enumerate().filter_map(ours).collect()
    }

    /// Sorts the line into its lanes: how many stand in each, and the places
    /// inside the windows, in the order of the line.
    #[must_use]
    #[doc(hidden)]
    pub fn lanes(&self, windows: &Windows, now: Instant) -> (Lanes, Vec<PlaceView>) {
        let (mut lanes, mut places) = (Lanes::default(), Vec::new());
        for (i, at) in self.line.iter().take(SORTED).enumerate() {
            let (seen, (first, count)) = match self.lane(&self.places.slab[at], now) {
                Lane::Sync => (&mut lanes.sync, windows.sync),
                Lane::Async => (&mut lanes.asynchronous, windows.asynchronous),
                Lane::Grace => (&mut lanes.grace, windows.grace),
            };
            if (first..first.saturating_add(count)).contains(seen) {
                places.extend(self.place_view(i as u32 + 1, now));
            }
            *seen += 1;
        }
        lanes.beyond = self.line.len().saturating_sub(SORTED as u32);
        (lanes, places)
    }

    fn lane(&self, entry: &Entry, now: Instant) -> Lane {
        // Who was told to hang up and may not ask yet is not late, even where a
        // free slot has been held for it in vain.
        let late = !self.line.is_present(entry.seat) && now >= entry.not_before;
        if entry.conn().is_some() {
            Lane::Sync
        } else if entry.unheard || late || now > entry.deadline {
            Lane::Grace
        } else {
            Lane::Async
        }
    }

    fn kept_view(&self, claim: &Claim) -> KeptView {
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
            reserved_until: (entry.phase == Phase::Reserved).then_some(entry.deadline),
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
