//! Counters of the router.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::Serialize;

use super::DropReason;
use crate::wire::gnutella::MessageKind;

/// Kinds of messages.
const KINDS: usize = MessageKind::ALL.len();

/// Totals since the start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutingCounters {
    received: [u64; KINDS],
    sent: [u64; KINDS],
    /// Allocated with the first message that is dropped: a world has ten
    /// thousand routers, and most of them never drop most kinds.
    dropped: [Option<Box<Reasons>>; KINDS],
}

/// How many messages were dropped, by reason.
type Reasons = [u64; DropReason::ALL.len()];

/// What happened to the messages of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: MessageKind,
    /// Received from neighbours.
    pub received: u64,
    /// Sent to neighbours, our own and forwarded; counted once per neighbour.
    pub sent: u64,
    /// Dropped, by reason.
    pub dropped: Vec<(DropReason, u64)>,
}

impl RoutingCounters {
    pub(super) const fn received(&mut self, kind: MessageKind) {
        self.received[index(kind)] += 1;
    }

    pub(super) const fn sent(&mut self, kind: MessageKind, count: usize) {
        self.sent[index(kind)] += count as u64;
    }

    pub(super) fn dropped(&mut self, kind: MessageKind, why: DropReason) {
        self.dropped[index(kind)].get_or_insert_default()[why as usize] += 1;
    }

    /// How many messages of a kind were received.
    #[must_use]
    pub const fn received_of(&self, kind: MessageKind) -> u64 {
        self.received[index(kind)]
    }

    /// How many messages of a kind were sent.
    #[must_use]
    pub const fn sent_of(&self, kind: MessageKind) -> u64 {
        self.sent[index(kind)]
    }

    /// How many messages of a kind were dropped for a reason.
    #[must_use]
    pub fn dropped_of(&self, kind: MessageKind, why: DropReason) -> u64 {
        self.dropped[index(kind)].as_ref().map_or(0, |reasons| reasons[why as usize])
    }

    /// All counters, by kind.
    #[must_use]
    pub fn by_kind(&self) -> Vec<KindCount> {
        let count = |kind: MessageKind| KindCount {
            kind,
            received: self.received_of(kind),
            sent: self.sent_of(kind),
            dropped: DropReason::ALL
                .iter()
                .map(|why| (*why, self.dropped_of(kind, *why)))
                .filter(|(_, count)| *count > 0)
                .collect(),
        };
        MessageKind::ALL.iter().map(|kind| count(*kind)).collect()
    }
}

const fn index(kind: MessageKind) -> usize {
    match kind {
        MessageKind::Ping => 0,
        MessageKind::Pong => 1,
        MessageKind::Bye => 2,
        MessageKind::Qrp => 3,
        MessageKind::Vendor => 4,
        MessageKind::Standard => 5,
        MessageKind::Push => 6,
        MessageKind::Query => 7,
        MessageKind::Hit => 8,
    }
}
