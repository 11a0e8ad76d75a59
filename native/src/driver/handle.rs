//! How the rest of the program talks to a running servent.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use servent_core::fetch;
use servent_core::id::{ConnId, FetchId};
use servent_core::meet::PlaceCounters;
use servent_core::node::swarm::{SwarmFile, SwarmView};
use servent_core::node::{LaneTotals, NodeAnswer, NodeCommand, NodeView, StoreError};
use servent_core::queue::server::Windows;
use servent_core::routing::RouterView;
use servent_core::swarm::client;
use servent_core::text::Shown;
use servent_core::time::Instant;
use servent_core::trace::{Event, Record};
use servent_core::wire::pdtp::{Hash, Text};
use tokio::net::TcpStream;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::SettingChange;
use super::datagrams::SharedEndpoint;
use super::met::MeetingNotes;
use super::tally::DriverTally;
use crate::access::AccessWatch;
use crate::clock::Clock;
use crate::counters::Counters;
use crate::error::{RunError, ShareError, StoreFailure};
use crate::library::{LibraryRequest, LibraryStatus, OutcomeSender, ShareOutcome};
use crate::net::{ConnectionEntry, Credentials, Distrust, Pages, Relayed, SourceNames, Trust};
use crate::store::SiteStanding;
use crate::tape::{LineMemory, RecordingSubscription};

/// What a handle asks of the node's task.
#[derive(Debug)]
pub(crate) enum HandleRequest {
    /// Pass this command to the node.
    Command(NodeCommand),
    /// Report the node's view.
    View { from: u32, count: u32, reply: oneshot::Sender<NodeView> },
    /// Report its queue, sorted into lanes.
    QueueByLanes { windows: Windows, reply: oneshot::Sender<QueueByLanes> },
    /// Report its part in the overlay.
    Neighbourhood { reply: oneshot::Sender<Option<Neighbourhood>> },
    /// Download this file in a swarm; the reply is its number.
    Want { want: Want, reply: oneshot::Sender<SwarmFile> },
    /// Report its part in swarms, with at most this many clients per file.
    Swarm { clients: u32, reply: oneshot::Sender<SwarmView> },
    /// Report what it has done as a meeting place.
    Meetings { reply: oneshot::Sender<Option<PlaceCounters>> },
    /// Copy the stored state to this file.
    Export { to: PathBuf, reply: oneshot::Sender<Result<(), StoreFailure>> },
    /// Change what was configured.
    Change(SettingChange),
    /// End at once, as if killed.
    Abort,
}

/// A file to be downloaded in a swarm.
#[derive(Debug, Clone)]
pub struct Want {
    /// The file to create.
    pub target: PathBuf,
    /// What the coordinator calls it.
    pub url: Text,
    /// Addresses the coordinator may have; tried in order.
    pub coordinator: Vec<SocketAddr>,
    /// The expected SHA-256 of the whole file, if known.
    pub sha256: Option<Hash>,
}

/// A servent's part in the overlay.
#[derive(Debug, Clone, Serialize)]
pub struct Neighbourhood {
    /// Its router's view.
    #[serde(flatten)]
    pub router: RouterView,
    /// How many other hosts it knows, neighbours or not.
    pub hosts: usize,
    /// Others cannot connect to it: what they want comes by push.
    pub firewalled: bool,
}

/// A servent's queue at one instant: the waiting requests sorted into lanes.
#[derive(Debug, Clone, Serialize)]
pub struct QueueByLanes {
    /// The instant.
    pub at: Instant,
    /// The node; its requests are those inside the windows of the lanes.
    #[serde(flatten)]
    pub view: NodeView,
    /// How many requests stand in each lane.
    pub lanes: LaneTotals,
}

/// How a servent ended; `None` while it runs.
pub(crate) type ServentEnd = Option<Result<(), Arc<RunError>>>;

