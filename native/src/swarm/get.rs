//! The client's host.

mod act;
mod door;
mod host;
mod jobs;
mod reach;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use servent_core::swarm::client::Config;
use servent_core::wire::pdtp::{Hash, Text};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::host::{Host, News};
use super::error::SwarmError;
use super::part::Part;
use crate::clock::Clock;
use crate::driver::random_seed;
use crate::net::bind;
use crate::store::Durability;

/// News that may wait for the client's task.
const NEWS: usize = 1_024;

/// Everything a download needs.
#[derive(Debug, Clone)]
pub struct GetOptions {
    /// Where the coordinator may be; tried in order.
    pub coordinator: Vec<SocketAddr>,
    /// What it calls the file.
    pub url: Text,
    /// The file to make.
    pub target: PathBuf,
    /// What it must hash to, if that is known.
    pub sha256: Option<Hash>,
    /// Where peers come; `None`: nowhere, and we only connect.
    pub listen: Option<SocketAddr>,
    /// Bytes a second to peers, and from anybody.
    pub rates: (Option<u64>, Option<u64>),
    /// Transfers at once, down and up, if the coordinator is to be told.
    pub at_once: (Option<u32>, Option<u32>),
    /// How long to go on giving once all is here.
    pub seed_for: Duration,
    /// The folder of what is remembered.
    pub state: PathBuf,
    /// What that survives.
    pub durability: Durability,
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
            seed_for: Duration::ZERO,
            state: state.to_owned(),
            durability: Durability::Process,
        }
    }
}

/// How far a download is.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Progress {
    /// The coordinator is there.
    pub online: bool,
    /// Bytes of the file; 0 until they are known.
    pub size: u64,
    /// Pieces of the file.
    pub pieces: u32,
    /// Pieces that are here and right.
    pub held: u32,
    /// Of these, from an earlier run.
    pub resumed: u32,
    /// Bytes that came from a source.
    pub from_source: u64,
    /// Bytes that came from peers.
    pub from_peers: u64,
    /// Bytes given to peers.
    pub given: u64,
    /// Peers anything went to or came from.
    pub peers: u32,
    /// Transfers towards us that run now.
    pub receiving: u32,
    /// Transfers from us that run now.
    pub sending: u32,
    /// Pieces that were wrong.
    pub wrong: u32,
    /// All of it is here, checked, and has its name; this is its SHA-256.
    pub done: Option<String>,
}

/// A running download.
#[derive(Debug)]
pub struct Fetch {
    progress: watch::Receiver<Progress>,
    news: mpsc::Sender<News>,
    task: JoinHandle<Result<Progress, SwarmError>>,
}

impl Fetch {
    /// How far it is, and every change of that.
    #[must_use]
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Says goodbye and keeps what has come, for the next time.
    pub async fn stop(&self) {
        let _ = self.news.send(News::Stop).await; // It may have ended.
    }

    /// Waits for its end: the file is whole and what was to be given is
    /// given, or it was stopped.
    ///
    /// # Errors
    /// It cannot be had.
    pub async fn ended(&mut self) -> Result<Progress, SwarmError> {
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
/// Anything it needs on this machine and cannot have. What others refuse,
/// [`Fetch::ended`] says.
pub async fn get(options: GetOptions) -> Result<Fetch, SwarmError> {
    let listeners = bind(options.listen.as_slice())?;
    let listener = listeners.into_iter().next();
    let port = listener.as_ref().and_then(|l| l.local_addr().ok()).map(|at| at.port());
    let (state, target) = (options.state.clone(), options.target.clone());
    let (url, durability) = (options.url.clone(), options.durability);
    let opened = tokio::task::spawn_blocking(move || Part::open(&state, &target, &url, durability));
    let (part, left) = opened.await.map_err(|_| SwarmError::Gone)??;
    let id: Text = format!("{:016x}", random_seed()?).into();
    let (max_download, max_upload) = options.at_once;
    let config =
        Config { id: id.clone(), listen_port: port, max_download, max_upload, ..Config::default() };
    let (news, heard) = mpsc::channel(NEWS);
    if let Some(listener) = listener {
        tokio::spawn(door::keep(listener, news.clone()));
    }
    let (tell, progress) = watch::channel(Progress::default());
    let host = Host::new(Clock::new(), config, options, part, news.clone(), tell);
    let task = tokio::spawn(host.run(left, heard));
    Ok(Fetch { progress, news, task })
}
