//! The demo: servents that queue and transfer real files over real TCP, all
//! in this process, with the lab to watch them.

mod cast;
mod client;
mod summary;
mod table;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use servent::Clock;
use servent::driver::{Driver, Handle, ServentOptions};
use servent_core::node;
use tokio::net::TcpListener;
use tokio::sync::{Barrier, mpsc, oneshot};

use self::cast::{CLIENTS, CastMember};
pub(crate) use self::summary::DemoSummary;
use self::table::Table;
use crate::exit::{Exit, Failure, error_text};
use crate::lab::{self, Hub, LabDoor, Live, PageOrigin, Readers, Traces};
use crate::progress::Voice;
use crate::signal::Signals;

/// How often it is looked at whether the files are hashed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Options of the demo.
pub(crate) struct Plan {
    /// Ends by itself after this long.
    pub(crate) length: Option<Duration>,
    /// Divides every interval of the queue.
    pub(crate) time_scale: u32,
    /// Upload slots of the busy servent.
    pub(crate) slots: u32,
    /// The uploader's rate limit in bytes per second.
    pub(crate) rate: u64,
    /// Where files, state and traces go.
    pub(crate) folder: PathBuf,
    pub(crate) www: Option<PathBuf>,
    pub(crate) voice: Voice,
    pub(crate) token: String,
    /// How many readers may follow the recordings at once.
    pub(crate) readers: u32,
}

