//! `servent send`: sends files or a stream to `servent receive`, over UDP.

mod attempt;
mod unsent;
mod wait;

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use servent::Rate;
use servent::transfer::{Offer, OfferError, SendFailure, TransferCode, TransferSender, total};
use servent::unicast::{Endpoint, EndpointOptions, MeetNews, MeetingSecret};
use servent_core::text::Shown;
use tokio::time::{Instant, sleep_until};

use self::unsent::{failed, stopped};
use self::wait::{ReceiverWait, SendPatience};
use super::code::{self, CodeArgs};
use super::many::{Giving, PlaceGiving, give, give_at_place};
use super::other_side::OtherSide;
use super::silence::{free_seat, leave_seat};
use super::tally::{TransferTally, TransferWords};
use super::unicast::{BY_USER, Travel, enlarged, paced, title};
use crate::cli::Common;
use crate::cli::amount::{rate, some};
use crate::cli::finding::dial::{bind_for, check_receiver, resolve};
use crate::cli::finding::link::MeetLink;
use crate::cli::finding::near;
use crate::cli::finding::via::{
    FoundPeer, NotMet, ViaArgs, ViaPlace, bind_any, check_files, leave, source_for, split,
};
use crate::cli::start::{address, runtime};
use crate::config::units;
use crate::exit::{Exit, Failure};
use crate::progress::{Reporter, Voice, bytes, length};
use crate::signal::Signals;

/// Send files, folders or standard input to `servent receive`, over UDP.
///
/// Datagrams may be lost, doubled or overtaken: they are numbered,
/// acknowledged and repaired. It ends well only when the receiver has said
/// that it has the same bytes. When the receiver is started again, with the same
/// code, it goes on; sent again after either side has died, only what is missing travels.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent send 10.0.0.7 song.ogg            to the usual port, 6348
  servent send 10.0.0.7 docs/ photos/ a.txt
                                            folders with all that is in them
  tar c docs | servent send 10.0.0.7:7000   whatever comes from a pipe
  servent send --wait 10.0.0.7 song.ogg     once a receiver is there
  servent send --to 3 film.mkv photos/      to three that run: servent receive --from HOST
  servent send --to 3 --via place.example.org film.mkv
                                            the same behind a router: shows a link for them
  servent send --via place.example.org song.ogg
                                            to a receiver behind a router
  servent send song.ogg                     to one in this network, by the code alone
  SERVENT_CODE=ocean-pepper-violin servent send 10.0.0.7 song.ogg
                                            without a question
  servent send 127.0.0.1 big --open --loss 5%
                                            lose 5 % on purpose and see it repaired
  servent send 127.0.0.1 big --open --loss 5% --profile unicast3
                                            the same with the design's fixed timing
  servent send 10.0.0.7 song.ogg --trace t.sqlog
                                            record it; `servent replay t.sqlog`")]
pub(crate) struct SendArgs {
    /// Where `servent receive` listens; left out with --to, --via and --lan, and for a file to
    /// a receiver of the local network.
    #[arg(value_name = "HOST[:PORT]", required_unless_present_any = ["to", "via", "meet", "lan"])]
    host: Option<String>,
    /// What to send; `-` or nothing is standard input.
    #[arg(value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// Send to so many receivers, who run `servent receive --from` this machine
    /// and pass on to each other what they have. Here the code is shown; with --via a
    /// link, for receivers that cannot reach this machine: each gets all of it from here.
    #[arg(long, value_name = "N", value_parser = some::<u32>,
          conflicts_with_all = ["lan", "map_port"])]
    to: Option<u32>,
    /// Send from this address and port; with --to, where the receivers come to, over
    /// UDP and TCP: usually [::]:6348.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Bytes a second that all of it may take from this machine, such as 500k or 2M.
    /// With --to receivers pass on to each other as fast as they can.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit_rate: Option<u64>,
    /// Wait until the receiver is there, at most this long, such as 10m; without a
    /// time for as long as it takes. A receiver that is gone may come again within
    /// this time, otherwise within a minute.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = time,
          conflicts_with = "to")]
    wait: Option<Option<Duration>>,
    /// The code that the receiver shows; better asked for than written here.
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["open", "code_file"])]
    code: Option<String>,
    #[command(flatten)]
    given: CodeArgs,
    #[command(flatten)]
    via: ViaArgs,
    #[command(flatten)]
    travel: Travel,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

