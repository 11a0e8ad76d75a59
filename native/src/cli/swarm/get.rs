//! `servent swarm get`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use servent::swarm::{Fetch, GetOptions, SwarmProgress, get};
use servent::{Clock, connect_first, resolve_host};
use servent_core::time::Instant;
use servent_core::wire::pdtp::{Hash, PORT, url_of};

use super::super::Common;
use super::super::amount::{rate, some};
use super::super::start::{TraceFlag, address, runtime};
use super::target::SwarmTarget;
use crate::config::units;
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{
    BottomLine, ProgressLine, RecentRate, Reporter, Voice, amount, bytes, columns, count,
};
use crate::signal::Signals;

/// The shortest time between two progress reports.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// How long to look which address of a coordinator answers.
const ANSWER: Duration = Duration::from_secs(5);

/// Take a file or a folder from a swarm, and give its pieces to others meanwhile.
///
/// Every piece is checked before it counts. Stopped, and started again with
/// the same command, it goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent swarm get pdtp://10.0.0.7/film.mkv
  servent swarm get pdtp://host:7000/film.mkv -o film.mkv --seed-for 10m
  servent swarm get pdtp://10.0.0.7/course/ -o lessons/    makes lessons/course
  servent swarm get pdtp://10.0.0.7/film.mkv --passive --upload-rate 500k")]
pub(crate) struct SwarmGetArgs {
    /// `pdtp://HOST[:PORT]/NAME`; a folder's ends with `/`.
    #[arg(value_name = "URL")]
    url: String,
    /// The file to make, usually with the name in the URL; the folder to put a folder in.
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// Where peers come; `:PORT` for every address. Usually any free port.
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = ":0")]
    listen: SocketAddr,
    /// No peer can connect here: only connect to others.
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
    /// Seconds to wait for a coordinator that is gone, while no peer sends either.
    #[arg(long, value_name = "SECONDS", value_parser = some::<u32>, default_value = "60")]
    timeout: u32,
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
    // A folder's name ends with a slash.
    let plain = name.strip_suffix('/').unwrap_or(name);
    (!host.is_empty() && !plain.is_empty() && !plain.contains('/')).then_some((host, port, name))
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
    let states = config.settings.state.join("swarm-get");
    let target = SwarmTarget::new(arguments.output.as_deref(), name, &states)?;
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), false);
    runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        if target.is_fetched() {
            target.complete(&SwarmProgress::default(), &reporter).await?;
            target.remove();
            return Ok(());
        }
        let found = coordinators(host, port).await.map_err(|why| {
            Failure::new(Exit::Network, format!("cannot find {host}: {}", error_text(&why)))
                .next("check the name and the network")
        })?;
        let mut fetch = get(GetOptions {
            coordinator: found,
            url,
            target: target.pieces.clone(),
            sha256: arguments.sha256,
            listen: (!arguments.passive).then_some(arguments.listen),
            rates: (arguments.upload_rate, arguments.download_rate),
            at_once: (arguments.max_downloads, arguments.max_uploads),
            patience: Some(Duration::from_secs(arguments.timeout.into())),
            seed_for: arguments.seed_for,
            state: target.state.clone(),
            durability: config.settings.durability,
            trace: config.settings.trace_file(),
        })
        .await?;
        let voice = Voice::new(arguments.json, common.quiet);
        let bar = SwarmBar::new(&reporter, voice, &target.name);
        follow(&mut fetch, &mut signals, (bar, &target)).await?;
        drop(fetch);
        target.remove();
        Ok(())
    })
}

/// The addresses of the coordinator; of several, the one that answers is first.
async fn coordinators(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let mut found = resolve_host(host, port).await?;
    if found.len() > 1
        && let Ok(Ok((at, _))) = tokio::time::timeout(ANSWER, connect_first(&found)).await
    {
        found.sort_by_key(|other| *other != at);
    }
    Ok(found)
}

