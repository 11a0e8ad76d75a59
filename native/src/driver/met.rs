//! Where others find a servent through a meeting place.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use servent_core::meet::PlaceCounters;

use super::Handle;

/// The meeting place of a servent, and whether it can be met there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServentMeeting {
    /// The place, as the user named it.
    pub place: String,
    /// It has its seat there, or a visitor has just come.
    pub waits: bool,
    /// Why it has none.
    pub why: Option<String>,
}

/// A meeting place that a servent is beside what it shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServentPlace {
    /// Where it listens.
    pub address: SocketAddr,
    /// Bytes a second that it passes on; `None`: nothing.
    pub relay: Option<u64>,
    /// What it does now, and has done.
    #[serde(flatten)]
    pub counters: PlaceCounters,
}

/// What is noted of both.
#[derive(Debug, Default)]
pub(crate) struct MeetingNotes {
    meeting: Mutex<Option<ServentMeeting>>,
    /// Where the place listens, what it passes on, and the servent that it is.
    place: Mutex<Option<(SocketAddr, Option<u64>, Handle)>>,
}

impl Handle {
    /// Notes that this servent is a meeting place there, which passes on so many bytes a
    /// second: `place` knows what it does.
    pub fn note_place(&self, at: SocketAddr, relay: Option<u64>, place: &Self) {
        let noted = (at, relay, place.clone());
        *self.shared.met.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(noted);
    }

    /// The meeting place that this servent is, if that was noted and it runs.
    pub async fn place(&self) -> Option<ServentPlace> {
        let noted = self.shared.met.place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (address, relay, place) = noted?;
        let counters = place.meetings().await.ok()??;
        Some(ServentPlace { address, relay, counters })
    }

    /// Notes where others meet this servent, for all who ask.
    pub fn note_meeting(&self, meeting: ServentMeeting) {
        *self.shared.met.meeting.lock().unwrap_or_else(PoisonError::into_inner) = Some(meeting);
    }

    /// Where others meet this servent, if that was noted.
    #[must_use]
    pub fn meeting(&self) -> Option<ServentMeeting> {
        self.shared.met.meeting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
