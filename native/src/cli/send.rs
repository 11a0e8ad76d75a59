//! `servent send`: sends files or a stream to `servent receive`, over UDP.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use servent::transfer::{
    Offer, OfferError, SendFailure, TransferCode, TransferProgress, TransferSender,
};
use servent::unicast::EndpointOptions;
use servent_core::text::Shown;
use tokio::net::lookup_host;

use super::Common;
use super::amount::rate;
use super::code::{self, CodeArgs};
use super::many::{Giving, give};
use super::start::{address, runtime};
use super::unicast::{PORT, TransferTally, Travel, bind, enlarged, title};
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{Reporter, Voice, bytes};
use crate::signal::Signals;

/// Send files, folders or standard input to `servent receive`, over UDP.
///
/// Datagrams may be lost, doubled or overtaken: they are numbered,
/// acknowledged and repaired. It ends well only when the receiver has said
/// that it has the same bytes. Sent again after either side has died, only
/// what is missing travels.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent send 10.0.0.7 song.ogg            to the usual port, 6348
  servent send 10.0.0.7 docs/ photos/ a.txt
                                            folders with all that is in them
  tar c docs | servent send 10.0.0.7:7000   whatever comes from a pipe
  servent send --to 3 film.mkv photos/      to three, who run: servent receive --from HOST
  SERVENT_CODE=ocean-pepper-violin servent send 10.0.0.7 song.ogg
                                            without a question
  servent send 127.0.0.1 big --open --loss 5%
                                            lose 5 % on purpose and see it repaired
  servent send 127.0.0.1 big --open --loss 5% --profile unicast3
                                            the same with the design's fixed timing
  servent send 10.0.0.7 song.ogg --trace t.sqlog
                                            record it; `servent replay t.sqlog`")]
pub(crate) struct SendArgs {
    /// Where `servent receive` listens; left out with --to.
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "to")]
    host: Option<String>,
    /// What to send; `-` or nothing is standard input.
    #[arg(value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// Send to so many receivers, who run `servent receive --from` this machine
    /// and pass on to each other what they have. Here the code is shown.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,
    /// With --to: listen here for them, over UDP and TCP. Usually [::]:6348.
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "to")]
    listen: Option<SocketAddr>,
    /// With --to: bytes a second that all of it may take from this machine, such
    /// as 500k or 2M. Receivers pass on to each other as fast as they can.
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "to")]
    limit_rate: Option<u64>,
    /// The code that the receiver shows; better asked for than written here.
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["open", "code_file"])]
    code: Option<String>,
    #[command(flatten)]
    given: CodeArgs,
    #[command(flatten)]
    travel: Travel,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &SendArgs) -> Result<(), Failure> {
    let options = arguments.travel.options(common)?;
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), false);
    if let Some(receivers) = arguments.to {
        return to_several(common, arguments, receivers, options, &reporter);
    }
    let offer = offer(&arguments.files, &reporter)?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let question = "the code that the receiver shows:";
        let code = arguments.given.or_asked(arguments.code.as_deref(), question).await?;
        let host = arguments.host.as_deref().unwrap_or_default(); // It is required.
        send(host, &offer, code.as_ref(), options, &reporter).await
    });
    runtime.shutdown_background(); // A read of standard input may never return.
    done
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

async fn send(
    to: &str,
    offer: &Offer,
    code: Option<&TransferCode>,
    options: EndpointOptions,
    reporter: &Reporter,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let peer = resolve(to).await?;
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let options = EndpointOptions { only: Some(peer), ..enlarged(options, peer) };
    let endpoint = bind(any, options).await?;
    let connection =
        endpoint.connect(peer).map_err(|e| Failure::new(Exit::Network, e.to_string()))?;
    let (from, title) = (endpoint.local_addr(), title(offer.entries(), "standard input"));
    let mut tally = TransferTally::new(reporter, offer.entries(), title.clone(), peer);
    reporter.tell(
        &json!({
            "event": "sending",
            "name": title,
            "files": tally.files(),
            "to": peer,
            "from": from,
            "bytes": tally.bytes(),
        }),
        &format!("sending {} to {peer}", Shown(&title)),
    );
    let sender = TransferSender::over(connection);
    let outcome = tokio::select! {
        outcome = sender.send(offer, code, |told: TransferProgress| tally.told("sent", told)) => {
            outcome.map_err(|why| failed(why, peer, tally.bytes(), &sender))
        }
        () = signals.first() => {
            sender.stop("stopped by the user").await;
            Err(Failure::new(Exit::Interrupted, format!("stopped before {} had arrived", Shown(&title)))
                .next("send it again: only what is missing travels"))
        }
    };
    tally.finish();
    outcome?;
    tally.result(("sent", "sent to"), Some(&endpoint.counters()));
    Ok(endpoint.shutdown().await?)
}

pub(super) async fn resolve(to: &str) -> Result<SocketAddr, Failure> {
    let named = match to.rsplit_once(':') {
        _ if to.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{to}]:{PORT}"),
        Some((_, port)) if port.parse::<u16>().is_ok() => to.to_owned(),
        _ => format!("{to}:{PORT}"),
    };
    let found = lookup_host(&named).await.map(|mut found| found.next());
    let why = match found {
        Ok(Some(found)) => return Ok(found),
        Ok(None) => String::from("it has no address"),
        Err(e) => error_text(&e),
    };
    Err(Failure::new(Exit::Network, format!("cannot find {to}: {why}"))
        .next("check the name and the network"))
}

/// Why it did not arrive, and what did.
fn failed(
    why: SendFailure,
    peer: SocketAddr,
    length: Option<u64>,
    sender: &TransferSender,
) -> Failure {
    let of = length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
    let there = bytes(sender.progress().acknowledged);
    let again = "start the receiver again and send it again: only what is missing travels";
    match why {
        SendFailure::Nobody => Failure::new(Exit::Network, format!("nobody answers at {peer}"))
            .next(format!(
                "start `servent receive` there, and let UDP port {} through every firewall on the way",
                peer.port()
            )),
        SendFailure::Closed => {
            Failure::new(Exit::Network, format!("nobody listens at UDP {peer}"))
                .next("start `servent receive` there, or name the port it listens on")
        }
        SendFailure::Gone { why } => {
            let what = format!("the receiver at {peer} is gone: {why}; about {there}{of} had reached it");
            Failure::new(Exit::Network, what).next(again)
        }
        SendFailure::Refused { begun: false, why } => {
            Failure::new(Exit::Network, format!("{peer} does not take it: {}", Shown(&why)))
        }
        SendFailure::Refused { begun: true, why } => {
            let what = format!("{peer} could not keep it after about {there}{of}: {}", Shown(&why));
            Failure::new(Exit::Failed, what)
                .next("once that is mended there, send it again: only what is missing travels")
        }
        SendFailure::WrongCode => {
            Failure::new(Exit::Failed, format!("the code is not that of {peer}, which took nothing"))
                .next("look at the code that the receiver shows, and send it again")
        }
        SendFailure::Read { path, why } => Failure::file("read", &path, &why),
        SendFailure::Foreign => {
            Failure::new(Exit::Foreign, format!("{peer} speaks, but not as `servent receive` of this version"))
                .next("use the same version on both sides")
        }
        other => Failure::new(Exit::Failed, other.to_string()),
    }
}
