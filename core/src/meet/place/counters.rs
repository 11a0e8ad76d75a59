//! What a place counts.

use serde::Serialize;

/// What a place has done since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct PlaceCounters {
    /// Questions answered with a cookie.
    pub cookies: u64,
    /// Seats taken.
    pub seats: u64,
    /// Pairs introduced.
    pub introduced: u64,
    /// Registrations refused.
    pub refused: u64,
    /// Questions and registrations left unanswered: too many of one network.
    pub unanswered: u64,
    /// Bytes passed on.
    pub relayed_bytes: u64,
    /// Bytes not passed on: more than the rate allows.
    pub over_rate_bytes: u64,
    /// Meetings remembered now.
    pub meetings: u64,
    /// Those of them in which one side waits for the other.
    pub waiting: u64,
    /// Meetings now that may be relayed, also those that have found a direct path.
    pub relayed: u64,
}
