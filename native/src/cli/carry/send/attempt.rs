//! Sending over one connection, and what is done meanwhile when the receiver is silent.

use std::net::SocketAddr;
use std::time::Duration;

use servent::transfer::{SILENT, SendFailure, TransferProgress, TransferSender};
use servent::unicast::{Endpoint, MeetNews};
use tokio::time::{Instant, sleep_until};

use super::{ReachedReceiver, RunningSend, SendTrouble, stopped};
use crate::cli::carry::questions::Counted;
use crate::cli::carry::silence::{find_again, free_seat, tell_silence};
use crate::cli::carry::tally::TransferTally;
use crate::cli::carry::unicast::BY_USER;
use crate::cli::finding::via::{FoundPeer, PathFound, bind_any};
use crate::signal::Signals;

/// How long a receiver that is sought already may take to be found, once the connection has
/// ended.
const FOUND_SOON: Duration = Duration::from_secs(10);

fn is_silent(sender: &TransferSender) -> bool {
    sender.silence().length() >= SILENT
}

/// Waits until a receiver should be there that has not answered by then.
async fn unanswered(sender: &TransferSender, until: Option<Instant>) {
    if let Some(until) = until {
        sleep_until(until).await;
        if sender.progress().acknowledged == 0 {
            return;
        }
    }
    std::future::pending().await
}

impl RunningSend<'_> {
    /// Sends over one connection, and seeks the receiver while it is silent.
    pub(super) async fn attempt(
        &self,
        (sender, news): (&TransferSender, Option<MeetNews>),
        tally: &mut TransferTally<'_>,
        (title, from): (&str, SocketAddr),
        (until, signals): (Option<Instant>, &mut Signals),
    ) -> Result<(), SendTrouble> {
        let (mut seat, bytes) = (self.spare.take(), tally.bytes());
        let outcome = {
            let again = self.found_again(sender, &mut seat);
            tokio::pin!(again);
            let told = |told: TransferProgress| match told {
                TransferProgress::Offered => self.say_offered(title),
                TransferProgress::Accepted => {
                    let receiver = self.receiver(sender.whereabouts().now());
                    self.announce((title, &receiver), tally, from);
                }
                told => tally.told("sent", told),
            };
            let outcome = tokio::select! {
                biased; // When it was met again the connection ends, which is no reason then.
                () = self.met_again(sender, news) => Err(SendTrouble::Anew),
                // A fast transfer uses up what tokio lets one task do at a time: whatever is
                // looked at behind it would wait for its end.
                () = signals.first() => {
                    sender.stop(BY_USER).await;
                    Err(stopped(title, self.repeatable()).into())
                }
                outcome = sender.send(self.offer, self.code, told) => {
                    outcome.map_err(|why| self.trouble(why, bytes, sender))
                }
                found = &mut again => Err(SendTrouble::Again(Box::new(found))),
                () = unanswered(sender, until) => {
                    Err(self.trouble(SendFailure::Unanswered, bytes, sender))
                }
            };
            match outcome {
                // The place ends what it relayed before when the receiver comes again: it is
                // about to be found.
                Err(SendTrouble::Away(..)) if self.seeks() && is_silent(sender) => {
                    tokio::select! {
                        found = again => Err(SendTrouble::Again(Box::new(found))),
                        () = tokio::time::sleep(FOUND_SOON) => outcome,
                        () = signals.first() => Err(stopped(title, self.repeatable()).into()),
                    }
                }
                outcome => outcome,
            }
        };
        free_seat(&mut seat).await;
        self.spare.set(seat);
        outcome
    }

    /// Tells when the path changes, until the receiver is met once more in the same visit: it
    /// was started again, or has visited the place again. What it has sent before may still
    /// be under way, and would be taken for what it says by its new name: another socket
    /// hears nothing of that.
    async fn met_again(&self, sender: &TransferSender, news: Option<MeetNews>) {
        if let (Some(via), Some(mut news)) = (&self.via, news) {
            loop {
                let found = via.tell_moves(&mut news, self.reporter).await;
                let repeatable = || self.repeatable() || sender.progress().acknowledged == 0;
                if matches!(found, PathFound::Again { .. }) && repeatable() {
                    return;
                }
            }
        }
        std::future::pending().await
    }

    /// True when a receiver that is silent is sought at its meeting place: it has one, and
    /// what is sent can be read again.
    fn seeks(&self) -> bool {
        self.via.is_some() && self.repeatable()
    }

    /// Says when the receiver is silent, and seeks it if it can be found.
    async fn found_again(
        &self,
        sender: &TransferSender,
        seat: &mut Option<Endpoint>,
    ) -> ReachedReceiver {
        let (other, silence) = (|| self.receiver(sender.whereabouts().now()), sender.silence());
        let Some(via) = self.via.as_ref().filter(|_| self.seeks()) else {
            let tell = |fact, sentence: &str| self.reporter.tell(&fact, sentence);
            match tell_silence((silence, &Counted::default()), other, tell).await {}
        };
        // The port that the user named is in use.
        let bind = async || bind_any(None, self.options_via()).await;
        let seat = (seat, self.reporter);
        let (endpoint, found) = find_again((via, silence), bind, other, seat).await;
        let FoundPeer { peer, at, news, .. } = found;
        ReachedReceiver { endpoint, peer, at, news: Some(news) }
    }
}
