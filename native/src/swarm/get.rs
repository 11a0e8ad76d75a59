//! Downloading a file from a swarm: a servent with only that task.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use servent_core::node::swarm::{Config, MemberView, SwarmAnswer, SwarmFile};
use servent_core::node::{NodeAnswer, StoreError};
use servent_core::swarm::client;
use servent_core::wire::pdtp::{Hash, Text};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;

use super::error::SwarmError;
use super::node_config;
use crate::clock::Stopwatch;
use crate::driver::{Driver, Handle, ServentOptions, Want};
use crate::net::Rate;
use crate::store::Durability;
use crate::tape::TraceFile;

/// How often progress is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long uploads to peers may continue at the end.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// How long a coordinator may take to say how large the file is. Another server that
/// listens there never does.
const FIRST_WORD: Duration = Duration::from_secs(15);

/// Everything a download needs.
#[derive(Debug, Clone)]
pub struct GetOptions {
    /// Addresses the coordinator may have; tried in order.
    pub coordinator: Vec<SocketAddr>,
    /// The coordinator's name for the file.
    pub url: Text,
    /// The file to create.
    pub target: PathBuf,
    /// The expected SHA-256, if known.
    pub sha256: Option<Hash>,
    /// Where to listen for peers; `None`: nowhere, so that we only connect out.
    pub listen: Option<SocketAddr>,
    /// Rate limits in bytes per second: uploads to peers, and all downloads.
    pub rates: (Option<u64>, Option<u64>),
    /// Parallel transfers, down and up, if the coordinator is to be told.
    pub at_once: (Option<u32>, Option<u32>),
    /// How long to wait for a coordinator that is gone while no peer sends either;
    /// `None`: as long as it takes.
    pub patience: Option<Duration>,
    /// How long to go on uploading once the file is complete.
    pub seed_for: Duration,
    /// The state folder.
    pub state: PathBuf,
    /// What kind of crash the state survives.
    pub durability: Durability,
    /// Record the recording in this file.
    pub trace: Option<TraceFile>,
}

impl GetOptions {
    /// An active client on the loopback, its state under `state`.
    #[must_use]
    pub fn under(state: &Path, coordinator: SocketAddr, url: Text, target: PathBuf) -> Self {
        Self {
            coordinator: vec![coordinator],
            url,
            target,
            sha256: None,
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            rates: (None, None),
            at_once: (None, None),
            patience: None,
            seed_for: Duration::ZERO,
            state: state.to_owned(),
            durability: Durability::Process,
            trace: None,
        }
    }
}

/// The progress of a download.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SwarmProgress {
    /// The coordinator is connected.
    pub online: bool,
    /// Size of the file in bytes; 0 until it is known.
    pub size: u64,
    /// Number of pieces of the file.
    pub pieces: u32,
    /// Pieces that are downloaded and verified.
    pub held: u32,
    /// Of these, those from an earlier run.
    pub resumed: u32,
    /// Bytes received from a source.
    pub from_source: u64,
    /// Bytes received from peers.
    pub from_peers: u64,
    /// Bytes uploaded to peers.
    pub given: u64,
    /// Peers with which anything was exchanged.
    pub peers: u32,
    /// Downloads that run now.
    pub receiving: u32,
    /// Uploads that run now.
    pub sending: u32,
    /// Pieces that failed verification.
    pub wrong: u32,
    /// The SHA-256 of the file, once it is complete, verified and renamed.
    pub done: Option<String>,
}

/// A running download.
#[derive(Debug)]
pub struct Fetch {
    progress: watch::Receiver<SwarmProgress>,
    stop: mpsc::Sender<()>,
    task: JoinHandle<Result<SwarmProgress, SwarmError>>,
}