impl SendArgs {
    /// True where a file stands in the place of the receiver: it is found in the local network,
    /// by the code alone (PA-14).
    fn names_no_receiver(&self) -> bool {
        let is_path = |host: &String| {
            let path = Path::new(host);
            path.is_file() || (host.contains('/') && path.is_dir())
        };
        !self.given.open && self.host.as_ref().is_some_and(is_path)
    }
}

pub(crate) fn run(common: &Common, arguments: &SendArgs) -> Result<(), Failure> {
    let options = arguments.travel.options(common)?;
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), false);
    if let Some(receivers) = arguments.to {
        return to_several(common, arguments, receivers, options, &reporter);
    }
    let via = arguments.via.name(common)?;
    let lan = arguments.via.lan || (via.is_none() && arguments.names_no_receiver());
    // Without a name of the receiver, what stands in its place is a file.
    let host = arguments.host.as_ref().filter(|_| via.is_some() || lan);
    let files: Vec<PathBuf> =
        host.map(PathBuf::from).into_iter().chain(arguments.files.iter().cloned()).collect();
    match (host, &arguments.host) {
        (Some(_), _) => check_files(&files, via.as_deref())?,
        (None, Some(receiver)) if files.is_empty() => check_receiver(receiver)?,
        _ => {}
    }
    let offer = offer(&files, &reporter)?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let question = "the code that the receiver shows:";
        let code = {
            let open = via.is_none() && !lan;
            arguments.given.or_asked(arguments.code.as_deref(), (question, open)).await?
        };
        let mut near = None;
        let (via, code) = match (via, code) {
            (Some(via), Some(code)) => {
                let (secret, code) = split(&code)?;
                (Some(arguments.via.place(common, &via, secret).await?), Some(code))
            }
            (_, Some(code)) if lan => {
                let (secret, code) = near::split(&code)?;
                near = Some(secret);
                (None, Some(code))
            }
            (_, code) => (None, code),
        };
        let sending = RunningSend {
            to: arguments.host.as_deref().unwrap_or_default(), // It is required.
            via,
            near,
            from: arguments.listen,
            offer: &offer,
            code: code.as_ref(),
            options: paced(options, arguments.limit_rate),
            rate: arguments.limit_rate.map(Rate::new),
            patience: SendPatience::new(arguments.wait),
            reporter: &reporter,
            verbose: common.verbose > 0,
            spare: Cell::new(None),
            said_near: Cell::new(false),
            announced: Cell::new(false),
        };
        let done = sending.to_its_end().await;
        leave_seat(sending.spare.take()).await;
        if let Some(via) = &sending.via {
            via.port().give_back().await;
        }
        done
    });
    runtime.shutdown_background(); // A read of standard input may never return.
    done
}

/// A time as people write it.
fn time(text: &str) -> Result<Duration, String> {
    let micros = units::parse(text).map(Duration::from_micros);
    micros.ok_or_else(|| format!("`{text}` is no time such as 30s, 10m or 2h"))
}

/// With `--to` what would be the receiver's name is a file too.
fn to_several(
    common: &Common,
    arguments: &SendArgs,
    receivers: u32,
    options: EndpointOptions,
    reporter: &Reporter,
) -> Result<(), Failure> {
    let settings = common.builder()?.finish()?.settings;
    let files: Vec<PathBuf> =
        arguments.host.iter().map(PathBuf::from).chain(arguments.files.iter().cloned()).collect();
    if files.iter().all(is_input) {
        let why = "standard input has no known length, and receivers share a file by its pieces";
        return Err(Failure::usage(why).next("put it into a file first: servent send --to N FILE"));
    }
    let offer = offer(&files, reporter)?;
    let given = arguments.given.code(arguments.code.as_deref())?;
    if let Some(place) = arguments.via.name(common)? {
        if arguments.listen.is_some() {
            let why = "with --to and --via each receiver has a socket of its own";
            return Err(Failure::usage(why).next("leave --listen out"));
        }
        let code = given.map_or_else(code::random_to_meet, Ok)?;
        let (link, rate) = (MeetLink { place, code }, arguments.limit_rate);
        let giving = PlaceGiving { offer, receivers, link, rate, reporter };
        let runtime = runtime()?;
        let done = runtime.block_on(give_at_place(giving, paced(options, rate)));
        runtime.shutdown_background();
        return done;
    }
    let made = given.is_none() && !arguments.given.open;
    let code = if made { Some(code::random()?) } else { given };
    let listen = arguments.listen;
    let rate = arguments.limit_rate;
    let giving =
        Giving { offer, receivers, listen, rate, code, made, settings: &settings, reporter };
    let runtime = runtime()?;
    let done = runtime.block_on(give(giving, options));
    runtime.shutdown_background();
    done
}

