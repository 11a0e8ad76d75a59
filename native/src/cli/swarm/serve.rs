//! `servent swarm serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use servent::swarm::{CHUNK, CoordinatorServer, ServeOptions, serve};
use servent::sys::is_port_in_use;
use servent_core::text::Shown;
use servent_core::wire::pdtp::PORT;
use tokio::net::TcpListener;

use super::given::{GivenFiles, escaped};
use crate::cli::Common;
use crate::cli::amount::rate;
use crate::cli::finding::map_port::PortLease;
use crate::cli::live::LiveFlags;
use crate::cli::serve::{reach, site, standby};
use crate::cli::start::{TraceFlag, address, runtime};
use crate::config::Config;
use crate::config::file::Raw;
use crate::exit::{Exit, Failure, error_text};
use crate::lab::{self, swarm::facts};
use crate::progress::{Reporter, Voice, bytes, count};
use crate::signal::Signals;

/// How often the swarm's state is reported.
const TELL_EVERY: Duration = Duration::from_secs(2);
/// How long to keep answering after the last file was withdrawn, so that
/// clients that reconnect are told.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Give files and folders to a swarm: be its coordinator and its source.
///
/// A folder is given as it is now: it is copied into one file in the state folder, which
/// is removed at the end. Clients get it as a folder again.
///
/// What every client gave and took is kept in the state folder and survives
/// restarts; clients come back by themselves and go on where they were.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent swarm serve film.mkv
  servent swarm serve course/
  servent swarm serve a b --listen :7000 --slots 8 --upload-rate 2M
  servent swarm serve film.mkv --metrics 127.0.0.1:9100    and: curl http://127.0.0.1:9100/metrics
  servent swarm serve film.mkv --lab 127.0.0.1:0    and watch it in a browser
  servent swarm serve film.mkv --store postgres://servent@db/film   one of several; see docs/site.md
  servent swarm serve a b --store postgres://servent@db/many --divide --listen 10.0.0.7:6086")]
pub(crate) struct SwarmServeArgs {
    /// The files and folders.
    #[arg(value_name = "PATH", required = true)]
    files: Vec<PathBuf>,
    /// Listen here; `:PORT` for every address.
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value = ":6086")]
    listen: Vec<SocketAddr>,
    /// Pieces the source sends at once.
    #[arg(long, value_name = "N", default_value_t = 4)]
    slots: u32,
    /// The rules: adaptive, or those of 2004, which deadlock.
    #[arg(long, value_enum)]
    policy: Option<ServeRules>,
    /// Bytes of a piece.
    #[arg(long, value_name = "BYTES", default_value_t = CHUNK)]
    chunk: u64,
    /// Bytes a second the source sends, such as 500k or 2M.
    #[arg(long, alias = "limit-rate", value_name = "RATE", value_parser = rate)]
    upload_rate: Option<u64>,
    /// Another HTTP server with the same files and paths; several are possible.
    #[arg(long, value_name = "ADDRESS")]
    proxy: Vec<SocketAddr>,
    /// Serve `/metrics` (Prometheus) and `/status` (JSON) here, to every host that
    /// reaches this address.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// Keep what every client gave and took in this database, for several
    /// coordinators of the same files: postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Ask the router to forward our port (UPnP, NAT-PMP or PCP), so that clients reach
    /// this from outside; it is given back at the end.
    #[arg(long)]
    map_port: bool,
    /// Divide the swarms among these coordinators: each leads a part of them, and
    /// answers for all.
    #[arg(long)]
    divide: bool,
    #[command(flatten)]
    trace: TraceFlag,
    #[command(flatten)]
    live: LiveFlags,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ServeRules {
    Adaptive,
    Seed2004,
}

