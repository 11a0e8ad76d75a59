//! A disk that loses what was not flushed when its node is killed.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::contents::PartContents;
use crate::links::stream::StreamContent;
use servent_core::id::{FetchId, Guid};
use servent_core::node::{NodeOp, PartRow, RestoredNode};
use servent_core::queue::StoredEntry;
use servent_core::time::{Duration, Instant};

/// A write that no promise depends on reaches the disk by itself after this
/// time.
const LAZY: Duration = Duration::from_millis(50);

/// A node's durable state, and the writes that have not reached it yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    servent: Option<Guid>,
    queue: BTreeMap<Guid, StoredEntry>,
    fetches: BTreeMap<FetchId, Arc<PartRow>>,
    pending: Vec<(Instant, NodeOp)>,
    /// Contents of downloads: virtual, so they consist only of which file each range
    /// is of and whether a damaged source wrote it.
    contents: BTreeMap<FetchId, PartContents>,
}

impl Disk {
    /// Writes a change; it is safe after [`Disk::flush`].
    pub(super) fn write(&mut self, now: Instant, op: NodeOp) {
        self.pending.push((now, op));
    }

    /// Makes everything written so far safe.
    pub(super) fn flush(&mut self) {
        let mut pending = core::mem::take(&mut self.pending);
        for (_, op) in pending.drain(..) {
            self.apply(op);
        }
        self.pending = pending;
    }

    /// The node was killed: writes that had not reached the disk are lost.
    /// Returns how many.
    pub(super) fn crash(&mut self, now: Instant) -> usize {
        let pending = core::mem::take(&mut self.pending);
        let mut lost = 0;
        for (at, op) in pending {
            // In order, and none after the first that was lost.
            if lost == 0 && at + LAZY <= now { self.apply(op) } else { lost += 1 }
        }
        lost
    }

    fn apply(&mut self, op: NodeOp) {
        match op {
            NodeOp::Servent(id) => self.servent = Some(id),
            NodeOp::Queue(row) => {
                self.queue.insert(row.ticket, row);
            }
            NodeOp::QueueGone(ticket) => {
                self.queue.remove(&ticket);
            }
            NodeOp::Fetch(row) => {
                self.fetches.insert(row.fetch, row);
            }
            NodeOp::FetchGone(fetch) => {
                self.fetches.remove(&fetch);
                self.contents.remove(&fetch);
            }
            // These worlds have no search for neighbours, no hash trees and no
            // pauses.
            NodeOp::Host(_)
            | NodeOp::HostGone(_)
            | NodeOp::Swarm(_)
            | NodeOp::Tree(..)
            | NodeOp::Paused(..) => {}
        }
    }

    /// The state that a node starting from this disk restores.
    pub(super) fn restored(&self) -> RestoredNode {
        let rows = self.queue.values().zip(0_u64..);
        let rows: BTreeMap<_, StoredEntry> =
            rows.map(|(row, no)| ((row.arrival, no), *row)).collect();
        let queue = rows.into_values().collect();
        RestoredNode {
            servent: self.servent,
            listen: None,
            queue,
            fetches: self.fetches.values().map(|row| (**row).clone()).collect(),
            trees: Vec::new(),
            paused: Vec::new(),
            shared: Vec::new(),
            hosts: Vec::new(),
            swarm: servent_core::node::swarm::RestoredSwarm::default(),
        }
    }

    /// Bytes of `content` were written to this range of a download.
    pub(super) fn stored(&mut self, fetch: FetchId, range: (u64, u64), content: StreamContent) {
        self.contents.entry(fetch).or_default().write(range, content);
    }

    /// The file of a download has this size.
    pub(super) fn allocated(&mut self, fetch: FetchId, size: u64) {
        if let Some(contents) = self.contents.get_mut(&fetch) {
            contents.cut(size);
        }
    }

    /// What a download contains.
    pub(super) fn contents(&self, fetch: FetchId) -> Option<&PartContents> {
        self.contents.get(&fetch)
    }

    /// A download starts again from nothing.
    pub(super) fn erase(&mut self, fetch: FetchId) {
        self.contents.remove(&fetch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servent(n: u8) -> NodeOp {
        NodeOp::Servent(Guid([n; 16]))
    }
    fn remembered(disk: &Disk) -> Option<u8> {
        disk.restored().servent.map(|id| id.0[0])
    }

    #[test]
    fn a_crash_forgets_what_was_not_flushed() {
        let mut disk = Disk::default();
        disk.write(Instant::ZERO, servent(1));
        disk.flush();
        disk.write(Instant::ZERO, servent(2));
        assert_eq!(disk.crash(Instant::from_micros(10)), 1);
        assert_eq!(remembered(&disk), Some(1));
    }

    #[test]
    fn what_waited_long_enough_is_safe_up_to_the_first_that_is_not() {
        let mut disk = Disk::default();
        disk.write(Instant::ZERO, servent(1));
        disk.write(Instant::from_micros(60_000), servent(2));
        assert_eq!(disk.crash(Instant::from_micros(60_001)), 1);
        assert_eq!(remembered(&disk), Some(1));
    }
}
