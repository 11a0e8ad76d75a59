//! What is said and heard between an offer and its answer.

use servent_core::id::Guid;

use super::OfferedTransfer;
use crate::transfer::greet::next;
use crate::transfer::message::TransferMessage;
use crate::transfer::receive_error::ReceiveError;
use crate::transfer::refusal::{fail, last};

impl OfferedTransfer {
    /// Tells the sender by which number it knows us if we come again.
    pub async fn say_number(&self, number: Guid) {
        // Why it does not hear that shows in what follows.
        let _ = self.talk.put(&TransferMessage::Myself { number }).await;
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
                    Ok(TransferMessage::Alive) => {}
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
