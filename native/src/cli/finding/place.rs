//! A meeting place: what it listens on, and what it says of itself. `servent meet` is one alone;
//! `share` and `room` are one beside what they share, where that is wished.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use serde_json::json;
use servent::TraceFile;
use servent::driver::Handle;
use servent::sys::is_port_in_use;
use servent::unicast::{Config, DoorLimits, Endpoint, EndpointOptions, MEET_PORT};
use servent_core::meet::{self, PlaceCounters};
use servent_core::node::{NodeCommand, OverlayCommand};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::cli::carry::unicast::bind;
use crate::cli::start::address;
use crate::config::Settings;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{Reporter, Voice, bytes, count, decimal};

/// How often a free port is looked for whose next one is free too.
const FREE_PORTS: u32 = 20;
/// How often it says what it does, when there was something.
const REPORT: Duration = Duration::from_secs(60);
/// How long a place beside other things may take to end.
const LEAVE: Duration = Duration::from_secs(2);

/// What a place is like.
#[derive(Debug, Clone)]
pub(crate) struct PlaceOptions {
    /// What the event is called by which a program hears that it listens.
    pub(crate) event: &'static str,
    /// Where it listens, and at the next port; `None`: at the usual ones.
    pub(crate) listen: Option<SocketAddr>,
    /// Bytes a second that it passes on for all meetings together.
    pub(crate) relay: Option<u64>,
    /// Meetings at once.
    pub(crate) meetings: u32,
    /// The most of them that the visitors of one address take part in.
    pub(crate) per_ip: u32,
}

/// A place that runs.
pub(crate) struct RunningPlace {
    place: Endpoint,
    second: Endpoint,
    visitors: JoinSet<()>,
}

impl RunningPlace {
    /// Listens from now on, and says where.
    pub(crate) async fn open(
        options: &PlaceOptions,
        trace: Option<TraceFile>,
        reporter: &Reporter,
    ) -> Result<Self, Failure> {
        let doors = options.bind(trace).await.map_err(|(_, failure)| failure)?;
        options.say_listening(&doors, reporter);
        Ok(Self::run_at(doors))
    }

    fn run_at(MeetDoors { place, second, door }: MeetDoors) -> Self {
        let mut visitors = JoinSet::new();
        visitors.spawn(place.greet_from(&second));
        if let Some(door) = door {
            visitors.spawn(place.open_door(door, DoorLimits::default()));
        }
        Self { place, second, visitors }
    }

    /// Says once a minute what it does, until it ends by itself.
    pub(crate) async fn run(&self, reporter: &Reporter) -> Result<(), Failure> {
        let mut every = tokio::time::interval(REPORT);
        let mut before = PlaceCounters::default();
        loop {
            tokio::select! {
                _ = every.tick() => before = report(&self.place, reporter, before).await?,
                ended = self.place.servent().ended() => return ended.map_err(Failure::from),
            }
        }
    }

    /// Tells all that it ends. `reporter` has what it has done.
    pub(crate) async fn close(mut self, reporter: Option<&Reporter>) -> Result<(), Failure> {
        if let Some(reporter) = reporter {
            report(&self.place, reporter, PlaceCounters::default()).await?;
        }
        self.place.close_place().await?;
        self.visitors.shutdown().await;
        self.second.shutdown().await?;
        self.place.shutdown().await?;
        Ok(())
    }
}

