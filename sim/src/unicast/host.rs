//! What a world keeps for each of its nodes, its application included.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use servent_core::node::messenger::{Input, Messenger};
use servent_core::time::Instant;
use servent_core::trace::Cause;
use servent_core::unicast::Order;

/// A message that waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsent {
    pub(super) n: u64,
    pub(super) size: u32,
    pub(super) order: Order,
}

/// What an application has with one other node.
#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    /// Messages numbered so far, over all lives of the node.
    pub(super) numbered: u64,
    pub(super) outbox: VecDeque<Unsent>,
    /// The send window is full.
    pub(super) waits: bool,
    /// It closes once the outbox is empty.
    pub(super) closes: bool,
    /// Read and not yet told: messages, bytes.
    pub(super) taken: (u64, u64),
    /// The last record about the two.
    pub(super) last: Cause,
}

/// A node.
#[derive(Debug, Clone)]
pub(super) struct Host {
    /// Absent while it is down.
    pub(super) messenger: Option<Messenger>,
    pub(super) boot: u32,
    pub(super) stalled: bool,
    /// Its application reads.
    pub(super) reads: bool,
    /// What came in while it stood still.
    pub(super) inbox: VecDeque<(Input, Cause)>,
    /// When a timer is planned for it.
    pub(super) armed: Option<Instant>,
    /// By the number of the other node.
    pub(super) talks: Vec<Talk>,
}

impl Host {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            messenger: None,
            boot: 0,
            stalled: false,
            reads: true,
            inbox: VecDeque::new(),
            armed: None,
            talks: (0..nodes).map(|_| Talk::default()).collect(),
        }
    }

    /// Everything it knew is gone; only the numbers of its messages go on, so
    /// that no two are alike.
    pub(super) fn crash(&mut self) {
        self.messenger = None;
        self.inbox.clear();
        self.armed = None;
        self.stalled = false;
        self.reads = true;
        for talk in &mut self.talks {
            *talk = Talk { numbered: talk.numbered, last: talk.last, ..Talk::default() };
        }
    }
}
