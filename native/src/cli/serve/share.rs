//! `servent share`: a servent that others download from.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use directories::UserDirs;
use serde_json::{Value, json};
use servent::DamagedState;
use servent::driver::{Handle, ServentOptions, added_shares};
use servent::sys::machine_name;
use servent_core::node::{NodeAnswer, NodeCommand, OverlayCommand};
use tokio::sync::broadcast::Receiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::private::{self, Private};
use super::service::{self, Service};
use crate::cli::amount::{rate, some};
use crate::cli::control::{ControlFile, ControlServer, LabAccess, token};
use crate::cli::finding::anywhere::{self, MetServent};
use crate::cli::finding::lan::Lan;
use crate::cli::finding::map_port::PortLease;
use crate::cli::finding::place::{PlaceBeside, PlacePorts, check_relay, place_address};
use crate::cli::search;
use crate::cli::serve::{access_log, certificate, reach, received, site, wide};
use crate::cli::start::{self, TraceFlag, address, make, runtime};
use crate::cli::{Common, print, room};
use crate::config::file::Raw;
use crate::config::{Config, Origin, Settings};
use crate::exit::Failure;
use crate::lab::{
    self, Hub, LabDoor, Live, PageOrigin, PageParticipation, Readers, Recording, Traces,
};
use crate::progress::{BottomLine, Reporter, Voice, bytes, count};
use crate::signal::Signals;

/// Where a meeting place usually listens.
pub(crate) const PLACE: &str = "[::]:6349";

/// Share folders: others download from them, in one fair queue.
///
/// The queue survives restarts: a client that has a place keeps it. Ctrl-C
/// saves everything and ends with code 0.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent share ~/Music                          share a folder on port 6346
  servent share a b --slots 2 --listen :7000     two folders, two uploads at once
  servent share pub --peer 10.0.0.7:6346         join the overlay that servent is in
  servent share pub --lan                        join the servents of the local network
  servent share pub --meet place.example.org     reached from anywhere, through any router
  servent share pub --place --relay 2M           a meeting place too, for others behind routers
  servent share pub --trace run.sqlog            record every decision for `servent replay`
  servent share pub --access-log access.log      a line a request, for the tools of web servers
  servent share pub --accept inbox               visitors upload files into that folder
  servent share pub --tls-self-made              in private; its fingerprint is printed
  servent share pub --tls-self-made --user ann --password-file secret
  servent share pub --store postgres://servent@db/site
                                                 one of a site; see docs/site.md
  servent share pub --store postgres://servent@db/site --divide --listen 10.0.0.7:6346
                                                 one that serves its part of the files
  servent share pub --state /tmp/two --listen 127.0.0.1:0
                                                 a second servent on this machine")]
