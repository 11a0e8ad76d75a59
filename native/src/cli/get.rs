//! `servent get`: a download that waits in line, survives and is checked.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::ready;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use data_encoding::HEXLOWER;
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use servent::driver::{Driver, Handle, Options};
use servent::{Clock, DamagedState};
use servent_core::fetch::{self, FetchFailure, SourceTrouble};
use servent_core::id::{FetchId, Sha1};
use servent_core::node::{Answer, Command, Get, Source};
use servent_core::time;
use servent_core::trace::{Event, Record};
use sha1::Digest as _;
use tokio::sync::broadcast::channel;
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::wrappers::BroadcastStream;

use super::push::Pushing;
use super::source::Wanted;
use super::start::{TraceFlag, address, make, runtime};
use super::{Common, print};
use crate::config::Config;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure};
use crate::progress::{Bars, FetchProgress, Voice, bytes};
use crate::signal::Signals;

/// Download files; shows the place in line, when it asks next, and progress.
///
/// Each address is a download of its own. One file from several sources is
/// said with --mirror, with xs= and as= of a magnet link, or with a urn:sha1:
/// and the HOST:PORTs to ask for it. With urn:sha1: the bytes are checked.
/// Stopped or killed, the same command goes on where it was, with the same
/// place in line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent get http://10.0.0.7:6346/get/1/song.flac
  servent get http://10.0.0.7:6346/get/1/song.flac http://10.0.0.9:6346/get/5/film.mkv -o music/
  servent get http://10.0.0.7:6346/get/1/song.flac urn:sha1:PLST… --mirror http://10.0.0.9:6346/get/5/song.flac
  servent get push://SERVENT@10.0.0.7:6346/1/song.flac
  servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB 10.0.0.7:6346
  servent get 'magnet:?xt=urn:sha1:PLST…&xs=http://10.0.0.7:6346/uri-res/N2R?urn:sha1:PLST…'")]
pub(crate) struct Arguments {
    /// What to download, and where from.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// One more source of the same file. Name its urn:sha1: too, and whoever
    /// has other bytes is found out.
    #[arg(long = "mirror", value_name = "URL")]
    mirrors: Vec<String>,
    /// Save as this file, or into this folder.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Downloads at a time.
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::new(5).unwrap_or(NonZeroUsize::MIN))]
    parallel: NonZeroUsize,
    /// Be called back here; port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// The queueing language: parq, parq11, active or passive.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Keep trying where nobody answers yet, instead of giving up soon.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    trace: TraceFlag,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let wanted = Wanted::parse(&arguments.urls, &arguments.mirrors)?;
    if wanted.len() > 1 {
        only_for_one(arguments)?;
    }
    let mut builder = common.builder()?;
    if let Some(dialect) = &arguments.dialect {
        builder.flag("--dialect", "dialect", Raw::Text(dialect.clone()))?;
    }
    arguments.trace.put(&mut builder)?;
    let mut config = builder.finish()?;
    be_patient(&mut config.settings.node.fetch, arguments.wait);
    let voice = Voice::new(arguments.json, common.quiet);
    let (listen, damaged) = (arguments.listen, common.damaged());
    let mut jobs: Vec<Job> = Vec::new();
    let several = wanted.len() > 1;
    for wanted in wanted {
        let file = destination(&wanted, &config, arguments.output.as_deref())?;
        if let Err(there) = absent(&file) {
            if !several {
                return Err(there);
            }
            // An earlier run of the same command was stopped after this one.
            voice.note(&json!({ "event": "skipped", "file": file }), &there.what);
            continue;
        }
        if jobs.iter().any(|job| job.file == file) {
            return Err(Failure::usage(format!(
                "two of the downloads would be {}",
                file.display()
            ))
            .next("run one command for each, with a name of its own by -o"));
        }
        jobs.push(Job { wanted, file, listen, damaged, voice });
    }
    runtime()?.block_on(all(&config, &jobs, arguments.parallel.get()))
}

