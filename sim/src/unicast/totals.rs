//! What a way of sending comes to: what was delivered by when, and at what
//! cost.

use serde::Serialize;

use super::diagram::{Diagram, Fate};
use servent_core::time::Instant;

/// What it came to until an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct UnicastTotals {
    /// Messages handed over to be sent.
    pub written: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// When the last of them was.
    pub last: Option<Instant>,
    /// Datagrams sent, without copies the way made of them.
    pub datagrams: u64,
    /// Of these and their copies, lost.
    pub lost: u64,
    /// Datagrams with something that had been sent before.
    pub again: u64,
}

impl UnicastTotals {
    /// Until an instant.
    #[must_use]
    pub fn until(diagram: &Diagram, at: Instant) -> Self {
        let mut totals = Self { written: diagram.written_until(at), ..Self::default() };
        for arrow in diagram.known().0.iter().take_while(|arrow| arrow.sent <= at) {
            let own = arrow.copy_of.is_none();
            totals.datagrams += u64::from(own);
            totals.again += u64::from(own && arrow.again);
            let gone = arrow.fate == Fate::Lost && arrow.at.is_some_and(|end| end <= at);
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