/// What a client reports about one download.
pub(crate) enum DownloadReport {
    Fetched { who: &'static str, bytes: u64, right: bool },
    Failed { who: &'static str, why: String },
}

/// Runs the demo to its end and sums up.
pub(crate) async fn run(
    plan: &Plan,
    lab: Option<(TcpListener, LabDoor)>,
    mut signals: Signals,
) -> Result<DemoSummary, Failure> {
    let files = cast::make_files(&plan.folder.join("shared"))?;
    let uploader = Driver::start(uploader(plan)).await?;
    let Some(at) = uploader.addrs().first().copied() else {
        return Err(Failure::new(Exit::Network, "the uploader listens nowhere"));
    };
    hashed(&uploader).await;
    let mut handles = vec![("uploader", uploader.clone())];
    for member in &CLIENTS {
        handles.push((member.name, Driver::start(options(plan, member)).await?));
    }
    let (done, finished) = oneshot::channel::<()>();
    let server = lab.map(|(listener, door)| {
        let until = async { drop(finished.await) };
        tokio::spawn(lab::serve(listener, Arc::new(hub(plan, &handles, &door)), until))
    });

    let (tell, mut outcomes) = mpsc::channel(64);
    let barrier = Arc::new(Barrier::new(CLIENTS.len()));
    let mut clients = tokio::task::JoinSet::new();
    for (member, (_, handle)) in CLIENTS.iter().zip(&handles[1..]) {
        let file = files[member.file].clone();
        clients.spawn(client::fetch_forever(client::DemoClient {
            member,
            handle: handle.clone(),
            from: at,
            file,
            folder: plan.folder.join(member.name).join("downloads"),
            barrier: barrier.clone(),
            tell: tell.clone(),
        }));
    }

    let mut summary = DemoSummary::new(plan.slots);
    let watched = watch(plan, &uploader, &mut outcomes, &mut summary, &mut signals).await;
    signals.end_at_next();
    clients.shutdown().await;
    for (_, handle) in handles.into_iter().rev() {
        handle.stop().await?;
    }
    drop(done);
    if let Some(server) = server {
        server.abort();
    }
    watched?;
    summary.replay(&trace_of(plan, "uploader"));
    Ok(summary)
}

/// Waits until the files can be asked for by their hashes, as the clients do.
async fn hashed(uploader: &Handle) {
    let known = async {
        loop {
            let library = uploader.library();
            if library.files > 0 && library.hashed_files == library.files {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        () = known => {}
        _ = uploader.ended() => {} // `watch` says why.
    }
}

/// Follows the uploader's recording until the time is up.
async fn watch(
    plan: &Plan,
    uploader: &Handle,
    outcomes: &mut mpsc::Receiver<DownloadReport>,
    summary: &mut DemoSummary,
    signals: &mut Signals,
) -> Result<(), Failure> {
    let Some((past, mut tape)) = uploader.tape() else {
        return Err(Failure::new(Exit::Failed, "the uploader keeps no tape"));
    };
    past.iter().for_each(|line| summary.line(line));
    let table = Table::new(plan.voice, Clock::new());
    let mut tick = tokio::time::interval(Duration::from_millis(500));
    let end = tokio::time::sleep(plan.length.unwrap_or(Duration::MAX));
    tokio::pin!(end);
    loop {
        tokio::select! {
            () = &mut end => return Ok(()),
            () = signals.first() => return Ok(()),
            ended = uploader.ended() => return ended.map_err(Failure::from),
            line = tape.recv() => match line {
                Ok(line) => summary.line(&line),
                Err(tokio::sync::broadcast::error::RecvError::Lagged(n)) => summary.lost_lines(n),
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return Ok(()),
            },
            Some(outcome) = outcomes.recv() => {
                table.say(&outcome);
                summary.outcome(outcome);
            }
            _ = tick.tick() => table.draw(&uploader.view(1, 12).await?, summary),
        }
    }
}

fn loopback() -> Vec<SocketAddr> {
    vec![SocketAddr::from(([127, 0, 0, 1], 0))]
}

fn trace_of(plan: &Plan, name: &str) -> PathBuf {
    plan.folder.join("traces").join(format!("{name}.sqlog"))
}

/// All clients share one machine and address, so limits per address must not
/// apply.
fn node(plan: &Plan) -> node::Config {
    let mut config = node::Config::default();
    config.queue.time_scale = plan.time_scale;
    config.fetch.time_scale = plan.time_scale;
    config.fetch.place.time_scale = plan.time_scale;
    config.queue.slots = plan.slots;
    config.queue.per_ip = 1_000;
    config.queue.hammer_requests = 100_000;
    config.queue.bandwidth = plan.rate;
    config.limits.connections_per_ip = 1_000;
    config
}

fn uploader(plan: &Plan) -> ServentOptions {
    ServentOptions {
        name: "uploader".into(),
        listen: loopback(),
        shares: vec![plan.folder.join("shared")],
        node: node(plan),
        trace: Some(trace_of(plan, "uploader").into()),
        tape: true,
        upload_rate: Some(plan.rate),
        ..ServentOptions::under(plan.folder.join("uploader"))
    }
}

fn options(plan: &Plan, member: &CastMember) -> ServentOptions {
    ServentOptions {
        name: member.name.into(),
        listen: loopback(),
        node: node::Config { dialect: member.dialect, ..node(plan) },
        trace: Some(trace_of(plan, member.name).into()),
        tape: true,
        ..ServentOptions::under(plan.folder.join(member.name))
    }
}

fn hub(plan: &Plan, handles: &[(&'static str, Handle)], door: &LabDoor) -> Hub {
    let live = |(name, handle): &(&'static str, Handle)| Live {
        id: (*name).to_owned(),
        name: (*name).to_owned(),
        view: "queue",
        handle: handle.clone(),
    };
    Hub {
        name: "servent demo".into(),
        servents: handles.iter().map(live).collect(),
        traces: Traces::new([plan.folder.join("traces")]),
        page: PageOrigin::new(plan.www.clone()),
        token: plan.token.clone(),
        readers: Readers::new(plan.readers),
        door: Some(door.clone()),
        part: None,
    }
}

/// Creates the folders of a demo.
pub(crate) fn make_folders(root: &Path) -> Result<(), Failure> {
    for name in ["shared", "traces"] {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).map_err(|e| {
            Failure::new(
                Exit::Disk,
                format!("cannot make {}: {}", folder.display(), error_text(&e)),
            )
        })?;
    }
    Ok(())
}
