//! Coordinating files and being their source: a servent with only that task.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use servent_core::node::NodeAnswer;
use servent_core::node::swarm::{Config, CoordinatorHalf, SwarmAnswer};
use servent_core::swarm::{self, FileSpec};
use servent_core::wire::pdtp::{Text, url_of};
use tokio::sync::{broadcast, watch};

use super::error::SwarmError;
use super::{DriverTally, node_config};
use crate::driver::{Coordinate, Driver, Handle, ServentOptions};
use crate::files::{CHUNK, Hashed, hash_file};
use crate::store::{Database, Durability, Role};
use crate::tape::TraceFile;

/// A file to give.
#[derive(Debug, Clone)]
pub struct ServedFile {
    /// Where it is.
    pub path: PathBuf,
    /// What clients call it: what a URL has after the host. A folder's ends with a slash.
    pub name: String,
}

impl ServedFile {
    /// A file that is named by the last component of its path.
    #[must_use]
    pub fn named_as_it_is(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { path, name }
    }
}

/// Everything a coordinator needs to start.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The files.
    pub files: Vec<ServedFile>,
    /// Where to listen for clients and peers.
    pub listen: Vec<SocketAddr>,
    /// Pieces the source uploads at one time.
    pub slots: u32,
    /// Additional sources of the same files, each with as many slots.
    pub proxies: Vec<SocketAddr>,
    /// The source's rate limit in bytes per second; `None`: no limit.
    pub upload_rate: Option<u64>,
    /// Size of a piece in bytes.
    pub chunk: u64,
    /// The coordinator's configuration.
    pub swarm: swarm::Config,
    /// The folder of the ledger.
    pub state: PathBuf,
    /// Keep the ledger in this database instead, which several coordinators of
    /// the same files share: one of them leads, the others stand by.
    pub store: Option<Database>,
    /// Divide the swarms among them, instead of having one lead all of them.
    pub divide: bool,
    /// The address at which others reach this one, when it is not the first of
    /// `listen`.
    pub announce: Option<SocketAddr>,
    /// Is told which of them this one is. While it stands by, it says goodbye and
    /// ends when it has no listener any more.
    pub role: Option<watch::Sender<Role>>,
    /// What kind of crash the ledger survives.
    pub durability: Durability,
    /// Record the recording in this file.
    pub trace: Option<TraceFile>,
    /// Keep the recording in memory for the lab, bounded.
    pub tape: bool,
}

impl ServeOptions {
    /// One file on a free port of the IPv4 loopback, everything under `dir`.
    #[must_use]
    pub fn under(dir: impl Into<PathBuf>, file: impl Into<PathBuf>) -> Self {
        Self {
            files: vec![ServedFile::named_as_it_is(file.into())],
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            slots: 4,
            proxies: Vec::new(),
            upload_rate: None,
            chunk: CHUNK,
            swarm: swarm::Config::default(),
            state: dir.into(),
            store: None,
            divide: false,
            announce: None,
            role: None,
            durability: Durability::Process,
            trace: None,
            tape: false,
        }
    }
}

/// A running coordinator.
#[derive(Debug, Clone)]
pub struct CoordinatorServer {
    files: Arc<Vec<(Text, Hashed)>>,
    handle: Handle,
}

impl CoordinatorServer {
    /// Every address it listens on, with the actual ports.
    #[must_use]
    pub fn addrs(&self) -> Vec<SocketAddr> {
        self.handle.addrs()
    }

    /// The servent that coordinates, for its tape.
    #[must_use]
    pub const fn servent(&self) -> &Handle {
        &self.handle
    }

    /// Its files: URL and digests.
    #[must_use]
    pub fn files(&self) -> &[(Text, Hashed)] {
        &self.files
    }

    /// The coordinator's view of the swarm, with at most `clients` clients per
    /// file, and its counters.
    ///
    /// # Errors
    /// It has ended.
    pub async fn view(&self, clients: u32) -> Result<(CoordinatorHalf, DriverTally), SwarmError> {
        let view = self.handle.swarm(clients).await.map_err(|_| SwarmError::Gone)?;
        let view = view.coordinator.ok_or(SwarmError::Gone)?;
        Ok((view, self.handle.tally()))
    }

    /// Notifications of files that are withdrawn from now on.
    #[must_use]
    pub fn withdrawals(&self) -> Withdrawals {
        Withdrawals(self.handle.answers())
    }

    /// Saves the ledger and closes all connections.
    ///
    /// # Errors
    /// It had ended with an error, or saving failed.
    pub async fn stop(&self) -> Result<(), SwarmError> {
        Ok(self.handle.stop().await?)
    }
}

/// Files whose source found them changed or missing.
#[derive(Debug)]
pub struct Withdrawals(broadcast::Receiver<NodeAnswer>);

impl Withdrawals {
    /// Waits for the next one and returns a sentence that says why. `None`: the
    /// coordinator has ended.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            match self.0.recv().await {
                Ok(NodeAnswer::Swarm(SwarmAnswer::Withdrawn { why, .. })) => return Some(why),
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// Hashes the files, then starts a coordinator for them.
///
/// # Errors
/// Anything it needs and cannot get.
pub async fn serve(options: ServeOptions) -> Result<CoordinatorServer, SwarmError> {
    let (files, paths) = hash_all(&options).await?;
    let specs = files.iter().zip(paths).map(|((url, hashed), path)| {
        let (url, size, chunk) = (url.clone(), hashed.size, options.chunk);
        let (hashes, sha256) = (hashed.pieces.clone().into(), Some(hashed.whole));
        (path, FileSpec { url, size, chunk, hashes, sha256 })
    });
    let coordinate = Coordinate {
        files: specs.collect(),
        slots: options.slots,
        proxies: options.proxies.clone(),
    };
    let swarm = Config { coordinator: Some(options.swarm.clone()), ..Config::default() };
    let handle = Driver::start(ServentOptions {
        name: String::from("swarm serve"),
        listen: options.listen.clone(),
        node: node_config(swarm),
        upload_rate: options.upload_rate,
        coordinate: Some(coordinate),
        store: options.store.clone(),
        divide: options.divide,
        announce: options.announce,
        role: options.role.clone(),
        durability: options.durability,
        trace: options.trace.clone(),
        tape: options.tape,
        rescan: None,
        ..ServentOptions::under(options.state.clone())
    })
    .await?;
    Ok(CoordinatorServer { files: Arc::new(files), handle })
}

/// Files by their URLs, and the path of each.
type ServedFiles = (Vec<(Text, Hashed)>, Vec<PathBuf>);

async fn hash_all(options: &ServeOptions) -> Result<ServedFiles, SwarmError> {
    let (mut files, mut paths, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for ServedFile { path, name } in &options.files {
        let (from, chunk) = (path.clone(), options.chunk.max(1));
        let hashed = tokio::task::spawn_blocking(move || hash_file(&from, chunk)).await;
        let hashed = hashed
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
            .map_err(|why| SwarmError::file(path, why))?;
        if hashed.pieces.len() > options.swarm.pieces as usize {
            let (name, pieces) = (name.clone(), hashed.pieces.len() as u64);
            return Err(SwarmError::TooManyPieces { name, pieces, most: options.swarm.pieces });
        }
        let url = url_of(name);
        if !names.insert(url.clone()) {
            return Err(SwarmError::Twice(name.clone()));
        }
        paths.push(absolute(path)?);
        files.push((url, hashed));
    }
    Ok((files, paths))
}

fn absolute(path: &Path) -> Result<PathBuf, SwarmError> {
    std::path::absolute(path).map_err(|why| SwarmError::file(path, why))
}
