//! Why something was not sent, or not all of it, in sentences.

use servent::transfer::{SendFailure, TransferSender};
use servent::unicast::Lost;
use servent_core::text::Shown;

use crate::cli::carry::other_side::OtherSide;
use crate::cli::carry::unicast::BY_USER;
use crate::exit::{Exit, Failure};
use crate::progress::bytes;

/// What a user does about it, after `first` where something is to be done before. Bytes of
/// a stream cannot be read a second time.
fn again(first: &str, repeatable: bool) -> String {
    let rest = if repeatable { ": only what is missing travels" } else { " from its beginning" };
    format!("{first}send it again{rest}")
}

pub(super) fn stopped(title: &str, repeatable: bool) -> Failure {
    Failure::new(Exit::Interrupted, format!("stopped before {} had arrived", Shown(title)))
        .next(again("", repeatable))
}

/// Why it did not arrive, and what did.
pub(super) fn failed(
    why: SendFailure,
    receiver: &OtherSide,
    length: Option<u64>,
    sender: &TransferSender,
) -> Failure {
    let of = length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
    let reached = sender.reached(); // With what the messages are besides bytes of files.
    let there = bytes(length.map_or(reached, |length| length.min(reached)));
    let repeatable = length.is_some();
    let again = |first| again(first, repeatable);
    match why {
        SendFailure::Unanswered => Failure::new(
            Exit::Network,
            match receiver.through() {
                Some(place) => format!("no receiver answers through the meeting place {place}"),
                None => format!("no receiver answers at {receiver}"),
            },
        )
        .next(match receiver.through() {
            Some(_) => String::from("start `servent receive --via` there again, and send it again"),
            None => format!(
                "start `servent receive` there, and let UDP port {} through every firewall on \
                 the way",
                receiver.at.port()
            ),
        }),
        SendFailure::Closed => {
            Failure::new(Exit::Network, format!("no receiver listens at UDP {}", receiver.at))
                .next("start `servent receive` there, or name the port it listens on")
        }
        SendFailure::Gone { why: why @ Lost::PlaceEnds } => {
            let what = format!("{why}; about {there}{of} had reached the receiver");
            Failure::new(Exit::Network, what).next(again(""))
        }
        SendFailure::Gone { why } => {
            let what =
                format!("{} is gone: {why}; about {there}{of} had reached it", receiver.in_full());
            Failure::new(Exit::Network, what).next(again("start the receiver again and "))
        }
        SendFailure::Refused { begun: false, why } => {
            Failure::new(Exit::Refused, format!("{receiver} does not take it: {}", Shown(&why)))
        }
        SendFailure::Refused { begun: true, why } if why == BY_USER => {
            let what = format!(
                "{} was stopped by its user; about {there}{of} had reached it",
                receiver.in_full()
            );
            Failure::new(Exit::Refused, what).next(again("once it is started again, "))
        }
        SendFailure::Refused { begun: true, why } => {
            let what =
                format!("{receiver} could not keep it after about {there}{of}: {}", Shown(&why));
            Failure::new(Exit::Refused, what).next(again("once that is mended there, "))
        }
        SendFailure::Full(why) => {
            Failure::new(Exit::Disk, format!("there is no room at {receiver}: {}", Shown(&why)))
                .next(again("once there is room, "))
        }
        SendFailure::WrongCode => Failure::new(
            Exit::Refused,
            format!("the code is not that of {receiver}, which took nothing"),
        )
        .next("look at the code that the receiver shows, and send it again"),
        SendFailure::Read { path, why } => Failure::file("read", &path, &why),
        SendFailure::Sends | SendFailure::Foreign => no_receiver(&why, receiver),
        other => Failure::new(Exit::Failed, other.to_string()),
    }
}

/// It answers, and is no receiver of ours.
fn no_receiver(why: &SendFailure, receiver: &OtherSide) -> Failure {
    if matches!(why, SendFailure::Sends) {
        let what = format!("{} is a sender, too, and receives nothing", receiver.in_full());
        return Failure::new(Exit::Foreign, what).next(
            "a code that `servent send --to N --via` shows is for `servent receive --from` with \
             its link; otherwise start `servent receive` there",
        );
    }
    let what = format!("{receiver} speaks, but not as `servent receive` of this version");
    Failure::new(Exit::Foreign, what).next("use the same version on both sides")
}
