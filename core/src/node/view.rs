//! What a node looks like from outside: plain data for `servent status`, the
//! lab's queue view and the inspector. Instants are microseconds of the host.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::fetch::FetchView;
use crate::queue::Dialect;

/// A whole node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NodeView {
    /// The upload side.
    pub queue: QueueView,
    /// The download side.
    pub fetches: Vec<FetchView>,
    /// Open connections.
    pub connections: u32,
    /// Shared files.
    pub shared: u32,
}

/// The upload side: the lanes of the queue view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueueView {
    /// Upload slots.
    pub slots: u32,
    /// Slots nobody holds.
    pub free: u32,
    /// Places in the line, all of them.
    pub length: u32,
    /// The most places there can be.
    pub capacity: u32,
    /// Those in a slot.
    pub uploads: Vec<SlotCard>,
    /// The first card below stands at this position.
    pub from: u32,
    /// Places in the line, a window of it, in order.
    pub cards: Vec<Card>,
    /// For whom free slots are kept, in order of arrival.
    pub kept: Vec<Kept>,
}

/// A free slot and whom it is kept for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Kept {
    /// The id of the place.
    pub ticket: String,
    /// Its address.
    pub peer: String,
    /// Its position; 1 is next.
    pub position: u32,
    /// It may not ask before this.
    pub not_before: u64,
    /// From then on whoever of the line asks first is served.
    pub open_at: u64,
    /// By then it has to ask, or the slot is kept for the next.
    pub until: u64,
}

/// How many places stand in which lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LaneTotals {
    /// The wire is kept.
    pub sync: u32,
    /// The wire is cut on purpose.
    #[serde(rename = "async")]
    pub asynchronous: u32,
    /// The place is held.
    pub grace: u32,
    /// Further back, in whichever lane: not looked at.
    pub beyond: u32,
}

/// A client in a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SlotCard {
    /// The id of its place.
    pub ticket: String,
    /// Its address.
    pub peer: String,
    /// Its language.
    pub dialect: Dialect,
    /// The file's name.
    pub file: String,
    /// The connection, when there is one.
    pub conn: Option<u64>,
    /// The range being sent.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Bytes of it that have left.
    pub sent: u64,
    /// Since when it holds the slot.
    pub since: u64,
    /// Broken and held for its owner until then.
    pub reserved_until: Option<u64>,
}

/// Which lane of the queue a place stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// The wire is kept.
    Sync,
    /// The wire is cut on purpose; the client comes back.
    Async,
    /// The wire broke, or the poll is overdue but forgiven; the place is held.
    Grace,
}

/// A client in the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Card {
    /// The id of its place.
    pub ticket: String,
    /// Its address.
    pub peer: String,
    /// Its language.
    pub dialect: Dialect,
    /// The file's name.
    pub file: String,
    /// Its lane.
    pub lane: Lane,
    /// Its position now; 1 is next.
    pub position: u32,
    /// The position it was told last; 0 before the first reply.
    pub told: u32,
    /// When it was told.
    pub told_at: u64,
    /// Asking before this is too early.
    pub not_before: u64,
    /// Not having asked by this loses the place.
    pub deadline: u64,
    /// When a slot may come, in seconds, if that can be said.
    pub eta: Option<u64>,
    /// Connected now.
    pub present: bool,
    /// The connection, when there is one.
    pub conn: Option<u64>,
    /// How often its connection broke.
    pub breaks: u8,
}
