//! How a transfer ended, for the receiver.

use servent::transfer::{OfferedTransfer, ReceiveError};
use servent::unicast::Lost;
use servent_core::text::Shown;

use super::other_side::OtherSide;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::bytes;

/// How a transfer ended, unless it failed for good.
pub(crate) enum TakeEnd {
    /// All has arrived.
    Whole,
    /// Its sender has come again, and goes on with it.
    TakenOver(Failure),
    /// Its sender is gone, or stopped it, and may come again.
    Gone(Failure),
}

/// The code of the command.
pub(crate) fn exit_of(why: &ReceiveError) -> Exit {
    match why {
        ReceiveError::Write(_) => Exit::Disk,
        ReceiveError::Different => Exit::Unverified,
        ReceiveError::Foreign => Exit::Foreign,
        ReceiveError::Gone(_) => Exit::Network,
        _ => Exit::Refused,
    }
}

/// Why it did not arrive completely, and what did.
pub(crate) fn failed(
    why: &ReceiveError,
    (transfer, sender): (&OfferedTransfer, &OtherSide),
    title: &str,
    length: Option<u64>,
) -> Failure {
    let exit = exit_of(why);
    let why = match why {
        ReceiveError::Write(why) => format!("cannot write here: {}", error_text(why)),
        ReceiveError::Gone(why @ Lost::PlaceEnds) => why.to_string(), // The sender may be there.
        ReceiveError::Gone(Lost::Replaced) => {
            String::from("its sender is gone, and another connection has taken its place")
        }
        why => why.to_string(),
    };
    let (title, why) = (Shown(title), Shown(&why));
    let what = format!("{title} from {sender} did not arrive whole: {why}");
    with_part(Failure::new(exit, what), transfer, length)
}

/// The user of this side has stopped it.
pub(crate) fn stopped(
    (transfer, sender): (&OfferedTransfer, &OtherSide),
    title: &str,
    length: Option<u64>,
) -> Failure {
    let what = format!("stopped before all of {} from {sender} was here", Shown(title));
    with_part(Failure::new(Exit::Interrupted, what), transfer, length)
}

/// The same with how much has arrived, and where that is.
fn with_part(failure: Failure, transfer: &OfferedTransfer, length: Option<u64>) -> Failure {
    let of = length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
    let what = format!("{}; {}{of} had arrived", failure.what, bytes(transfer.here()));
    let failure = Failure { what, ..failure };
    match transfer.part().map(|part| format!("what had arrived is in {}", part.display())) {
        Some(part) if length.is_some() => {
            failure.next(format!("{part}; sent again, only the rest travels"))
        }
        Some(part) => failure.next(part),
        None => failure,
    }
}