pub(crate) fn run(common: &Common, arguments: &SwarmServeArgs) -> Result<(), Failure> {
    let config = configure(common, arguments)?;
    let options = ServeOptions {
        files: Vec::new(),
        listen: arguments.listen.clone(),
        slots: arguments.slots,
        proxies: arguments.proxy.clone(),
        upload_rate: arguments.upload_rate,
        chunk: arguments.chunk,
        swarm: config.settings.swarm.clone(),
        state: config.settings.state.join("swarm"),
        store: site::database(&config.settings)?,
        divide: config.settings.divide,
        announce: config.settings.announce,
        role: None,
        durability: config.settings.durability,
        trace: config.settings.trace_file(),
        tape: false,
    };
    let reporter = Reporter::new(Voice::new(arguments.json, common.quiet), false);
    runtime()?.block_on(async {
        let mut signals = Signals::new()?;
        let listener = listen(arguments.metrics).await?;
        let lab = arguments.live.open(&config).await?;
        let packing = GivenFiles::pack(arguments.files.clone(), options.state.clone(), reporter);
        let given = tokio::select! {
            given = packing => given?,
            () = signals.first() => return Ok(()),
        };
        let files = given.files.clone();
        let options = ServeOptions { files, tape: lab.is_some(), ..options };
        let ports: Vec<_> = listener.iter().chain(lab.iter().map(|lab| &lab.listener)).collect();
        let started = lead(options, &ports, &mut signals, &reporter).await?;
        let Some(server) = started else { return Ok(()) };
        announce(&reporter, &server, &given);
        let listen = (server.servent(), &server.addrs()[..]);
        let port = PortLease::of_servent(&config.settings, listen, reporter);
        let _lab =
            lab.map(|lab| lab.serve(("swarm serve", "swarm"), server.servent().clone(), &reporter));
        if let Some(listener) = listener {
            if let Ok(at) = listener.local_addr() {
                let fact = json!({ "event": "metrics", "at": at });
                reporter.result(&fact, &format!("metrics at http://{at}/metrics"));
            }
            tokio::spawn(lab::swarm::serve(listener, server.clone()));
        }
        let withdrawn = tokio::select! {
            () = signals.first() => Ok(()),
            () = watch(&reporter, &server) => Ok(()),
            why = all_withdrawn(&reporter, &server) => Err(Failure::new(Exit::Disk, why)
                .next("nothing is left to give; start it again to give the file as it is now")),
        };
        signals.end_at_next();
        PortLease::give_back(port).await;
        let last = facts(&server, 0).await;
        server.stop().await?;
        if let Some(last) = last {
            tell(&reporter, last, "stopped");
        }
        withdrawn
    })
}

fn configure(common: &Common, arguments: &SwarmServeArgs) -> Result<Config, Failure> {
    let mut builder = common.builder()?;
    if let Some(rules) = arguments.policy {
        let name = match rules {
            ServeRules::Adaptive => "adaptive",
            ServeRules::Seed2004 => "seed2004",
        };
        builder.flag("--policy", "swarm.policy", Raw::Text(name.into()))?;
    }
    if let Some(store) = &arguments.store {
        builder.flag("--store", "store", Raw::Text(store.clone()))?;
    }
    if arguments.map_port {
        builder.flag("--map-port", "map_port", Raw::Boolean(true))?;
    }
    if arguments.divide {
        builder.flag("--divide", "divide", Raw::Boolean(true))?;
    }
    arguments.trace.put(&mut builder)?;
    arguments.live.put(&mut builder)?;
    let config = builder.finish()?;
    if !arguments.proxy.is_empty() && arguments.files.iter().any(|path| path.is_dir()) {
        return Err(Failure::usage("another server has no folder as clients take it")
            .next("give the folder without --proxy, or an archive of it with --proxy"));
    }
    if arguments.slots == 0 || arguments.chunk == 0 {
        return Err(Failure::usage("--slots and --chunk must be at least 1"));
    }
    if config.settings.divide && config.settings.store.is_none() {
        return Err(Failure::usage("the swarms of no site can be divided")
            .next("name its database, too: --store postgres://USER@HOST/DATABASE --divide"));
    }
    Ok(config)
}