pub(crate) struct ShareArgs {
    /// Folders or files to share.
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Listen here; `:PORT` for every address, port 0 takes any free one. Several are possible.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// Answer to this host name, too: to others than addresses and names of the local
    /// network nothing is said. Several are possible.
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
    /// Join the overlay here; several are possible.
    #[arg(long, value_name = "HOST:PORT")]
    peer: Vec<String>,
    /// Where `servent downloads add` saves what it is given.
    #[arg(long, value_name = "DIR")]
    downloads: Option<PathBuf>,
    /// Take files that visitors upload in their browsers, or by `curl -T`, into this folder.
    #[arg(long, value_name = "DIR")]
    accept: Option<PathBuf>,
    /// Find servents of the local network, and be found by them.
    #[arg(long)]
    lan: bool,
    /// Let others find this through the meeting place there (`servent meet`), whatever
    /// router is between; prints the link for `servent get`. `neighbour` is the place of a
    /// neighbour in the overlay, used when others cannot connect to us.
    #[arg(long, value_name = "HOST[:PORT]")]
    meet: Option<String>,
    /// Be a meeting place too (`servent meet`), for others who cannot reach each other:
    /// on UDP ports 6349 and 6350, or at this address and the next port.
    #[arg(long, value_name = "PORT|ADDRESS", num_args = 0..=1, require_equals = true,
          default_missing_value = PLACE, value_parser = place_address)]
    place: Option<SocketAddr>,
    /// With --place: pass on so many bytes a second for those that find no direct path.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    relay: Option<u64>,
    /// Ask the router to forward our port (UPnP, NAT-PMP or PCP), so that others reach
    /// this from outside; it is given back at the end.
    #[arg(long)]
    map_port: bool,
    /// Uploads that may run at once.
    #[arg(long, value_name = "N", value_parser = some::<u32>)]
    slots: Option<u32>,
    /// Uploads one address may keep from others who wait; half of the slots unless said otherwise.
    #[arg(long, value_name = "N", value_parser = some::<u32>)]
    max_per_peer: Option<u32>,
    /// Write every request to this file, as web servers do (combined format).
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Bytes a second all uploads together may take, such as 500k or 2M.
    #[arg(long, alias = "upload-rate", value_name = "RATE", value_parser = rate)]
    limit_rate: Option<u64>,
    /// Bytes a second all uploads of one address together may take.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    limit_rate_per_peer: Option<u64>,
    /// Keep the state in this database, which the servents of a site share:
    /// postgres://USER@HOST/DATABASE, without the password.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// All servents of that site serve, each a part of the files; otherwise one
    /// leads and the others stand by.
    #[arg(long)]
    divide: bool,
    #[command(flatten)]
    private: Private,
    #[command(flatten)]
    trace: TraceFlag,
    #[command(flatten)]
    lab: start::LabFlags,
    /// Share a home folder, or the whole machine, without being asked.
    #[arg(long)]
    yes: bool,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &ShareArgs) -> Result<(), Failure> {
    wide::ask(&arguments.folders, arguments.yes)?;
    let config = configure(common, arguments, false)?;
    let nothing = config.settings.share.is_empty() && config.settings.accept.is_none();
    if nothing && added_shares(&config.settings.state).unwrap_or_default().is_empty() {
        return Err(Failure::usage("nothing to share")
            .next("name a folder: `servent share DIR`, or set `share` in the configuration file"));
    }
    if config.settings.divide && config.settings.store.is_none() {
        return Err(Failure::usage("the files of no site can be divided")
            .next("name its database, too: --store postgres://USER@HOST/DATABASE --divide"));
    }
    let voice = Voice::new(arguments.json, common.quiet);
    let again = || configure(common, arguments, true);
    let peers = &arguments.peer;
    runtime()?.block_on(share(&config, peers, common.damaged(), (voice, Sharing::Folders(&again))))
}

/// What is shared, and to which end.
#[derive(Clone, Copy)]
pub(crate) enum Sharing<'a> {
    /// Folders, by the settings, which may be read again.
    Folders(service::Configure<'a>),
    /// What a room has.
    Room(&'a room::Record),
}

impl<'a> Sharing<'a> {
    pub(crate) const fn room(self) -> Option<&'a room::Record> {
        match self {
            Self::Room(record) => Some(record),
            Self::Folders(_) => None,
        }
    }
}

/// The settings: at the start, or read `again`, when what is recorded goes on.
fn configure(common: &Common, arguments: &ShareArgs, again: bool) -> Result<Config, Failure> {
    let mut builder = common.builder()?;
    let text = |path: &PathBuf| Raw::Text(path.to_string_lossy().into_owned());
    if !arguments.folders.is_empty() {
        builder.flag("DIR", "share", Raw::List(arguments.folders.iter().map(text).collect()))?;
    }
    builder.flags("--listen", "listen", &arguments.listen)?;
    builder.flags("--name", "hosts", &arguments.name)?;
    if let Some(slots) = arguments.slots {
        builder.flag("--slots", "queue.slots", Raw::Integer(i64::from(slots)))?;
    }
    if let Some(most) = arguments.max_per_peer {
        builder.flag("--max-per-peer", "queue.slots_per_ip", Raw::Integer(i64::from(most)))?;
    }
    for (flag, key, rate) in [
        ("--limit-rate", "upload_rate", arguments.limit_rate),
        ("--limit-rate-per-peer", "upload_rate_per_peer", arguments.limit_rate_per_peer),
        ("--relay", "relay", arguments.relay),
    ] {
        if let Some(rate) = rate {
            builder.flag(flag, key, Raw::Integer(i64::try_from(rate).unwrap_or(i64::MAX)))?;
        }
    }
    if let Some(folder) = &arguments.downloads {
        builder.flag("--downloads", "downloads", text(folder))?;
    }
    if let Some(store) = &arguments.store {
        builder.flag("--store", "store", Raw::Text(store.clone()))?;
    }
    if arguments.divide {
        builder.flag("--divide", "divide", Raw::Boolean(true))?;
    }
    if let Some(folder) = &arguments.accept {
        builder.flag("--accept", "accept", text(folder))?;
    }
    if let Some(place) = &arguments.meet {
        builder.flag("--meet", "meet", Raw::Text(place.clone()))?;
    }
    if let Some(place) = &arguments.place {
        builder.flag("--place", "meeting_place", Raw::Text(place.to_string()))?;
    }
    if arguments.lan {
        builder.flag("--lan", "lan", Raw::Boolean(true))?;
    }
    if arguments.map_port {
        builder.flag("--map-port", "map_port", Raw::Boolean(true))?;
    }
    if let Some(log) = &arguments.access_log {
        builder.flag("--access-log", "access_log", text(log))?;
    }
    arguments.private.put(&mut builder)?;
    if !again {
        arguments.trace.put(&mut builder)?;
    }
    arguments.lab.put(&mut builder)?;
    let config = builder.finish()?;
    check_relay(arguments.relay, &config.settings).map(|()| config)
}

