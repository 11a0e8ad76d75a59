//! Totals of a run: what was delivered by when, and at what cost.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::Serialize;

use super::diagram::{ArrowFate, Diagram};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// The totals up to an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct UnicastTotals {
    /// Messages written by applications.
    pub written: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// When the last of them was delivered.
    pub last: Option<Instant>,
    /// Datagrams sent, without duplicates made by the link.
    pub datagrams: u64,
    /// Of these and their duplicates, how many were lost.
    pub lost: u64,
    /// Datagrams with retransmissions.
    pub again: u64,
}

impl UnicastTotals {
    /// The totals up to an instant.
    #[must_use]
    pub fn until(diagram: &Diagram, at: Instant) -> Self {
        let mut totals = Self { written: diagram.written_until(at), ..Self::default() };
        for arrow in diagram.known().0.iter().take_while(|arrow| arrow.sent <= at) {
            let own = arrow.copy_of.is_none();
            totals.datagrams += u64::from(own);
            totals.again += u64::from(own && arrow.again);
            let gone = arrow.fate == ArrowFate::Lost && arrow.at.is_some_and(|end| end <= at);
            totals.lost += u64::from(gone);
        }
        for mark in diagram.known().1.iter().take_while(|mark| mark.at <= at) {
            if mark.kind == "delivered" {
                totals.delivered += 1;
                totals.last = Some(mark.at);
            }
        }
        totals
    }
}

impl Diagram {
    /// How long the datagrams that a node sent, and that have arrived, waited in the
    /// queues of their links: half of them no longer; nothing where none has arrived.
    /// What took shortest to the same node has not waited: of all that was sent there
    /// where all share its link, else of what this node has sent.
    #[must_use]
    pub fn queued(&self, from: NodeId, shared: bool, until: Instant) -> Option<Duration> {
        let mut least: BTreeMap<NodeId, Duration> = BTreeMap::new();
        let mut took = Vec::new();
        for arrow in self.known().0.iter().filter(|arrow| arrow.copy_of.is_none()) {
            let own = arrow.from == from;
            let arrived = arrow.at.is_some_and(|at| at <= until);
            if arrow.fate == ArrowFate::Arrived && arrived && (own || shared) {
                let this = arrow.due.since(arrow.sent);
                let shortest = least.entry(arrow.to).or_insert(this);
                *shortest = this.min(*shortest);
                if own {
                    took.push((arrow.to, this));
                }
            }
        }
        let mut waits: Vec<_> = took.into_iter().map(|(to, this)| this - least[&to]).collect();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied()
    }
}