/// A running servent. Clones refer to the same servent; it is aborted when the
/// last clone is dropped.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) control: mpsc::Sender<HandleRequest>,
    pub(crate) ended: watch::Receiver<ServentEnd>,
    pub(crate) shared: Arc<Outside>,
}

/// Characters of a line that pages are told.
const TOLD: usize = 300;

/// What can be read without asking the node's task.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) addrs: Vec<SocketAddr>,
    pub(crate) answers: broadcast::Sender<NodeAnswer>,
    /// What happens to downloads.
    pub(crate) fetching: broadcast::Sender<fetch::Event>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) library: Arc<Mutex<LibraryStatus>>,
    pub(crate) library_asks: Arc<Sender<LibraryRequest>>,
    pub(crate) download_dir: PathBuf,
    /// The longest file that is downloaded.
    pub(crate) largest: u64,
    pub(crate) memory: Option<Arc<LineMemory>>,
    pub(crate) whole: Arc<Mutex<BTreeMap<FetchId, PathBuf>>>,
    pub(crate) datagrams: Option<Arc<SharedEndpoint>>,
    pub(crate) tally: Mutex<DriverTally>,
    pub(crate) disk_trouble: Mutex<Option<StoreError>>,
    pub(crate) access: Option<Mutex<AccessWatch>>,
    pub(crate) trust: Arc<Trust>,
    /// Where connections come in.
    pub(crate) entry: ConnectionEntry,
    /// The names of sources.
    pub(crate) names: Arc<SourceNames>,
    /// Whether changes wait for a database that is away.
    pub(crate) unsaved: Unsaved,
    /// How many parts of a divided site it leads.
    pub(crate) standing: Mutex<Option<SiteStanding>>,
    /// Where others meet it, and the place that it is.
    pub(crate) met: MeetingNotes,
    pub(crate) pages: Option<Arc<Pages>>,
}

/// Since when changes wait for a database that is away.
#[derive(Debug)]
pub(crate) struct Unsaved {
    clock: Clock,
    /// In microseconds of the clock; 0 while everything is saved.
    since: AtomicU64,
}

impl Unsaved {
    /// Everything is saved.
    pub(crate) const fn new(clock: Clock) -> Self {
        Self { clock, since: AtomicU64::new(0) }
    }

    /// Changes wait since then; `None`: none do.
    pub(crate) fn tell(&self, since: Option<Instant>) {
        self.since.store(since.map_or(0, Instant::as_micros), Ordering::Relaxed);
    }

    fn since(&self) -> Option<Instant> {
        let since = self.since.load(Ordering::Relaxed);
        (since > 0).then(|| Instant::from_micros(since))
    }
}

impl Outside {
    /// The division of the site is this.
    pub(crate) fn stands(&self, standing: SiteStanding) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = Some(standing);
    }

    /// Bytes are written to a connection that are of no file.
    pub(crate) fn wrote(&self, now: Instant, conn: ConnId, data: &[u8]) {
        if let Some(access) = &self.access {
            access.lock().unwrap_or_else(PoisonError::into_inner).wrote(now, conn, data);
        }
    }

    /// The wall clock shows `wall` now.
    pub(crate) fn set_wall(&self, now: Instant, wall: Instant) {
        if let Some(access) = &self.access {
            access.lock().unwrap_or_else(PoisonError::into_inner).set_wall(now, wall);
        }
    }

    /// The system has taken bytes of a file.
    pub(crate) fn served(&self, conn: ConnId, bytes: u64) {
        if let Some(access) = &self.access {
            access.lock().unwrap_or_else(PoisonError::into_inner).served(conn, bytes);
        }
    }

    /// Counts an event.
    pub(crate) fn note(&self, now: Instant, event: &Event) {
        self.counters.count(event);
        if let Some(access) = &self.access {
            access.lock().unwrap_or_else(PoisonError::into_inner).note(now, event);
        }
        match event {
            Event::Fetch(event) if self.fetching.receiver_count() > 0 => {
                let _ = self.fetching.send(event.clone()); // They may be gone by now.
            }
            Event::Swarm(event) => {
                self.tally.lock().unwrap_or_else(PoisonError::into_inner).count(event);
            }
            Event::Client(client::Event::Complaint { message }) => {
                tracing::warn!(message = %Shown(message), "the coordinator complains");
            }
            _ => {}
        }
    }
}