/// Shares until it is told to stop. In a `room` the lab's page is what others
/// open, and its address is what is announced.
pub(crate) async fn share(
    config: &Config,
    peers: &[String],
    damaged_state: DamagedState,
    (voice, what): (Voice, Sharing<'_>),
) -> Result<(), Failure> {
    let settings = &config.settings;
    let mut signals = Signals::new()?;
    let mut service = Service::new(&mut signals, what, (config, voice));
    let room = what.room();
    let peers = search::peers(peers).await?;
    make(&settings.state)?;
    let listener = start::lab(config).await?;
    let access = settings.access_log.as_deref().map(access_log::open).transpose()?;
    let identity = private::identity(settings)?;
    let password = private::password(settings)?;
    let private = identity.is_some() || password.is_some();
    if private {
        apart(settings.lan || !peers.is_empty())?;
    }
    anywhere::check(settings, identity.is_some())?;
    let options = ServentOptions {
        access,
        password,
        origins: start::origins(config, listener.as_ref().map(|(_, door)| door)),
        store: site::database(settings)?,
        ..options(config, damaged_state, listener.is_some())
    };
    let options = known_as(options, identity.as_ref(), private);
    let (port, door) = listener.as_ref().map(|(port, door)| (port, door.clone())).unzip();
    service.stand_by();
    let Some(handle) = site::start(options, port, &mut signals, voice).await? else {
        return Ok(());
    };
    let ports = PlacePorts::take(settings).await?;
    let mut part = part(&handle, door.as_ref(), (room.is_some(), private));
    let recorded = room.map(|record| record.begin(settings, &mut part)).transpose()?;
    if let Some(record) = room {
        record.draw_code(&handle, voice)?;
        record.explain_check(voice)?;
    }
    let _awake = room.map(|_| room::Awake::begin());
    match part.as_ref().and_then(|part| part.url.as_deref()) {
        Some(url) => room::announce(voice, url)?,
        None => announce((voice, settings), &handle.addrs(), identity.as_ref())?,
    }
    let (answers, place) = join(&handle, peers, (ports, voice)).await?;
    let lan = settings.lan.then(|| Lan::start(&handle, &handle.addrs())).transpose()?;

    let hub = hub(settings, &handle, (door, part))?;
    let control = ControlServer::start(&settings.state, hub.clone())?;
    let mut access = None;
    let (done, finished) = oneshot::channel::<()>();
    let mut server = None;
    if let Some((listener, door)) = listener {
        let address = door.address;
        let written = LabAccess { address, token: hub.token.clone(), pid: std::process::id() };
        access = Some(ControlFile::write(&settings.state, &written)?);
        announce_lab(voice, &door, room.is_some())?;
        let until = async { drop(finished.await) };
        server = Some(tokio::spawn(lab::serve(listener, hub, until)));
    }

    let (watching, port) = watching(&handle, settings, voice);
    let met = MetServent::begin(settings, (&handle, answers), voice);
    let ended = service.serve(&mut signals, &handle).await;
    drop(watching);
    signals.end_at_next();
    drop((control, access, lan));
    leave(met, place, port).await;
    close(&handle, room.zip(recorded.as_deref()), ended.is_ok(), (settings, voice)).await?;
    drop(done);
    if let Some(server) = server {
        // A browser that follows the recording would keep its connection open.
        server.abort();
    }
    ended.map_err(Failure::from)
}

/// Connects to the peers of the overlay that were named, which hear of our meeting place if
/// there is one. With what the servent says from then on.
async fn join(
    handle: &Handle,
    peers: Vec<SocketAddr>,
    (ports, voice): (Option<PlacePorts>, Voice),
) -> Result<(Receiver<NodeAnswer>, Option<PlaceBeside>), Failure> {
    let answers = handle.answers();
    let place = match ports {
        Some(ports) => Some(PlaceBeside::open(ports, handle, voice).await?),
        None => None,
    };
    for at in peers {
        handle.command(NodeCommand::Overlay(OverlayCommand::Join { at })).await?;
    }
    Ok((answers, place))
}

/// Leaves the meeting places, and gives the router its port back.
async fn leave(met: Option<MetServent>, place: Option<PlaceBeside>, port: Option<PortLease>) {
    MetServent::leave(met).await;
    PlaceBeside::close(place).await;
    PortLease::give_back(port).await;
}

/// What is shared in private stays out of the overlay.
fn apart(joins: bool) -> Result<(), Failure> {
    if !joins {
        return Ok(());
    }
    Err(Failure::usage("what is shared in private is not told to the overlay")
        .next("leave --peer and --lan out, or --tls and --user"))
}

/// Says goodbye; a room that is recorded has the end of every recording then.
async fn close(
    handle: &Handle,
    room: Option<(&room::Record, &Recording)>,
    runs: bool,
    (settings, voice): (&Settings, Voice),
) -> Result<(), Failure> {
    if let Some((_, recording)) = room {
        room::collect(handle, recording).await;
    }
    if runs {
        handle.stop().await?;
    }
    room.map_or(Ok(()), |(to, recording)| to.keep(settings, recording, voice))
}

/// What the lab and the other commands are shown.
fn hub(
    settings: &Settings,
    handle: &Handle,
    (door, part): (Option<LabDoor>, Option<PageParticipation>),
) -> Result<Arc<Hub>, Failure> {
    let (name, handle) = ("servent".into(), handle.clone());
    let live = Live { id: "0".into(), name, view: "queue", handle };
    Ok(Arc::new(Hub {
        name: "servent share".into(),
        servents: vec![live],
        traces: Traces::new(settings.trace.clone()),
        page: PageOrigin::new(settings.www.clone()),
        token: token()?,
        readers: Readers::new(settings.lab_readers),
        door,
        part,
    }))
}

/// With the identity that others know, and what a private share does without.
fn known_as(
    mut options: ServentOptions,
    identity: Option<&private::KnownIdentity>,
    private: bool,
) -> ServentOptions {
    if let Some(identity) = identity {
        // The names of a certificate are names that the owner gave.
        options.node.hosts.extend(identity.ours.names());
        options.identity = Some(identity.ours.clone());
        options.node.callable = false; // Peers do not expect TLS when they open a connection.
    }
    options.node.overlay.enabled &= !private;
    options
}

fn options(config: &Config, damaged_state: DamagedState, tape: bool) -> ServentOptions {
    let settings = &config.settings;
    let limit = |rate: u64| Some(rate).filter(|rate| *rate > 0);
    let mut node = settings.node.clone();
    node.hosts.extend(machine_name());
    if node.queue.bandwidth == 0 {
        // With a rate limit the bandwidth is known, so waits can be estimated
        // (PQ-15).
        node.queue.bandwidth = settings.upload_rate;
    }
    ServentOptions {
        name: "servent".into(),
        listen: settings.listen.clone(),
        announce: settings.announce,
        divide: settings.divide,
        shares: settings.share.clone(),
        accept: settings.accept.clone(),
        download_dir: download_dir(config),
        tree: true,
        durability: settings.durability,
        node,
        upload_rate: limit(settings.upload_rate),
        upload_rate_per_peer: limit(settings.upload_rate_per_peer),
        trace: settings.trace_file(),
        disk_reserve: settings.disk_reserve,
        tape,
        damaged_state,
        ..ServentOptions::under(&settings.state)
    }
}

/// The folder for downloads: the configured one, or this user's usual one. The
/// current folder means nothing to a servent that runs for months.
fn download_dir(config: &Config) -> PathBuf {
    let Settings { downloads, state, .. } = &config.settings;
    let folder = match config.origin("downloads") {
        Origin::Default => UserDirs::new().and_then(|dirs| Some(dirs.download_dir()?.to_owned())),
        _ => Some(downloads.clone()),
    };
    let folder = folder.unwrap_or_else(|| state.join("downloads"));
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Prints where it listens and how others reach it.
fn announce(
    (voice, settings): (Voice, &Settings),
    addrs: &[SocketAddr],
    identity: Option<&private::KnownIdentity>,
) -> Result<(), Failure> {
    for at in addrs {
        told(voice, &json!({ "event": "listening", "at": at }), &format!("listening {at}"))?;
    }
    let scheme = if identity.is_some() { "https" } else { "http" };
    let reached = reach::addresses(addrs);
    for at in &reached {
        let url = format!("{scheme}://{}/", reach::in_url(*at));
        told(voice, &json!({ "event": "files", "url": url }), &format!("files {url}"))?;
    }
    if let Some(identity) = identity {
        let (fact, sentence) = identity.describe();
        told(voice, &fact, &sentence)?;
    }
    received::announce(voice, settings)?;
    anywhere::announce(voice, settings)?;
    match reached.first() {
        Some(at) if voice == Voice::Terminal && std::io::stdout().is_terminal() => {
            let picture = reach::picture(*at, &format!("{scheme}://{}/", reach::in_url(*at)));
            picture.map_or(Ok(()), |picture| print(format!("{picture}\n")))
        }
        _ => Ok(()),
    }
}

/// Where the lab's page takes part, and in a room the address to open.
/// What is shared in private is for no page.
fn part(
    handle: &Handle,
    lab: Option<&LabDoor>,
    (room, private): (bool, bool),
) -> Option<PageParticipation> {
    let page = reach::addresses(&[lab.filter(|_| !private)?.address]);
    let url = page.first().filter(|_| room).map(|at| format!("http://{at}/"));
    PageParticipation::new(&reach::addresses(&handle.addrs()), url)
}

fn announce_lab(voice: Voice, door: &LabDoor, room: bool) -> Result<(), Failure> {
    if room {
        return room::announce_screen(voice, door);
    }
    let url = door.url();
    told(voice, &json!({ "event": "lab", "url": url }), &format!("lab {url}"))
}

/// Prints a fact to standard output, in the form that is wanted.
pub(crate) fn told(voice: Voice, fact: &Value, sentence: &str) -> Result<(), Failure> {
    match voice {
        Voice::Quiet => Ok(()),
        Voice::Json => print(format!("{fact}\n")),
        Voice::Terminal | Voice::Lines => print(format!("{sentence}\n")),
    }
}

/// What says how it goes, until it is dropped; the port that the router forwards; and its
/// seat at a meeting place.
fn watching(
    handle: &Handle,
    settings: &Settings,
    voice: Voice,
) -> (JoinSet<()>, Option<PortLease>) {
    let mut tasks = JoinSet::new();
    if settings.accept.is_some() {
        tasks.spawn(received::tell(handle.answers(), voice));
    }
    if let Some(identity) = handle.identity() {
        tasks.spawn(certificate::follow(identity.clone(), handle.clone(), voice));
    }
    service::report(Some(handle), &mut tasks);
    tasks.spawn(watch(handle.clone(), voice));
    let reporter = Reporter::new(voice, false);
    let port = PortLease::of_servent(settings, (handle, &handle.addrs()), reporter);
    (tasks, port)
}

/// Shows hashing, then slots and queue, on a terminal; elsewhere prints one
/// line when everything is hashed.
async fn watch(handle: Handle, voice: Voice) {
    let bar = (voice == Voice::Terminal).then(BottomLine::add);
    let mut tick = tokio::time::interval(Duration::from_millis(500));
    let mut hashed = false;
    loop {
        tick.tick().await;
        let library = handle.library();
        if !hashed && library.hashed_files == library.files {
            hashed = true;
            let line = match voice {
                Voice::Json => {
                    json!({ "event": "hashed", "files": library.files, "bytes": library.bytes })
                        .to_string()
                }
                _ => format!("hashed {}, {}", count(library.files, "file"), bytes(library.bytes)),
            };
            if voice != Voice::Quiet {
                // A closed pipe does not stop the servent.
                drop(print(format!("{line}\n")));
            }
        }
        let Some(bar) = &bar else {
            if hashed {
                return;
            }
            continue;
        };
        let Ok(view) = handle.view(1, 0).await else { return };
        let queue = view.queue;
        let used = queue.slots.saturating_sub(queue.free);
        let hashing = if hashed {
            String::new()
        } else {
            format!(", hashing {} of {}", bytes(library.hashed_bytes), bytes(library.bytes))
        };
        bar.show(format!(
            "slots {used}/{}, {} in line, {}{}{hashing}",
            queue.slots,
            queue.length,
            count(view.connections.into(), "connection"),
            received::arriving(view.inbox.as_ref()),
        ));
    }
}

#[cfg(test)]
mod tests {
    use servent::Durability;

    use super::*;
    use crate::config::Builder;

    #[test]
    fn a_servent_promises_as_much_as_it_is_set_to() {
        for (text, wanted) in [("process", Durability::Process), ("power", Durability::Power)] {
            let mut builder = Builder::load(Some("/dev/null".as_ref())).unwrap();
            builder.assign(&format!("durability={text}")).unwrap();
            let config = builder.finish().unwrap();
            assert_eq!(options(&config, DamagedState::Refuse, false).durability, wanted);
        }
        let mut builder = Builder::load(Some("/dev/null".as_ref())).unwrap();
        assert!(builder.assign("durability=luck").unwrap_err().what.contains("`durability`"));
    }
}