/// A place beside what a servent shares.
pub(crate) struct PlaceBeside {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Refuses a rate that would be without effect: it is for a meeting place, which is named
/// beside it, or in the configuration.
pub(crate) fn check_relay(relay: Option<u64>, settings: &Settings) -> Result<(), Failure> {
    if relay.is_none() || settings.meeting_place.is_some() {
        return Ok(());
    }
    Err(Failure::usage("--relay is for a meeting place, and this is none")
        .next("be one too: --place --relay RATE"))
}

/// An address, or a port of every address: `6349` and `:6349` are the same.
pub(crate) fn place_address(text: &str) -> Result<SocketAddr, String> {
    let every = |port| (Ipv6Addr::UNSPECIFIED, port).into();
    text.parse().map_or_else(|_| address(text), |port: u16| Ok(every(port)))
}

/// The ports of one, before anything is said.
pub(crate) struct PlacePorts {
    options: PlaceOptions,
    doors: MeetDoors,
}

impl PlacePorts {
    /// Takes its ports, if the settings name a place.
    ///
    /// # Errors
    /// Another program has one of them.
    pub(crate) async fn take(settings: &Settings) -> Result<Option<Self>, Failure> {
        let Some(listen) = settings.meeting_place else { return Ok(None) };
        let usual = meet::Config::default();
        let options = PlaceOptions {
            event: "place",
            listen: Some(listen),
            relay: Some(settings.relay).filter(|rate| *rate > 0),
            meetings: usual.meetings,
            per_ip: usual.meetings_per_ip,
        };
        options.check()?;
        let doors = options.bind(None).await.map_err(|(port, failure)| match failure.exit {
            Exit::PortInUse => {
                let what = format!("a port of the meeting place at {port} is in use");
                Failure::new(Exit::PortInUse, what)
                    .next("choose others with --place=ADDRESS, or end what listens there")
            }
            _ => failure,
        })?;
        Ok(Some(Self { options, doors }))
    }
}

impl PlaceBeside {
    /// Opens it. Neighbours in the overlay, and all who ask for the status, hear of it from
    /// then on.
    pub(crate) async fn open(
        PlacePorts { options, doors }: PlacePorts,
        handle: &Handle,
        voice: Voice,
    ) -> Result<Self, Failure> {
        let reporter = Reporter::new(voice, false);
        options.say_listening(&doors, &reporter);
        let place = RunningPlace::run_at(doors);
        let at = place.place.local_addr();
        handle.note_place(at, options.relay, place.place.servent());
        let runs = OverlayCommand::RunsPlace { port: at.port() };
        handle.command(NodeCommand::Overlay(runs)).await?;
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            let ended = tokio::select! {
                ended = place.run(&reporter) => ended,
                _ = ended => Ok(()),
            };
            if let Err(why) = ended.and(place.close(None).await) {
                tracing::warn!(%why, "the meeting place has ended");
            }
        });
        Ok(Self { end, task })
    }

    /// Tells its visitors that it ends.
    pub(crate) async fn close(beside: Option<Self>) {
        let Some(Self { end, task }) = beside else { return };
        drop(end);
        let _ = timeout(LEAVE, task).await; // It ends with us.
    }
}

/// Says what the place has done, if that has changed since `before`.
async fn report(
    place: &Endpoint,
    reporter: &Reporter,
    before: PlaceCounters,
) -> Result<PlaceCounters, Failure> {
    let now = place.servent().meetings().await?.unwrap_or_default();
    if before == now {
        return Ok(now);
    }
    let mut fact = serde_json::to_value(now).unwrap_or_default();
    if let Some(fact) = fact.as_object_mut() {
        fact.insert("event".into(), "meetings".into());
    }
    let mut sentence = format!(
        "{} waiting, {} may be relayed; so far {} introduced, {} passed on",
        now.waiting,
        count(now.relayed, "pair"),
        count(now.introduced, "pair"),
        bytes(now.relayed_bytes)
    );
    if now.unanswered > before.unanswered {
        let unanswered = count(now.unanswered - before.unanswered, "question");
        sentence += &format!("; {unanswered} left unanswered, too many of one network");
    }
    reporter.tell(&fact, &sentence);
    Ok(now)
}

/// What a place listens on.
struct MeetDoors {
    place: Endpoint,
    second: Endpoint,
    /// For those whose network blocks UDP: they can only be relayed.
    door: Option<TcpListener>,
}