async fn follow(
    fetch: &mut Fetch,
    signals: &mut Signals,
    (mut bar, target): (SwarmBar<'_>, &SwarmTarget),
) -> Result<(), Failure> {
    let (clock, reporter) = (Clock::new(), bar.reporter);
    let mut progress = fetch.progress();
    let mut tick = tokio::time::interval(TELL_EVERY);
    let mut shown = SwarmProgress::default();
    let ended = loop {
        tokio::select! {
            ended = fetch.ended() => break ended,
            () = signals.first() => fetch.stop().await,
            _ = tick.tick() => {
                let now = progress.borrow_and_update().clone();
                if now != shown || bar.line.is_some() {
                    bar.show(clock.now(), &now);
                    if shown.done.is_none() && now.done.is_some() {
                        target.complete(&now, reporter).await?;
                    }
                    shown = now;
                }
            }
        }
    };
    drop(bar);
    let last = ended?;
    match last.done {
        Some(_) if shown.done.is_some() => Ok(()),
        Some(_) => target.complete(&last, reporter).await,
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
pub(super) fn source_share(progress: &SwarmProgress) -> u64 {
    let all = progress.from_source + progress.from_peers;
    (progress.from_source * 100).checked_div(all).unwrap_or(0)
}

/// Progress: a line at the bottom of a terminal, or one now and then.
struct SwarmBar<'a> {
    reporter: &'a Reporter,
    line: Option<BottomLine>,
    name: String,
    rate: RecentRate,
}

/// What a line says of the download from a swarm.
#[derive(Debug, PartialEq, Eq)]
struct SwarmWords {
    share: String,
    amount: String,
    speed: String,
    others: String,
}

impl SwarmWords {
    fn of_progress(now: &SwarmProgress, speed: String) -> Self {
        let here = here(now);
        let percent = (u128::from(here) * 100).checked_div(now.size.into()).unwrap_or(0);
        Self {
            share: format!("{percent:>3} %"),
            amount: amount(here, Some(now.size)),
            speed,
            others: format!(
                "{}/{} pieces, {} % from the source, {} given, {}{}",
                now.held,
                now.pieces,
                source_share(now),
                bytes(now.given),
                count(u64::from(now.peers), "peer"),
                if now.online { "" } else { ", waiting for the coordinator" },
            ),
        }
    }
}

/// The bytes that are here and verified.
fn here(now: &SwarmProgress) -> u64 {
    let here = u128::from(now.size) * u128::from(now.held) / u128::from(now.pieces.max(1));
    u64::try_from(here).unwrap_or(now.size)
}

impl<'a> SwarmBar<'a> {
    fn new(reporter: &'a Reporter, voice: Voice, name: &str) -> Self {
        let line = (voice == Voice::Terminal).then(BottomLine::add);
        Self { reporter, line, name: name.to_owned(), rate: RecentRate::default() }
    }

    fn show(&mut self, at: Instant, now: &SwarmProgress) {
        let per_second = match now.done {
            Some(_) => 0,
            None => self.rate.update(at, now.from_source + now.from_peers),
        };
        let speed = match now.done {
            Some(_) => String::new(),
            None => self.rate.words(Some(now.size.saturating_sub(here(now)))),
        };
        let SwarmWords { share, amount, speed, others } = SwarmWords::of_progress(now, speed);
        match &self.line {
            Some(line) => {
                let name = &self.name;
                let words = ProgressLine {
                    name,
                    share: &share,
                    amount: &amount,
                    speed: &speed,
                    others: &others,
                };
                line.show(words.fit(columns()));
            }
            None if now.pieces == 0 => {}
            None => {
                let mut fact = fact("progress", now);
                fact["rate"] = per_second.into();
                let speed = if speed.is_empty() { speed } else { format!("{speed}, ") };
                self.reporter.tell(&fact, &format!("{amount}, {speed}{others}"));
            }
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
        assert_eq!(parts("pdtp://h/course/"), Some(("h", 6086, "course/")));
        for wrong in [
            "http://h/f",
            "pdtp://h",
            "pdtp:///f",
            "pdtp://h/",
            "pdtp://h:x/f",
            "pdtp://h/a/b",
            "pdtp://h//",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn progress_shows_bytes_rate_and_the_time_left() {
        let now = SwarmProgress {
            online: true,
            size: 40 * 1_024,
            pieces: 4,
            held: 1,
            from_source: 10 * 1_024,
            peers: 2,
            ..SwarmProgress::default()
        };
        let mut rate = RecentRate::default();
        rate.update(Instant::ZERO, 0);
        rate.update(Instant::from_secs(1), 10 * 1_024);
        rate.update(Instant::from_secs(2), 20 * 1_024);
        let left = now.size - here(&now);
        let words = SwarmWords::of_progress(&now, rate.words(Some(left)));
        assert_eq!((&words.share[..], &words.amount[..]), (" 25 %", "10.0 KiB of 40.0 KiB"));
        assert_eq!(words.speed, "10.0 KiB/s, 3 s left");
        assert_eq!(words.others, "1/4 pieces, 100 % from the source, 0 B given, 2 peers");
        let unknown = SwarmWords::of_progress(&SwarmProgress::default(), String::new());
        assert_eq!((&unknown.share[..], &unknown.speed[..]), ("  0 %", ""));
    }
}
