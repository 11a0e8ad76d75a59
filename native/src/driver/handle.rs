//! How the rest of the program talks to a running servent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use servent_core::id::FetchId;
use servent_core::node::swarm::{SwarmFile, SwarmView};
use servent_core::node::{Answer, Command, LaneTotals, NodeView, StoreError};
use servent_core::queue::server::Windows;
use servent_core::routing::RouterView;
use servent_core::swarm::client;
use servent_core::text::Shown;
use servent_core::time::Instant;
use servent_core::trace::{Event, Record};
use servent_core::wire::pdtp::{Hash, Text};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::datagrams::Shared;
use super::tally::Tally;
use crate::access::Watch;
use crate::counters::Counters;
use crate::error::{RunError, ShareError, StoreFailure};
use crate::library::{Ask, LibraryStatus, Outcome, Told};
use crate::net::Trust;
use crate::tape::{Joined, Memory};

/// What a handle asks of the node's task.
#[derive(Debug)]
pub(crate) enum Control {
    /// Give this to the node.
    Command(Command),
    /// What does the node look like?
    View { from: u32, count: u32, reply: oneshot::Sender<NodeView> },
    /// What does its queue look like, by lanes?
    QueueByLanes { windows: Windows, reply: oneshot::Sender<QueueByLanes> },
    /// What does its part in the overlay look like?
    Neighbourhood { reply: oneshot::Sender<Option<Neighbourhood>> },
    /// Take this file in a swarm; the answer is its number.
    Want { want: Want, reply: oneshot::Sender<SwarmFile> },
    /// What does its part in swarms look like, with so many clients a file?
    Swarm { clients: u32, reply: oneshot::Sender<SwarmView> },
    /// Copy what is remembered to this file.
    Export { to: PathBuf, reply: oneshot::Sender<Result<(), StoreFailure>> },
    /// End at once, as if killed.
    Abort,
}

/// A file to be taken in a swarm.
#[derive(Debug, Clone)]
pub struct Want {
    /// The file to make.
    pub target: PathBuf,
    /// What the coordinator calls it.
    pub url: Text,
    /// Where the coordinator may be; tried in order.
    pub coordinator: Vec<SocketAddr>,
    /// What the whole must hash to, if that is known.
    pub sha256: Option<Hash>,
}

/// A servent's part in the overlay.
#[derive(Debug, Clone, Serialize)]
pub struct Neighbourhood {
    /// Its router.
    #[serde(flatten)]
    pub router: RouterView,
    /// How many others it knows, neighbours or not.
    pub hosts: usize,
}

/// A servent's queue at an instant: the line sorted into lanes.
#[derive(Debug, Clone, Serialize)]
pub struct QueueByLanes {
    /// When.
    pub at: Instant,
    /// The node; its cards are those inside the windows of the lanes.
    #[serde(flatten)]
    pub view: NodeView,
    /// How many stand in which lane.
    pub lanes: LaneTotals,
}

/// How a servent ended; `None` while it runs.
pub(crate) type Ended = Option<Result<(), Arc<RunError>>>;

/// A running servent. Clones are the same servent; it is aborted when the
/// last one goes.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) control: mpsc::Sender<Control>,
    pub(crate) ended: watch::Receiver<Ended>,
    pub(crate) shared: Arc<Outside>,
}

/// What can be looked at without asking the node's task.
#[derive(Debug)]
pub(crate) struct Outside {
    pub(crate) addrs: Vec<SocketAddr>,
    pub(crate) answers: broadcast::Sender<Answer>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) library: Arc<Mutex<LibraryStatus>>,
    pub(crate) library_asks: Arc<Sender<Ask>>,
    pub(crate) download_dir: PathBuf,
    pub(crate) memory: Option<Arc<Memory>>,
    pub(crate) whole: Arc<Mutex<BTreeMap<FetchId, PathBuf>>>,
    pub(crate) datagrams: Option<Arc<Shared>>,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) disk_trouble: Mutex<Option<StoreError>>,
    pub(crate) access: Option<Mutex<Watch>>,
    pub(crate) trust: Arc<Trust>,
}

impl Outside {
    /// Counts what happened.
    pub(crate) fn note(&self, now: Instant, event: &Event) {
        self.counters.count(event);
        if let Some(access) = &self.access {
            access.lock().unwrap_or_else(PoisonError::into_inner).note(now, event);
        }
        match event {
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

    /// Every address it listens on, with the ports it really got.
    #[must_use]
    pub fn addrs(&self) -> Vec<SocketAddr> {
        self.shared.addrs.clone()
    }

    /// Gives a command to the node. Its answers come through
    /// [`Handle::answers`]; subscribe before.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn command(&self, command: Command) -> Result<(), RunError> {
        self.control.send(Control::Command(command)).await.map_err(|_| RunError::Gone)
    }

    /// The answers from now on.
    #[must_use]
    pub fn answers(&self) -> broadcast::Receiver<Answer> {
        self.shared.answers.subscribe()
    }

    /// What the node looks like, with `count` places of the line from
    /// position `from`.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn view(&self, from: u32, count: u32) -> Result<NodeView, RunError> {
        let (reply, view) = oneshot::channel();
        let ask = Control::View { from, count, reply };
        self.control.send(ask).await.map_err(|_| RunError::Gone)?;
        view.await.map_err(|_| RunError::Gone)
    }

