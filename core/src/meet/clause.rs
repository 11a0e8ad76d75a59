//! Which requirement an event obeys.

use super::Event;

crate::clause::obeys!(Event);

impl Event {
    const fn source(&self) -> (&'static str, &'static str) {
        match self {
            Self::Seated { .. } | Self::Introduced { .. } | Self::Waiting { .. } => {
                ("PA-10", "a place lets two others meet")
            }
            Self::TurnedAway { .. } | Self::Left { .. } | Self::Malformed { .. } => {
                ("PA-10", "a place remembers little, and not for long")
            }
            Self::Asking { .. } | Self::Located { .. } | Self::Met { .. } => {
                ("PA-11", "addresses are local, and seen from outside")
            }
            Self::Knocked { .. } | Self::Heard { .. } | Self::Chosen { .. } => {
                ("PA-12", "both sides knock at once")
            }
            Self::Unsigned { .. } | Self::Skipped { .. } => {
                ("PA-12", "no visitor is made to knock at a third party")
            }
            Self::RelayEnded { .. } => ("PA-13", "a relay passes on what it cannot read"),
            Self::NoPath { .. } => ("PA-15", "it says why there is no path"),
        }
    }
}