async fn listen(metrics: Option<SocketAddr>) -> Result<Option<TcpListener>, Failure> {
    let Some(at) = metrics else { return Ok(None) };
    let listener = lab::listen(at, true).await.map_err(|why| {
        let exit = if is_port_in_use(&why) { Exit::PortInUse } else { Exit::Network };
        Failure::new(exit, format!("cannot serve metrics on {at}: {}", error_text(&why)))
            .next("choose another address with --metrics")
    })?;
    Ok(Some(listener))
}

/// Starts it, as soon as it leads if it is one of several. `None`: a signal
/// ended it before that.
async fn lead(
    options: ServeOptions,
    ports: &[&TcpListener],
    signals: &mut Signals,
    reporter: &Reporter,
) -> Result<Option<CoordinatorServer>, Failure> {
    if options.store.is_none() {
        return Ok(Some(serve(options).await?));
    }
    let starting = |role| async { Ok(serve(ServeOptions { role: Some(role), ..options }).await?) };
    let tell = |fact: &Value, sentence: &str| {
        reporter.result(fact, sentence);
        Ok(())
    };
    standby::start(starting, ports, signals, tell).await
}

fn announce(reporter: &Reporter, server: &CoordinatorServer, given: &GivenFiles) {
    for at in server.addrs() {
        reporter.result(&json!({ "event": "listening", "at": at }), &format!("listening {at}"));
    }
    let at = server.addrs().first().map(|at| reach::place(*at, PORT)).unwrap_or_default();
    for (file, (_, hashed)) in given.files.iter().zip(server.files()) {
        let folder = given.folder(file);
        let name = &file.name;
        let fact = json!({
            "event": "file", "name": name, "size": hashed.size, "files": folder.map(|it| it.files),
            "pieces": hashed.pieces.len(), "sha256": hashed.whole.to_string(),
        });
        let inside = folder.map_or_else(String::new, |it| format!("{}, ", count(it.files, "file")));
        let sentence = format!(
            "{}, {inside}{} in {}, SHA-256 {}\nothers take it with: servent swarm get pdtp://{at}/{}",
            Shown(name),
            bytes(hashed.size),
            count(hashed.pieces.len() as u64, "piece"),
            hashed.whole,
            escaped(name),
        );
        reporter.result(&fact, &sentence);
    }
}

/// Reports withdrawn files; returns after the last one, with its reason.
async fn all_withdrawn(reporter: &Reporter, server: &CoordinatorServer) -> String {
    let mut withdrawals = server.withdrawals();
    for left in (0..server.files().len()).rev() {
        let Some(why) = withdrawals.next().await else { break };
        if left == 0 {
            tokio::time::sleep(LAST_WORDS).await;
            return why;
        }
        reporter.result(&json!({ "event": "withdrawn", "why": why }), &why);
    }
    std::future::pending().await
}

/// Reports the swarm's state regularly, when it has changed.
async fn watch(reporter: &Reporter, server: &CoordinatorServer) {
    let mut tick = tokio::time::interval(TELL_EVERY);
    let mut before = (Value::from(0), Value::from(0));
    loop {
        tick.tick().await;
        let Some(facts) = facts(server, 0).await else { return };
        let now = (facts["clients"].clone(), facts["counters"]["assigned"].clone());
        if now != before {
            before = now;
            tell(reporter, facts, "swarm");
        }
    }
}

fn tell(reporter: &Reporter, mut facts: Value, event: &str) {
    let number = |of: &Value| of.as_u64().unwrap_or(0);
    let copies = number(&facts["source_copies_percent"]);
    let sentence = format!(
        "{}, {} arrived, the source has sent {} ({}.{:02} copies)",
        count(number(&facts["clients"]), "client"),
        count(number(&facts["counters"]["arrived"]), "piece"),
        bytes(number(&facts["sent"])),
        copies / 100,
        copies % 100,
    );
    facts["event"] = event.into();
    reporter.tell(&facts, &sentence);
}