impl Handle {
    /// The first address it listens on.
    #[must_use]
    pub fn addr(&self) -> Option<SocketAddr> {
        self.shared.addrs.first().copied()
    }

    /// Every address it listens on, with the actual ports.
    #[must_use]
    pub fn addrs(&self) -> Vec<SocketAddr> {
        self.shared.addrs.clone()
    }

    /// Lets a connection in that no listening socket accepted, under the address of
    /// its peer, once there is room; false when the servent has ended.
    pub async fn admit(&self, stream: TcpStream, peer: SocketAddr) -> bool {
        self.shared.entry.admit(stream, peer).await
    }

    /// Passes a command to the node. The answers come through
    /// [`Handle::answers`]; subscribe first.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn command(&self, command: NodeCommand) -> Result<(), RunError> {
        self.control.send(HandleRequest::Command(command)).await.map_err(|_| RunError::Gone)
    }

    /// Asks the node's task, which replies over the channel in the request.
    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> HandleRequest,
    ) -> Result<T, RunError> {
        let (reply, replied) = oneshot::channel();
        self.control.send(request(reply)).await.map_err(|_| RunError::Gone)?;
        replied.await.map_err(|_| RunError::Gone)
    }

    /// Subscribes to answers from now on.
    #[must_use]
    pub fn answers(&self) -> broadcast::Receiver<NodeAnswer> {
        self.shared.answers.subscribe()
    }

    /// The node's view, with `count` places of its queue from position `from`.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn view(&self, from: u32, count: u32) -> Result<NodeView, RunError> {
        self.ask(|reply| HandleRequest::View { from, count, reply }).await
    }

    /// Its queue by lanes, with the places inside `windows`.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn lanes(&self, windows: Windows) -> Result<QueueByLanes, RunError> {
        self.ask(|reply| HandleRequest::QueueByLanes { windows, reply }).await
    }

    /// Its part in the overlay; `None` when it has none.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn neighbourhood(&self) -> Result<Option<Neighbourhood>, RunError> {
        self.ask(|reply| HandleRequest::Neighbourhood { reply }).await
    }

    /// Downloads a file in a swarm, or resumes that download. Progress comes
    /// through [`Handle::answers`]; subscribe first.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn want(&self, want: Want) -> Result<SwarmFile, RunError> {
        self.ask(|reply| HandleRequest::Want { want, reply }).await
    }

    /// Its part in swarms, with at most `clients` clients of each file it
    /// coordinates.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn swarm(&self, clients: u32) -> Result<SwarmView, RunError> {
        self.ask(|reply| HandleRequest::Swarm { clients, reply }).await
    }

    /// What it has done as a meeting place; `None` when it is none.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn meetings(&self) -> Result<Option<PlaceCounters>, RunError> {
        self.ask(|reply| HandleRequest::Meetings { reply }).await
    }

    /// What its coordinator has done and refused, by reason.
    #[must_use]
    pub fn tally(&self) -> DriverTally {
        self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The recording so far and a subscription to later lines, when it is kept in
    /// memory.
    #[must_use]
    pub fn tape(&self) -> Option<RecordingSubscription> {
        self.shared.memory.as_ref().map(|memory| memory.join())
    }

    /// Subscribes to what happens to downloads from now on.
    #[must_use]
    pub fn fetching(&self) -> broadcast::Receiver<fetch::Event> {
        self.shared.fetching.subscribe()
    }

    /// Subscribes to records from now on, when the recording is kept in memory.
    #[must_use]
    pub fn records(&self) -> Option<broadcast::Receiver<Arc<Record>>> {
        self.shared.memory.as_ref().map(|memory| memory.records())
    }

    /// The status of the shared library.
    #[must_use]
    pub fn library(&self) -> LibraryStatus {
        self.shared.library.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests a new scan of the shared folders.
    pub fn rescan(&self) {
        let _ = self.shared.library_asks.send(LibraryRequest::Walk); // It may have ended.
    }

    /// Shares one more folder or file from now on, across restarts too. When
    /// this returns it is listed.
    ///
    /// # Errors
    /// It does not exist or cannot be read, or the servent has ended.
    pub async fn share(&self, path: PathBuf) -> Result<ShareOutcome, ShareError> {
        self.wish(|told| LibraryRequest::Share(path, told)).await
    }

    /// Stops sharing a folder or file.
    ///
    /// # Errors
    /// It was not shared, or the servent has ended.
    pub async fn unshare(&self, path: PathBuf) -> Result<ShareOutcome, ShareError> {
        self.wish(|told| LibraryRequest::Unshare(path, told)).await
    }

    async fn wish(
        &self,
        ask: impl FnOnce(OutcomeSender) -> LibraryRequest,
    ) -> Result<ShareOutcome, ShareError> {
        let (told, outcome) = oneshot::channel();
        let _ = self.shared.library_asks.send(ask(told)); // If it has ended, `told` is dropped.
        outcome.await.unwrap_or(Err(ShareError::Gone))
    }

    /// Says these names and passwords to the hosts they are for, across restarts
    /// too. They are kept in a file of the state folder that only its owner can
    /// read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn learn_credentials(&self, credentials: Credentials) -> std::io::Result<()> {
        self.shared.trust.learn(credentials)
    }

    /// Forgets all names and passwords.
    ///
    /// # Errors
    /// Their file cannot be removed.
    pub fn forget_credentials(&self) -> std::io::Result<()> {
        self.shared.trust.forget()
    }

    /// Copies its current state to a file that must not exist yet.
    ///
    /// # Errors
    /// The file cannot be written, or the servent has ended.
    pub async fn export(&self, to: PathBuf) -> Result<(), RunError> {
        Ok(self.ask(|reply| HandleRequest::Export { to, reply }).await??)
    }

    /// The longest file that it downloads, in bytes.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.shared.largest
    }

    /// The folder for downloads.
    #[must_use]
    pub fn download_dir(&self) -> &Path {
        &self.shared.download_dir
    }

    /// Monotonic counters, by name.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.shared.counters.snapshot()
    }

    /// What has passed through it from page to page; `None` when it answers no
    /// pages.
    #[must_use]
    pub fn relayed(&self) -> Option<Relayed> {
        self.shared.pages.as_ref().map(|pages| pages.relayed())
    }

    /// True when a page can be called at this address, or could a while ago, and
    /// this is its secret: a client that knows it is that page.
    #[must_use]
    pub fn is_page(&self, at: SocketAddrV4, secret: &str) -> bool {
        self.shared.pages.as_ref().is_some_and(|pages| pages.has(at, secret))
    }

    /// Tells every page that can be called a line, without what is no visible
    /// character; for the host of a room.
    pub fn tell_pages(&self, line: &str) {
        let line: String = line.chars().filter(|c| !c.is_control()).take(TOLD).collect();
        self.shared.pages.iter().for_each(|pages| pages.tell(&line));
    }

    /// Ends every WebSocket of an address, and answers none of it until
    /// [`Handle::let_in`]; false when no more addresses can be put out.
    #[must_use]
    pub fn put_out(&self, ip: IpAddr) -> bool {
        self.shared.pages.as_ref().is_some_and(|pages| pages.put_out(ip))
    }

    /// The code that pages need to take part; `None` when they need none.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        self.shared.pages.as_ref()?.code()
    }

    /// Draws another code that pages need from now on, or lets them in without one.
    pub fn renew_code(&self, needed: bool) {
        self.shared.pages.iter().for_each(|pages| pages.renew_code(needed));
    }

    /// Answers all pages again that were removed.
    pub fn let_in(&self) {
        self.shared.pages.iter().for_each(|pages| pages.let_in());
    }

    /// How many addresses were put out.
    #[must_use]
    pub fn out(&self) -> usize {
        self.shared.pages.as_ref().map_or(0, |pages| pages.out())
    }

    /// True while the database of its site is away: nothing new is promised
    /// then.
    #[must_use]
    pub fn is_store_unavailable(&self) -> bool {
        self.shared.unsaved.since().is_some()
    }

    /// How many parts of its site it leads, if that is divided.
    #[must_use]
    pub fn standing(&self) -> Option<SiteStanding> {
        *self.shared.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the oldest change waits that could not be saved yet; zero while
    /// everything is saved.
    #[must_use]
    pub fn lag(&self) -> Duration {
        let Unsaved { clock, .. } = &self.shared.unsaved;
        let lag = self.shared.unsaved.since().map(|since| clock.now().since(since));
        Duration::from_micros(lag.map_or(0, |lag| lag.as_micros()))
    }

    /// The most recent disk error, if any.
    #[must_use]
    pub fn disk_trouble(&self) -> Option<StoreError> {
        *self.shared.disk_trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the server of an `https://` URL fails to prove its identity,
    /// and says which one and why.
    pub async fn distrust(&self) -> Distrust {
        self.shared.trust.refused().await
    }

    /// True when names and passwords are told to servers that require them.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.shared.trust.has_credentials()
    }

    /// The URL of what a source shares, by its address.
    #[must_use]
    pub fn list_of(&self, at: SocketAddr) -> String {
        self.shared.names.list_of(at)
    }

    /// True when sources are asked through a proxy at this address.
    #[must_use]
    pub fn is_proxy(&self, at: SocketAddr) -> bool {
        self.shared.trust.proxies().at(at).is_some()
    }

    /// Why the server of an `https://` URL, given as `HOST` or `HOST:PORT`, failed
    /// to prove its identity, if it did.
    #[must_use]
    pub fn distrusts(&self, host: &str) -> Option<Distrust> {
        self.shared.trust.refusal(host)
    }

    /// The path of a finished download.
    #[must_use]
    pub fn path_of(&self, fetch: FetchId) -> Option<PathBuf> {
        let whole = self.shared.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.get(&fetch).cloned()
    }

    /// Stops the servent and waits for that: messages are acknowledged, peers
    /// are told, state is saved, sockets are flushed.
    ///
    /// # Errors
    /// The servent had ended with an error, or saving failed.
    pub async fn stop(&self) -> Result<(), Arc<RunError>> {
        if let Some(datagrams) = &self.shared.datagrams {
            self.caught_up().await;
            datagrams.leave().await;
        }
        self.stop_at_once().await
    }

    /// Waits until it has done what it was told before: the socket could otherwise end
    /// without having left a meeting, and its seat would stay taken.
    pub(crate) async fn caught_up(&self) {
        let _ = self.meetings().await; // Answered after all that was told before.
    }

    /// The same without waiting until peers have acknowledged their datagrams.
    pub(crate) async fn stop_at_once(&self) -> Result<(), Arc<RunError>> {
        let _ = self.command(NodeCommand::Stop).await; // If it has ended, `ended` says how.
        self.ended().await
    }

    /// Ends it as `kill -9` would: peers are not told, nothing more is saved.
    pub async fn abort(&self) {
        let _ = self.control.send(HandleRequest::Abort).await; // If it has ended already, fine.
        let _ = self.ended().await;
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// It ended because of an error.
    pub async fn ended(&self) -> Result<(), Arc<RunError>> {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or(Ok(())),
            Err(_) => Err(Arc::new(RunError::Gone)),
        }
    }
}
