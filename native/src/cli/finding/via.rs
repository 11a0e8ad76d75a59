//! Finding the other side through a meeting place, for two who cannot reach each
//! other (`--via`).

mod listen;
mod network;
mod turns;
mod visitor;
mod waiting;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use servent::driver::{has_port, host_and_port};
use servent::transfer::TransferCode;
use servent::unicast::{Endpoint, EndpointOptions, MEET_PORT, MeetNews, MeetingSecret};
use servent::{resolve_host, without_brackets};
use servent_core::meet::{self, MeetFailure, MeetRefusal, MeetSide, NatMapping};
use servent_core::node::MeetAnswer;
use tokio::time::{Instant, sleep, sleep_until};

pub(crate) use self::listen::CallerNews;
pub(crate) use self::network::source_for;
use self::visitor::PlaceVisitor;
pub(crate) use self::visitor::StrangerLines;
use self::waiting::WaitingSide;
pub(crate) use self::waiting::{enough, waiting_for_it};
use super::dial::check_host;
use super::map_port::VisitPort;
use super::no_path::no_path;
use crate::cli::Common;
use crate::cli::carry::other_side::RelayPlace;
use crate::cli::carry::unicast::bind;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::Reporter;

/// How long the other side may take to come that is not there yet, unless asked to wait
/// longer: a receiver whose sender has died comes when it has noticed that.
const ABSENT: Duration = Duration::from_secs(10);
/// How often a caller asks whether its turn has come: each so often, and some up to twice as
/// seldom, so that many do not ask at one instant.
const TURN: Duration = Duration::from_millis(400);
/// The pause before a listener looks for its place again that was refused.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Through which meeting place.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the meeting place")]
pub(crate) struct ViaArgs {
    /// Find the other side through the meeting place there (`servent meet`): each
    /// may be behind a router. Say the same on both sides.
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["meet", "open"])]
    via: Option<String>,
    /// The same, through the place that the setting `via` names.
    #[arg(long, conflicts_with = "open")]
    meet: bool,
    /// Find the other side in the local network, by the code alone. Say the same on both
    /// sides.
    #[arg(long, conflicts_with_all = ["via", "meet", "open"])]
    pub(crate) lan: bool,
    /// Ask the router to forward a port to us (UPnP, NAT-PMP or PCP): the other side
    /// gets through then, whatever its own router does. It is given back at the end.
    #[arg(long, conflicts_with_all = ["lan", "open"])]
    map_port: bool,
}

impl ViaArgs {
    /// The name of the place, if there is to be one.
    pub(crate) fn name(&self, common: &Common) -> Result<Option<String>, Failure> {
        if !self.meet {
            if self.map_port && self.via.is_none() {
                return Err(Failure::usage("--map-port is for two who meet")
                    .next("name a meeting place: --via HOST"));
            }
            if let Some(via) = &self.via {
                check_place(via)?;
            }
            return Ok(self.via.clone());
        }
        match common.builder()?.finish()?.settings.via {
            Some(via) => check_place(&via).map(|()| Some(via)),
            None => Err(Failure::usage("--meet needs the setting `via`, and there is none")
                .next("name the place with --via HOST, or in the configuration: via = \"HOST\"")),
        }
    }

    /// A place of that name, and the port of the router if that is wished.
    pub(crate) async fn place(
        &self,
        common: &Common,
        name: &str,
        secret: MeetingSecret,
    ) -> Result<ViaPlace, Failure> {
        let place = ViaPlace::find(name, secret).await?;
        let settings = common.builder()?.finish()?.settings;
        let lease = (self.map_port || settings.map_port).then_some(settings.map_port_for);
        Ok(ViaPlace { port: VisitPort::new(lease), ..place })
    }
}

/// A place, and a meeting there.
#[derive(Debug, Clone)]
pub(crate) struct ViaPlace {
    /// As the user typed it.
    name: String,
    at: Vec<SocketAddr>,
    secret: MeetingSecret,
    /// What waits there for callers.
    waiting: WaitingSide,
    /// What the router forwards to the socket that visits it.
    port: VisitPort,
    /// Which of the visitors of a servent it is, where there are several at a time.
    visitor: Option<PlaceVisitor>,
    /// What is said of those that do not show the code.
    strangers: StrangerLines,
    known: Arc<KnownOfPlace>,
}

