//! `servent receive`: receives what `servent send` sends, to files or to a
//! pipe.

mod agree;
mod end;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use servent::transfer::{
    InboxPlace, OfferEntry, OfferedTransfer, Quota, ReceiveError, SecretDoor, TransferCode,
    TransferInbox, Writers, refuse,
};
use servent::unicast::{Endpoint, EndpointOptions, Lost};
use servent_core::id::Guid;
use servent_core::text::Shown;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use self::end::AwaitedSender;
use super::code::CodeArgs;
use super::many::{Taking, take};
use super::offered::{NoRoom, not_taken, room};
use super::other_side::{OtherSide, RelayPlace};
use super::questions::{Counted, One, Questions};
use super::receive_door::{ReceiveDoor, ReceiveMeeting, door, door_of_meeting, wrong_link};
use super::receive_failed::{TakeEnd, failed, stopped};
use super::receive_from::{check_sender, link_for_get};
use super::receive_place::{place, receive_number};
use super::seats::{Greetings, SenderSeat};
use super::silence::tell_silence;
use super::tally::{TransferTally, TransferWords};
use super::unicast::{BY_USER, PORT, Travel, listening, title};
use crate::cli::Common;
use crate::cli::amount::size;
use crate::cli::ask::{Person, no_terminal};
use crate::cli::finding::link::MeetLink;
use crate::cli::finding::map_port::VisitPort;
use crate::cli::finding::via::{self, CallerNews, ViaArgs, bind_any, enough};
use crate::cli::live::{LiveFlags, OpenLab};
use crate::cli::serve::reach;
use crate::cli::start::{address, runtime};
use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, Voice};
use crate::signal::Signals;

/// Parallel senders; others wait until one is done.
const SENDERS: usize = 64;
/// How long to wait until senders have heard that we stop, twice: those that were
/// asked about, then all. A sender that is gone does not hear it, and the user waits.
const GOODBYE: Duration = Duration::from_millis(400);

/// Receive what `servent send` sends, over UDP.
///
/// Names and sizes are shown first, and nothing is written before you agree.
/// Without -o the first sender's bytes go to standard output. With a file
/// the first sender's bytes become that file. With a folder, which is made
/// when its name ends with `/`, it goes on until Ctrl-C, takes many senders at
/// once, and folders keep their tree. A file is called NAME.part until it has
/// arrived whole and checked; nothing is overwritten. What is there already,
/// whole or in part, is not sent again.
///
/// Prints a three-word code, or with --via and --lan one of five. Give it to the sender. Without the code
/// no peer can send, or read and change what is sent; a few wrong ones are
/// refused, then all for a minute.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent receive -o inbox/                 every sender's files and folders, each asked about
  servent receive -o inbox/ --yes           without asking: the code is enough
  SERVENT_CODE=ocean-pepper-violin servent receive -o inbox/
                                            a code of your own
  servent receive -o inbox/ --open --yes    whatever any sender sends
  servent receive -o song.ogg               one file
  servent receive --from 10.0.0.7 -o inbox/
                                            what `servent send --to 3` gives to three
  servent receive --from meet://CODE@place.example.org -o inbox/
                                            the same by the link that `send --to 3 --via` shows
  servent receive --via place.example.org -o inbox/
                                            from a sender who cannot reach this machine
  servent receive --lan -o inbox/           from a sender in this network who types the code
  servent receive --listen 127.0.0.1:7000 | tar x
                                            one stream into a pipe
  servent receive -o inbox/ --loss 5%       lose 5 % on purpose and see it repaired
  servent receive --lab 127.0.0.1:0 -o inbox/        and watch every datagram in a browser")]