impl Fetch {
    /// The current progress and its changes.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<SwarmProgress> {
        self.progress.clone()
    }

    /// Stops, telling peers; what is downloaded is kept for the next time.
    pub async fn stop(&self) {
        let _ = self.stop.send(()).await; // It may have ended.
    }

    /// Waits until it ends: the file is complete and the time for uploading is
    /// over, or it was stopped.
    ///
    /// # Errors
    /// The file cannot be downloaded.
    pub async fn ended(&mut self) -> Result<SwarmProgress, SwarmError> {
        (&mut self.task).await.unwrap_or_else(|failed| {
            if failed.is_panic() {
                std::panic::resume_unwind(failed.into_panic());
            }
            Err(SwarmError::Gone)
        })
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a download.
///
/// # Errors
/// A local resource is missing. What remote peers refuse is reported by
/// [`Fetch::ended`].
pub async fn get(options: GetOptions) -> Result<Fetch, SwarmError> {
    let (max_download, max_upload) = options.at_once;
    let client =
        client::Config { id: "".into(), max_download, max_upload, ..client::Config::default() };
    let handle = Driver::start(ServentOptions {
        name: String::from("swarm get"),
        listen: options.listen.into_iter().collect(),
        node: node_config(Config { client: Some(client), ..Config::default() }),
        upload_rate: options.rates.0,
        download_rate: options.rates.1.map(Rate::new),
        durability: options.durability,
        trace: options.trace.clone(),
        rescan: None,
        ..ServentOptions::under(options.state.clone())
    })
    .await?;
    let answers = handle.answers();
    let want = Want {
        target: options.target.clone(),
        url: options.url.clone(),
        coordinator: options.coordinator.clone(),
        sha256: options.sha256,
    };
    let file = handle.want(want).await.map_err(|_| SwarmError::Gone)?;
    let (tell, progress) = watch::channel(SwarmProgress::default());
    let (stop, stopped) = mpsc::channel(1);
    let follow = Follow { handle, file, options, tell };
    let task = tokio::spawn(follow.until_the_end(answers, stopped));
    Ok(Fetch { progress, stop, task })
}

/// Waits for the end of a download.
struct Follow {
    handle: Handle,
    file: SwarmFile,
    options: GetOptions,
    tell: watch::Sender<SwarmProgress>,
}

impl Follow {
    async fn until_the_end(
        self,
        answers: broadcast::Receiver<NodeAnswer>,
        stopped: mpsc::Receiver<()>,
    ) -> Result<SwarmProgress, SwarmError> {
        let how = self.follow(answers, stopped).await;
        self.look().await;
        let stopped = self.handle.stop().await;
        how?;
        stopped.map_err(|why| SwarmError::Ended(why.to_string()))?;
        Ok(self.tell.borrow().clone())
    }

    async fn follow(
        &self,
        mut answers: broadcast::Receiver<NodeAnswer>,
        mut stopped: mpsc::Receiver<()>,
    ) -> Result<(), SwarmError> {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        let mut whole: Option<Stopwatch> = None;
        let begun = Stopwatch::start();
        let mut alone: Option<Stopwatch> = None;
        loop {
            tokio::select! {
                biased;
                _ = stopped.recv() => return Ok(()),
                answer = answers.recv() => match answer {
                    Ok(NodeAnswer::Swarm(answer)) => {
                        if self.receive(answer)? {
                            whole = Some(Stopwatch::start());
                        }
                    }
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return Err(SwarmError::Gone),
                },
                ended = self.handle.ended() => {
                    let why = ended.err().map_or_else(String::new, |why| why.to_string());
                    return Err(SwarmError::Ended(why));
                }
                _ = tick.tick() => {
                    let sending = self.look().await;
                    let wait = self.options.seed_for;
                    let spent = whole.as_ref().map(Stopwatch::elapsed);
                    let over = |spent: Duration| {
                        spent >= wait && (sending == 0 || spent >= wait + LAST_WORDS)
                    };
                    if spent.is_some_and(over) {
                        return Ok(());
                    }
                    if spent.is_none() && begun.elapsed() > FIRST_WORD && self.knows_nothing() {
                        return Err(SwarmError::Silent(self.coordinators()));
                    }
                    match self.is_alone() && spent.is_none() {
                        true => self.wait(alone.get_or_insert_with(Stopwatch::start))?,
                        false => alone = None,
                    }
                }
            }
        }
    }

    /// True while not even the size of the file is known.
    fn knows_nothing(&self) -> bool {
        let progress = self.tell.borrow();
        progress.pieces == 0 && progress.done.is_none()
    }

    /// True while neither the coordinator nor a peer sends anything.
    fn is_alone(&self) -> bool {
        let progress = self.tell.borrow();
        !progress.online && progress.receiving == 0
    }

    /// Goes on waiting for a coordinator that is gone, within limits.
    fn wait(&self, alone: &Stopwatch) -> Result<(), SwarmError> {
        if self.options.patience.is_none_or(|patience| alone.elapsed() < patience) {
            return Ok(());
        }
        let SwarmProgress { pieces, held, .. } = *self.tell.borrow();
        Err(SwarmError::Left {
            at: self.coordinators(),
            missing: pieces - held.min(pieces),
            pieces,
        })
    }

    fn coordinators(&self) -> String {
        let at: Vec<_> = self.options.coordinator.iter().map(ToString::to_string).collect();
        at.join(", ")
    }

    /// True when the file is complete.
    fn receive(&self, answer: SwarmAnswer) -> Result<bool, SwarmError> {
        let path = || self.options.target.clone();
        match answer {
            SwarmAnswer::Done { file, .. } => Ok(file == self.file),
            SwarmAnswer::Other { sha256, .. } => {
                Err(SwarmError::Other { path: path(), found: sha256.to_string() })
            }
            SwarmAnswer::Unreachable { .. } => Err(SwarmError::Unreachable(self.coordinators())),
            SwarmAnswer::Refused { why, .. } => Err(SwarmError::Refused(why)),
            SwarmAnswer::Withdrawn { why, .. } => Err(SwarmError::Withdrawn(why)),
            SwarmAnswer::DiskFailed { why, .. } => Err(SwarmError::file(path(), io_error(why))),
        }
    }

    /// Updates the progress; returns how many uploads are running.
    async fn look(&self) -> u32 {
        let Ok(view) = self.handle.swarm(0).await else { return 0 };
        let Some(view) = view.client else { return 0 };
        let sending = view.sending;
        self.tell.send_if_modified(|before| {
            let now = progress_of(&view, self.file);
            let changed = *before != now;
            *before = now;
            changed
        });
        sending
    }
}

fn progress_of(view: &MemberView, file: SwarmFile) -> SwarmProgress {
    let mut progress = SwarmProgress {
        online: view.online,
        from_source: view.from_source,
        from_peers: view.from_peers,
        given: view.given,
        peers: view.peers,
        receiving: view.receiving,
        sending: view.sending,
        wrong: view.wrong,
        ..SwarmProgress::default()
    };
    if let Some(file) = view.files.iter().find(|of| of.file == file) {
        progress.size = file.size;
        progress.pieces = file.pieces;
        progress.held = file.held;
        progress.resumed = file.resumed;
        progress.done = file.done.map(|hash| hash.to_string());
    }
    progress
}

/// The system's error, as far as the node was told.
fn io_error(why: StoreError) -> io::Error {
    match why {
        StoreError::Full => io::ErrorKind::StorageFull.into(),
        StoreError::Denied => io::ErrorKind::PermissionDenied.into(),
        StoreError::Changed => io::Error::other("it was changed or is gone"),
        StoreError::Linked => io::Error::other("a link on its way may lead out of the folder"),
        StoreError::Failed => io::Error::other("it cannot be read or written"),
    }
}
