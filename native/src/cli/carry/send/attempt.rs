//! Sending over one connection, and what is done meanwhile when the receiver is silent.

use std::time::Duration;

use servent::transfer::{SILENT, TransferProgress, TransferSender};
use servent::unicast::{Endpoint, MeetNews};

use super::{ReachedReceiver, RunningSend, SendTrouble, stopped};
use crate::cli::carry::questions::Counted;
use crate::cli::carry::silence::{find_again, free_seat, tell_silence};
use crate::cli::carry::tally::TransferTally;
use crate::cli::finding::via::{FoundPeer, bind_any};
use crate::signal::Signals;

/// How long a receiver that is sought already may take to be found, once the connection has
/// ended.
const FOUND_SOON: Duration = Duration::from_secs(10);

impl RunningSend<'_> {
    /// Sends over one connection, and seeks the receiver while it is silent.
    pub(super) async fn attempt(
        &self,
        (sender, news): (&TransferSender, Option<MeetNews>),
        tally: &mut TransferTally<'_>,
        (title, signals): (&str, &mut Signals),
    ) -> Result<(), SendTrouble> {
        let mut seat = self.spare.take();
        let outcome = {
            let again = self.found_again(sender, &mut seat);
            tokio::pin!(again);
            let told = |told: TransferProgress| tally.told("sent", told);
            let outcome = tokio::select! {
                outcome = sender.send(self.offer, self.code, told) => {
                    outcome.map_err(|why| self.trouble(why, tally.bytes(), sender))
                }
                () = self.follow(news) => Ok(()), // It never ends.
                found = &mut again => Err(SendTrouble::Again(Box::new(found))),
                () = signals.first() => {
                    sender.stop("stopped by the user").await;
                    Err(stopped(title).into())
                }
            };
            match outcome {
                // The place ends what it relayed before when the receiver comes again: it is
                // about to be found.
                Err(SendTrouble::Away(..)) if sender.silence().length() >= SILENT => {
                    tokio::select! {
                        found = again => Err(SendTrouble::Again(Box::new(found))),
                        () = tokio::time::sleep(FOUND_SOON) => outcome,
                        () = signals.first() => Err(stopped(title).into()),
                    }
                }
                outcome => outcome,
            }
        };
        free_seat(&mut seat).await;
        self.spare.set(seat);
        outcome
    }

    /// Says when the receiver is silent, and seeks it at its meeting place, if it has one
    /// and what is sent can be read again.
    async fn found_again(
        &self,
        sender: &TransferSender,
        seat: &mut Option<Endpoint>,
    ) -> ReachedReceiver {
        let (other, silence) = (|| self.receiver(sender.peer()), sender.silence());
        let Some(via) = self.via.as_ref().filter(|_| self.repeatable()) else {
            match tell_silence((silence, &Counted::default()), other, self.reporter).await {}
        };
        // The port that the user named is in use.
        let bind = async || bind_any(None, self.options_via()).await;
        let seat = (seat, self.reporter);
        let (endpoint, found) = find_again((via, silence), bind, other, seat).await;
        let FoundPeer { peer, at, news, .. } = found;
        ReachedReceiver { endpoint, peer, at, news: Some(news) }
    }
}