pub(crate) struct ReceiveArgs {
    /// Listen here; port 0 takes any free one. Usually [::]:6348, IPv4 too.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Take what `servent send --to N` gives there, together with the other
    /// receivers; the code is the one that it shows. Or the link that it prints with --via.
    #[arg(long, value_name = "HOST[:PORT]|LINK", conflicts_with_all = ["listen", "once", "lab", "via", "meet", "lan"])]
    from: Option<String>,
    /// Write this file, or files into this folder.
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// End after one transfer, with a folder too. With --via its sender may be gone, or stop
    /// it, and come again within five minutes.
    #[arg(long)]
    once: bool,
    /// Take whatever is sent without asking.
    #[arg(short, long)]
    yes: bool,
    /// Make a code, or take this one; then nothing is asked where there is no
    /// terminal. Others on this machine can read what is written here.
    #[arg(long, value_name = "WORDS", num_args = 0..=1, conflicts_with_all = ["open", "code_file"])]
    code: Option<Option<String>>,
    #[command(flatten)]
    given: CodeArgs,
    /// With a folder: the most it may hold, what is there already included;
    /// such as 500M or 64G, which is what it is otherwise.
    #[arg(long, value_name = "BYTES", value_parser = size, default_value_t = Quota::LIMIT,
          hide_default_value = true)]
    inbox_limit: u64,
    #[command(flatten)]
    via: ViaArgs,
    #[command(flatten)]
    travel: Travel,
    #[command(flatten)]
    live: LiveFlags,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &ReceiveArgs) -> Result<(), Failure> {
    let options = arguments.travel.options(common)?;
    let config = arguments.config(common)?;
    let place = place(arguments.output.as_deref())?;
    let aside = matches!(place, InboxPlace::Output);
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), aside);
    let once = arguments.once || !matches!(place, InboxPlace::Folder(_));
    let typed = arguments.code.as_ref();
    let link = arguments.link()?;
    if let Some(from) = arguments.from.as_deref().filter(|_| link.is_none()) {
        return join(common, arguments, (from, place), options, &reporter);
    }
    let once = once || link.is_some();
    let code = match &link {
        Some(link) => Some(link.code.clone()),
        None => arguments.given.code(typed.and_then(Option::as_deref))?,
    };
    let person = match Person::present() {
        person if !arguments.yes && person.is_some() => person,
        None if !arguments.yes && code.is_none() && typed.is_none() => return Err(no_terminal()),
        _ => None,
    };
    let via = arguments.via.name(common)?;
    let door = if via.is_some() || arguments.via.lan || link.is_some() {
        door_of_meeting(code)?
    } else {
        door(code, arguments.given.open)?
    };
    let ReceiveDoor { door, made, meeting } = door;
    let (quota, verbose) = (arguments.quota(&place), common.verbose > 0);
    let (door, writers, begun) = (Arc::new(door), Arc::default(), Arc::default());
    let (questions, number) = (Questions::default(), arguments.number(link.as_ref(), &config));
    let mut receiver = Receiver {
        place,
        once,
        reporter,
        person,
        door,
        quota,
        writers,
        begun,
        questions,
        done: Arc::default(),
        taking: Counted::default(),
        silent: Counted::default(),
        relay: None,
        by_link: link.is_some(),
        number,
        verbose,
    };
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let lab = arguments.live.open(&config).await?;
        let options = EndpointOptions { tape: lab.is_some(), ..options };
        let found = match (link, meeting) {
            (Some(link), Some(meeting)) => Some(ReceiveMeeting::sender(&link, meeting).await?),
            _ => ReceiveMeeting::find(&arguments.via, common, (via, meeting)).await?,
        };
        let (options, port) = match &found {
            Some(ReceiveMeeting::Place(place) | ReceiveMeeting::Sender(place)) => {
                receiver.relay = Some(place.relay());
                (via::meeting(options), place.port().clone())
            }
            _ => (options, VisitPort::default()),
        };
        let done = receiver.run(arguments.listen, (made, found), (options, lab)).await;
        port.give_back().await;
        done
    });
    runtime.shutdown_background(); // A write to a full pipe may never return.
    done
}

impl ReceiveArgs {
    /// The link that is named instead of the host of a sender.
    fn link(&self) -> Result<Option<MeetLink>, Failure> {
        let Some(from) = &self.from else { return Ok(None) };
        let Some(rest) = MeetLink::behind_scheme(from) else {
            return check_sender(from).map(|()| None);
        };
        if self.code.is_some() || self.given.is_any() {
            return Err(Failure::usage("the link has the code in it")
                .next("leave --code, --code-file and --open out"));
        }
        match MeetLink::read(rest)? {
            (link, "/") => Ok(Some(link)),
            (_, path) => Err(link_for_get(from, path)),
        }
    }

    /// By which number the sender knows us, where a link leads to one.
    fn number(&self, link: Option<&MeetLink>, config: &Config) -> Option<Guid> {
        receive_number(&link?.code, self.output.as_deref(), &config.settings)
    }

    /// What the lab is to be like.
    fn config(&self, common: &Common) -> Result<Config, Failure> {
        let mut builder = common.builder()?;
        self.live.put(&mut builder)?;
        builder.finish()
    }

