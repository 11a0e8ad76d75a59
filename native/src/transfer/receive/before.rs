//! What is said and heard between an offer and its answer.

use std::time::Duration;

use servent_core::id::Guid;
use tokio::time::timeout;

use super::OfferedTransfer;
use crate::transfer::greet::{next, next_within};
use crate::transfer::message::TransferMessage;
use crate::transfer::receive_error::ReceiveError;
use crate::transfer::refusal::{fail, last};

/// How long a sender may take to say whether it is our turn: one of the version before says
/// nothing.
const ANSWERS: Duration = Duration::from_secs(2);
/// How long a sender that lets us wait for our turn may be silent: it says every five seconds
/// that it is there.
const WAITS: Duration = Duration::from_secs(12);

impl OfferedTransfer {
    /// Tells the sender by which number it knows us if we come again, and waits for our turn:
    /// it may be serving a receiver with this number. Then `waits` is called.
    ///
    /// # Errors
    /// The sender is gone, or has stopped it.
    pub async fn say_number(&self, number: Guid, waits: impl FnOnce()) -> Result<(), ReceiveError> {
        // Why it does not hear that shows in what follows.
        let _ = self.talk.put(&TransferMessage::Myself { number }).await;
        let _ = self.talk.put(&TransferMessage::Alive).await;
        match timeout(ANSWERS, self.hears_turn(true)).await {
            Err(_) | Ok(Ok(true)) => return Ok(()),
            Ok(Ok(false)) => waits(),
            Ok(Err(why)) => return Err(why),
        }
        while !self.hears_turn(false).await? {}
        Ok(())
    }

    /// True when the sender says that it is our turn; `alive`: a keep-alive says so too.
    async fn hears_turn(&self, alive: bool) -> Result<bool, ReceiveError> {
        match next_within(&self.talk, WAITS).await? {
            TransferMessage::Alive => Ok(alive),
            TransferMessage::Turn { now } => Ok(now),
            TransferMessage::Stopped { why } => Err(ReceiveError::Stopped(why)),
            _ => Err(ReceiveError::Foreign),
        }
    }

    /// Tells the sender that there is no room for it.
    pub async fn refuse_full(&self, why: &str) {
        last(&self.talk, &TransferMessage::Full { why: why.to_owned() }).await;
    }

    /// Tells the sender that the transfer is refused.
    pub async fn refuse(&self, why: &str) {
        fail(&self.talk, why).await;
    }

    /// Watches the connection while the user decides; returns only when there
    /// is nothing left to decide.
    pub async fn waiting(&self) -> ReceiveError {
        let listen = async {
            loop {
                match next(&self.talk).await {
                    Ok(TransferMessage::Alive | TransferMessage::Turn { .. }) => {}
                    Ok(TransferMessage::Stopped { why }) => return ReceiveError::Stopped(why),
                    Ok(_) => return ReceiveError::Foreign,
                    Err(why) => return why,
                }
            }
        };
        tokio::select! {
            why = listen => why,
            silence = self.talk.stay() => silence.into(),
        }
    }
}
