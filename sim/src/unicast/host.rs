//! The state of an application: what it still has to send, and to which peer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use servent_core::trace::RecordCause;
use servent_core::unicast::DeliveryOrder;

/// A message that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsent {
    pub(super) n: u64,
    pub(super) size: u32,
    pub(super) order: DeliveryOrder,
}

/// An application's state for one other node.
#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    /// Messages numbered so far, across all runs of the node.
    pub(super) numbered: u64,
    pub(super) outbox: VecDeque<Unsent>,
    /// The send window is full.
    pub(super) waits: bool,
    /// It closes once the outbox is empty.
    pub(super) closes: bool,
    /// Read and not yet reported: messages, bytes.
    pub(super) taken: (u64, u64),
    /// The last record about the two.
    pub(super) last: RecordCause,
}

/// A node's application.
#[derive(Debug, Clone)]
pub struct Application {
    /// It reads.
    pub(super) reads: bool,
    /// By the number of the other node.
    pub(super) talks: Vec<Talk>,
}

impl Application {
    pub(super) fn new(nodes: usize) -> Self {
        Self { reads: true, talks: (0..nodes).map(|_| Talk::default()).collect() }
    }

    /// Its state is lost; only the numbering of its messages continues, so that
    /// no two are alike.
    pub(super) fn crash(&mut self) {
        self.reads = true;
        for talk in &mut self.talks {
            *talk = Talk { numbered: talk.numbered, last: talk.last, ..Talk::default() };
        }
    }
}
