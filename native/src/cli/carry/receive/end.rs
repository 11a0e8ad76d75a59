//! What follows when a transfer has ended, or one more is offered where only one is
//! wanted; and how the user stops `receive`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use servent::transfer::{InboxPlace, OfferedTransfer, ReceiveError};
use servent::unicast::{Connection, Endpoint};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::{GOODBYE, Receiver};
use crate::cli::carry::receive_failed::TakeEnd;
use crate::cli::carry::seats::SenderSeat;
use crate::exit::{Exit, Failure};
use crate::progress::{count, length};

/// How long senders may take to hear that the user has stopped it: with the goodbye a second.
const TOLD: Duration = Duration::from_millis(600);
/// How long to wait for the last acknowledgements when all has arrived.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long the sender of a transfer that is not whole may take to come again.
const COME_AGAIN: Duration = Duration::from_secs(300);

/// The sender of a transfer that is not whole; it may come again.
pub(super) struct AwaitedSender {
    failure: Failure,
    until: Instant,
}

impl AwaitedSender {
    fn new(failure: Failure) -> Self {
        Self { failure, until: Instant::now() + COME_AGAIN }
    }

    /// Waits until it has not come for too long.
    pub(super) async fn late(awaited: &mut Option<Self>) -> Failure {
        if let Some(awaited) = awaited {
            sleep_until(awaited.until).await;
        }
        match awaited.take() {
            Some(awaited) => awaited.failure,
            None => std::future::pending().await,
        }
    }

    /// The user waits no longer.
    fn stopped(self) -> Failure {
        let Failure { what, next, .. } = self.failure;
        let stopped = Failure::new(Exit::Interrupted, format!("stopped; {what}"));
        next.into_iter().fold(stopped, Failure::next)
    }
}

impl Receiver {
    /// Waits for the offer of a sender, and says by which number it knows us again.
    pub(super) async fn hello(
        self,
        connection: Connection,
    ) -> (SocketAddr, Result<OfferedTransfer, ReceiveError>) {
        let peer = connection.peer();
        let hello = OfferedTransfer::hello(connection, &self.door).await;
        if let (Ok(transfer), Some(number)) = (&hello, self.number) {
            let mut waits = None;
            let turn = transfer.say_number(number, || {
                waits = Some(self.questions.turns.one());
                self.say_twin();
            });
            let turn = turn.await;
            drop(waits); // Its turn has come, or never does.
            if let Err(why) = turn {
                return (peer, Err(why));
            }
        }
        (peer, hello)
    }

    /// Says once why we wait: the sender serves one that it cannot tell from us.
    fn say_twin(&self) {
        if self.questions.said_turn.swap(true, Ordering::Relaxed) {
            return;
        }
        let why = "the sender serves another receiver with the number of this one";
        let fact = json!({ "event": "waiting", "why": why });
        let sentence = format!(
            "{why}: the same command runs twice or on machines that are copies of one, or was \
             ended a moment ago; this one waits until the other is done, or silent for 7 s"
        );
        self.reporter.tell(&fact, &sentence);
    }

    /// A transfer has ended; `None`: its sender has come again, or may.
    pub(super) fn ended(
        &self,
        ended: Result<TakeEnd, Failure>,
        awaited: &mut Option<AwaitedSender>,
    ) -> Option<Result<(), Failure>> {
        if !matches!(ended, Ok(TakeEnd::TakenOver(_))) {
            self.done.notify_waiters(); // The next one may come.
        }
        let failure = match ended {
            Ok(TakeEnd::Whole) => return Some(Ok(())),
            Ok(TakeEnd::TakenOver(failure)) => {
                self.say_failed(&failure);
                failure
            }
            Ok(TakeEnd::Gone(failure)) => {
                self.say_waiting(&failure);
                failure
            }
            Err(failure) => {
                self.say_failed(&failure);
                return Some(Err(failure));
            }
        };
        if self.waits_for_one() && self.taking.count() == 0 {
            *awaited = Some(AwaitedSender::new(failure));
        }
        None
    }

    fn say_waiting(&self, failure: &Failure) {
        let most = length(COME_AGAIN.as_secs());
        let fact = json!({ "event": "waiting", "why": failure.what });
        self.reporter.tell(
            &fact,
            &format!(
                "{failure}\nwaiting for the sender with the same code, at most {most}; \
                 Ctrl-C ends that"
            ),
        );
    }