/// Refuses what makes no sense for several downloads.
fn only_for_one(arguments: &Arguments) -> Result<(), Failure> {
    let several = "several downloads are named";
    if let Some(file) = arguments.output.as_deref().filter(|output| !output.is_dir()) {
        return Err(Failure::usage(format!("{several}, and {} is no folder", file.display()))
            .next("name a folder with -o; several sources of one file are said with --mirror"));
    }
    if arguments.trace.trace.is_some() {
        return Err(Failure::usage(format!("{several}, and --trace records one"))
            .next("run one command for each"));
    }
    if arguments.listen.is_some_and(|at| at.port() != 0) {
        return Err(Failure::usage(format!("{several}, and a port serves one"))
            .next("use port 0 with --listen, so that each takes a free one"));
    }
    Ok(())
}

/// Runs all downloads, so many at a time; what fails does not stop the others.
async fn all(config: &Config, jobs: &[Job], parallel: usize) -> Result<(), Failure> {
    let bars = match jobs {
        [] => return Ok(()),
        [job] => return get(config, job, &Bars::new(job.voice)).await,
        [job, ..] => Bars::named(job.voice),
    };
    let stopped = Cell::new(false);
    let mut failures = Vec::new();
    let mut running = stream::iter(jobs)
        .take_while(|_| ready(!stopped.get()))
        .map(|job| get(config, job, &bars).map(move |outcome| (job, outcome)))
        .buffer_unordered(parallel);
    while let Some((job, outcome)) = running.next().await {
        if let Err(failure) = outcome {
            bars.failed(&job.name(), &failure.to_string());
            stopped.set(stopped.get() || failure.exit == Exit::Interrupted);
            failures.push(failure);
        }
    }
    let (count, all) = (failures.len(), jobs.len());
    let Some(first) = failures.into_iter().next() else { return Ok(()) };
    let (exit, what) = match stopped.get() {
        true => (Exit::Interrupted, "stopped before all downloads were whole".to_owned()),
        false => (first.exit, format!("{count} of {all} downloads failed")),
    };
    Err(Failure::new(exit, what).next("the same command goes on with what is missing"))
}

/// How long somebody may take to be there for the first time.
const FIRST_CONTACT: time::Duration = time::Duration::from_secs(10);

/// A wrong address is told soon, unless the user wants to wait for somebody.
fn be_patient(fetch: &mut fetch::Config, wait: bool) {
    if wait {
        (fetch.first_contact, fetch.attempts) = (time::Duration::ZERO, u32::MAX);
    } else if fetch.first_contact == time::Duration::ZERO {
        fetch.first_contact = FIRST_CONTACT;
    }
}

/// The file to make. Its folder must be there.
fn destination(
    wanted: &Wanted,
    config: &Config,
    output: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let file = match output {
        None => config.settings.downloads.join(wanted.file_name()),
        Some(folder) if folder.is_dir() => folder.join(wanted.file_name()),
        Some(file) => file.to_path_buf(),
    };
    let file = std::path::absolute(&file).map_err(|e| Failure::file("use", &file, &e))?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    if output.is_none() {
        make(folder)?;
    }
    if !folder.is_dir() {
        return Err(Failure::new(Exit::Disk, format!("there is no folder {}", folder.display()))
            .next("make it, or choose another file with -o"));
    }
    Ok(file)
}

/// Nothing is overwritten.
fn absent(file: &Path) -> Result<(), Failure> {
    if file.symlink_metadata().is_ok() {
        return Err(Failure::new(Exit::Disk, format!("{} is there already", file.display()))
            .next("choose another name with -o, or take it away"));
    }
    Ok(())
}

/// Each download has a state folder of its own, named by the file it makes:
/// the same command finds it again, and a running `share` is not in its way.
fn state_of(config: &Config, file: &Path) -> PathBuf {
    let digest = sha1::Sha1::digest(file.as_os_str().as_encoded_bytes());
    config.settings.state.join("get").join(HEXLOWER.encode(&digest[..8]))
}

/// What is to be done.
struct Job {
    wanted: Wanted,
    file: PathBuf,
    listen: Option<SocketAddr>,
    damaged: DamagedState,
    voice: Voice,
}

impl Job {
    /// What the file is called.
    fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Every place that can be found; an error when none can.
    async fn sources(&self) -> Result<Vec<Source>, Failure> {
        let mut sources = Vec::new();
        let mut unknown = None;
        for place in &self.wanted.places {
            match place.resolve(self.wanted.sha1).await {
                Ok(source) => sources.push(source),
                Err(failure) => unknown = Some(failure),
            }
        }
        match unknown {
            Some(failure) if sources.is_empty() => Err(failure),
            _ => Ok(sources),
        }
    }

