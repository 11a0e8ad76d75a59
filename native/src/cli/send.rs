//! `servent send`: a file or a stream to `servent receive`, over UDP.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use servent::transfer::{self, SendFailure, Sent};
use servent::unicast::{Connection, Options};
use servent_core::text::Shown;
use tokio::fs::File;
use tokio::net::lookup_host;

use super::Common;
use super::start::runtime;
use super::unicast::{PORT, Through, Travel, bind, repairs};
use crate::exit::{Exit, Failure, said};
use crate::progress::{Herald, StreamProgress, Voice, bytes};
use crate::signal::Signals;

/// Send a file, or standard input, to `servent receive`, over UDP.
///
/// Datagrams may be lost, doubled or overtaken: they are numbered,
/// acknowledged and repaired. It ends well only when the receiver has said
/// that it has the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent send 10.0.0.7 song.ogg            to the usual port, 6348
  tar c docs | servent send 10.0.0.7:7000   whatever comes from a pipe
  servent send 127.0.0.1 big --loss 5%      lose 5 % on purpose and see it repaired
  servent send 127.0.0.1 big --loss 5% --profile unicast3
                                            the same with the design's fixed timing
  servent send HOST song.ogg --trace t.sqlog
                                            record it; `servent replay t.sqlog`")]
pub(crate) struct Arguments {
    /// Where `servent receive` listens.
    #[arg(value_name = "HOST[:PORT]")]
    to: String,
    /// What to send; `-` or nothing is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    travel: Travel,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.travel.options(common)?;
    let herald = Herald::new(Voice::new(arguments.json, common.quiet), false);
    let runtime = runtime()?;
    let file = arguments.file.as_deref().filter(|file| *file != Path::new("-"));
    let done = runtime.block_on(send(&arguments.to, file, options, &herald));
    runtime.shutdown_background(); // A read of standard input may never return.
    done
}

/// What is sent.
struct Source {
    file: File,
    name: String,
    length: Option<u64>,
}

impl Source {
    async fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = file else {
            let input = std::io::stdin().as_fd().try_clone_to_owned();
            let input =
                input.map_err(|e| Failure::file("read", Path::new("standard input"), &e))?;
            let file = File::from_std(input.into());
            return Ok(Self { file, name: String::new(), length: None });
        };
        let failed = |e| Failure::file("read", path, &e);
        let file = File::open(path).await.map_err(failed)?;
        let about = file.metadata().await.map_err(failed)?;
        if about.is_dir() {
            return Err(Failure::new(Exit::Disk, format!("{} is a folder", path.display()))
                .next("send an archive: tar c FOLDER | servent send HOST"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { file, name, length: about.is_file().then_some(about.len()) })
    }

    fn title(&self) -> &str {
        if self.name.is_empty() { "standard input" } else { &self.name }
    }
}

async fn send(
    to: &str,
    file: Option<&Path>,
    options: Options,
    herald: &Herald,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let source = Source::open(file).await?;
    let title = source.title().to_owned();
    let peer = resolve(to).await?;
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let endpoint = bind(any, options).await?;
    let connection =
        endpoint.connect(peer).map_err(|e| Failure::new(Exit::Network, e.to_string()))?;
    let from = endpoint.local_addr();
    herald.tell(
        &json!({ "event": "sending", "name": title, "to": peer, "from": from, "bytes": source.length }),
        &format!("sending {} to {peer}", Shown(&title)),
    );
    let mut progress = StreamProgress::new(herald, &title, source.length);
    let Source { file, name, length } = source;
    let outcome = tokio::select! {
        outcome = transfer::send(&connection, &name, length, file, |n| progress.show(n)) => {
            outcome.map_err(|why| failed(why, peer, length, &connection))
        }
        () = signals.first() => {
            transfer::stop(&connection, "stopped by the user").await;
            Err(Failure::new(Exit::Interrupted, format!("stopped before {} had arrived", Shown(&title))))
        }
    };
    let took = progress.finish();
    let counters = endpoint.counters();
    if let Ok(Sent { length, sum }) = outcome {
        let through = Through { name: &title, peer, length, sum, took };
        let sentence = format!("{}\n{}", through.sentence("sent to"), repairs(&counters));
        herald.result(&through.fact("sent", &counters), &sentence);
    }
    if outcome.is_ok() {
        endpoint.shutdown().await?;
    }
    outcome.map(|_| ())
}

async fn resolve(to: &str) -> Result<SocketAddr, Failure> {
    let named = match to.rsplit_once(':') {
        _ if to.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{to}]:{PORT}"),
        Some((_, port)) if port.parse::<u16>().is_ok() => to.to_owned(),
        _ => format!("{to}:{PORT}"),
    };
    let found = lookup_host(&named).await.map(|mut found| found.next());
    let why = match found {
        Ok(Some(found)) => return Ok(found),
        Ok(None) => String::from("it has no address"),
        Err(e) => said(&e),
    };
    Err(Failure::new(Exit::Network, format!("cannot find {to}: {why}"))
        .next("check the name and the network"))
}

/// Why it did not arrive, and what did.
fn failed(
    why: SendFailure,
    peer: SocketAddr,
    length: Option<u64>,
    connection: &Connection,
) -> Failure {
    let of = length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
    match why {
        SendFailure::Nobody => Failure::new(Exit::Network, format!("nobody answers at {peer}"))
            .next(format!(
                "start `servent receive` there, and let UDP port {} through every firewall on the way",
                peer.port()
            )),
        SendFailure::Gone { why } => {
            let there = bytes(connection.progress().acknowledged);
            let what = format!("the receiver at {peer} is gone: {why}; about {there}{of} had reached it");
            Failure::new(Exit::Network, what)
                .next("look at the receiver, start it again and send everything once more")
        }
        SendFailure::Refused { length: 0, why } => {
            Failure::new(Exit::Network, format!("{peer} does not take it: {}", Shown(&why)))
        }
        SendFailure::Refused { length, why } => {
            let there = bytes(length);
            Failure::new(Exit::Failed, format!("{peer} could not keep it after {there}{of}: {}", Shown(&why)))
        }
        SendFailure::Read(e) => Failure::file("read", Path::new("what is to be sent"), &e),
        SendFailure::Foreign => {
            Failure::new(Exit::Foreign, format!("{peer} speaks, but not as `servent receive` of this version"))
                .next("use the same version on both sides")
        }
        other => Failure::new(Exit::Failed, other.to_string()),
    }
}
