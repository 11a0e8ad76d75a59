//! Message counts, of one node and of all.

use alloc::vec::Vec;

use serde::Serialize;

use servent_core::routing::DropReason;
use servent_core::wire::gnutella::MessageKind;

/// Number of message kinds.
const KINDS: usize = MessageKind::ALL.len();

/// What happened to messages so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutingTally {
    sent: [u32; KINDS],
    arrived: [u32; KINDS],
    dropped: [u32; KINDS],
    why: [u32; DropReason::ALL.len()],
    lost: u32,
}

/// The counts for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TallyView {
    /// Messages sent, counted for each neighbour.
    pub sent: u64,
    /// Messages received.
    pub arrived: u64,
    /// Of those, how many were useful.
    pub useful: u64,
    /// Of those, duplicates.
    pub duplicate: u64,
    /// Of those, how many were dropped, including duplicates.
    pub dropped: u64,
    /// Messages lost after sending.
    pub lost: u64,
    /// Messages in transit; only for the overlay as a whole.
    pub flying: u64,
    /// The counts by kind, without kinds that have none.
    pub kinds: Vec<KindTally>,
    /// Why messages were dropped, and how many.
    pub reasons: Vec<(DropReason, u64)>,
}

/// Counts of one kind of message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindTally {
    /// The kind.
    pub kind: MessageKind,
    /// Sent.
    pub sent: u64,
    /// Received.
    pub arrived: u64,
    /// Of those, dropped.
    pub dropped: u64,
}

fn place(kind: MessageKind) -> usize {
    MessageKind::ALL.iter().position(|other| *other == kind).unwrap_or(0)
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

impl RoutingTally {
    pub(crate) fn sent(&mut self, kind: MessageKind) {
        self.sent[place(kind)] += 1;
    }

    pub(crate) fn arrived(&mut self, kind: MessageKind, dropped: Option<DropReason>) {
        self.arrived[place(kind)] += 1;
        if let Some(why) = dropped {
            self.dropped[place(kind)] += 1;
            self.why[why as usize] += 1;
        }
    }

    pub(crate) const fn lost(&mut self) {
        self.lost += 1;
    }

    /// How many were dropped for this reason.
    #[must_use]
    pub fn dropped_for(&self, why: DropReason) -> u64 {
        self.why[why as usize].into()
    }

    /// How many messages of a kind were sent, and how many received.
    #[must_use]
    pub fn count(&self, kind: MessageKind) -> (u64, u64) {
        (self.sent[place(kind)].into(), self.arrived[place(kind)].into())
    }

    /// All counts, for display.
    #[must_use]
    pub fn view(&self, flying: u64) -> TallyView {
        let (arrived, dropped) = (sum(&self.arrived), sum(&self.dropped));
        let kind = |at: usize| KindTally {
            kind: MessageKind::ALL[at],
            sent: self.sent[at].into(),
            arrived: self.arrived[at].into(),
            dropped: self.dropped[at].into(),
        };
        let reason = |why: &DropReason| (*why, self.dropped_for(*why));
        TallyView {
            sent: sum(&self.sent),
            arrived,
            useful: arrived - dropped,
            duplicate: self.dropped_for(DropReason::Duplicate),
            dropped,
            lost: self.lost.into(),
            flying,
            kinds: (0..KINDS).map(kind).filter(|k| k.sent + k.arrived > 0).collect(),
            reasons: DropReason::ALL.iter().map(reason).filter(|(_, count)| *count > 0).collect(),
        }
    }
}
