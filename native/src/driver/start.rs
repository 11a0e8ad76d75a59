//! Starting a servent: limits, store, library, recording, sockets, node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use servent_core::node::{Config, Input, Node};
use servent_core::trace::NodeId;
use servent_core::trace::tape::Start;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast, mpsc, watch};

use super::datagrams::{Datagrams, Messaging, SharedEndpoint};
use super::folders::{self, OpenedFolders};
use super::met::MeetingNotes;
use super::people::Rates;
use super::turn::{Disk, HostedNode, Loop, Mailboxes, Sockets};
use super::{Handle, Outside, ServentOptions, Unsaved};
use crate::access::AccessWatch;
use crate::clock::Clock;
use crate::counters::Counters;
use crate::dice;
use crate::error::{StartError, StoreFailure};
use crate::library::{Library, LibraryRequest, Worker};
use crate::net::caches::Caches;
use crate::net::udp::UdpEndpoint;
use crate::net::{
    Admission, ConnectionEntry, Pages, REPORTS, Reports, Trust, listen, raise_descriptors,
};
use crate::store::{DamagedState, Durability, Embedded};
use crate::sys::is_port_in_use;
use crate::tape::RecordingWriter;

/// Connections above the limit the node is told, so that it can still answer
/// those it must refuse.
const SPARE: u32 = 16;
/// Commands that may wait for the node's task.
const CONTROLS: usize = 64;
/// How many answers a slow subscriber may be behind.
const ANSWERS: usize = 1_024;

/// Starts servents.
#[derive(Debug)]
pub struct Driver;

impl Driver {
    /// Starts a servent.
    ///
    /// # Errors
    /// Anything it needs and cannot get; see [`StartError`].
    pub async fn start(options: ServentOptions) -> Result<Handle, StartError> {
        Library::check(&options.shares)?;
        let opened = open_site(&options).await?;
        let listeners = bind(&options)?;
        let addrs = local_addrs(&listeners)?;
        let (room, config) = fit(&options);
        let messaging = options.datagrams.as_ref().map(bind_datagrams).transpose()?;
        let (mut folders, options) = folders::open(options, opened).await?;
        let standing = folders.listen(options.announce, &addrs)?;

        let caches = caches(&config, &addrs).await;
        let (clock, rates) = (Clock::new(), Rates::from_options(&options));
        let seed = options.seed.map_or_else(random_seed, Ok)?;
        let tape = begin_tape(&options, &clock, seed, &config)?;

        let (reports, reported) = mpsc::channel(REPORTS);
        let (control, controlled) = mpsc::channel(CONTROLS);
        let (end, ended) = watch::channel(None);
        let status = folders.library.status();
        let user = options.password.as_ref().map(|password| password.user.clone());
        let asker = scan(folders.library, &options, &reports)?;
        caches.listen(&reports, options.origins.is_some());
        let known = (options.ca_file, options.pins);
        let trust = Trust::new(known, options.credentials, options.state_dir, options.proxies);
        trust.check_file().map_err(|why| StartError::Certificates(why.to_string()))?;
        let trust = Arc::new(trust);
        let pages = options.origins.map(|origins| Arc::new(Pages::new(origins, options.relay)));
        let admission = Admission::new(&trust, options.identity, pages.clone());
        let entry = ConnectionEntry::new(&room, admission, &reports);
        let outside = Arc::new(Outside {
            addrs,
            answers: broadcast::Sender::new(ANSWERS),
            fetching: broadcast::Sender::new(ANSWERS),
            counters: Arc::new(Counters::default()),
            library: status,
            library_asks: asker,
            download_dir: options.download_dir.clone(),
            largest: config.fetch.largest,
            memory: tape.as_ref().and_then(RecordingWriter::memory),
            whole: folders.downloads.whole(),
            datagrams: messaging.as_ref().map(|it| it.shared()),
            tally: Mutex::default(),
            disk_trouble: Mutex::default(),
            access: options.access.clone().map(|to| Mutex::new(AccessWatch::new(to, user))),
            trust,
            entry: entry.clone(),
            names: Arc::default(),
            unsaved: Unsaved::new(clock),
            standing: Mutex::new(standing),
            met: MeetingNotes::default(),
            pages,
        });
        let (node, outside_too) = (Node::new(config, seed), Arc::clone(&outside));
        let host = HostedNode { clock, node, messaging, caches, tape, outside: outside_too };
        let disk = Disk {
            store: folders.store,
            downloads: folders.downloads,
            swarm: folders.swarm,
            inbox: folders.inbox,
            shared: BTreeMap::new(),
        };
        let mail = Mailboxes { reports: reports.clone(), reported, controlled };
        let sockets = Sockets::new(Arc::clone(&room), rates, options.password);
        let found = (folders.shared, folders.changes);
        let mut turns = Loop::new(host, (disk, mail, sockets), found);
        listeners.into_iter().for_each(|it| drop(tokio::spawn(listen::accept(it, entry.clone()))));
        let mut first = vec![Input::Start(folders.restored)];
        first.extend(folders.first);
        first.extend(turns.coordinate(options.coordinate));
        tokio::spawn(turns.run(first, end));
        Ok(Handle { control, ended, shared: outside })
    }
}

/// Begins to scan what is shared; returns where to ask for more.
fn scan(
    library: Library,
    options: &ServentOptions,
    reports: &Reports,
) -> Result<Arc<Sender<LibraryRequest>>, StartError> {
    match &options.state_dir {
        Some(dir) => Worker::start(library, options.rescan, reports.clone())
            .map(|worker| worker.asker())
            .map_err(|why| StartError::folder(dir, why)),
        None => Ok(Arc::new(channel().0)), // Nothing is shared, so nothing is scanned.
    }
}

