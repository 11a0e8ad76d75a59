//! Counters of the router.

use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::Serialize;

use super::Why;
use crate::wire::gnutella::Kind;

/// Kinds of messages.
const KINDS: usize = Kind::ALL.len();

/// Totals since the start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    received: [u64; KINDS],
    sent: [u64; KINDS],
    /// Allocated with the first message that is dropped: a world has ten
    /// thousand routers, and most of them never drop most kinds.
    dropped: [Option<Box<Reasons>>; KINDS],
}

/// How many messages were dropped, by reason.
type Reasons = [u64; Why::ALL.len()];

/// What happened to the messages of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: Kind,
    /// Received from neighbours.
    pub received: u64,
    /// Sent to neighbours, our own and forwarded; counted once per neighbour.
    pub sent: u64,
    /// Dropped, by reason.
    pub dropped: Vec<(Why, u64)>,
}

impl Counters {
    pub(super) const fn received(&mut self, kind: Kind) {
        self.received[index(kind)] += 1;
    }

    pub(super) const fn sent(&mut self, kind: Kind, count: usize) {
        self.sent[index(kind)] += count as u64;
    }

    pub(super) fn dropped(&mut self, kind: Kind, why: Why) {
        self.dropped[index(kind)].get_or_insert_default()[why as usize] += 1;
    }

    /// How many messages of a kind were received.
    #[must_use]
    pub const fn received_of(&self, kind: Kind) -> u64 {
        self.received[index(kind)]
    }

    /// How many messages of a kind were sent.
    #[must_use]
    pub const fn sent_of(&self, kind: Kind) -> u64 {
        self.sent[index(kind)]
    }

    /// How many messages of a kind were dropped for a reason.
    #[must_use]
    pub fn dropped_of(&self, kind: Kind, why: Why) -> u64 {
        self.dropped[index(kind)].as_ref().map_or(0, |reasons| reasons[why as usize])
    }

    /// All counters, by kind.
    #[must_use]
    pub fn by_kind(&self) -> Vec<KindCount> {
        let count = |kind: Kind| KindCount {
            kind,
            received: self.received_of(kind),
            sent: self.sent_of(kind),
            dropped: Why::ALL
                .iter()
                .map(|why| (*why, self.dropped_of(kind, *why)))
                .filter(|(_, count)| *count > 0)
                .collect(),
        };
        Kind::ALL.iter().map(|kind| count(*kind)).collect()
    }
}

const fn index(kind: Kind) -> usize {
    match kind {
        Kind::Ping => 0,
        Kind::Pong => 1,
        Kind::Bye => 2,
        Kind::Qrp => 3,
        Kind::Vendor => 4,
        Kind::Standard => 5,
        Kind::Push => 6,
        Kind::Query => 7,
        Kind::Hit => 8,
    }
}