    fn quota(&self, place: &InboxPlace) -> Option<Arc<Quota>> {
        match place {
            InboxPlace::Folder(folder) => {
                Some(Arc::new(Quota::new(folder.clone(), self.inbox_limit)))
            }
            InboxPlace::Output | InboxPlace::Device(_) | InboxPlace::File(_) => None,
        }
    }
}

/// Joins a sender that sends to several.
fn join(
    common: &Common,
    arguments: &ReceiveArgs,
    (from, place): (&str, InboxPlace),
    options: EndpointOptions,
    reporter: &Reporter,
) -> Result<(), Failure> {
    let settings = common.builder()?.finish()?.settings;
    let typed = arguments.code.as_ref().map(Option::as_deref);
    if typed == Some(None) {
        return Err(Failure::usage("with --from the code is the one that the sender shows"));
    }
    let person = if arguments.yes { None } else { Person::present() };
    if person.is_none() && !arguments.yes && arguments.given.open {
        return Err(no_terminal());
    }
    let quota = arguments.quota(&place);
    let taking = Taking { place, quota, person, settings: &settings, reporter };
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let question = "the code that the sender shows:";
        let code = arguments.given.or_asked(typed.flatten(), (question, true)).await?;
        take(from, code.as_ref(), taking, options).await
    });
    runtime.shutdown_background(); // A write to a full pipe may never return.
    done
}

#[derive(Clone)]
struct Receiver {
    place: InboxPlace,
    once: bool,
    reporter: Reporter,
    /// The user to ask; `None` when everything is accepted.
    person: Option<Person>,
    door: Arc<SecretDoor>,
    /// How much may be stored in the folder.
    quota: Option<Arc<Quota>>,
    writers: Arc<Writers>,
    /// The number of transfers that have begun.
    begun: Arc<AtomicU64>,
    questions: Questions,
    /// Told when a sender has gone, or was turned away.
    done: Arc<Notify>,
    /// Transfers that have not ended.
    taking: Counted,
    /// Those of them whose sender is silent.
    silent: Counted,
    /// The meeting place, which may relay.
    relay: Option<RelayPlace>,
    /// We come to the sender, by a link that has the code in it.
    by_link: bool,
    /// By which the sender knows us then if we come again.
    number: Option<Guid>,
    verbose: bool,
}

