//! `servent receive`: what `servent send` sends, to files or to a pipe.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use servent::transfer::{Arrived, ReceiveError, Target, Transfer};
use servent::unicast::{Endpoint, Options};
use servent_core::text::Shown;
use servent_core::time::Duration;
use tokio::task::JoinSet;

use super::Common;
use super::start::{address, runtime};
use super::unicast::{PORT, Through, Travel, bind, repairs};
use crate::exit::{Exit, Failure, said};
use crate::progress::{Herald, StreamProgress, Voice, bytes};
use crate::signal::Signals;

/// Senders at once; others wait until one is done.
const SENDERS: usize = 64;

/// Receive what `servent send` sends, over UDP.
///
/// Without -o the first sender's bytes go to standard output. With a file
/// the first sender's bytes become that file. With a folder, which is made
/// when its name ends with `/`, it goes on until Ctrl-C, takes many senders at
/// once, and each gets a file of its own. A file is called NAME.part until it has arrived whole and checked; nothing
/// is overwritten.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent receive -o inbox/                 every sender into a file of its own
  servent receive -o song.ogg               one file
  servent receive --listen 127.0.0.1:7000 | tar x
                                            one stream into a pipe
  servent receive -o inbox/ --loss 5%       lose 5 % on purpose and see it repaired")]
pub(crate) struct Arguments {
    /// Listen here; port 0 takes any free one. Usually [::]:6348, IPv4 too.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Write this file, or files into this folder.
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// End after one transfer, with a folder too.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    travel: Travel,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.travel.options(common)?;
    let place = Place::new(arguments.output.as_deref())?;
    let aside = matches!(place, Place::Output);
    let herald = Herald::new(Voice::new(arguments.json, common.quiet), aside);
    let once = arguments.once || !matches!(place, Place::Folder(_));
    let receiver = Receiver { place, once, herald };
    let runtime = runtime()?;
    let done = runtime.block_on(receiver.run(arguments.listen, options));
    runtime.shutdown_background(); // A write to a full pipe may never return.
    done
}

/// Where it goes.
#[derive(Debug, Clone)]
enum Place {
    Output,
    File(PathBuf),
    Folder(PathBuf),
}

impl Place {
    fn new(output: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = output.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Output);
        };
        if path.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            std::fs::create_dir_all(path).map_err(|e| Failure::file("make", path, &e))?;
            return Ok(Self::Folder(path.to_owned()));
        }
        if path.symlink_metadata().is_ok() {
            let what = format!("{} is there already", path.display());
            return Err(
                Failure::new(Exit::Disk, what).next("choose another name with -o, or take it away")
            );
        }
        Ok(Self::File(path.to_owned()))
    }

    async fn open(&self, name: &str) -> std::io::Result<Target> {
        match self {
            Self::Output => Target::output(),
            Self::File(file) => Target::file(file).await,
            Self::Folder(folder) => Target::beneath(folder, name).await,
        }
    }
}

/// How one transfer ended.
struct Outcome {
    peer: SocketAddr,
    title: String,
    took: Duration,
    how: Result<Arrived, Failure>,
}

#[derive(Clone)]
struct Receiver {
    place: Place,
    once: bool,
    herald: Herald,
}

impl Receiver {
    async fn run(self, listen: Option<SocketAddr>, options: Options) -> Result<(), Failure> {
        let mut signals = Signals::new()?;
        let endpoint = listening(listen, options).await?;
        let at = endpoint.local_addr();
        self.herald.tell(
            &json!({ "event": "listening", "address": at }),
            &format!("listening on UDP {at}"),
        );
        let (mut greeted, mut running) = (JoinSet::new(), JoinSet::new());
        let ended = loop {
            let room = greeted.len() + running.len() < SENDERS;
            tokio::select! {
                Some(connection) = endpoint.accept(), if room => {
                    greeted.spawn(Transfer::hello(connection));
                }
                Some(Ok(hello)) = greeted.join_next() => self.begin(hello, &mut running).await,
                Some(Ok(outcome)) = running.join_next() => {
                    let ended = self.report(outcome, &endpoint);
                    if self.once {
                        break ended;
                    }
                    if let Err(failure) = ended {
                        let fact = json!({ "event": "failed", "what": failure.to_string() });
                        self.herald.tell(&fact, &failure.to_string());
                    }
                }
                () = signals.first() => break self.stopped(running.len()),
            }
        };
        running.abort_all();
        let whole = endpoint.shutdown().await;
        ended.and_then(|()| Ok(whole?))
    }

