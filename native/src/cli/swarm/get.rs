//! `servent swarm get`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use data_encoding::HEXLOWER;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use servent::swarm::{Fetch, GetOptions, SwarmProgress, get};
use servent_core::wire::pdtp::{Hash, PORT, url_of};
use sha1::Digest as _;

use super::super::Common;
use super::super::start::{TraceFlag, address, runtime};

use super::super::amount::rate;
use crate::config::units;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{Reporter, Voice, bytes, count};
use crate::signal::Signals;

/// The shortest time between two progress reports.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Take a file from a swarm, and give its pieces to others meanwhile.
///
/// Every piece is checked before it counts. Stopped, and started again with
/// the same command, it goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent swarm get pdtp://10.0.0.7/film.mkv
  servent swarm get pdtp://host:7000/film.mkv -o film.mkv --seed-for 10m
  servent swarm get pdtp://10.0.0.7/film.mkv --passive --upload-rate 500k")]
pub(crate) struct SwarmGetArgs {
    /// `pdtp://HOST[:PORT]/NAME`.
    #[arg(value_name = "URL")]
    url: String,
    /// The file to make; usually the name in the URL.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where peers come; `:PORT` for every address. Usually any free port.
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = ":0")]
    listen: SocketAddr,
    /// Nobody can connect here: only connect.
    #[arg(long, conflicts_with = "listen")]
    passive: bool,
    /// Bytes a second to peers, such as 500k or 2M.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    upload_rate: Option<u64>,
    /// Bytes a second from source and peers.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    download_rate: Option<u64>,
    /// Pieces to peers at once; usually the coordinator finds out.
    #[arg(long, value_name = "N")]
    max_uploads: Option<u32>,
    /// Pieces from others at once.
    #[arg(long, value_name = "N")]
    max_downloads: Option<u32>,
    /// Go on giving so long once all is here.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    seed_for: Duration,
    /// What the whole must hash to.
    #[arg(long, value_name = "HEX", value_parser = digest)]
    sha256: Option<Hash>,
    #[command(flatten)]
    trace: TraceFlag,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    let micros = units::parse(text);
    micros
        .map(Duration::from_micros)
        .ok_or_else(|| format!("`{text}` is no time such as 30s or 5m"))
}

fn digest(text: &str) -> Result<Hash, String> {
    Hash::parse(text).ok_or_else(|| "a SHA-256 has 64 hexadecimal digits".into())
}

/// Splits `pdtp://HOST[:PORT]/NAME`.
fn parts(url: &str) -> Option<(&str, u16, &str)> {
    let (place, name) = url.strip_prefix("pdtp://")?.split_once('/')?;
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !port.ends_with(']') => {
            (host, port.parse().ok()?)
        }
        _ => (place, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty() && !name.is_empty() && !name.contains('/')).then_some((host, port, name))
}

pub(crate) fn run(common: &Common, arguments: &SwarmGetArgs) -> Result<(), Failure> {
    let mut builder = common.builder()?;
    arguments.trace.put(&mut builder)?;
    let config = builder.finish()?;
    let Some((host, port, name)) = parts(&arguments.url) else {
        return Err(Failure::usage(format!("{}: not a URL of a swarm", arguments.url))
            .next("it looks like pdtp://HOST/NAME or pdtp://HOST:PORT/NAME"));
    };
    let url = url_of(name);
    let target = target(arguments.output.as_deref(), name)?;
    let folder = sha1::Sha1::digest(target.as_os_str().as_encoded_bytes());
    let state = config.settings.state.join("swarm-get").join(HEXLOWER.encode(&folder[..8]));
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), false);
    runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        let found = tokio::net::lookup_host((host, port)).await.map_err(|why| {
            Failure::new(Exit::Network, format!("cannot find {host}: {}", error_text(&why)))
                .next("check the name and the network")
        })?;
        let mut fetch = get(GetOptions {
            coordinator: found.collect(),
            url,
            target: target.clone(),
            sha256: arguments.sha256,
            listen: (!arguments.passive).then_some(arguments.listen),
            rates: (arguments.upload_rate, arguments.download_rate),
            at_once: (arguments.max_downloads, arguments.max_uploads),
            seed_for: arguments.seed_for,
            state,
            durability: config.settings.durability,
            trace: config.settings.trace_file(),
        })
        .await?;
        follow(&mut fetch, &mut signals, &reporter, &target, arguments.json).await
    })
}

