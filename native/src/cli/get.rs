//! `servent get`: a download that waits in line, survives and is checked.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use data_encoding::HEXLOWER;
use serde_json::json;
use servent::Clock;
use servent::driver::{Driver, Handle, Options};
use servent_core::fetch::FetchFailure;
use servent_core::id::{FetchId, Sha1};
use servent_core::node::{Answer, Command, Get};
use sha1::Digest as _;
use tokio::sync::broadcast::error::RecvError;

use super::exit::{Exit, Failure};
use super::signal::Signals;
use super::source::Wanted;
use super::start::{make, runtime};
use super::{Common, print};
use crate::config::Config;
use crate::config::file::Raw;
use crate::progress::{FetchProgress, Voice, bytes};

/// Download a file; shows the place in line, when it asks next, and progress.
///
/// All arguments together name one file: each http:// URL, xs= or as= of a
/// magnet link, or HOST:PORT is a source of it. With urn:sha1: the bytes are
/// checked. Stopped or killed, the same command goes on where it was, with
/// the same place in line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent get http://10.0.0.7:6346/get/1/song.flac
  servent get http://10.0.0.7:6346/get/1/song.flac http://10.0.0.9:6346/get/5/song.flac -o song.flac
  servent get urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB 10.0.0.7:6346
  servent get 'magnet:?xt=urn:sha1:PLST…&xs=http://10.0.0.7:6346/uri-res/N2R?urn:sha1:PLST…'")]
pub(crate) struct Arguments {
    /// What to download, and where from.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Save as this file, or into this folder.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Be called back here; port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The queueing language: parq, parq11, active or passive.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Record every input and decision in this file.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let wanted = Wanted::parse(&arguments.urls)?;
    let mut builder = common.builder()?;
    if let Some(dialect) = &arguments.dialect {
        builder.flag("--dialect", "dialect", Raw::Text(dialect.clone()))?;
    }
    if let Some(trace) = &arguments.trace {
        builder.flag("--trace", "trace", Raw::Text(trace.to_string_lossy().into_owned()))?;
    }
    let config = builder.finish()?;
    let voice = Voice::new(arguments.json, common.quiet);
    let file = destination(&wanted, &config, arguments.output.as_deref())?;
    runtime()?.block_on(get(&config, &wanted, &file, arguments.listen, voice))
}

/// The file to make. It must not be there, its folder must.
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
    if file.symlink_metadata().is_ok() {
        return Err(Failure::new(Exit::Disk, format!("{} is there already", file.display()))
            .next("choose another name with -o, or take it away"));
    }
    Ok(file)
}

/// Each download has a state folder of its own, named by the file it makes:
/// the same command finds it again, and a running `share` is not in its way.
fn state_of(config: &Config, file: &Path) -> PathBuf {
    let digest = sha1::Sha1::digest(file.as_os_str().as_encoded_bytes());
    config.settings.state.join("get").join(HEXLOWER.encode(&digest[..8]))
}

async fn get(
    config: &Config,
    wanted: &Wanted,
    file: &Path,
    listen: Option<SocketAddr>,
    voice: Voice,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut sources = Vec::new();
    let mut unknown = None;
    for place in &wanted.places {
        match place.resolve(wanted.sha1).await {
            Ok(source) => sources.push(source),
            Err(failure) => unknown = Some(failure),
        }
    }
    if let (true, Some(failure)) = (sources.is_empty(), unknown) {
        return Err(failure);
    }
    let state = state_of(config, file);
    make(&state)?;
    let wild = if sources.iter().all(|s| s.at.is_ipv6()) { "[::]:0" } else { "0.0.0.0:0" };
    let handle = Driver::start(Options {
        name: "get".into(),
        listen: listen.or_else(|| wild.parse().ok()).into_iter().collect(),
        download_dir: file.parent().unwrap_or(Path::new("/")).to_path_buf(),
        node: config.settings.node.clone(),
        trace: config.settings.trace.clone(),
        ..Options::under(&state)
    })
    .await?;
    let wish = Get { name: name.clone(), sha1: wanted.sha1, sources };
    let mut progress = FetchProgress::new(voice, &name);
    let outcome = tokio::select! {
        outcome = follow(&handle, wish, &mut progress) => outcome,
        () = signals.first() => Err(Failure::new(Exit::Interrupted, format!("stopped before {name} was whole"))
            .next("run the same command to go on where it was")),
        ended = handle.ended() => Err(ended.err().map_or_else(|| Failure::new(Exit::Failed, "the servent ended"), Failure::from)),
    };
    progress.finish();
    signals.end_at_next();
    handle.stop().await?;
    let (size, sha1) = outcome?;
    // Nothing is left to go on with.
    let _ = std::fs::remove_dir_all(&state);
    report(voice, file, size, sha1, wanted.sha1.is_some())
}

/// Gives the command and waits for its end.
async fn follow(
    handle: &Handle,
    wish: Get,
    progress: &mut FetchProgress,
) -> Result<(u64, Option<Sha1>), Failure> {
    let clock = Clock::new();
    let mut answers = handle.answers();
    handle.command(Command::Get(wish)).await?;
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            answer = answers.recv() => match answer {
                Ok(Answer::Fetched { bytes, sha1, .. }) => return Ok((bytes, sha1)),
                Ok(Answer::Failed { fetch, why }) => return Err(failed(handle, fetch, why).await),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(Failure::new(Exit::Failed, "the servent ended")),
            },
            _ = tick.tick() => {
                let view = handle.view(1, 0).await?;
                if let Some(fetch) = view.fetches.first() {
                    progress.show(clock.now(), fetch);
                }
            }
        }
    }
}

/// Why there is no file, and what to do about it.
async fn failed(handle: &Handle, fetch: FetchId, why: FetchFailure) -> Failure {
    let view = handle.view(1, 0).await.unwrap_or_default();
    let sources: Vec<String> = view
        .fetches
        .iter()
        .filter(|f| f.fetch == fetch.0)
        .flat_map(|f| f.sources.iter().map(|s| format!("{} {}", s.at, s.state)))
        .collect();
    let tried =
        if sources.is_empty() { String::new() } else { format!(" ({})", sources.join(", ")) };
    match why {
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