    /// Takes a transfer on, or tells its sender why not.
    async fn begin(&self, hello: Result<Transfer, ReceiveError>, running: &mut JoinSet<Outcome>) {
        match hello {
            Ok(transfer) if self.once && !running.is_empty() => {
                tokio::spawn(transfer.refuse("it is busy with another sender; try again later"));
            }
            Ok(transfer) => {
                running.spawn(take(transfer, self.place.clone(), self.herald.clone()));
            }
            Err(why) => {
                let why = why.to_string();
                tracing::info!(why = %Shown(&why), "somebody else spoke");
            }
        }
    }

    fn report(&self, outcome: Outcome, endpoint: &Endpoint) -> Result<(), Failure> {
        let Outcome { peer, title, took, how } = outcome;
        let Arrived { length, sum, file } = how?;
        let named = file.map_or(title, |file| file.display().to_string());
        let counters = endpoint.counters();
        let through = Through { name: &named, peer, length, sum, took };
        let sentence = format!("{}\n{}", through.sentence("received from"), repairs(&counters));
        self.herald.result(&through.fact("received", &counters), &sentence);
        Ok(())
    }

    fn stopped(&self, running: usize) -> Result<(), Failure> {
        match (running, self.once) {
            (0, false) => Ok(()),
            (0, true) => Err(Failure::new(Exit::Interrupted, "stopped before anybody sent")),
            (n, _) => Err(Failure::new(Exit::Interrupted, format!("stopped with {n} under way"))
                .next("what had arrived of them is in the .part files")),
        }
    }
}

/// Listens where asked, else on the usual port of IPv6 and IPv4, or of IPv4
/// alone where there is no IPv6.
async fn listening(listen: Option<SocketAddr>, options: Options) -> Result<Endpoint, Failure> {
    if let Some(at) = listen {
        return bind(at, options).await;
    }
    match bind((Ipv6Addr::UNSPECIFIED, PORT).into(), options.clone()).await {
        Err(failure) if failure.exit != Exit::PortInUse => {
            bind((Ipv4Addr::UNSPECIFIED, PORT).into(), options).await
        }
        other => other,
    }
}

/// One transfer from its hello to its end.
async fn take(mut transfer: Transfer, place: Place, herald: Herald) -> Outcome {
    let peer = transfer.peer();
    let named = !transfer.name.is_empty();
    let title = if named { transfer.name.clone() } else { String::from("a stream") };
    let mut target = match place.open(&transfer.name).await {
        Ok(target) => target,
        Err(e) => {
            let why = format!("cannot write here: {}", said(&e));
            let how = Err(Failure::new(Exit::Disk, why.clone()));
            transfer.refuse(&why).await;
            return Outcome { peer, title, took: Duration::ZERO, how };
        }
    };
    herald.tell(
        &json!({ "event": "receiving", "name": title, "from": peer, "bytes": transfer.length }),
        &format!("receiving {} from {peer}", Shown(&title)),
    );
    let mut progress = StreamProgress::new(&herald, &title, transfer.length);
    let how = transfer.receive(&mut target, |n| progress.show(n)).await;
    let took = progress.finish();
    let how = how.map_err(|why| failed(&why, &transfer, &title, target.part()));
    Outcome { peer, title, took, how }
}

/// Why it did not arrive whole, and what did.
fn failed(why: &ReceiveError, transfer: &Transfer, title: &str, part: Option<&Path>) -> Failure {
    let exit = match why {
        ReceiveError::Write(_) => Exit::Disk,
        ReceiveError::Different => Exit::Unverified,
        ReceiveError::Foreign => Exit::Foreign,
        _ => Exit::Network,
    };
    let of = transfer.length.map_or_else(String::new, |length| format!(" of {}", bytes(length)));
    let (have, peer) = (bytes(transfer.received()), transfer.peer());
    let (title, why) = (Shown(title), why.to_string());
    let why = Shown(&why);
    let what = format!("{title} from {peer} is not whole: {why}; {have}{of} had arrived");
    let failure = Failure::new(exit, what);
    match part {
        Some(part) => failure.next(format!("what had arrived is in {}", part.display())),
        None => failure,
    }
}
