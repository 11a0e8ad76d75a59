//! Why a place is gone, as a server tells a client that comes back for it.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Why a place is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionLoss {
    /// It asked before it was allowed to (AQ-5, PQ-7).
    TooEarly,
    /// It did not ask in time (AQ-6, PQ-8).
    Overdue,
    /// The connection that held the place was closed (AQ-7).
    ConnectionLost,
    /// It named a position that it was never told (PQ-6).
    WrongPosition,
    /// Its connection broke too often in the synchronous part (PQ-10).
    BrokeTooOften,
    /// It did not respond to calls (PQ-8).
    Unreachable,
    /// It took another place instead.
    Replaced,
    /// It said that it leaves (QA-8).
    Left,
}

/// Every reason with its word in `X-Queued` (WB-7).
const WORDS: [(PositionLoss, &str); 8] = [
    (PositionLoss::TooEarly, "early"),
    (PositionLoss::Overdue, "overdue"),
    (PositionLoss::ConnectionLost, "connection"),
    (PositionLoss::WrongPosition, "position"),
    (PositionLoss::BrokeTooOften, "broke"),
    (PositionLoss::Unreachable, "unreachable"),
    (PositionLoss::Replaced, "replaced"),
    (PositionLoss::Left, "left"),
];

impl PositionLoss {
    /// The reason that a word of `X-Queued` means.
    pub(super) fn parse(word: &str) -> Option<Self> {
        WORDS.iter().find(|(_, known)| known.eq_ignore_ascii_case(word)).map(|(why, _)| *why)
    }
}

impl fmt::Display for PositionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(why, _)| why == self).map_or("", |(_, word)| word);
        f.write_str(word)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        for (why, word) in WORDS {
            assert_eq!((why.to_string().as_str(), PositionLoss::parse(word)), (word, Some(why)));
        }
        assert_eq!(PositionLoss::parse("because"), None);
    }
}