    fn tell_failed(&self, failure: &Failure) {
        let Failure { exit, what, next, .. } = failure;
        let fact = json!({ "event": "failed", "kind": exit.name(), "what": what, "next": next });
        self.reporter.tell(&fact, &failure.to_string());
    }

    /// Where one transfer is wanted this is said when the program ends.
    fn say_failed(&self, failure: &Failure) {
        if !self.once {
            self.tell_failed(failure);
        }
    }

    /// True where one transfer is wanted, and its sender finds us again.
    fn waits_for_one(&self) -> bool {
        self.once && self.relay.is_some() && self.keeps_parts()
    }

    /// True when the sender of a transfer that has ended so may come and go on with it.
    pub(super) fn may_come_again(&self, why: &ReceiveError) -> bool {
        let may = matches!(why, ReceiveError::Gone(_) | ReceiveError::Stopped(_));
        may && self.waits_for_one() && !why.is_enough()
    }

    /// True when there is no room for one more transfer.
    pub(super) fn is_busy(&self) -> bool {
        let give_way = if self.keeps_parts() { self.silent.count() } else { 0 };
        self.once && self.taking.count() > give_way
    }

    /// True when what has arrived can be gone on with.
    const fn keeps_parts(&self) -> bool {
        !matches!(self.place, InboxPlace::Output | InboxPlace::Device(_))
    }

    /// Makes room for a transfer where only one is wanted, if the sender of that is dead: it
    /// may be this one, started again. Otherwise the transfer is refused.
    pub(super) async fn room_for(
        self,
        seat: SenderSeat,
        transfer: OfferedTransfer,
    ) -> Option<(SenderSeat, OfferedTransfer)> {
        if self.keeps_parts() && self.writers.end_dead().await && !self.is_busy() {
            return Some((seat, transfer));
        }
        transfer.refuse("it is busy with another sender; try again later").await;
        None
    }

    /// Ends with what it came to.
    pub(super) async fn close(
        &self,
        endpoint: Arc<Endpoint>,
        ended: Result<(), Failure>,
    ) -> Result<(), Failure> {
        // A sender that was told why may have ended already, and answers no more.
        let limit = if ended.is_ok() && self.once { LAST_WORDS } else { GOODBYE };
        let whole = match Arc::into_inner(endpoint) {
            Some(endpoint) => endpoint.shutdown_within(limit).await,
            None => Ok(()), // A task that did not end still holds it, and ends with us.
        };
        ended.and_then(|()| Ok(whole?))
    }

    /// The user stops it. A sender that waits for an answer is told that there is none, and
    /// one whose files are under way that the user has stopped it.
    pub(super) async fn stopped(
        &self,
        awaited: Option<AwaitedSender>,
        running: &mut JoinSet<Result<TakeEnd, Failure>>,
    ) -> Result<(), Failure> {
        let (asked, under_way) = (self.questions.withdraw(), self.questions.agreed.count());
        let mut ended = Vec::new();
        let told = async {
            while ended.len() < asked + under_way {
                match running.join_next().await {
                    Some(Ok(Err(failure))) if failure.exit == Exit::Interrupted => {
                        ended.push(failure)
                    }
                    Some(_) => {}
                    None => return,
                }
            }
        };
        // A sender that is gone does not hear it.
        let _ = tokio::time::timeout(TOLD, told).await;
        if asked + under_way == 1 && ended.len() == 1 {
            return ended.pop().map_or(Ok(()), Err);
        }
        for failure in &ended {
            self.tell_failed(failure);
        }
        match (under_way, asked, self.once) {
            (0, 0, false) => Ok(()),
            (0, 0, true) => Err(awaited.map_or_else(
                || Failure::new(Exit::Interrupted, "stopped before a sender came"),
                AwaitedSender::stopped,
            )),
            (0, asked, _) => Err(Failure::new(
                Exit::Interrupted,
                format!("stopped with {} unanswered; nothing was written", count(asked as u64, "question")),
            )),
            (n, ..) => Err(Failure::new(Exit::Interrupted, format!("stopped with {n} under way"))
                .next("what had arrived of them is in the .part files; sent again, only the rest travels")),
        }
    }
}
