//! Which senders `servent receive` admits: those who know the code.

use std::sync::Arc;

use serde_json::json;
use servent::transfer::{SecretDoor, TransferCode};
use servent::unicast::{Endpoint, MeetingSecret};

use super::code;
use crate::cli::Common;
use crate::cli::finding::link::MeetLink;
use crate::cli::finding::near::AnnouncedReceiver;
use crate::cli::finding::via::{CallerNews, ViaArgs, ViaPlace, split};
use crate::exit::{Exit, Failure};
use crate::progress::Reporter;

/// Which senders are admitted.
pub(crate) struct ReceiveDoor {
    pub(crate) door: SecretDoor,
    /// The code to show if it was generated.
    pub(crate) made: Option<TransferCode>,
    /// What the meeting place, or the local network, is told of it.
    pub(crate) meeting: Option<MeetingSecret>,
}

/// How senders find this machine that cannot name it.
pub(crate) enum ReceiveMeeting {
    /// At a meeting place.
    Place(ViaPlace),
    /// In the local network.
    Lan(MeetingSecret),
    /// We find the sender, which waits at a place for several receivers.
    Sender(ViaPlace),
}

impl ReceiveMeeting {
    /// Where senders find us, if they cannot name this machine.
    pub(crate) async fn find(
        arguments: &ViaArgs,
        common: &Common,
        (via, meeting): (Option<String>, Option<MeetingSecret>),
    ) -> Result<Option<Self>, Failure> {
        match (via, meeting) {
            (Some(name), Some(secret)) => {
                Ok(Some(Self::Place(arguments.place(common, &name, secret).await?)))
            }
            (_, meeting) => Ok(meeting.map(Self::Lan)),
        }
    }

    /// The sender to which a link leads.
    pub(crate) async fn sender(link: &MeetLink, secret: MeetingSecret) -> Result<Self, Failure> {
        Ok(Self::Sender(ViaPlace::find(&link.place, secret).await?.of_sender()))
    }

    /// How senders say the same.
    pub(crate) fn option(&self) -> String {
        match self {
            Self::Place(via) | Self::Sender(via) => format!("--via {}", via.name()),
            Self::Lan(_) => "--lan".to_owned(),
        }
    }

    /// Lets senders find us as long as it is polled; ends when that is not possible.
    pub(crate) async fn listen(
        self,
        endpoint: Arc<Endpoint>,
        reporter: Reporter,
        callers: CallerNews<impl Fn(bool) -> bool>,
    ) -> Failure {
        match self {
            Self::Place(via) => via.listen(endpoint, reporter, callers).await,
            Self::Sender(via) => via.come(endpoint, reporter, callers).await,
            Self::Lan(secret) => match AnnouncedReceiver::start(endpoint.local_addr(), secret) {
                Ok(_announced) => {
                    let fact = json!({ "event": "at_lan" });
                    reporter.tell(&fact, "waiting in the local network for a sender with the code");
                    std::future::pending().await
                }
                Err(failure) => failure,
            },
        }
    }
}

/// Which senders are admitted, and the code to show if it was generated.
pub(crate) fn door(given: Option<TransferCode>, open: bool) -> Result<ReceiveDoor, Failure> {
    if open {
        return Ok(ReceiveDoor { door: SecretDoor::open(), made: None, meeting: None });
    }
    let (code, made) = given_or(given, code::random)?;
    Ok(ReceiveDoor { door: SecretDoor::locked(code), made, meeting: None })
}

/// The same where senders must find us: a part of the code is for that.
pub(crate) fn door_of_meeting(given: Option<TransferCode>) -> Result<ReceiveDoor, Failure> {
    let (code, made) = given_or(given, code::random_to_meet)?;
    let (meeting, rest) = split(&code)?;
    Ok(ReceiveDoor { door: SecretDoor::locked(rest), made, meeting: Some(meeting) })
}

/// The code that was given; or one that is drawn, which is to be shown.
fn given_or(
    given: Option<TransferCode>,
    draw: fn() -> Result<TransferCode, Failure>,
) -> Result<(TransferCode, Option<TransferCode>), Failure> {
    match given {
        Some(code) => Ok((code, None)),
        None => draw().map(|code| (code.clone(), Some(code))),
    }
}

/// The sender that the link leads to has another code.
pub(crate) fn wrong_link() -> Failure {
    Failure::new(Exit::Refused, "the code in the link is not that of the sender")
        .next("compare the link with the one that `servent send --to N --via` prints")
}
