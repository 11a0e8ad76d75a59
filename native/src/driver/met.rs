//! Where others find a servent through a meeting place.

use std::sync::PoisonError;

use serde::Serialize;

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

impl Handle {
    /// Notes where others meet this servent, for all who ask.
    pub fn note_meeting(&self, meeting: ServentMeeting) {
        *self.shared.meeting.lock().unwrap_or_else(PoisonError::into_inner) = Some(meeting);
    }

    /// Where others meet this servent, if that was noted.
    #[must_use]
    pub fn meeting(&self) -> Option<ServentMeeting> {
        self.shared.meeting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