/// What is known of a place, and was said of it.
#[derive(Debug, Default)]
struct KnownOfPlace {
    /// It has answered.
    answers: AtomicBool,
    /// We want no more callers.
    finished: AtomicBool,
    /// It was said that the other side is not there, and that another has its turn.
    said_absent: AtomicBool,
    said_turn: AtomicBool,
}

/// The other side, found.
pub(crate) struct FoundPeer {
    /// What it is called on this endpoint.
    pub(crate) peer: SocketAddr,
    /// Where its datagrams go at first.
    pub(crate) at: SocketAddr,
    /// Its datagrams pass through the place, at least at first.
    pub(crate) relayed: bool,
    pub(crate) news: MeetNews,
}

/// Why the other side was not found.
pub(crate) struct NotMet {
    pub(crate) failure: Failure,
    /// It is there, and no path leads to it.
    pub(crate) pathless: bool,
}

impl From<Failure> for NotMet {
    fn from(failure: Failure) -> Self {
        Self { failure, pathless: false }
    }
}

impl From<NotMet> for Failure {
    fn from(NotMet { failure, .. }: NotMet) -> Self {
        failure
    }
}

/// What a visit is waiting for.
enum MeetStep {
    /// The place has given us our seat, and the other side is not there.
    Waits,
    /// The other side has come, and is not found yet; in a visit that is for one only. The
    /// place sees it there.
    Introduced {
        seen: SocketAddr,
    },
    /// The other side is found.
    Met {
        peer: SocketAddr,
        at: SocketAddr,
        relayed: bool,
    },
    Failed(MeetFailure),
}

/// What becomes of a path that leads through a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathFound {
    /// There is a direct one.
    Direct,
    /// There is no other.
    Relayed,
    /// The other side has left, or the place ends.
    Left,
    /// Another side was met, or the same one again.
    Again { relayed: bool },
}

/// The part of a code that is for the meeting, and the one for the transfer.
/// It takes a tenth of a second: a place must not try all words.
pub(crate) fn split(code: &TransferCode) -> Result<(MeetingSecret, TransferCode), Failure> {
    check_code(code).map(|(meeting, rest)| (MeetingSecret::from_words(&meeting), rest))
}

/// The words of a code for the meeting, and those for the transfer.
pub(crate) fn check_code(code: &TransferCode) -> Result<(String, TransferCode), Failure> {
    code.to_meet().ok_or_else(|| {
        Failure::usage("this code is too short for a meeting place").next(
            "two of its words are for the place, and the others have 8 letters at least: \
             take the five words that the receiver shows",
        )
    })
}

/// Refuses what can be the name of no place. Nothing is asked for, or made ready, before.
pub(crate) fn check_place(name: &str) -> Result<(), Failure> {
    check_host(name, "meeting place")
}

/// The addresses of a place.
pub(crate) async fn addresses(name: &str) -> Result<Vec<SocketAddr>, Failure> {
    let (host, port) = match name.parse::<Ipv6Addr>() {
        Ok(_) => (name, MEET_PORT),
        Err(_) => host_and_port(name, MEET_PORT),
    };
    resolve_host(host, port).await.map_err(|e| {
        Failure::new(Exit::Network, format!("cannot find {name}: {}", error_text(&e)))
            .next("check the name of the meeting place and the network")
    })
}

/// Options of an endpoint that meets others.
pub(crate) fn meeting(options: EndpointOptions) -> EndpointOptions {
    EndpointOptions { only: None, meet: Some(meet::Config::default()), ..options }
}

/// Binds any port of both families, or of IPv4 where there is no other.
pub(crate) async fn bind_any(
    from: Option<SocketAddr>,
    options: EndpointOptions,
) -> Result<Endpoint, Failure> {
    let options = meeting(options);
    if let Some(at) = from {
        return bind(at, options).await;
    }
    match bind((Ipv6Addr::UNSPECIFIED, 0).into(), options.clone()).await {
        Err(_) => bind((Ipv4Addr::UNSPECIFIED, 0).into(), options).await,
        bound => bound,
    }
}

/// Ends a visit, and the socket that it was for. Either may have ended.
pub(crate) async fn leave(endpoint: Endpoint, limit: Duration) {
    let _ = endpoint.end_visit().await;
    let _ = endpoint.shutdown_within(limit).await;
}

