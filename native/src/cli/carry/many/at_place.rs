//! `servent send --to N --via PLACE`: receivers that cannot reach this machine come to a
//! meeting place, one after the other. Each gets all of it from here, because they cannot
//! reach each other either.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use serde_json::{Value, json};
use servent::Rate;
use servent::transfer::{
    ENOUGH, LackKind, Lacking, Offer, ReceiverTurn, SendFailure, TransferCode, TransferProgress,
    TransferSender, total,
};
use servent::unicast::EndpointOptions;
use servent_core::text::Shown;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::other_side::OtherSide;
use super::super::questions::Counted;
use super::super::silence::tell_silence;
use super::super::tally::{files_beside, incomplete};
use super::super::unicast::{BY_USER, title};
use super::fates::ReceiverFates;
use super::stopped;
use crate::cli::finding::link::MeetLink;
use crate::cli::finding::via::{FoundPeer, ViaPlace, leave, split};
use crate::cli::finding::visitors::{
    ComingVisitor, GOODBYE, PlacePause, VisitorRoom, VisitorSeat, next_visitor,
};
use crate::exit::Failure;
use crate::progress::{Reporter, bytes, count};
use crate::signal::Signals;

/// How long the user waits after Ctrl-C until the receivers have heard that; usually they
/// have at once.
const STOP_WAIT: Duration = Duration::from_millis(1_500);

