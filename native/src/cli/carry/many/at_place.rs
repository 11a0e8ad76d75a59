//! `servent send --to N --via PLACE`: receivers that cannot reach this machine come to a
//! meeting place, one after the other. Each gets all of it from here, because they cannot
//! reach each other either.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::json;
use servent::Rate;
use servent::transfer::{
    Lacking, Offer, SendFailure, TransferCode, TransferProgress, TransferSender, total,
};
use servent::unicast::EndpointOptions;
use servent_core::text::Shown;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::other_side::OtherSide;
use super::super::tally::{files_beside, incomplete};
use super::super::unicast::title;
use super::stopped;
use crate::cli::finding::link::MeetLink;
use crate::cli::finding::via::{FoundPeer, ViaPlace, leave, split};
use crate::cli::finding::visitors::{
    ComingVisitor, GOODBYE, PlacePause, VisitorRoom, VisitorSeat, next_visitor,
};
use crate::exit::Failure;
use crate::progress::{Reporter, bytes, count};
use crate::signal::Signals;

/// How long the user waits after Ctrl-C until the receivers have heard that.
const STOP_WAIT: Duration = Duration::from_millis(800);

/// What is given at a place, and to how many.
pub(crate) struct PlaceGiving<'a> {
    pub(crate) offer: Offer,
    pub(crate) receivers: u32,
    /// Where receivers come to, and what they have to know.
    pub(crate) link: MeetLink,
    /// Bytes per second that this machine may send; `None`: no limit.
    pub(crate) rate: Option<u64>,
    pub(crate) reporter: &'a Reporter,
}

/// Gives until so many receivers have all of it.
pub(crate) async fn give_at_place(
    giving: PlaceGiving<'_>,
    options: EndpointOptions,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let (reporter, receivers) = (*giving.reporter, giving.receivers);
    let (meeting, code) = split(&giving.link.code)?;
    let place = ViaPlace::find(&giving.link.place, meeting).await?.of_sender();
    let title = title(giving.offer.entries(), "a stream");
    announce(&reporter, &giving.link, (&title, receivers));
    let given = Arc::new(GivenOffer::new(giving, code));
    let (end, ended) = oneshot::channel::<()>();
    let ended = ended.shared();
    let (coming, mut comes) = mpsc::channel(1);
    let waiting = tokio::spawn(wait((place, options), coming, reporter, ended.clone()));
    let mut visits = JoinSet::new();
    let all = loop {
        tokio::select! {
            Some((visit, seat)) = comes.recv() => {
                let given = Arc::clone(&given);
                visits.spawn(visitor(visit, (given, seat), reporter, ended.clone()));
            }
            Some(_) = visits.join_next() => {
                if given.have() >= receivers {
                    break true;
                }
            }
            () = signals.first() => break false,
        }
    };
    drop(end);
    let told = async { while visits.join_next().await.is_some() {} };
    // A receiver that is gone is not missed, and the user does not wait long.
    let _ = timeout(if all { GOODBYE } else { STOP_WAIT }, told).await;
    visits.shutdown().await;
    let _ = timeout(GOODBYE, waiting).await; // It leaves its seat.
    if !all {
        return Err(stopped(given.have(), receivers));
    }
    given.result(&reporter, &title)
}

fn announce(reporter: &Reporter, link: &MeetLink, (title, receivers): (&str, u32)) {
    let fact = json!({
        "event": "meeting", "link": link.to_string(), "place": link.place, "name": title,
        "receivers": receivers,
    });
    reporter.tell(
        &fact,
        &format!(
            "{} for {}, by: servent receive --from {link} -o inbox/",
            Shown(title),
            count(u64::from(receivers), "receiver"),
        ),
    );
}

/// Waits at the place for receivers, until the end.
async fn wait(
    (place, options): (ViaPlace, EndpointOptions),
    coming: mpsc::Sender<(ComingVisitor, VisitorSeat)>,
    reporter: Reporter,
    end: impl Future + Clone,
) {
    let room = VisitorRoom::new();
    let (mut number, mut pause) = (1, PlacePause::new());
    loop {
        let mut seat = tokio::select! {
            seat = room.take() => seat,
            _ = end.clone() => return,
        };
        let place = place.clone().of_visitor(number);
        match next_visitor(place, options.clone(), (&reporter, &|| {}), end.clone()).await {
            Ok(None) => return,
            Ok(Some(visit)) => {
                (pause, number) = (PlacePause::new(), number + 1);
                seat.begin();
                if coming.send((visit, seat)).await.is_err() {
                    return;
                }
            }
            Err(failure) => pause.after(&failure, &reporter, end.clone()).await,
        }
    }
}

