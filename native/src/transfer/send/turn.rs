//! A receiver that the sender serves on another connection already: this one waits.

use tokio::sync::watch;

use super::{SendFailure, Sending};
use crate::transfer::message::TransferMessage;

/// Whether it is the turn of a receiver that has said its number. Once it may be served it
/// need not wait again.
#[derive(Debug, Clone, Default)]
pub struct ReceiverTurn {
    waits: watch::Sender<bool>,
}

impl ReceiverTurn {
    /// It waits, from the moment in which it is told its number.
    pub fn wait(&self) {
        self.waits.send_replace(true);
    }

    /// Its turn has come.
    pub fn come(&self) {
        self.waits.send_replace(false);
    }

    fn waits(&self) -> bool {
        *self.waits.borrow()
    }

    async fn comes(&self) {
        // The sender is ours: it does not go away.
        let _ = self.waits.subscribe().wait_for(|waits| !*waits).await;
    }
}

impl Sending<'_> {
    /// Says to a receiver whose number was told that it is its turn, once that is so.
    pub(super) async fn take_turn(&self) -> Result<(), SendFailure> {
        let mut asked = false;
        while self.turn.waits() {
            tokio::select! {
                () = self.turn.comes() => {}
                said = self.next() => match said? {
                    TransferMessage::Alive if asked => {}
                    TransferMessage::Alive => {
                        self.put(&TransferMessage::Turn { now: false }).await?;
                        asked = true;
                    }
                    TransferMessage::Failed { why } => {
                        return Err(self.early(TransferMessage::Failed { why }));
                    }
                    // One of the version before begins at once.
                    _ => {
                        self.talk.stop(SendFailure::Served.to_string()).await;
                        return Err(SendFailure::Served);
                    }
                },
            }
        }
        let turn = TransferMessage::Turn { now: true };
        let welcome = if asked { turn } else { TransferMessage::Alive };
        self.put(&welcome).await
    }
}