    /// Where to listen for calls back: where asked, else any free port of
    /// the family the sources are of.
    fn listen(&self, sources: &[Source]) -> SocketAddr {
        // Pushes name IPv4 addresses only.
        let six = !sources.is_empty() && sources.iter().all(|s| s.at.is_ipv6());
        let any: SocketAddr = if six {
            (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
        } else {
            (std::net::Ipv4Addr::UNSPECIFIED, 0).into()
        };
        self.listen.unwrap_or(any)
    }
}

async fn get(config: &Config, job: &Job, bars: &Bars) -> Result<(), Failure> {
    let Job { wanted, file, voice, .. } = job;
    let mut signals = Signals::new()?;
    let name = job.name();
    let sources = job.sources().await?;
    let state = state_of(config, file);
    make(&state)?;
    let mut node = config.settings.node.clone();
    // It is there for a download: of no use to anybody as a way.
    node.overlay.router.relay = false;
    let handle = Driver::start(Options {
        name: "get".into(),
        listen: vec![job.listen(&sources)],
        download_dir: file.parent().unwrap_or(Path::new("/")).to_path_buf(),
        node,
        durability: config.settings.durability,
        trace: config.settings.trace.clone(),
        tape: true,
        damaged_state: job.damaged,
        ..Options::under(&state)
    })
    .await?;
    let wish = Get { name: name.clone(), sha1: wanted.sha1, sources };
    let again = wish.clone();
    let mut push = Pushing::new(wanted.push.as_ref());
    push.join(&handle).await?;
    let mut progress = bars.download(&name);
    let outcome = tokio::select! {
        outcome = follow(&handle, wish, &mut push, &mut progress) => outcome,
        () = signals.first() => {
            // A wish that is repeated is remembered with all that has come.
            let _ = handle.command(Command::Get(again)).await;
            Err(Failure::new(Exit::Interrupted, format!("stopped before {name} was whole"))
                .next("run the same command to go on where it was"))
        }
        ended = handle.ended() => Err(ended.err().map_or_else(|| Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
    };
    progress.finish();
    signals.end_at_next();
    handle.stop().await?;
    let (fetch, size, sha1) = outcome?;
    // Nothing is left to go on with.
    let _ = std::fs::remove_dir_all(&state);
    // Somebody may have made a file of this name meanwhile.
    let file = handle.path_of(fetch).unwrap_or_else(|| file.clone());
    report(*voice, &file, size, sha1, wanted.sha1.is_some())
}

/// Ends what an earlier command has begun under the same name from elsewhere.
///
/// # Errors
/// Bytes of it are here: whether they belong to this file, only the user knows.
async fn alone(handle: &Handle, ours: FetchId, name: &str) -> Result<(), Failure> {
    for other in handle.view(1, 0).await?.fetches {
        if other.fetch == ours.0 || other.state == "done" {
            continue;
        }
        if other.have > 0 {
            handle.command(Command::Cancel { fetch: ours }).await?;
            let from: Vec<&str> = other.sources.iter().map(|s| s.at.as_str()).collect();
            let (have, from) = (bytes(other.have), from.join(" and "));
            return Err(Failure::new(Exit::Disk, format!("{name}.part has {have} from {from}, perhaps of another file"))
                .next("if it is the same file, name the other source with --mirror; otherwise choose another name with -o, or take the part away"));
        }
        handle.command(Command::Cancel { fetch: FetchId(other.fetch) }).await?;
    }
    Ok(())
}

/// Gives the command and waits for its end.
async fn follow(
    handle: &Handle,
    wish: Get,
    push: &mut Pushing,
    progress: &mut FetchProgress,
) -> Result<(FetchId, u64, Option<Sha1>), Failure> {
    let (clock, name) = (Clock::new(), wish.name.clone());
    let mut ours = None;
    let mut answers = handle.answers();
    let mut records = BroadcastStream::new(handle.records().unwrap_or_else(|| channel(1).1));
    let mut troubles = Troubles::new();
    handle.command(Command::Get(wish)).await?;
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            // What went wrong is told before the end it led to.
            biased;
            Some(Ok(record)) = records.next() => note(&record, &mut troubles, progress),
            answer = answers.recv() => match answer {
                Ok(Answer::Fetching { fetch }) => {
                    (push.fetch, ours) = (Some(fetch), Some(fetch));
                    alone(handle, fetch, &name).await?;
                }
                Ok(Answer::NoWay { .. }) => push.soon(),
                Ok(Answer::Fetched { fetch, bytes, sha1 }) if ours == Some(fetch) => {
                    return Ok((fetch, bytes, sha1));
                }
                Ok(Answer::Failed { why: FetchFailure::NoSource, .. }) if push.may_help() => {}
                Ok(Answer::Failed { fetch, why }) if ours == Some(fetch) => {
                    troubles.retain(|(of, _), _| *of == fetch);
                    return Err(failed(why, &troubles));
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(Failure::new(Exit::Failed, "the servent ended")),
            },
            _ = tick.tick() => {
                push.ask(handle).await?;
                let view = handle.view(1, 0).await?;
                let one = view.fetches.iter().find(|f| ours.is_some_and(|ours| ours.0 == f.fetch));
                if let Some(fetch) = one {
                    progress.show(clock.now(), fetch);
                }
            }
        }
    }
}

/// The last trouble of each source of each download: an earlier one of the
/// same name may still be there.
type Troubles = BTreeMap<(FetchId, SocketAddr), SourceTrouble>;

/// Keeps it.
fn note(record: &Record, troubles: &mut Troubles, progress: &mut FetchProgress) {
    let (fetch, at, why) = match &record.event {
        Event::Fetch(
            fetch::Event::Waiting { fetch, at, why, .. }
            | fetch::Event::KeptBack { fetch, at, why }
            | fetch::Event::SourceLost { fetch, at, why, .. },
        ) => (*fetch, *at, *why),
        _ => return,
    };
    if troubles.insert((fetch, at), why) != Some(why) {
        progress.trouble(at, &why.to_string());
    }
}

/// Why there is no file, and what to do about it.
fn failed(why: FetchFailure, troubles: &Troubles) -> Failure {
    let tried: Vec<String> = troubles.iter().map(|((_, at), why)| format!("{at} {why}")).collect();
    let tried = if tried.is_empty() { String::new() } else { format!(": {}", tried.join(", ")) };
    let nobody = troubles.values().all(|why| *why == SourceTrouble::Unreachable);
    let unknown = troubles.values().all(|why| *why == SourceTrouble::NotFound);
    match why {
        FetchFailure::NoSource if nobody && !troubles.is_empty() => {
            Failure::new(Exit::Network, format!("nobody is there{tried}"))
                .next("check the address and that a servent listens there; with --wait it keeps trying; the same command goes on")
        }
        FetchFailure::NoSource if unknown && !troubles.is_empty() => {
            let lists: Vec<String> =
                troubles.keys().map(|(_, at)| format!("http://{at}/")).collect();
            Failure::new(Exit::Network, format!("no source has the file{tried}"))
                .next(format!("look what is shared there: {}", lists.join(" and ")))
        }
        FetchFailure::NoSource => {
            Failure::new(Exit::Network, format!("no source has the file{tried}"))
                .next("check that the servent runs and the URL is right; what has come is kept, the same command goes on")
        }
        FetchFailure::Disk => Failure::new(Exit::Disk, "the disk is full or the file cannot be written")
            .next("make room; what has come is kept, the same command goes on"),
        FetchFailure::Corrupt => {
            Failure::new(Exit::Unverified, format!("the bytes are not the file asked for{tried}"))
                .next("try another source")
        }
        FetchFailure::TooMany => {
            Failure::new(Exit::Failed, "too many downloads at once").next("raise fetch.fetches with --set")
        }
        FetchFailure::Cancelled => Failure::new(Exit::Interrupted, "the download was taken back"),
    }
}

fn report(
    voice: Voice,
    file: &Path,
    size: u64,
    sha1: Option<Sha1>,
    asked: bool,
) -> Result<(), Failure> {
    let urn = sha1.map(|sha1| format!("urn:sha1:{sha1}"));
    if voice == Voice::Json {
        let done = json!({ "event": "done", "file": file, "bytes": size, "sha1": urn, "verified": asked && urn.is_some() });
        return print(format!("{done}\n"));
    }
    let checked = match (&urn, asked) {
        (Some(urn), true) => format!(", verified {urn}"),
        (Some(urn), false) => format!(", {urn}"),
        (None, _) => String::new(),
    };
    print(format!("{} {}{checked}\n", file.display(), bytes(size)))
}
