//! The state of a node as plain data, for `servent status`, the lab's queue
//! view and the inspector. Times are the host's, in microseconds.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::inbox::InboxView;
use crate::fetch::FetchView;
use crate::queue::{Dialect, QueuePolicy};

/// The state of a whole node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NodeView {
    /// The upload side.
    pub queue: QueueView,
    /// The download side.
    pub fetches: Vec<FetchView>,
    /// Places and slots that are being given back (QA-8).
    pub leaving: u32,
    /// Open connections.
    pub connections: u32,
    /// Shared files.
    pub shared: u32,
    /// What visitors have uploaded, and are uploading; `None` without an inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox: Option<InboxView>,
}

/// The upload side: the lanes of the queue view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueueView {
    /// Upload slots.
    pub slots: u32,
    /// How waiting clients are told when to ask.
    pub policy: QueuePolicy,
    /// Slots that no client uses.
    pub free: u32,
    /// Places in the queue, in total.
    pub length: u32,
    /// The most places there can be.
    pub capacity: u32,
    /// The active slots.
    pub uploads: Vec<SlotCard>,
    /// The position of the first card below.
    pub from: u32,
    /// A window of the places in the queue, in order.
    pub cards: Vec<Card>,
    /// The clients that free slots are reserved for, in order of arrival.
    pub kept: Vec<ReservedSlot>,
}

/// A free slot and the client it is reserved for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReservedSlot {
    /// The id of the client's place.
    pub ticket: String,
    /// Its address.
    pub peer: String,
    /// Its position; 1 is next.
    pub position: u32,
    /// The client may not ask before this.
    pub not_before: u64,
    /// From then on the first client of the queue that asks is served.
    pub open_at: u64,
    /// When the client has not asked by then, the slot is reserved for the next
    /// one.
    pub until: u64,
}

/// How many places are in each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LaneTotals {
    /// The connection is kept.
    pub sync: u32,
    /// The connection is closed on purpose.
    #[serde(rename = "async")]
    pub asynchronous: u32,
    /// The client is absent, and its place is held.
    pub grace: u32,
    /// Further back, in any lane: not counted by lane.
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
    /// Its queueing dialect.
    pub dialect: Dialect,
    /// The file's name; that of a folder ends in `/`.
    pub file: String,
    /// Of a folder that is uploaded as one: how many files it has.
    pub files: Option<u32>,
    /// The connection, when there is one.
    pub conn: Option<u64>,
    /// The range being sent.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// Bytes of it that have been sent.
    pub sent: u64,
    /// Since when it holds the slot.
    pub since: u64,
    /// Its connection broke; the slot is reserved for it until then.
    pub reserved_until: Option<u64>,
}

/// The lane of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LaneView {
    /// The connection is kept.
    Sync,
    /// The connection is closed on purpose; the client comes back to poll.
    Async,
    /// The connection broke, or the poll is overdue; the place is still held.
    Grace,
}

/// A client in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Card {
    /// The id of its place.
    pub ticket: String,
    /// Its address.
    pub peer: String,
    /// Its queueing dialect.
    pub dialect: Dialect,
    /// The file's name; that of a folder ends in `/`.
    pub file: String,
    /// Of a folder that is uploaded as one: how many files it has.
    pub files: Option<u32>,
    /// Its lane.
    pub lane: LaneView,
    /// Its position now; 1 is next.
    pub position: u32,
    /// The last position it was told; 0 before the first reply.
    pub told: u32,
    /// When it was told that position.
    pub told_at: u64,
    /// A request before this is too early.
    pub not_before: u64,
    /// A client that has not asked by this loses its place.
    pub deadline: u64,
    /// Estimated time to a slot, in seconds, if it can be estimated.
    pub eta: Option<u64>,
    /// Connected now.
    pub present: bool,
    /// The connection, when there is one.
    pub conn: Option<u64>,
    /// How often its connection has broken.
    pub breaks: u8,
}