/// Begins to record, if anything is recorded.
fn begin_tape(
    options: &ServentOptions,
    clock: &Clock,
    seed: u64,
    config: &Config,
) -> Result<Option<RecordingWriter>, StartError> {
    let start = Start::new(NodeId(0), &options.name, seed, config.clone());
    let file = options.trace.as_ref();
    RecordingWriter::begin(clock.now(), start, file, options.tape).map_err(|why| {
        StartError::Trace { path: file.map(|it| it.path.clone()).unwrap_or_default(), why }
    })
}

/// Host caches are asked over sockets of their own, unless the node already has
/// a datagram socket.
async fn caches(config: &Config, addrs: &[SocketAddr]) -> Caches {
    if config.overlay.enabled && config.datagrams.is_none() {
        Caches::bind(addrs).await
    } else {
        Caches::default()
    }
}

/// Opens the store of a site, if this servent is one of it: of one that is led,
/// as soon as it leads. Until then it listens nowhere, so that no client waits for
/// its answers.
async fn open_site(options: &ServentOptions) -> Result<OpenedFolders, StartError> {
    if options.store.is_some() {
        drop(bind(options)?); // A member that stands by must be able to listen then.
    }
    Ok(OpenedFolders::open(options).await?)
}

/// Binds the listening sockets.
fn bind(options: &ServentOptions) -> Result<Vec<TcpListener>, StartError> {
    listen::bind(&options.listen).map_err(|why| match why {
        // Most often the user has started us twice.
        StartError::PortInUse { .. } => {
            let in_use = options.state_dir.as_deref().and_then(Embedded::in_use);
            in_use.map_or(why, StartError::from)
        }
        _ => why,
    })
}

/// Binds the datagram socket.
fn bind_datagrams(options: &Datagrams) -> Result<Box<Messaging>, StartError> {
    let Datagrams { listen: at, only, loss, seed, .. } = *options;
    let socket =
        UdpEndpoint::bind((at, only), loss, seed).map_err(|why| match is_port_in_use(&why) {
            true => StartError::UdpPortInUse { at },
            false => StartError::Udp { at, why },
        })?;
    let shared = Arc::new(SharedEndpoint::new(socket.local(), options));
    Ok(Box::new(Messaging::new(socket, options.config.clone(), shared)))
}

/// Hosts of the overlay that the servent of a state folder knows, most recent
/// first, at most `most`. The servent must not be running.
///
/// # Errors
/// It is running, or its state cannot be read.
pub fn known_hosts(state_dir: &Path, most: usize) -> Result<Vec<SocketAddr>, StoreFailure> {
    if !Embedded::is_in(state_dir) {
        return Ok(Vec::new());
    }
    let (_, remembered) = Embedded::open(state_dir, Durability::Process, DamagedState::Refuse)?;
    let mut hosts = remembered.hosts;
    hosts.sort_by_key(|row| std::cmp::Reverse(row.heard));
    Ok(hosts.iter().map(|row| row.at).take(most).collect())
}

/// The shared folders added at run time to the servent of a state folder. The
/// servent must not be running.
///
/// # Errors
/// It is running, or its state cannot be read.
pub fn added_shares(state_dir: &Path) -> Result<Vec<PathBuf>, StoreFailure> {
    if !Embedded::is_in(state_dir) {
        return Ok(Vec::new());
    }
    let (_, remembered) = Embedded::open(state_dir, Durability::Process, DamagedState::Refuse)?;
    Ok(remembered.added)
}

/// Copies the state in a folder to a file that must not exist yet. The servent
/// must not be running; for a running one use [`Handle::export`].
///
/// # Errors
/// It is running, or the file cannot be written.
pub fn export(state_dir: &Path, to: &Path) -> Result<(), StoreFailure> {
    Embedded::copy(state_dir, to)
}

/// Makes such a file the state in a folder. A state already there is renamed;
/// the result says to what. The servent must not be running.
///
/// # Errors
/// It is running, or the file is not a state.
pub fn import(state_dir: &Path, from: &Path) -> Result<Option<PathBuf>, StoreFailure> {
    Embedded::adopt(state_dir, from)
}

fn local_addrs(listeners: &[TcpListener]) -> Result<Vec<SocketAddr>, StartError> {
    let local = |l: &TcpListener| {
        l.local_addr().map_err(|why| StartError::Listen { at: ([0, 0, 0, 0], 0).into(), why })
    };
    listeners.iter().map(local).collect()
}

/// The node's configuration as all options together determine it, its
/// connections limited by the available descriptors.
fn fit(options: &ServentOptions) -> (Arc<Semaphore>, Config) {
    let mut config = options.node.clone();
    config.datagrams = options.datagrams.as_ref().map(|it| it.config.clone());
    config.guarded |= options.password.is_some();
    // Peers do not expect TLS on a connection they asked us to open.
    config.calls_back &= options.identity.is_none();
    config.secure |= options.identity.is_some();
    let most = raise_descriptors().connections(config.queue.slots.min(1_024));
    let wanted = config.limits.connections.saturating_add(SPARE);
    if most < wanted {
        tracing::info!(most, wanted, "fewer connections than configured: descriptors");
    }
    let most = most.min(wanted);
    config.limits.connections = config.limits.connections.min(most - SPARE.min(most / 2));
    (Arc::new(Semaphore::new(most as usize)), config)
}

/// A seed that cannot be guessed: tickets are derived from it, so without real
/// random bytes there is no servent.
///
/// # Errors
/// The system has none.
fn random_seed() -> Result<u64, StartError> {
    Ok(u64::from_le_bytes(dice::draw().map_err(StartError::Dice)?))
}