impl ViaPlace {
    pub(crate) async fn find(name: &str, secret: MeetingSecret) -> Result<Self, Failure> {
        let at = addresses(name).await?;
        let (name, waiting, port) = (name.to_owned(), WaitingSide::Receiver, VisitPort::default());
        let ((known, strangers), visitor) = (Default::default(), None);
        Ok(Self { name, at, secret, waiting, port, visitor, strangers, known })
    }

    /// The same for a servent to which several callers come, and for these: each visit is for
    /// one meeting.
    pub(crate) fn of_servent(self) -> Self {
        Self { waiting: WaitingSide::Servent, ..self }
    }

    /// The same for a sender to which several receivers come, and for these.
    pub(crate) fn of_sender(self) -> Self {
        Self { waiting: WaitingSide::Sender, ..self }
    }

    /// The place as one that may relay.
    pub(crate) fn relay(&self) -> RelayPlace {
        RelayPlace::new(&self.name, &self.at)
    }

    /// What the router forwards for it.
    pub(crate) const fn port(&self) -> &VisitPort {
        &self.port
    }

    /// True when it has answered at least once.
    pub(crate) fn answers(&self) -> bool {
        self.known.answers.load(Ordering::Relaxed)
    }

    /// All that were wanted have come: callers that come later are told so.
    pub(crate) fn finish(&self) {
        self.known.finished.store(true, Ordering::Relaxed);
    }

    /// Leaves the seat that this endpoint has, and ends it.
    pub(crate) async fn leave_seat(&self, endpoint: Endpoint, limit: Duration) {
        if self.known.finished.load(Ordering::Relaxed) {
            let _ = endpoint.finish_visit().await; // It may have ended.
        }
        leave(endpoint, limit).await;
    }