/// True for what stands for standard input.
fn is_input(file: impl AsRef<Path>) -> bool {
    file.as_ref() == Path::new("-")
}

/// What is to be sent.
fn offer(files: &[PathBuf], reporter: &Reporter) -> Result<Offer, Failure> {
    if files.iter().all(is_input) {
        return Ok(Offer::input());
    }
    if files.iter().any(is_input) {
        return Err(Failure::usage("standard input goes alone, without files beside it"));
    }
    let offer = Offer::from_paths(files).map_err(|why| match why {
        OfferError::Read { path, why } => Failure::file("read", &path, &why),
        other => Failure::new(Exit::Disk, other.to_string())
            .next("send an archive: tar c FOLDER | servent send HOST"),
    })?;
    for (path, why) in offer.skipped() {
        let path = path.display().to_string();
        let fact = json!({ "event": "skipped", "name": path, "why": why });
        reporter.tell(&fact, &format!("{} is not sent: {why}", Shown(&path)));
    }
    Ok(offer)
}

/// How long after its time is over a search may take to say why it found none.
const SAYS_WHY: Duration = Duration::from_millis(100);
/// How long it may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(400);
/// How long it is tried again before something else is done.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The same at a meeting place, which tells the receiver after a second that we have left:
/// the receiver has its seat again by then.
const AGAIN_AT_PLACE: Duration = Duration::from_millis(1_500);
/// Something that is being sent to one receiver.
struct RunningSend<'a> {
    to: &'a str,
    /// Through which place it is found instead.
    via: Option<ViaPlace>,
    /// As which it is found in the local network instead.
    near: Option<MeetingSecret>,
    /// Where it is sent from; `None`: any port.
    from: Option<SocketAddr>,
    offer: &'a Offer,
    code: Option<&'a TransferCode>,
    options: EndpointOptions,
    rate: Option<Rate>,
    patience: SendPatience,
    reporter: &'a Reporter,
    verbose: bool,
    /// The socket of a search that found nothing, for the next one: so what all searches
    /// spend on knocks is bounded.
    spare: Cell<Option<Endpoint>>,
    /// It was said that the receiver is looked for in the local network.
    said_near: Cell<bool>,
    /// It was said what is sent, and where to: while the receiver is away attempts are made
    /// every few seconds.
    announced: Cell<bool>,
}

/// A receiver that was found.
struct ReachedReceiver {
    /// The socket for it.
    endpoint: Endpoint,
    /// What it is called there, and where it is.
    peer: SocketAddr,
    at: SocketAddr,
    /// What happens to the meeting.
    news: Option<MeetNews>,
}

/// Why an attempt ended before all was sent.
enum SendTrouble {
    /// The receiver is not there, or is gone; it was there before or not.
    Away(Failure, bool),
    /// The receiver is at the meeting place, and no path leads to it.
    Pathless(Failure),
    /// The receiver was silent, and was found again at the meeting place.
    Again(Box<ReachedReceiver>),
    /// The receiver was met once more, and is to be sought from another socket.
    Anew,
    /// It is over.
    Final(Failure),
}

impl From<Failure> for SendTrouble {
    fn from(failure: Failure) -> Self {
        Self::Final(failure)
    }
}