/// Finds one receiver, and sends to it.
async fn visitor(
    ComingVisitor { endpoint, place, news }: ComingVisitor,
    (given, seat): (Arc<GivenOffer>, VisitorSeat),
    reporter: Reporter,
    end: impl Future,
) {
    match place.find_caller(news, &reporter).await {
        Ok(found) => match endpoint.connect(found.peer) {
            Ok(connection) => {
                let sender = TransferSender::over(connection).limited(given.rate.clone());
                given.send(&sender, (found, &place), (seat, &reporter), end).await;
            }
            Err(why) => tracing::info!(%why, "the socket of a receiver has ended"),
        },
        Err(failure) => {
            let fact = json!({ "event": "missed", "why": failure.what });
            reporter.tell(&fact, &format!("a receiver did not get through: {failure}"));
        }
    }
    leave(endpoint, GOODBYE).await;
}

/// What each receiver gets, and what has come of it.
struct GivenOffer {
    offer: Offer,
    code: TransferCode,
    rate: Option<Rate>,
    receivers: u32,
    have: AtomicU32,
    /// Bytes that have left this machine.
    sent: AtomicU64,
    lacking: Mutex<Vec<Lacking>>,
}

impl GivenOffer {
    fn new(giving: PlaceGiving<'_>, code: TransferCode) -> Self {
        let PlaceGiving { offer, receivers, rate, .. } = giving;
        let (have, sent, lacking) = Default::default();
        Self { offer, code, rate: rate.map(Rate::new), receivers, have, sent, lacking }
    }

    fn have(&self) -> u32 {
        self.have.load(Ordering::Relaxed)
    }

    fn lacking(&self) -> MutexGuard<'_, Vec<Lacking>> {
        self.lacking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends all of it to a receiver that was found.
    async fn send(
        &self,
        sender: &TransferSender,
        (found, place): (FoundPeer, &ViaPlace),
        (mut seat, reporter): (VisitorSeat, &Reporter),
        end: impl Future,
    ) {
        let FoundPeer { at, mut news, .. } = found;
        let (whereabouts, relay) = (sender.whereabouts(), place.relay());
        let receiver = || OtherSide::met("the receiver", (&whereabouts, at), Some(&relay));
        let told = |told| match told {
            TransferProgress::Accepted => {
                seat.is_known();
                let fact = json!({ "event": "agreed", "have": self.have() });
                place.tell(receiver().placed("peer", fact), "takes it", reporter);
            }
            TransferProgress::There(file) => {
                self.sent.fetch_add(file.carried, Ordering::Relaxed);
            }
            TransferProgress::Lacks(file) => self.lacking().push(file),
            TransferProgress::Offered
            | TransferProgress::Begun { .. }
            | TransferProgress::Bytes { .. } => {}
        };
        let follow = async {
            place.tell_moves(&mut news, reporter).await;
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = sender.send(&self.offer, Some(&self.code), told) => outcome,
            () = follow => return,
            _ = end => {
                let all = self.have() >= self.receivers;
                let why = if all { "all have it that it was for" } else { "stopped by the user" };
                return sender.stop(why).await;
            }
        };
        let event = |event| receiver().placed("peer", json!({ "event": event }));
        match outcome {
            Ok(()) => {
                let have = self.have.fetch_add(1, Ordering::Relaxed) + 1;
                let mut fact = event("has");
                fact["have"] = have.into();
                let sentence = format!("has all of it, {have} of {}", self.receivers);
                place.tell(fact, &sentence, reporter);
            }
            Err(why) => {
                let turned_away = matches!(why, SendFailure::WrongCode);
                let mut fact = event(if turned_away { "turned_away" } else { "left" });
                fact["why"] = why.to_string().into();
                place.tell(fact, &format!("has not got all of it: {why}"), reporter);
            }
        }
    }

    /// The final report.
    fn result(&self, reporter: &Reporter, title: &str) -> Result<(), Failure> {
        let (files, size) = total(self.offer.entries());
        let (sent, receivers) = (self.sent.load(Ordering::Relaxed), self.receivers);
        let fact = json!({
            "event": "sent_all", "name": title, "files": files, "bytes": size,
            "receivers": receivers, "sent": sent,
        });
        let sentence = format!(
            "{} sent to {}: {}{}, the same everywhere; {} left this machine",
            Shown(title),
            count(u64::from(receivers), "receiver"),
            files_beside(title, files as u64),
            bytes(size.unwrap_or(0)),
            bytes(sent),
        );
        reporter.result(&fact, &sentence);
        let mut lacking = self.lacking().clone();
        lacking.dedup();
        incomplete(&lacking, (files as u64, "the receivers")).map_or(Ok(()), Err)
    }
}