    /// Its name as the user typed it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Finds the listener, for a caller. `patience`: how long the listener may take
    /// to come, or where callers come in turn, the turn; `None`: as long as it takes.
    pub(crate) async fn call(
        &self,
        endpoint: &Endpoint,
        patience: Option<Duration>,
        reporter: &Reporter,
    ) -> Result<FoundPeer, NotMet> {
        let mut news = self.visit(endpoint, MeetSide::Caller, reporter).await?;
        let waited = patience.is_some_and(|patience| !patience.is_zero());
        let patience = patience.map(|patience| if waited { patience } else { ABSENT });
        let until = patience.map(|patience| Instant::now() + patience);
        let mut absent_at = None;
        loop {
            let late = async {
                match absent_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let step = tokio::select! {
                step = self.step(&mut news, reporter) => step,
                () = late => return Err(self.absent(waited).into()),
            };
            match step {
                None => return Err(Failure::new(Exit::Failed, "the endpoint has ended").into()),
                Some(MeetStep::Waits) => {
                    // When the seats are free, its listener takes its own at once.
                    let soon = || Instant::now() + self.waiting.soon();
                    absent_at =
                        absent_at.or_else(|| if self.in_turn() { Some(soon()) } else { until });
                    self.say_absent(reporter);
                }
                Some(MeetStep::Met { peer, at, relayed }) => {
                    self.known.said_absent.store(false, Ordering::Relaxed);
                    self.known.said_turn.store(false, Ordering::Relaxed);
                    return Ok(FoundPeer { peer, at, relayed, news });
                }
                Some(MeetStep::Failed(why)) if self.is_taken(why, until) => {
                    absent_at = None;
                    self.say_turn(reporter);
                    let more = u64::from(endpoint.local_addr().port()) % 400;
                    sleep(TURN + Duration::from_millis(more)).await;
                    news = self.visit(endpoint, MeetSide::Caller, reporter).await?;
                }
                Some(MeetStep::Failed(why)) => {
                    let pathless = matches!(why, MeetFailure::Unreachable { .. });
                    return Err(NotMet { failure: self.failed(MeetSide::Caller, why), pathless });
                }
                Some(MeetStep::Introduced { .. }) => {}
            }
        }
    }

    /// Says that another caller is before us, once until our turn has come. It may be served,
    /// or wait as we do: the place does not say.
    fn say_turn(&self, reporter: &Reporter) {
        if self.known.said_turn.swap(true, Ordering::Relaxed) {
            return;
        }
        let fact = json!({ "event": "waiting", "why": "another visitor is before us" });
        let place = &self.name;
        let sentence = format!(
            "another visitor is before us at the meeting place {place}; waiting for our turn"
        );
        reporter.tell(&fact, &sentence);
    }

    /// Says that the other side is not there, once until it was.
    fn say_absent(&self, reporter: &Reporter) {
        if self.known.said_absent.swap(true, Ordering::Relaxed) {
            return;
        }
        let (listener, place) = (self.listener(), &self.name);
        let fact = json!({ "event": "waiting", "why": format!("the {listener} is not there yet") });
        reporter.tell(&fact, &format!("waiting at the meeting place {place} for the {listener}"));
    }

    /// True when another caller has its turn, and there is time left for ours.
    fn is_taken(&self, why: MeetFailure, until: Option<Instant>) -> bool {
        let taken = MeetFailure::Refused { refusal: MeetRefusal::Taken };
        self.in_turn() && why == taken && until.is_none_or(|until| Instant::now() < until)
    }

    /// The next step of a visit; `None` when the endpoint has ended. Dropping the future
    /// loses nothing.
    async fn step(&self, news: &mut MeetNews, reporter: &Reporter) -> Option<MeetStep> {
        loop {
            let answer = news.next().await?;
            if !matches!(answer, MeetAnswer::Failed { why: MeetFailure::Silent, .. }) {
                self.known.answers.store(true, Ordering::Relaxed);
            }
            match answer {
                MeetAnswer::Waiting { .. } => return Some(MeetStep::Waits),
                MeetAnswer::Introduced { seen, .. } => return Some(MeetStep::Introduced { seen }),
                MeetAnswer::Met { peer, at, relayed, ours, theirs } => {
                    self.met((at, relayed), (ours, theirs), reporter);
                    return Some(MeetStep::Met { peer, at, relayed });
                }
                MeetAnswer::Failed { why, .. } => return Some(MeetStep::Failed(why)),
                MeetAnswer::Located { .. }
                | MeetAnswer::Moved { .. }
                | MeetAnswer::Left { .. }
                | MeetAnswer::Spread { .. }
                | MeetAnswer::Elsewhere { .. } => {}
            }
        }
    }

    /// Notes how the bytes go, and says why (PA-15).
    fn met(
        &self,
        (at, relayed): (SocketAddr, bool),
        (ours, theirs): (NatMapping, NatMapping),
        reporter: &Reporter,
    ) {
        let kind = if relayed { "relayed" } else { "direct" };
        let (peer, place) = if relayed { (None, Some(at)) } else { (Some(at), None) };
        let fact = json!({
            "event": "path", "path": kind, "peer": peer, "relayed": relayed, "place": place,
            "ours": ours, "theirs": theirs,
        });
        let how = if relayed { "through the meeting place at first" } else { "direct" };
        let (ours, theirs) = (router(ours), router(theirs));
        let sentence = format!("{how}: this side is {ours}, the other side is {theirs}");
        self.tell(fact, &sentence, reporter);
    }

    /// Tells when a relayed connection becomes a direct one, or that it stays relayed;
    /// there is nothing more to tell then.
    pub(crate) async fn tell_moves(&self, news: &mut MeetNews, reporter: &Reporter) -> PathFound {
        loop {
            match news.next().await {
                Some(MeetAnswer::Moved { to, .. }) => {
                    let fact = json!({
                        "event": "path", "path": "direct", "peer": to, "relayed": false,
                        "place": null,
                    });
                    self.tell(fact, &format!("direct from now on, to {to}"), reporter);
                    return PathFound::Direct;
                }
                Some(MeetAnswer::Failed { why, relayed: true }) => {
                    let what = unmet("", why).what;
                    let fact = json!({
                        "event": "path", "path": "relayed", "peer": null, "relayed": true,
                        "place": self.at.first(), "why": what,
                    });
                    self.tell(fact, &format!("it stays with the meeting place: {what}"), reporter);
                    return PathFound::Relayed;
                }
                Some(MeetAnswer::Left { .. }) => return PathFound::Left,
                Some(MeetAnswer::Met { at, relayed, ours, theirs, .. }) => {
                    self.met((at, relayed), (ours, theirs), reporter);
                    return PathFound::Again { relayed };
                }
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    async fn visit(
        &self,
        endpoint: &Endpoint,
        side: MeetSide,
        reporter: &Reporter,
    ) -> Result<MeetNews, Failure> {
        self.port.ask(endpoint, *reporter).await;
        let (at, secret) = (self.at.clone(), self.secret);
        let news = if self.in_turn() {
            endpoint.visit_once(at, secret, side).await
        } else {
            endpoint.visit(at, secret, side).await
        };
        news.map_err(Failure::from)
    }
}

/// Why two did not meet, and what would help (PA-15).
pub(crate) fn unmet(name: &str, why: MeetFailure) -> Failure {
    let failure = |what: String| Failure::new(Exit::Network, what);
    match why {
        MeetFailure::Silent => silent(name, &format!("; `servent doctor --via {name}` says more")),
        MeetFailure::Refused { refusal: MeetRefusal::Gone } => {
            failure(format!("the other side has left the meeting at {name}, or is silent"))
                .next("start the other side again, then this one")
        }
        MeetFailure::Refused { refusal: MeetRefusal::Closing } => {
            failure(format!("the meeting place {name} is being shut down"))
                .next("try again when it runs, or use another place")
        }
        MeetFailure::Refused { refusal } => {
            failure(format!("{name} refuses: {refusal}")).next("wait a minute, and try again")
        }
        MeetFailure::Unreachable { ours, theirs } => no_path(ours, theirs),
    }
}

/// A hint when what stands before the files is where a receiver would be: the place
/// finds the receiver.
pub(crate) fn check_files(files: &[PathBuf], via: Option<&str>) -> Result<(), Failure> {
    let [first, ..] = files else { return Ok(()) };
    let named = first.to_string_lossy();
    let (host, _) = host_and_port(&named, MEET_PORT);
    let bare = without_brackets(host);
    let is_host = bare.parse::<IpAddr>().is_ok() || has_port(&named);
    if !is_host || first.exists() {
        return Ok(());
    }
    let how = via.map_or_else(|| "--lan".to_owned(), |via| format!("--via {via}"));
    Err(Failure::usage(format!("with {how} no host is named: it finds the receiver by the code"))
        .next(format!("leave {named} out: servent send {how} FILE; or send to it without {how}")))
}

/// That no place answers, and what would help; `more` is said after it.
pub(crate) fn silent(name: &str, more: &str) -> Failure {
    let what = format!(
        "no meeting place answers at {name}: it does not run there, or this network blocks UDP"
    );
    Failure::new(Exit::Network, what).next(format!(
        "start `servent meet --relay 2M` there, which is reached over TCP too, or use a network \
         that lets UDP out{more}"
    ))
}

/// What stands before one side.
pub(crate) const fn router(mapping: NatMapping) -> &'static str {
    match mapping {
        NatMapping::None => "behind no router that translates addresses",
        NatMapping::Same => "behind a router that keeps its port",
        NatMapping::Varies => "behind a router that gives every destination another port",
        NatMapping::Unknown => "behind a router",
        // Its network blocks UDP, or the place was stopped for a moment.
        NatMapping::Blocked => "answered by the place over TCP and not over UDP",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_for_a_meeting_has_words_for_both() {
        let split = |text: &str| split(&TransferCode::typed(text).unwrap());
        let (_, rest) = split("ocean-pepper-violin-garden-moon").unwrap();
        assert_eq!(rest.to_string(), "violin-garden-moon");
        assert!(split("ocean-pepper-sea").is_err());
    }

    /// A place that was stopped and is back may answer at its door first.
    #[test]
    fn pa_15_what_answers_over_tcp_alone_is_not_said_to_block_udp() {
        let said = router(NatMapping::Blocked);
        assert!(said.contains("over TCP and not over UDP") && !said.contains("block"), "{said}");
    }

    #[test]
    fn pa_15_every_failure_says_why_and_what_would_help() {
        for why in [
            MeetFailure::Silent,
            MeetFailure::Refused { refusal: MeetRefusal::Full },
            MeetFailure::Refused { refusal: MeetRefusal::Gone },
            MeetFailure::Refused { refusal: MeetRefusal::Closing },
            MeetFailure::Unreachable { ours: NatMapping::Varies, theirs: NatMapping::Same },
        ] {
            let failure = unmet("example.org", why);
            assert!(failure.next.is_some(), "{failure}");
        }
        let why = MeetFailure::Unreachable { ours: NatMapping::Varies, theirs: NatMapping::Varies };
        assert!(unmet("", why).to_string().contains("another port"));
    }
}
