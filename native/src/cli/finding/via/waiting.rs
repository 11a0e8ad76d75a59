//! What waits at a place for callers, and what is said of it.

use std::time::Duration;

use servent_core::meet::{MeetFailure, MeetRefusal, MeetSide};

use super::{ViaPlace, unmet};
use crate::exit::{Exit, Failure};

/// What waits at a place for callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitingSide {
    /// A receiver, for one sender.
    Receiver,
    /// A servent with a link, for all that download from it.
    Servent,
    /// A sender with a link, for its receivers.
    Sender,
}

impl WaitingSide {
    const fn name(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Servent => "servent",
            Self::Sender => "sender",
        }
    }

    /// How long one that is not there may take to come. A sender that has had too many wrong
    /// visitors comes again after a minute.
    pub(super) const fn soon(self) -> Duration {
        match self {
            Self::Receiver | Self::Servent => Duration::from_secs(4),
            Self::Sender => Duration::from_secs(75),
        }
    }

    /// What a caller may do that finds none; `waited`: it had time to come.
    const fn help(self, waited: bool) -> &'static str {
        match (self, waited) {
            (Self::Servent, _) => {
                "compare the link with what `servent share --meet` prints when it starts"
            }
            (Self::Sender, _) => {
                "compare the link with what `servent send --to N --via` prints when it starts"
            }
            (Self::Receiver, false) => {
                "compare the code with the one that the receiver shows; if it is right, start \
                 `servent receive --via` with the same place there, or wait for it: --wait"
            }
            (Self::Receiver, true) => {
                "compare the code with the one that the receiver shows; if it is right, start \
                 `servent receive --via` with the same place there, or wait longer for it"
            }
        }
    }
}

impl ViaPlace {
    /// True where several callers come, each when its turn has come.
    pub(super) fn in_turn(&self) -> bool {
        self.waiting != WaitingSide::Receiver
    }

    /// What waits there, as its callers call it.
    pub(super) const fn listener(&self) -> &'static str {
        self.waiting.name()
    }

    /// The place cannot tell a wrong code from a listener that has not come.
    pub(super) fn absent(&self, waited: bool) -> Failure {
        let (listener, name) = (self.listener(), &self.name);
        let full = if self.in_turn() { ", or has as many visitors as it takes" } else { "" };
        let what = format!(
            "no {listener} waits with this code at the meeting place {name}: the code is wrong, \
             the {listener} has not come there{full}, or it is of another version"
        );
        Failure::new(Exit::Network, what).next(self.waiting.help(waited))
    }

    /// Why none comes to a listener that goes on waiting: what it would do, it does.
    pub(super) fn failed_waiting(&self, why: MeetFailure) -> Failure {
        let failure = self.failed(MeetSide::Listener, why);
        match why {
            MeetFailure::Refused { refusal: MeetRefusal::Taken }
            | MeetFailure::Silent
            | MeetFailure::Unreachable { .. } => failure,
            MeetFailure::Refused { .. } => Failure { next: None, ..failure },
        }
    }

    /// Why the other side was not met, for one of the two.
    pub(super) fn failed(&self, side: MeetSide, why: MeetFailure) -> Failure {
        match why {
            MeetFailure::Refused { refusal: MeetRefusal::Taken } => {}
            MeetFailure::Refused { refusal: MeetRefusal::Over } => return enough(),
            why => return unmet(&self.name, why),
        }
        let (listener, name) = (self.listener(), &self.name);
        let (what, next) = match side {
            MeetSide::Listener if self.in_turn() => (
                format!("another {listener} waits with this code at the meeting place {name}"),
                "end that one, or take another code; if it was this one, wait a minute",
            ),
            MeetSide::Listener => (
                format!(
                    "another waits with this code at the meeting place {name}: a receiver, or what \
                     has a link for several"
                ),
                "end that one, or take another code; if it was this one, wait a minute. What \
                 `servent send --to N --via` sends is taken by its link: servent receive --from LINK",
            ),
            MeetSide::Caller if self.in_turn() => (
                format!(
                    "others have come to the {listener} before us again and again, at the meeting \
                     place {name}"
                ),
                "try again when fewer come at once",
            ),
            MeetSide::Caller => (
                format!(
                    "another has come with this code to the {listener}, at the meeting place {name}"
                ),
                "wait until it is done; if it was this one, wait a minute",
            ),
        };
        Failure::new(Exit::Network, what).next(next)
    }
}

/// The sender of several has ended, and we were one too many, or came too late.
pub(crate) fn enough() -> Failure {
    let what = "the sender has ended: all the receivers that it was for were served";
    Failure::new(Exit::Refused, what).next("ask for it to be sent again")
}

/// The same where the place itself is waited for.
pub(crate) fn waiting_for_it(failure: &Failure) -> String {
    match failure.next {
        None => format!("{}; waiting for it", failure.what),
        Some(_) => failure.to_string(),
    }
}
