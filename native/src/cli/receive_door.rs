//! Which senders `servent receive` admits: those who know the code.

use servent::transfer::{SecretDoor, TransferCode};
use servent::unicast::MeetingSecret;

use super::code;
use super::via::split;
use crate::exit::Failure;

/// Which senders are admitted.
pub(super) struct ReceiveDoor {
    pub(super) door: SecretDoor,
    /// The code to show if it was generated.
    pub(super) made: Option<TransferCode>,
    /// What the meeting place is told of it.
    pub(super) meeting: Option<MeetingSecret>,
}

/// Which senders are admitted, and the code to show if it was generated.
pub(super) fn door(given: Option<TransferCode>, open: bool) -> Result<ReceiveDoor, Failure> {
    if open {
        return Ok(ReceiveDoor { door: SecretDoor::open(), made: None, meeting: None });
    }
    let (code, made) = match given {
        Some(code) => (code, None),
        None => {
            let code = code::random()?;
            (code.clone(), Some(code))
        }
    };
    Ok(ReceiveDoor { door: SecretDoor::locked(code), made, meeting: None })
}

/// The same where senders come through a meeting place: a part of the code is for
/// the place.
pub(super) fn door_of_meeting(given: Option<TransferCode>) -> Result<ReceiveDoor, Failure> {
    let (code, made) = match given {
        Some(code) => (code, None),
        None => {
            let code = code::random_to_meet()?;
            (code.clone(), Some(code))
        }
    };
    let (meeting, rest) = split(&code)?;
    Ok(ReceiveDoor { door: SecretDoor::locked(rest), made, meeting: Some(meeting) })
}
