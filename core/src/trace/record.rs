//! Records: an event with its number, instant, node and cause.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::time::Instant;
use crate::{fetch, node, queue, sim};

/// A node of a world; a servent on its own is number 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// The record that led here; `None` for what nobody caused, such as a start.
pub type Cause = Option<u64>;

/// Everything an engine can tell, one variant per engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// Connections and requests.
    Conn(node::ConnEvent),
    /// The upload queue.
    Queue(queue::Event),
    /// Downloads.
    Fetch(fetch::Event),
    /// The world around the nodes: faults and the disk.
    World(sim::WorldEvent),
}

/// One line of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// Its number; the first is 0.
    pub seq: u64,
    /// When.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// The record that led here, across links too.
    pub cause: Cause,
    /// What.
    pub event: Event,
}

/// Numbers events, ties them to causes, and keeps the running digest.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    next: u64,
    digest: Digest,
}

impl Recorder {
    /// The number the next record will get.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The fingerprint of everything recorded so far.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Stamps one event and adds it to `into`; its number is the cause to
    /// give to whatever follows from it.
    pub fn record(
        &mut self,
        at: Instant,
        node: NodeId,
        cause: Cause,
        event: Event,
        into: &mut Vec<Record>,
    ) -> u64 {
        let seq = self.next;
        self.next += 1;
        let record = Record { seq, at, node, cause, event };
        self.digest.add(&record);
        into.push(record);
        seq
    }
}
