//! `servent meet`: a place at which two who cannot reach each other meet.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use servent::sys::is_port_in_use;
use servent::unicast::{Config, DoorLimits, Endpoint, EndpointOptions, MEET_PORT};
use servent_core::meet::{self, PlaceCounters};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::cli::Common;
use crate::cli::amount::rate;
use crate::cli::carry::unicast::bind;
use crate::cli::start::{TraceFlag, address, runtime};
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{Reporter, Voice, bytes, count, decimal};
use crate::signal::Signals;

/// How often a free port is looked for whose next one is free too.
const FREE_PORTS: u32 = 20;
/// How often it says what it does, when there was something.
const REPORT: Duration = Duration::from_secs(60);

/// Be a place at which two people behind routers find each other, over UDP.
///
/// It remembers for a minute who came to which meeting, a name that it cannot turn
/// back into a code's secret words, and tells the two each other's addresses. With
/// --relay it passes on what the two cannot send each other directly, encrypted.
/// It listens on two ports: the second shows visitors what their router does. With
/// --relay it also lets those in over TCP, on the first port's number, whose network
/// blocks UDP.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent meet                              on UDP ports 6349 and 6350
  servent meet --relay 2M                   and pass on 2 MB a second for those who
                                            find no direct path; TCP port 6349 too
  servent receive --via place.example.org -o inbox/
                                            what the receiver says then
  servent send --via place.example.org song.ogg
                                            and the sender
  servent meet --json                       one JSON object a line, for a monitor")]
pub(crate) struct MeetArgs {
    /// Listen here, and on the next port; port 0 takes any free ones. Usually
    /// [::]:6349, IPv4 too.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Pass on so many bytes a second for all meetings together, such as 500k or 2M;
    /// nothing without.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    relay: Option<u64>,
    /// Remember so many meetings at once.
    #[arg(long, value_name = "N", default_value_t = meet::Config::default().meetings,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    meetings: u32,
    /// The most of them that the visitors of one address take part in.
    #[arg(long, value_name = "N", default_value_t = meet::Config::default().meetings_per_ip,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    per_ip: u32,
    #[command(flatten)]
    trace: TraceFlag,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &MeetArgs) -> Result<(), Failure> {
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), false);
    arguments.check()?;
    let mut builder = common.builder()?;
    arguments.trace.put(&mut builder)?;
    let trace = builder.finish()?.settings.trace_file();
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let MeetDoors { place, second, door } = arguments.bind(trace).await?;
        arguments.say_listening(&place, &second, &reporter);
        let mut visitors = JoinSet::new();
        visitors.spawn(place.greet_from(&second));
        if let Some(door) = door {
            visitors.spawn(place.open_door(door, DoorLimits::default()));
        }
        let mut every = tokio::time::interval(REPORT);
        let mut before = PlaceCounters::default();
        loop {
            tokio::select! {
                _ = every.tick() => before = report(&place, &reporter, before).await?,
                ended = place.servent().ended() => return ended.map_err(Failure::from),
                () = signals.first() => break,
            }
        }
        report(&place, &reporter, PlaceCounters::default()).await?;
        place.close_place().await?;
        visitors.shutdown().await;
        second.shutdown().await?;
        place.shutdown().await?;
        Ok(())
    })
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
        "{} waiting, {} relayed; so far {} introduced, {} passed on",
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

impl MeetArgs {
    fn say_listening(&self, place: &Endpoint, second: &Endpoint, reporter: &Reporter) {
        let (at, also) = (place.local_addr(), second.local_addr().port());
        let relay = self.relay;
        let fact = json!({
            "event": "listening", "address": at, "second": also, "relay": relay,
            "door": relay.map(|_| at),
        });
        let relays = match relay {
            Some(rate) => {
                format!("passes on {} a second, over TCP port {} too", decimal(rate), at.port())
            }
            None => "passes on nothing".to_owned(),
        };
        let sentence = format!(
            "meeting place on UDP {at} and port {also}; {relays}\n\
             others meet with: servent receive --via HOST, servent send --via HOST FILE"
        );
        reporter.tell(&fact, &sentence);
    }

    /// Refuses an address to which no second port belongs.
    fn check(&self) -> Result<(), Failure> {
        match self.listen {
            Some(at) if at.port() == u16::MAX => {
                Err(Failure::usage(format!("{at}: a meeting place takes the next port, too"))
                    .next("choose a lower one: --listen takes ports up to 65534"))
            }
            _ => Ok(()),
        }
    }

    /// Binds both ports, and the door.
    async fn bind(&self, trace: Option<servent::TraceFile>) -> Result<MeetDoors, Failure> {
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
            let bound = match bind(self.listen.unwrap_or(usual), first.clone()).await {
                Err(failure) if self.listen.is_none() && failure.exit != Exit::PortInUse => {
                    bind((Ipv4Addr::UNSPECIFIED, MEET_PORT).into(), first.clone()).await
                }
                bound => bound,
            };
            let place = bound?;
            let at = place.local_addr();
            let next = SocketAddr::new(at.ip(), at.port().saturating_add(1));
            let bound = match (bind(next, second.clone()).await, self.relay) {
                (Ok(second), Some(_)) => {
                    door(at).await.map(|door| MeetDoors { place, second, door: Some(door) })
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