impl RunningSend<'_> {
    /// Tries until it is there, or is not to be any more.
    async fn to_its_end(&self) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        let title = title(self.offer.entries(), "standard input");
        let (mut wait, mut found) = (ReceiverWait::new(Instant::now(), self.patience), None);
        loop {
            let attempt = self.once(&title, found.take(), (wait.until(), &mut signals));
            let trouble = match attempt.await {
                Ok(()) => return Ok(()),
                Err(SendTrouble::Final(failure)) => return Err(failure),
                Err(SendTrouble::Again(again)) => {
                    found = Some(*again);
                    wait.came();
                    continue;
                }
                Err(SendTrouble::Anew) => {
                    wait.came();
                    continue;
                }
                Err(SendTrouble::Pathless(failure)) => {
                    wait.no_path();
                    failure
                }
                Err(SendTrouble::Away(failure, there)) if there && !self.repeatable() => {
                    return Err(failure);
                }
                Err(SendTrouble::Away(failure, there)) => {
                    if there {
                        wait.came();
                    }
                    failure
                }
            };
            let missed = (Instant::now(), trouble);
            let pathless = wait.has_no_path();
            wait.missed(missed, |why, most| self.say_waiting((why, pathless), most))?;
            let pause = if self.via.is_some() { AGAIN_AT_PLACE } else { AGAIN_AFTER };
            let (next, over) = wait.next(Instant::now(), pause);
            tokio::select! {
                () = sleep_until(next) => {}
                () = signals.first() => return Err(stopped(&title, self.repeatable())),
            }
            if over {
                return wait.over();
            }
        }
    }

    /// True for what can be read a second time.
    fn repeatable(&self) -> bool {
        self.offer.entries().iter().all(|entry| entry.length.is_some())
    }

    fn say_waiting(&self, (trouble, pathless): (&Failure, bool), most: Option<Duration>) {
        let most = most.map_or_else(String::new, |most| {
            format!(", at most {}", length(most.as_secs().max(1)))
        });
        let fact = json!({ "event": "waiting", "why": trouble.what });
        let what = if pathless { trouble.to_string() } else { trouble.what.clone() };
        // One that is started again without a word makes a new code.
        let code = if self.code.is_some() { " with the same code" } else { "" };
        self.reporter.tell(
            &fact,
            &format!("{what}\nwaiting for the receiver{code}{most}; Ctrl-C ends that"),
        );
    }

    /// One attempt, with a receiver that is to be found first, or was found.
    async fn once(
        &self,
        title: &str,
        found: Option<ReachedReceiver>,
        (until, signals): (Option<Instant>, &mut Signals),
    ) -> Result<(), SendTrouble> {
        let found = match found {
            Some(found) => found,
            None => self.reach(title, (until, signals)).await?,
        };
        let ReachedReceiver { endpoint, peer, at, news } = found;
        let connection =
            endpoint.connect_met(peer).map_err(|e| Failure::new(Exit::Network, e.to_string()))?;
        let sender = TransferSender::over(connection).limited(self.rate.clone());
        let whereabouts = sender.whereabouts();
        let relay = self.via.as_ref().map(ViaPlace::relay);
        let now = || OtherSide::met("the receiver", (&whereabouts, at), relay.as_ref());
        let entries = self.offer.entries();
        let mut tally = TransferTally::new(self.reporter, entries, title.to_owned(), Box::new(now));
        let said = (title, endpoint.local_addr());
        let outcome = self.attempt((&sender, news), &mut tally, said, (until, signals)).await;
        tally.finish();
        if let Err(trouble) = outcome {
            if matches!(trouble, SendTrouble::Again(_) | SendTrouble::Anew) {
                sender.give_up();
            }
            if self.via.is_some() {
                leave(endpoint, GOODBYE).await; // The other side is told by the place.
            } else if matches!(trouble, SendTrouble::Final(_)) {
                // What it is told last leaves with the socket; it may be gone.
                let _ = endpoint.shutdown_within(GOODBYE).await;
            }
            return Err(trouble);
        }
        let receiver = self.receiver(sender.whereabouts().now());
        let words = TransferWords {
            event: "sent",
            verb: "sent to",
            other: &receiver,
            verbose: self.verbose,
        };
        tally.result(words, Some(&endpoint.counters()));
        let ended = if self.via.is_some() {
            endpoint.end_visit().await.map_err(Failure::from)?;
            endpoint.shutdown_within(AGAIN_AFTER).await // The receiver may have ended.
        } else {
            endpoint.shutdown().await
        };
        ended.map_err(Failure::from)?;
        tally.incomplete().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Options of a socket for a receiver that is found at a meeting place.
    fn options_via(&self) -> EndpointOptions {
        let elsewhere = (Ipv4Addr::UNSPECIFIED, 0).into(); // Not on this machine.
        enlarged(self.options.clone(), elsewhere)
    }

    /// Finds the receiver, and binds a socket for it.
    async fn reach(
        &self,
        title: &str,
        (until, signals): (Option<Instant>, &mut Signals),
    ) -> Result<ReachedReceiver, SendTrouble> {
        let Some(via) = &self.via else {
            let peer = tokio::select! {
                peer = self.find() => peer?,
                () = is_late(until) => return Err(Self::late()),
                () = signals.first() => return Err(stopped(title, self.repeatable()).into()),
            };
            let options = enlarged(self.options.clone(), peer);
            let endpoint = bind_for(peer, self.from, options).await?;
            return Ok(ReachedReceiver { endpoint, peer, at: peer, news: None });
        };
        let at_port = |spare: &Endpoint| {
            self.from.is_none_or(|from| from.port() == spare.local_addr().port())
        };
        let endpoint = match self.spare.take().filter(at_port) {
            Some(spare) => spare,
            None => bind_any(self.from, self.options_via()).await?,
        };
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let patience = left.or(self.patience.to_come);
        let found = tokio::select! {
            found = via.call(&endpoint, patience, self.reporter) => {
                found.map_err(|NotMet { failure, pathless }| match pathless {
                    true => SendTrouble::Pathless(failure),
                    false => SendTrouble::Away(failure, false),
                })
            }
            () = is_late(until) => Err(Self::late()),
            () = signals.first() => Err(stopped(title, self.repeatable()).into()),
        };
        match found {
            Ok(FoundPeer { peer, at, news, .. }) => {
                Ok(ReachedReceiver { endpoint, peer, at, news: Some(news) })
            }
            Err(trouble) => {
                let mut seat = Some(endpoint);
                free_seat(&mut seat).await;
                self.spare.set(seat);
                Err(trouble)
            }
        }
    }

    /// The receiver was not found in time.
    fn late() -> SendTrouble {
        let what = "no receiver was found in the time that was given";
        let next = "start `servent receive` there, or wait longer for it: --wait";
        SendTrouble::Away(Failure::new(Exit::Network, what).next(next), false)
    }

    /// The address of a receiver that no meeting place is needed for.
    async fn find(&self) -> Result<SocketAddr, SendTrouble> {
        match self.near {
            Some(secret) => {
                if !self.said_near.replace(true) {
                    let why = "it is looked for in the local network";
                    let fact = json!({ "event": "waiting", "why": why });
                    let sentence = "looking for the receiver with this code in the local network";
                    self.reporter.tell(&fact, sentence);
                }
                near::find(secret).await.map_err(|why| SendTrouble::Away(why, false))
            }
            None => Ok(resolve(self.to, &self.options).await?),
        }
    }

    /// The receiver, by where it is now.
    fn receiver(&self, at: SocketAddr) -> OtherSide {
        let relay = self.via.as_ref().map(ViaPlace::relay);
        OtherSide::new("the receiver", at, relay.as_ref())
    }

    /// The receiver has not answered the offer.
    fn say_offered(&self, title: &str) {
        if self.announced.get() {
            return;
        }
        let fact = json!({ "event": "offered", "name": title });
        let sentence = format!(
            "the receiver has the offer of {}, and has not answered yet",
            self.sized(title)
        );
        self.reporter.tell(&fact, &sentence);
    }

    /// What is sent, and how much it is.
    fn sized(&self, title: &str) -> String {
        let (_, size) = total(self.offer.entries());
        let size = size.map_or_else(String::new, |size| format!(", {}", bytes(size)));
        format!("{}{size}", Shown(title))
    }

    /// The receiver takes it.
    fn announce(
        &self,
        (title, receiver): (&str, &OtherSide),
        tally: &TransferTally<'_>,
        from: SocketAddr,
    ) {
        if self.announced.replace(true) {
            return;
        }
        let fact = receiver.placed(
            "to",
            json!({
                "event": "sending",
                "name": title,
                "files": tally.files(),
                "from": receiver.address().and_then(|to| source_for(to, from)),
                "bytes": tally.bytes(),
            }),
        );
        self.reporter.tell(&fact, &format!("sending {} to {receiver}", self.sized(title)));
    }

    fn trouble(
        &self,
        why: SendFailure,
        length: Option<u64>,
        sender: &TransferSender,
    ) -> SendTrouble {
        let there = sender.progress().acknowledged > 0;
        let away = match &why {
            SendFailure::Unanswered | SendFailure::Closed | SendFailure::Gone { .. } => true,
            // Its user may start it again; a sender that is not to wait is answered.
            SendFailure::Refused { begun: true, why } => self.patience.asked && why == BY_USER,
            _ => false,
        };
        let failure = failed(why, &self.receiver(sender.whereabouts().now()), length, sender);
        if away { SendTrouble::Away(failure, there) } else { SendTrouble::Final(failure) }
    }
}

/// Waits until a receiver should be there; a moment longer, as what seeks it says itself why
/// it is not.
async fn is_late(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until + SAYS_WHY).await,
        None => std::future::pending().await,
    }
}