fn target(output: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let plain = url_of(name);
    let plain = percent_encoding::percent_decode_str(plain.rsplit('/').next().unwrap_or_default());
    let plain = plain.decode_utf8_lossy().into_owned();
    // A name in a URL becomes a file in this folder, never a path.
    if output.is_none() && (plain.contains('/') || matches!(plain.as_str(), "." | "..")) {
        return Err(
            Failure::usage(format!("{plain:?} is no name for a file")).next("choose one with -o")
        );
    }
    let target = output.map_or_else(|| PathBuf::from(plain), Path::to_path_buf);
    let target = std::path::absolute(&target).map_err(|e| Failure::file("write", &target, &e))?;
    if target.symlink_metadata().is_ok() {
        return Err(Failure::new(Exit::Disk, format!("{} is there already", target.display()))
            .next("choose another name with -o, or take it away"));
    }
    Ok(target)
}

async fn follow(
    fetch: &mut Fetch,
    signals: &mut Signals,
    reporter: &Reporter,
    target: &Path,
    json: bool,
) -> Result<(), Failure> {
    let mut progress = fetch.progress();
    let bar = Bar::new(reporter, json);
    let mut tick = tokio::time::interval(TELL_EVERY);
    let mut shown = SwarmProgress::default();
    let ended = loop {
        tokio::select! {
            ended = fetch.ended() => break ended,
            () = signals.first() => fetch.stop().await,
            _ = tick.tick() => {
                let now = progress.borrow_and_update().clone();
                if now != shown {
                    bar.show(&now);
                    if shown.done.is_none() && now.done.is_some() {
                        tell_done(reporter, target, &now);
                    }
                    shown = now;
                }
            }
        }
    };
    bar.finish();
    let last = ended?;
    match last.done {
        Some(_) if shown.done.is_some() => Ok(()),
        Some(_) => {
            tell_done(reporter, target, &last);
            Ok(())
        }
        None => Err(Failure::new(
            Exit::Interrupted,
            format!("stopped with {} of {} pieces", last.held, last.pieces),
        )
        .next("run the same command to go on where it was")),
    }
}

fn fact(event: &str, progress: &SwarmProgress) -> Value {
    let mut fact = serde_json::to_value(progress).unwrap_or_default();
    fact["event"] = event.into();
    fact
}

/// The source's share of the received bytes, in percent.
fn source_share(progress: &SwarmProgress) -> u64 {
    let all = progress.from_source + progress.from_peers;
    (progress.from_source * 100).checked_div(all).unwrap_or(0)
}

fn tell_done(reporter: &Reporter, target: &Path, progress: &SwarmProgress) {
    let mut fact = fact("done", progress);
    fact["path"] = json!(target);
    let sentence = format!(
        "{} {}, SHA-256 {}, {} % from the source",
        target.display(),
        bytes(progress.size),
        progress.done.as_deref().unwrap_or_default(),
        source_share(progress),
    );
    reporter.result(&fact, &sentence);
}

/// Progress: a bar, or a line now and then.
struct Bar<'a> {
    reporter: &'a Reporter,
    bar: Option<ProgressBar>,
}

impl<'a> Bar<'a> {
    fn new(reporter: &'a Reporter, json: bool) -> Self {
        let terminal = !json && Voice::new(json, false) == Voice::Terminal;
        let bar = terminal.then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent:>3} %  {msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self { reporter, bar }
    }

    fn show(&self, now: &SwarmProgress) {
        let words = format!(
            "{}/{} pieces, {} % from the source, {} given, {}{}",
            now.held,
            now.pieces,
            source_share(now),
            bytes(now.given),
            count(u64::from(now.peers), "peer"),
            if now.online { "" } else { ", waiting for the coordinator" },
        );
        match &self.bar {
            Some(bar) => {
                bar.set_length(u64::from(now.pieces));
                bar.set_position(u64::from(now.held));
                bar.set_message(words);
            }
            None if now.pieces == 0 => {}
            None => self.reporter.tell(&fact("progress", now), &words),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_host_port_and_file() {
        assert_eq!(parts("pdtp://h/f"), Some(("h", 6086, "f")));
        assert_eq!(parts("pdtp://h:1/my%20f"), Some(("h", 1, "my%20f")));
        assert_eq!(parts("pdtp://[::1]/f"), Some(("::1", 6086, "f")));
        assert_eq!(parts("pdtp://[::1]:7/f"), Some(("::1", 7, "f")));
        for wrong in
            ["http://h/f", "pdtp://h", "pdtp:///f", "pdtp://h/", "pdtp://h:x/f", "pdtp://h/a/b"]
        {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_in_a_url_never_becomes_a_path() {
        for name in ["..", "%2e%2e", "a%2Fb", "%2Fetc%2Fpasswd"] {
            assert!(target(None, name).is_err(), "{name}");
        }
        assert!(target(None, "my%20file").unwrap().ends_with("my file"));
    }
}