/// What became of one that is silent.
const NO_WORD: &str = "no word came from it any more";
/// Why one does not count that has come to its end.
const NOTHING: &str = "it took none of the files";
/// How those that have come go on when the sender was stopped.
const SAME_LINK: &str = "to let those who have a part go on from there, send it again with the \
                         code of the same link in SERVENT_CODE: the link stays the same";

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
    let seat = (place.clone(), options);
    let waiting = tokio::spawn(wait(seat, coming, reporter, ended.clone()));
    let mut visits = JoinSet::new();
    let all = loop {
        tokio::select! {
            Some(comes) = comes.recv() => {
                let (visit, seat) = comes?;
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
    if all {
        place.finish();
    }
    drop(end);
    let told = async { while visits.join_next().await.is_some() {} };
    // A receiver that is gone is not missed, and the user does not wait long.
    let _ = timeout(if all { GOODBYE } else { STOP_WAIT }, told).await;
    visits.shutdown().await;
    let _ = timeout(GOODBYE, waiting).await; // It leaves its seat.
    if !all {
        return Err(given.stopped(&reporter));
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

/// One that has come, or that the place does not answer at first.
type ComingReceiver = Result<(ComingVisitor, VisitorSeat), Failure>;

/// Waits at the place for receivers, until the end.
async fn wait(
    (place, options): (ViaPlace, EndpointOptions),
    coming: mpsc::Sender<ComingReceiver>,
    reporter: Reporter,
    end: impl Future + Clone,
) {
    let room = VisitorRoom::default();
    let (mut number, mut pause) = (1, PlacePause::new());
    loop {
        let mut seat = tokio::select! {
            seat = room.take() => seat,
            _ = end.clone() => return,
        };
        let visited = place.clone().of_visitor(number);
        match next_visitor(visited, options.clone(), (&reporter, &|| {}), end.clone()).await {
            Ok(None) => return,
            Ok(Some(visit)) => {
                (pause, number) = (PlacePause::new(), number + 1);
                seat.begin();
                if coming.send(Ok((visit, seat))).await.is_err() {
                    return;
                }
            }
            Err(failure) if !place.answers() => {
                let _ = coming.send(Err(failure)).await; // It may have ended.
                return;
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
        Ok(found) => match endpoint.connect_met(found.peer) {
            Ok(connection) => {
                seat.found(found.at);
                let sender = TransferSender::over(connection).limited(given.rate.clone());
                given.send(sender, (found, &place), (&seat, &reporter), end).await;
            }
            Err(why) => tracing::info!(%why, "the socket of a receiver has ended"),
        },
        Err(failure) => {
            let fact = json!({ "event": "missed", "why": failure.what });
            place.tell(fact, &format!("did not get through: {failure}"), &reporter);
        }
    }
    leave(endpoint, GOODBYE).await;
}

/// What has come to a visitor.
#[derive(Default)]
struct CameToIt {
    /// Bytes that were carried there now.
    carried: u64,
    lacking: Vec<Lacking>,
    /// Files that are not whole there yet: the bytes it had before, and those that have left
    /// us since.
    begun: BTreeMap<usize, (u64, u64)>,
}

/// What each receiver gets, and what has come of it.
struct GivenOffer {
    offer: Offer,
    code: TransferCode,
    rate: Option<Rate>,
    receivers: u32,
    fates: ReceiverFates,
    /// Bytes that have left this machine.
    sent: AtomicU64,
}

impl GivenOffer {
    fn new(giving: PlaceGiving<'_>, code: TransferCode) -> Self {
        let PlaceGiving { offer, receivers, rate, .. } = giving;
        let (fates, sent) = Default::default();
        Self { offer, code, rate: rate.map(Rate::new), receivers, fates, sent }
    }

    fn have(&self) -> u32 {
        self.fates.have()
    }

    /// Sends all of it to a receiver that was found.
    async fn send(
        &self,
        sender: TransferSender,
        (found, place): (FoundPeer, &ViaPlace),
        (seat, reporter): (&VisitorSeat, &Reporter),
        end: impl Future,
    ) {
        let FoundPeer { at, mut news, .. } = found;
        let (whereabouts, relay) = (sender.whereabouts(), place.relay());
        let receiver = || OtherSide::met("the receiver", (&whereabouts, at), Some(&relay));
        let visitor = place.visitor().unwrap_or_default();
        let _visit = self.fates.visit(visitor);
        let (turn, waits, mut came) = (ReceiverTurn::default(), Notify::new(), CameToIt::default());
        let sender = sender.in_turn(turn.clone());
        let tell = |fact: Value, sentence: &str| {
            place.tell(receiver().placed("peer", fact), sentence, reporter);
        };
        let told = |told| {
            if matches!(told, TransferProgress::Known) {
                seat.is_known();
            }
            if self.note(told, (visitor, &receiver), &mut came, &tell) {
                turn.wait();
                waits.notify_one();
            }
        };
        let follow = async {
            place.tell_moves(&mut news, reporter).await;
            std::future::pending::<()>().await;
        };
        let its_turn = async {
            waits.notified().await;
            self.fates.turn(visitor).await;
            turn.come();
            std::future::pending::<()>().await;
        };
        let silent = Counted::default();
        let silence = sender.silence();
        let outcome = tokio::select! {
            // A fast transfer uses up what tokio lets one task do at a time: whatever is looked
            // at behind it would wait for its end.
            biased;
            _ = end => return self.ends(&sender, (visitor, receiver()), silent.count() > 0).await,
            () = self.fates.gives_way(visitor, &silence) => {
                self.fates.left(visitor, receiver(), String::from(NO_WORD));
                return sender.stop("the same receiver has come once more, and has it now").await;
            }
            () = seat.gives_way() => {
                let why = "another has come, and it has not shown the code";
                sender.stop(why).await;
                Err((true, String::from(why)))
            }
            never = tell_silence((sender.silence(), &silent), receiver, &tell) => match never {},
            () = follow => return,
            () = its_turn => return,
            outcome = sender.send(&self.offer, Some(&self.code), told) => {
                outcome.map_err(|why| (matches!(why, SendFailure::WrongCode), why.to_string()))
            }
        };
        let outcome = match outcome {
            Ok(()) if self.is_none_of_it(&came.lacking) => Err((false, String::from(NOTHING))),
            outcome => outcome.map(|()| came),
        };
        self.visit_ended((visitor, receiver()), outcome, tell);
    }

    /// Notes what has happened in a visit, and tells it; true when it has to wait, because the
    /// same receiver is served in another one.
    fn note(
        &self,
        told: TransferProgress,
        (visitor, receiver): (u64, &impl Fn() -> OtherSide),
        came: &mut CameToIt,
        tell: &impl Fn(Value, &str),
    ) -> bool {
        match told {
            TransferProgress::Known => {
                self.fates.comes(visitor, receiver());
                tell(json!({ "event": "joined", "have": self.have() }), "knows the code");
            }
            TransferProgress::Numbered(number) => {
                let Some(served) = self.fates.numbered(visitor, number) else { return false };
                let fact = json!({ "event": "waits", "for": served });
                tell(
                    fact,
                    &format!("has the number of visitor {served}, and waits until that is gone"),
                );
                return true;
            }
            TransferProgress::Accepted => {
                tell(json!({ "event": "agreed", "have": self.have() }), "takes it");
            }
            TransferProgress::Begun { entry, from } => _ = came.begun.insert(entry, (from, 0)),
            TransferProgress::Bytes { entry, so_far } => {
                if let Some((from, left)) = came.begun.get_mut(&entry) {
                    let now = so_far.saturating_sub(*from).max(*left);
                    self.sent.fetch_add(now - std::mem::replace(left, now), Ordering::Relaxed);
                }
            }
            TransferProgress::There(file) => {
                let (_, left) = came.begun.remove(&file.entry).unwrap_or_default();
                self.sent.fetch_add(file.carried.saturating_sub(left), Ordering::Relaxed);
                came.carried += file.carried;
            }
            TransferProgress::Lacks(file) => came.lacking.push(file),
            TransferProgress::Offered => {}
        }
        false
    }

    /// The sender ends while a visitor is there.
    async fn ends(
        &self,
        sender: &TransferSender,
        (visitor, receiver): (u64, OtherSide),
        silent: bool,
    ) {
        let all = self.have() >= self.receivers;
        let (fate, told) = if all { (ENOUGH, ENOUGH) } else { ("stopped by the user", BY_USER) };
        let fate = if silent { NO_WORD } else { fate };
        self.fates.left(visitor, receiver, String::from(fate));
        sender.stop(told).await;
    }

    /// Notes what came of a visit, and tells it: what has come, or why it has not got all of it
    /// and whether it was turned away.
    fn visit_ended(
        &self,
        (visitor, receiver): (u64, OtherSide),
        outcome: Result<CameToIt, (bool, String)>,
        tell: impl Fn(Value, &str),
    ) {
        match outcome {
            Ok(CameToIt { carried, lacking, .. }) => {
                let new = self.fates.has(visitor, receiver, (lacking, carried));
                let have = self.have();
                let once_more = if new { "" } else { "; it had it before" };
                let sentence = format!("has all of it, {have} of {}{once_more}", self.receivers);
                tell(json!({ "event": "has", "have": have, "again": !new }), &sentence);
            }
            Err((turned_away, why)) => {
                self.fates.left(visitor, receiver, why.clone());
                let event = if turned_away { "turned_away" } else { "left" };
                let fact = json!({ "event": event, "why": why });
                tell(fact, &format!("has not got all of it: {why}"));
            }
        }
    }

    /// True when not one file was taken, as where others have all their names at the receiver.
    fn is_none_of_it(&self, lacking: &[Lacking]) -> bool {
        let blocked = lacking.iter().filter(|it| it.kind == LackKind::Blocked).count();
        let (files, _) = total(self.offer.entries());
        files > 0 && blocked == files
    }

    /// The user has stopped it: what has become of each that has come.
    fn stopped(&self, reporter: &Reporter) -> Failure {
        let lines = self.fates.lines();
        if !lines.is_empty() {
            let fact = json!({ "event": "receivers", "each": self.fates.facts() });
            reporter.tell(&fact, &format!("those that have come:{lines}"));
        }
        let failure = stopped(self.have(), self.receivers);
        // Those that have come wait for a sender with the same link.
        if lines.is_empty() { failure } else { failure.next(SAME_LINK) }
    }

    /// The final report.
    fn result(&self, reporter: &Reporter, title: &str) -> Result<(), Failure> {
        let (files, size) = total(self.offer.entries());
        let (sent, receivers) = (self.sent.load(Ordering::Relaxed), self.receivers);
        let fact = json!({
            "event": "sent_all", "name": title, "files": files, "bytes": size,
            "receivers": receivers, "sent": sent, "each": self.fates.facts(),
        });
        let lacking = self.fates.lacking();
        let same = if lacking.is_empty() { ", the same everywhere" } else { "" };
        let sentence = format!(
            "{} sent to {}: {}{}{same}; {} left this machine{}",
            Shown(title),
            count(u64::from(receivers), "receiver"),
            files_beside(title, files as u64),
            bytes(size.unwrap_or(0)),
            bytes(sent),
            self.fates.lines(),
        );
        reporter.result(&fact, &sentence);
        incomplete(&lacking, (files as u64, "the receivers")).map_or(Ok(()), Err)
    }
}