impl Receiver {
    async fn run(
        self,
        listen: Option<SocketAddr>,
        (made, found): (Option<TransferCode>, Option<ReceiveMeeting>),
        (options, lab): (EndpointOptions, Option<OpenLab>),
    ) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        let endpoint = Arc::new(self.bind(listen, options).await?);
        let made = made.map(|code| code.to_string());
        self.say_listening(endpoint.local_addr(), made.as_deref(), found.as_ref());
        let handle = endpoint.servent().clone();
        let _lab = lab.map(|lab| lab.serve(("receive", "unicast"), handle, &self.reporter));
        if let Some(code) = made {
            self.reporter.show(&format!("the code is {code}: give it to the sender"));
        }
        let mut meeting = self.meet(&endpoint, found);
        let (mut greeted, mut running) = (JoinSet::new(), JoinSet::new());
        let (mut greetings, mut waiting) = (Greetings::default(), JoinSet::new());
        let mut awaited = None;
        let ended = loop {
            tokio::select! {
                Some(connection) = endpoint.accept(), if running.len() < SENDERS => {
                    if let Some(seat) = greetings.seat(connection.peer()) {
                        let hello = self.clone().hello(connection);
                        greetings.add(seat, |number| greeted.spawn(async move {
                            (number, hello.await)
                        }));
                    } else {
                        tokio::spawn(refuse(connection, "your address sends too much at once"));
                    }
                }
                Some(ended) = greeted.join_next() => {
                    // One that was put off has nothing to say.
                    if let Ok((number, (peer, hello))) = ended
                        && let Some(seat) = greetings.done(number)
                    {
                        match hello {
                            Ok(transfer) if self.is_busy() => {
                                waiting.spawn(self.clone().room_for(seat, transfer));
                            }
                            Ok(transfer) => {
                                awaited = None;
                                self.begin((seat, transfer), &mut running, &endpoint);
                            }
                            Err(ReceiveError::WrongCode) if self.by_link => break Err(wrong_link()),
                            Err(why) if self.by_link && why.is_enough() => break Err(enough()),
                            Err(why) => self.turned_away(peer, &why),
                        }
                    }
                }
                Some(Ok(Some(begins))) = waiting.join_next() => {
                    awaited = None;
                    self.begin(begins, &mut running, &endpoint);
                }
                Some(Ok(ended)) = running.join_next() => {
                    let ended = self.ended(ended, &mut awaited);
                    if self.once && let Some(ended) = ended {
                        break ended;
                    }
                }
                failure = AwaitedSender::late(&mut awaited) => break Err(failure),
                Some(Ok(failure)) = meeting.join_next() => break Err(failure),
                () = signals.first() => {
                    signals.end_at_next();
                    break self.stopped(awaited, &mut running).await;
                }
            }
        };
        running.shutdown().await;
        greeted.shutdown().await;
        if !meeting.is_empty() {
            meeting.shutdown().await;
            let _ = endpoint.end_visit().await; // It may have ended.
        }
        self.close(endpoint, ended).await
    }

    /// Where senders come to, or the socket of one that comes to its sender.
    async fn bind(
        &self,
        listen: Option<SocketAddr>,
        options: EndpointOptions,
    ) -> Result<Endpoint, Failure> {
        if self.by_link { bind_any(None, options).await } else { listening(listen, options).await }
    }

    /// Lets senders find us, if they are to; it ends when that is not possible.
    fn meet(&self, endpoint: &Arc<Endpoint>, found: Option<ReceiveMeeting>) -> JoinSet<Failure> {
        let mut meeting = JoinSet::new();
        if let Some(found) = found {
            let (taking, waiting) = (self.taking.clone(), self.questions.turns.clone());
            let (open, silent) = (self.questions.open.clone(), self.silent.clone());
            // A place relays to one caller at a time.
            let busy = move |relayed: bool| {
                let asks = open.count() > 0 || waiting.count() > 0;
                relayed && (taking.count() > silent.count() || asks)
            };
            let callers = CallerNews { busy, done: Arc::clone(&self.done) };
            meeting.spawn(found.listen(Arc::clone(endpoint), self.reporter, callers));
        }
        meeting
    }

    /// Says where it listens, and how others send to it.
    fn say_listening(&self, at: SocketAddr, made: Option<&str>, found: Option<&ReceiveMeeting>) {
        let listening = json!({ "event": "listening", "address": at, "code": made });
        if let Some(ReceiveMeeting::Sender(_)) = found {
            return self.reporter.fact(&listening); // It looks for its sender, and says so.
        }
        let others = found.map_or_else(|| reach::place(at, PORT), ReceiveMeeting::option);
        let sentence =
            format!("listening on UDP {at}\nothers send with: servent send {others} FILE");
        self.reporter.tell(&listening, &sentence);
    }

    /// Starts a transfer.
    fn begin(
        &self,
        (seat, transfer): (SenderSeat, OfferedTransfer),
        running: &mut JoinSet<Result<TakeEnd, Failure>>,
        endpoint: &Arc<Endpoint>,
    ) {
        let (alone, taking) = (running.is_empty(), self.taking.one());
        let take = self.clone().take(transfer, Arc::clone(endpoint), (alone, taking));
        running.spawn(async move {
            let _seat = seat; // Until the transfer is over.
            take.await
        });
    }

    /// No transfer came of a connection.
    fn turned_away(&self, peer: SocketAddr, why: &ReceiveError) {
        self.done.notify_waiters();
        match why {
            ReceiveError::WrongCode | ReceiveError::OneCode | ReceiveError::Guesses => {
                let (why, from) = (why.to_string(), self.sender_at(peer));
                let fact = from.placed("from", json!({ "event": "turned_away", "why": why }));
                let sentence = format!("{from} was turned away, nothing was taken: {why}");
                self.reporter.tell(&fact, &sentence);
            }
            why => {
                let why = why.to_string();
                tracing::info!(why = %Shown(&why), "a peer that is no sender");
            }
        }
    }

    /// One transfer from its offer to its end.
    async fn take(
        self,
        mut transfer: OfferedTransfer,
        endpoint: Arc<Endpoint>,
        (alone, taking): (bool, One),
    ) -> Result<TakeEnd, Failure> {
        let (sender, entries) = (self.sender(&transfer), transfer.entries().to_vec());
        let title = title(&entries, "a stream");
        let inbox = TransferInbox::new(self.place.clone(), Arc::clone(&self.writers));
        let inbox = inbox.limited(self.quota.clone());
        if let Err(why) = inbox.suits(&entries) {
            transfer.refuse(&why).await;
            let what = not_taken(&title, &sender, &format!(": {}", Shown(&why)));
            return Err(Failure::new(Exit::Failed, what));
        }
        let inbox = self.fits(inbox, &transfer, &entries, &title).await?;
        if let Some(gone) = self.agreed(&mut transfer, &entries, &title).await? {
            return Ok(gone);
        }
        let under_way = self.questions.agreed.one();
        let whereabouts = transfer.whereabouts();
        let now = || self.sender_at(whereabouts.now());
        let mut tally = TransferTally::new(&self.reporter, &entries, title.clone(), Box::new(now));
        let sender = now(); // It may have moved while the user was asked.
        self.say_receiving(&title, &sender, &tally);
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let before = endpoint.counters();
        let silence = (transfer.silence(), &self.silent);
        let tell = |fact, sentence: &str| self.reporter.tell(&fact, sentence);
        let how = tokio::select! {
            how = transfer.receive(inbox, |told| tally.told("received", told)) => how,
            never = tell_silence(silence, now, tell) => match never {},
            () = self.questions.withdrawn() => {
                tally.finish();
                transfer.refuse(BY_USER).await;
                let sender = self.sender(&transfer);
                return Err(stopped((&transfer, &sender), &title, tally.bytes()));
            }
        };
        tally.finish();
        let sender = self.sender(&transfer);
        drop((under_way, taking));
        if how.is_ok() {
            // The socket's counters describe this transfer only if no other ran
            // meanwhile.
            let alone = alone && self.begun.load(Ordering::Relaxed) == number;
            let counters = alone.then(|| endpoint.counters().since(&before));
            let words = TransferWords {
                event: "received",
                verb: "received from",
                other: &sender,
                verbose: self.verbose,
            };
            tally.result(words, counters.as_ref());
        }
        transfer.goodbye().await;
        if how.as_ref().is_err_and(ReceiveError::is_unwanted) {
            return Ok(TakeEnd::Whole); // As any tool does whose reader has what it wants.
        }
        if self.by_link && how.as_ref().is_err_and(ReceiveError::is_enough) {
            return Err(enough());
        }
        let Err(why) = how else { return tally.incomplete().map_or(Ok(TakeEnd::Whole), Err) };
        let failure = failed(&why, (&transfer, &sender), &title, tally.bytes());
        match why {
            ReceiveError::Gone(Lost::Replaced) => Ok(TakeEnd::TakenOver(failure)),
            why if self.may_come_again(&why) => Ok(TakeEnd::Gone(failure)),
            _ => Err(failure),
        }
    }

    /// The user has agreed, and the sender begins.
    fn say_receiving(&self, title: &str, sender: &OtherSide, tally: &TransferTally<'_>) {
        let fact = json!({
            "event": "receiving",
            "name": title,
            "files": tally.files(),
            "bytes": tally.bytes(),
        });
        let sentence = format!("receiving {} from {sender}", Shown(title));
        self.reporter.tell(&sender.placed("from", fact), &sentence);
    }

    /// The sender of a transfer, by where it is now.
    fn sender(&self, transfer: &OfferedTransfer) -> OtherSide {
        self.sender_at(transfer.whereabouts().now())
    }

    fn sender_at(&self, at: SocketAddr) -> OtherSide {
        OtherSide::new("the sender", at, self.relay.as_ref())
    }

    /// Refuses what the disk, or the folder by its limit, has no room for.
    async fn fits(
        &self,
        inbox: TransferInbox,
        transfer: &OfferedTransfer,
        entries: &[OfferEntry],
        title: &str,
    ) -> Result<TransferInbox, Failure> {
        let (looked, quota) = (entries.to_vec(), self.quota.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let room = room(&inbox, quota.as_deref(), &looked);
            (inbox, room)
        });
        let (inbox, room) = looking.await.map_err(|e| Failure::new(Exit::Failed, e.to_string()))?;
        let Err(NoRoom { why, next }) = room else { return Ok(inbox) };
        transfer.refuse_full(&why).await;
        let what = not_taken(title, self.sender(transfer), &format!(": {why}"));
        Err(Failure::new(Exit::Disk, what).next(next))
    }
}