    /// Its queue, with those places of each lane.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn lanes(&self, windows: Windows) -> Result<QueueByLanes, RunError> {
        let (reply, lanes) = oneshot::channel();
        let ask = Control::QueueByLanes { windows, reply };
        self.control.send(ask).await.map_err(|_| RunError::Gone)?;
        lanes.await.map_err(|_| RunError::Gone)
    }

    /// Its part in the overlay; `None` when it takes none.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn neighbourhood(&self) -> Result<Option<Neighbourhood>, RunError> {
        let (reply, view) = oneshot::channel();
        let ask = Control::Neighbourhood { reply };
        self.control.send(ask).await.map_err(|_| RunError::Gone)?;
        view.await.map_err(|_| RunError::Gone)
    }

    /// Takes a file in a swarm, or goes on with it. How that goes comes
    /// through [`Handle::answers`]; subscribe before.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn want(&self, want: Want) -> Result<SwarmFile, RunError> {
        let (reply, file) = oneshot::channel();
        let ask = Control::Want { want, reply };
        self.control.send(ask).await.map_err(|_| RunError::Gone)?;
        file.await.map_err(|_| RunError::Gone)
    }

    /// Its part in swarms, with so many clients of each file it coordinates.
    ///
    /// # Errors
    /// The servent has ended.
    pub async fn swarm(&self, clients: u32) -> Result<SwarmView, RunError> {
        let (reply, view) = oneshot::channel();
        let ask = Control::Swarm { clients, reply };
        self.control.send(ask).await.map_err(|_| RunError::Gone)?;
        view.await.map_err(|_| RunError::Gone)
    }

    /// What its coordinator has done and met, by reason.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tape so far and the lines that follow, when it is kept in memory.
    #[must_use]
    pub fn tape(&self) -> Option<Joined> {
        self.shared.memory.as_ref().map(|memory| memory.join())
    }

    /// The records from now on, when the tape is kept in memory.
    #[must_use]
    pub fn records(&self) -> Option<broadcast::Receiver<Arc<Record>>> {
        self.shared.memory.as_ref().map(|memory| memory.records())
    }

    /// How far the library has come.
    #[must_use]
    pub fn library(&self) -> LibraryStatus {
        self.shared.library.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at the shared folders again, soon.
    pub fn rescan(&self) {
        let _ = self.shared.library_asks.send(Ask::Walk); // A servent that has ended has nothing to scan.
    }

    /// Shares one more folder or file from now on, over restarts too. When
    /// this returns it is listed.
    ///
    /// # Errors
    /// It is not there or cannot be read, or the servent has ended.
    pub async fn share(&self, path: PathBuf) -> Result<Outcome, ShareError> {
        self.wish(|told| Ask::Share(path, told)).await
    }

    /// Shares a folder or file no longer.
    ///
    /// # Errors
    /// It was not shared, or the servent has ended.
    pub async fn unshare(&self, path: PathBuf) -> Result<Outcome, ShareError> {
        self.wish(|told| Ask::Unshare(path, told)).await
    }

    async fn wish(&self, ask: impl FnOnce(Told) -> Ask) -> Result<Outcome, ShareError> {
        let (told, outcome) = oneshot::channel();
        let _ = self.shared.library_asks.send(ask(told)); // Then nobody tells either.
        outcome.await.unwrap_or(Err(ShareError::Gone))
    }

    /// Copies what it remembers to a file that must not be there, as it is now.
    ///
    /// # Errors
    /// The system says no, or the servent has ended.
    pub async fn export(&self, to: PathBuf) -> Result<(), RunError> {
        let (reply, done) = oneshot::channel();
        let ask = Control::Export { to, reply };
        self.control.send(ask).await.map_err(|_| RunError::Gone)?;
        Ok(done.await.map_err(|_| RunError::Gone)??)
    }

    /// Where downloads go.
    #[must_use]
    pub fn download_dir(&self) -> &Path {
        &self.shared.download_dir
    }

    /// Numbers that only grow, by name.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.shared.counters.snapshot()
    }

    /// Why the disk refused something, the last time it did.
    #[must_use]
    pub fn disk_trouble(&self) -> Option<StoreError> {
        *self.shared.disk_trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until somebody of an `https://` URL could not prove who it is, and
    /// says who and why.
    pub async fn distrust(&self) -> String {
        self.shared.trust.refused().await
    }

    /// Where a finished download is.
    #[must_use]
    pub fn path_of(&self, fetch: FetchId) -> Option<PathBuf> {
        let whole = self.shared.whole.lock().unwrap_or_else(PoisonError::into_inner);
        whole.get(&fetch).cloned()
    }

    /// Stops: messages acknowledged, goodbye to peers, state saved, sockets
    /// flushed. Waits for it.
    ///
    /// # Errors
    /// It had ended with an error, or saving failed.
    pub async fn stop(&self) -> Result<(), Arc<RunError>> {
        if let Some(datagrams) = &self.shared.datagrams {
            datagrams.leave().await;
        }
        let _ = self.command(Command::Stop).await; // If it has ended, `ended` says how.
        self.ended().await
    }

    /// Ends it as `kill -9` would: nothing is said, nothing more is saved.
    pub async fn abort(&self) {
        let _ = self.control.send(Control::Abort).await; // If it has ended, so be it.
        let _ = self.ended().await;
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It had to end.
    pub async fn ended(&self) -> Result<(), Arc<RunError>> {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or(Ok(())),
            Err(_) => Err(Arc::new(RunError::Gone)),
        }
    }
}
