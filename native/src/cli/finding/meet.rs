//! `servent meet`: a place at which two who cannot reach each other meet.

use std::net::SocketAddr;

use clap::Args;
use servent_core::meet;

use super::place::{PlaceOptions, RunningPlace, place_address};
use crate::cli::Common;
use crate::cli::amount::rate;
use crate::cli::start::{TraceFlag, runtime};
use crate::exit::Failure;
use crate::progress::{Reporter, Voice};
use crate::signal::Signals;

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
    #[arg(long, value_name = "PORT|ADDRESS", value_parser = place_address)]
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
    let options = PlaceOptions {
        event: "listening",
        listen: arguments.listen,
        relay: arguments.relay,
        meetings: arguments.meetings,
        per_ip: arguments.per_ip,
    };
    options.check()?;
    let mut builder = common.builder()?;
    arguments.trace.put(&mut builder)?;
    let trace = builder.finish()?.settings.trace_file();
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let place = RunningPlace::open(&options, trace, &reporter).await?;
        tokio::select! {
            ended = place.run(&reporter) => return ended,
            () = signals.first() => {}
        }
        place.close(Some(&reporter)).await
    })
}
