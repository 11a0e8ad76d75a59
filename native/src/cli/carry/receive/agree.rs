//! Whether the user takes what is offered.

use serde_json::json;
use servent::transfer::{OfferEntry, OfferedTransfer};
use servent_core::text::Shown;

use super::Receiver;
use crate::cli::carry::offered::{not_taken, offered};
use crate::cli::carry::receive_failed::{TakeEnd, exit_of};
use crate::cli::finding::via::enough;
use crate::exit::{Exit, Failure};

impl Receiver {
    /// Shows the offer and asks the user, if there is one to ask. The end of a transfer
    /// whose sender is gone before there is an answer.
    pub(super) async fn agreed(
        &self,
        transfer: &mut OfferedTransfer,
        entries: &[OfferEntry],
        title: &str,
    ) -> Result<Option<TakeEnd>, Failure> {
        let Some(person) = &self.person else { return Ok(None) };
        let sender = self.sender(transfer);
        let not = |why: &str| not_taken(title, &sender, why);
        let asked = self.questions.open.one();
        self.reporter.fact(&sender.placed("from", json!({ "event": "asking", "name": title })));
        let question = format!("{}take it?", offered(entries, &sender));
        let agrees = tokio::select! {
            agrees = person.agrees(&question) => agrees,
            why = transfer.waiting() => {
                if self.by_link && why.is_enough() {
                    return Err(enough());
                }
                let what = not(&format!(": {}", Shown(&why.to_string())));
                let failure = Failure::new(exit_of(&why), what);
                let again = self.may_come_again(&why);
                return if again { Ok(Some(TakeEnd::Gone(failure))) } else { Err(failure) };
            }
            () = self.questions.withdrawn() => {
                transfer.refuse("the receiver was stopped before its user agreed").await;
                let why = ": the question was withdrawn, and nothing was written";
                return Err(Failure::new(Exit::Interrupted, not(why)));
            }
        };
        // It is answered, though the sender may not have heard it yet.
        drop(asked);
        match agrees {
            Some(true) => Ok(None),
            Some(false) => {
                transfer.refuse("the receiver said no").await;
                Err(Failure::new(Exit::Refused, not("")))
            }
            None => {
                transfer.refuse("the user of the receiver did not answer").await;
                Err(Failure::new(
                    Exit::Refused,
                    not(": the question was not answered, and nothing was written"),
                ))
            }
        }
    }
}
