//! Totals of a run: what was delivered by when, and at what cost.

use serde::Serialize;

use super::diagram::{ArrowFate, Diagram};
use servent_core::time::Instant;

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