impl PlaceOptions {
    fn say_listening(&self, doors: &MeetDoors, reporter: &Reporter) {
        let (at, also) = (doors.place.local_addr(), doors.second.local_addr().port());
        let relay = self.relay;
        let fact = json!({
            "event": self.event, "address": at, "second": also, "relay": relay,
            "door": relay.map(|_| at),
        });
        let usual = at.port() == MEET_PORT;
        let port = if usual { String::new() } else { format!(":{}", at.port()) };
        let relays = match relay {
            Some(rate) => {
                format!("passes on {} a second, over TCP port {} too", decimal(rate), at.port())
            }
            None => "passes on nothing".to_owned(),
        };
        let sentence = format!(
            "meeting place on UDP {at} and port {also}; {relays}\n\
             others meet with: servent receive --via HOST{port}, servent send --via HOST{port} FILE"
        );
        reporter.tell(&fact, &sentence);
    }

    /// Refuses an address to which no second port belongs.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.listen {
            Some(at) if at.port() == u16::MAX => {
                Err(Failure::usage(format!("{at}: a meeting place takes the next port, too"))
                    .next("choose a lower one: --listen takes ports up to 65534"))
            }
            _ => Ok(()),
        }
    }

    /// Binds both ports, and the door. The error is of the port that is named.
    async fn bind(&self, trace: Option<TraceFile>) -> Result<MeetDoors, (String, Failure)> {
        let config = meet::Config {
            place: true,
            relay_rate: self.relay.unwrap_or(0),
            meetings: self.meetings,
            meetings_per_ip: self.per_ip,
            ..meet::Config::default()
        };
        // The meeting place has no peers of its own.
        let unicast = Config { peers: 0, prove: true, ..Config::default() };
        let options =
            EndpointOptions { config: unicast, meet: Some(config), ..EndpointOptions::default() };
        let first = EndpointOptions { trace, ..options.clone() };
        let second =
            EndpointOptions { meet: Some(meet::Config { relay_rate: 0, ..config }), ..options };
        let usual = (Ipv6Addr::UNSPECIFIED, MEET_PORT).into();
        let mut tries = if self.listen.is_some_and(|at| at.port() == 0) { FREE_PORTS } else { 1 };
        loop {
            tries -= 1;
            let wanted = self.listen.unwrap_or(usual);
            let bound = match bind(wanted, first.clone()).await {
                Err(failure) if self.listen.is_none() && failure.exit != Exit::PortInUse => {
                    bind((Ipv4Addr::UNSPECIFIED, MEET_PORT).into(), first.clone()).await
                }
                bound => bound,
            };
            let place = bound.map_err(|failure| (format!("UDP {wanted}"), failure))?;
            let at = place.local_addr();
            let next = SocketAddr::new(at.ip(), at.port().saturating_add(1));
            let second = bind(next, second.clone()).await.map_err(|failure| {
                (format!("UDP {next}, the next one after {},", at.port()), failure)
            });
            let bound = match (second, self.relay) {
                (Ok(second), Some(_)) => {
                    let door = door(at).await.map_err(|failure| (format!("TCP {at}"), failure));
                    door.map(|door| MeetDoors { place, second, door: Some(door) })
                }
                (bound, _) => bound.map(|second| MeetDoors { place, second, door: None }),
            };
            match bound {
                Ok(bound) => return Ok(bound),
                Err(failure) if tries == 0 => return Err(failure),
                Err(_) => {} // Another program has that port; a free one may have two.
            }
        }
    }
}

/// Listens for those whose network blocks UDP.
async fn door(at: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(at).await.map_err(|why| {
        let exit = if is_port_in_use(&why) { Exit::PortInUse } else { Exit::Network };
        Failure::new(exit, format!("cannot listen on TCP {at}: {}", error_text(&why)))
            .next("end what listens there, or choose another port with --listen")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_place_needs_no_colon() {
        for port in ["7000", ":7000", "[::]:7000"] {
            assert_eq!(place_address(port), Ok("[::]:7000".parse().unwrap()));
        }
        for wrong in ["70000", "place", "10.0.0.7", ""] {
            assert!(place_address(wrong).is_err(), "{wrong}");
        }
    }
}
