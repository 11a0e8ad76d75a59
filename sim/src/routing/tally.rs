//! Sums over messages, of one node and of all.

use alloc::vec::Vec;

use serde::Serialize;

use servent_core::routing::Why;
use servent_core::wire::gnutella::Kind;

/// Kinds of messages.
const KINDS: usize = Kind::ALL.len();

/// What became of messages so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    sent: [u32; KINDS],
    arrived: [u32; KINDS],
    dropped: [u32; KINDS],
    why: [u32; Why::ALL.len()],
    lost: u32,
}

/// The same for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TallyView {
    /// Messages that left, for each neighbour one.
    pub sent: u64,
    /// Messages that came.
    pub arrived: u64,
    /// Of those, what was of use.
    pub useful: u64,
    /// Of those, what had come before.
    pub duplicate: u64,
    /// Of those, what was of no use, duplicates included.
    pub dropped: u64,
    /// What left and will never come.
    pub lost: u64,
    /// What left and is not there yet; of the whole overlay alone.
    pub flying: u64,
    /// The same by kinds, without those there were none of.
    pub kinds: Vec<KindTally>,
    /// Why messages were of no use, and how many.
    pub reasons: Vec<(Why, u64)>,
}

/// Messages of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindTally {
    /// Which.
    pub kind: Kind,
    /// Left.
    pub sent: u64,
    /// Came.
    pub arrived: u64,
    /// Of those, were of no use.
    pub dropped: u64,
}

fn place(kind: Kind) -> usize {
    Kind::ALL.iter().position(|other| *other == kind).unwrap_or(0)
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

impl Tally {
    pub(super) fn sent(&mut self, kind: Kind) {
        self.sent[place(kind)] += 1;
    }

    pub(super) fn arrived(&mut self, kind: Kind, dropped: Option<Why>) {
        self.arrived[place(kind)] += 1;
        if let Some(why) = dropped {
            self.dropped[place(kind)] += 1;
            self.why[why as usize] += 1;
        }
    }

    pub(super) const fn lost(&mut self) {
        self.lost += 1;
    }

    /// How many were dropped for a reason.
    #[must_use]
    pub fn dropped_for(&self, why: Why) -> u64 {
        self.why[why as usize].into()
    }

    /// How many messages of a kind left, and how many came.
    #[must_use]
    pub fn of(&self, kind: Kind) -> (u64, u64) {
        (self.sent[place(kind)].into(), self.arrived[place(kind)].into())
    }

    /// All of it, for people.
    #[must_use]
    pub fn view(&self, flying: u64) -> TallyView {
        let (arrived, dropped) = (sum(&self.arrived), sum(&self.dropped));
        let kind = |at: usize| KindTally {
            kind: Kind::ALL[at],
            sent: self.sent[at].into(),
            arrived: self.arrived[at].into(),
            dropped: self.dropped[at].into(),
        };
        let reason = |why: &Why| (*why, self.dropped_for(*why));
        TallyView {
            sent: sum(&self.sent),
            arrived,
            useful: arrived - dropped,
            duplicate: self.dropped_for(Why::Duplicate),
            dropped,
            lost: self.lost.into(),
            flying,
            kinds: (0..KINDS).map(kind).filter(|k| k.sent + k.arrived > 0).collect(),
            reasons: Why::ALL.iter().map(reason).filter(|(_, count)| *count > 0).collect(),
        }
    }
}
