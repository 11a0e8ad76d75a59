//! The begin of a transfer, at the receiver: whether the other side is admitted, and
//! what it offers.

use std::net::IpAddr;
use std::time::Duration;

use super::message::TransferMessage;
use super::offer::{ENTRIES, NAMES, OfferEntry};
use super::receive_error::ReceiveError;
use super::secret::{CountedGuess, GuessesExhausted, Meeting, SecretDoor};
use super::talk::Talk;
use crate::unicast::Lost;

/// A sender that is silent for this long is considered gone.
const SILENCE: Duration = Duration::from_secs(30);
/// The same while its files come: the line may be dark for a minute (PA-8), and a sender
/// waits longer than that for an answer.
pub(super) const DARK: Duration = Duration::from_secs(120);

/// The other side's next message, or why there will be none.
pub(super) async fn next(talk: &Talk) -> Result<TransferMessage, ReceiveError> {
    next_within(talk, SILENCE).await
}

/// The same from one that may be silent for so long.
pub(super) async fn next_within(
    talk: &Talk,
    silence: Duration,
) -> Result<TransferMessage, ReceiveError> {
    match tokio::time::timeout(silence, talk.next()).await {
        Err(_) => Err(ReceiveError::Gone(Lost::Unreachable)),
        Ok(message) => Ok(message?),
    }
}

/// Admits a sender or refuses it; returns the guess that its code is for now.
pub(super) async fn meet(
    talk: &Talk,
    door: &SecretDoor,
) -> Result<Option<CountedGuess>, ReceiveError> {
    // One who looks for our best address knocks first.
    let meeting = loop {
        match next(talk).await? {
            TransferMessage::Alive => {}
            TransferMessage::Hello { meeting } => break meeting,
            _ => return Err(ReceiveError::Foreign),
        }
    };
    admit(talk, (door, talk.connection.peer().ip()), &meeting, false).await
}

/// Answers the other side's half of the key exchange; `sends`: we are the sender.
/// Whether its code is right shows in its next message: until then it is a guess of that
/// address.
pub(super) async fn admit(
    talk: &Talk,
    (door, from): (&SecretDoor, IpAddr),
    meeting: &[u8],
    sends: bool,
) -> Result<Option<CountedGuess>, ReceiveError> {
    match door.code() {
        Some(code) if !meeting.is_empty() => {
            let counted = door.count_guess(from);
            let guess = counted.map_err(|GuessesExhausted| ReceiveError::Guesses)?;
            let (ours, told) = Meeting::new(code, sends);
            let keys = ours.finish(meeting).ok_or(ReceiveError::Foreign)?;
            talk.put(&TransferMessage::Meeting { told }).await?;
            talk.seal(keys).await;
            Ok(Some(guess))
        }
        None if meeting.is_empty() => Ok(None),
        _ => Err(ReceiveError::OneCode),
    }
}

/// Receives a sender's offer.
pub(super) async fn offered(
    talk: &Talk,
    mut guess: Option<(&SecretDoor, CountedGuess)>,
) -> Result<Vec<OfferEntry>, ReceiveError> {
    let (mut all, mut names) = (Vec::new(), 0);
    loop {
        let message = next(talk).await?;
        // The first message that could be read: the other side knows the code.
        if let Some((door, guess)) = guess.take() {
            door.opened(guess);
        }
        match message {
            TransferMessage::Offer(entries) => {
                names += entries.iter().map(|entry| entry.name.len()).sum::<usize>();
                all.extend(entries);
            }
            TransferMessage::Offered { entries }
                if entries as usize == all.len() && entries > 0 =>
            {
                return Ok(all);
            }
            TransferMessage::Stopped { why } => return Err(ReceiveError::Stopped(why)),
            TransferMessage::Alive => {}
            _ => return Err(ReceiveError::Foreign),
        }
        if all.len() > ENTRIES || names > NAMES {
            return Err(ReceiveError::Foreign);
        }
    }
}
