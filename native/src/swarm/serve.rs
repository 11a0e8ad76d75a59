//! The coordinator's host.

mod tally;
mod turns;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::manager::View;
use servent_core::swarm::{Config, FileSpec, Input, Manager, Row};
use servent_core::wire::pdtp::{Span, Text};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

pub use self::tally::Tally;
use self::turns::Turns;
use super::error::SwarmError;
use super::link::{self, Heard};
use super::pieces::{CHUNK, Hashed, hash_file};
use super::source::{Offer, Source};
use super::url_of;
use crate::clock::Clock;
use crate::driver::random_seed;
use crate::net::{ACCEPT_PAUSE, Pace, bind, raise_descriptors};
use crate::store::{Durability, Rows};

/// What may wait for the coordinator's task, and is taken in one turn.
const ASKS: usize = 1_024;
/// Connections at once, if the system allows as many.
const CONNECTIONS: u32 = 20_000;

/// Everything a coordinator needs to start.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The files; a file is called what the last part of its path says.
    pub files: Vec<PathBuf>,
    /// Where clients and peers come.
    pub listen: Vec<SocketAddr>,
    /// Pieces the source sends at once.
    pub slots: u32,
    /// Other sources of the same files, and so many pieces at once from each.
    pub proxies: Vec<SocketAddr>,
    /// Bytes a second of the source; `None`: no limit.
    pub upload_rate: Option<u64>,
    /// Bytes of a piece.
    pub chunk: u64,
    /// The rules.
    pub swarm: Config,
    /// The folder of the ledger.
    pub state: PathBuf,
    /// What it survives.
    pub durability: Durability,
}

impl ServeOptions {
    /// One file on a free port of the IPv4 loopback, everything under `dir`.
    #[must_use]
    pub fn under(dir: impl Into<PathBuf>, file: impl Into<PathBuf>) -> Self {
        Self {
            files: vec![file.into()],
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            slots: 4,
            proxies: Vec::new(),
            upload_rate: None,
            chunk: CHUNK,
            swarm: Config::default(),
            state: dir.into(),
            durability: Durability::Process,
        }
    }
}

/// Something for the coordinator's task.
#[derive(Debug)]
pub(super) enum Ask {
    Opened { conn: ConnId, peer: IpAddr, local: IpAddr, out: link::Out },
    Heard { conn: ConnId, heard: Heard },
    Closed { conn: ConnId },
    MayServe { peer_id: Text, url: Text, span: Span, reply: oneshot::Sender<bool> },
    View { clients: u32, reply: oneshot::Sender<(View, Tally)> },
    Stop { reply: oneshot::Sender<()> },
}

/// A running coordinator.
#[derive(Debug, Clone)]
pub struct Server {
    addrs: Vec<SocketAddr>,
    files: Arc<Vec<(Text, Hashed)>>,
    asks: mpsc::Sender<Ask>,
    source: Arc<Source>,
}

impl Server {
    /// Every address it listens on, with the ports it really got.
    #[must_use]
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Its files: URL and digests.
    #[must_use]
    pub fn files(&self) -> &[(Text, Hashed)] {
        &self.files
    }

    /// Bytes of files the source has sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.source.sent.load(Ordering::Relaxed)
    }

    /// Requests for pieces the source has refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.source.refused.load(Ordering::Relaxed)
    }

    /// The swarm as the coordinator sees it, with so many clients a file, and
    /// what it has counted.
    ///
    /// # Errors
    /// It has ended.
    pub async fn view(&self, clients: u32) -> Result<(View, Tally), SwarmError> {
        let (reply, view) = oneshot::channel();
        self.asks.send(Ask::View { clients, reply }).await.map_err(|_| SwarmError::Gone)?;
        view.await.map_err(|_| SwarmError::Gone)
    }

    /// Saves the ledger and hangs up.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.asks.send(Ask::Stop { reply }).await.is_ok() {
            let _ = done.await; // It may have ended by itself.
        }
    }
}

/// Hashes the files, then starts a coordinator for them.
///
/// # Errors
/// Anything it needs and cannot have.
pub async fn serve(options: ServeOptions) -> Result<Server, SwarmError> {
    let listeners = bind(&options.listen)?;
    let rows = Rows::open(&options.state, "swarm.redb", options.durability)?;
    let clock = Clock::new();
    let mut manager = Manager::new(options.swarm.clone(), &Rng::new(random_seed()?));
    let mut turns = Turns::new(clock, rows);
    for (_, value) in turns.rows().all()? {
        let row: Row =
            serde_json::from_slice(&value).map_err(|why| turns.rows().damaged(&why.to_string()))?;
        turns.feed(&mut manager, Input::Restore(row));
    }
    let (files, offers) = hash_all(&options).await?;
    for (url, hashed) in &files {
        let spec = FileSpec {
            url: url.clone(),
            size: hashed.size,
            chunk: options.chunk,
            hashes: hashed.pieces.clone().into(),
        };
        turns.feed(&mut manager, Input::Serve(spec));
    }
    let addrs: Vec<SocketAddr> = listeners.iter().filter_map(|l| l.local_addr().ok()).collect();
    for addr in addrs.first().into_iter().chain(&options.proxies) {
        turns.feed(&mut manager, Input::Source { addr: *addr, slots: options.slots });
    }
    turns.finish_turn()?;
    let (asks, asked) = mpsc::channel(ASKS);
    let pace = options.upload_rate.map(Pace::new);
    let source =
        Arc::new(Source { offers, pace, sent: AtomicU64::new(0), refused: AtomicU64::new(0) });
    let room =
        Arc::new(Semaphore::new(raise_descriptors().connections(64).min(CONNECTIONS) as usize));
    let numbers = Arc::new(AtomicU64::new(0));
    for listener in listeners {
        let (asks, source) = (asks.clone(), Arc::clone(&source));
        tokio::spawn(accept(listener, asks, source, Arc::clone(&room), Arc::clone(&numbers)));
    }
    tokio::spawn(turns.run(manager, asked));
    Ok(Server { addrs, files: Arc::new(files), asks, source })
}

type Files = (Vec<(Text, Hashed)>, BTreeMap<Text, Offer>);

async fn hash_all(options: &ServeOptions) -> Result<Files, SwarmError> {
    let (mut files, mut offers) = (Vec::new(), BTreeMap::new());
    for path in &options.files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (from, chunk) = (path.clone(), options.chunk.max(1));
        let hashed = tokio::task::spawn_blocking(move || hash_file(&from, chunk)).await;
        let hashed = hashed
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
            .map_err(|why| SwarmError::file(path, why))?;
        if hashed.pieces.len() > options.swarm.pieces as usize {
            return Err(SwarmError::TooManyPieces(name));
        }
        let url = url_of(&name);
        let path = absolute(path)?;
        if offers.insert(url.clone(), Offer { path, size: hashed.size }).is_some() {
            return Err(SwarmError::Twice(name));
        }
        files.push((url, hashed));
    }
    Ok((files, offers))
}

fn absolute(path: &Path) -> Result<PathBuf, SwarmError> {
    std::path::absolute(path).map_err(|why| SwarmError::file(path, why))
}

/// Takes connections; the first byte says what each is.
async fn accept(
    listener: TcpListener,
    asks: mpsc::Sender<Ask>,
    source: Arc<Source>,
    room: Arc<Semaphore>,
    numbers: Arc<AtomicU64>,
) {
    while !asks.is_closed() {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = asks.closed() => return,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let conn = ConnId(numbers.fetch_add(2, Ordering::Relaxed) + 2);
        let (asks, source) = (asks.clone(), Arc::clone(&source));
        tokio::spawn(async move {
            let _held = permit;
            let mut first = [0];
            let peeked = tokio::time::timeout(super::http::DIAL, stream.peek(&mut first)).await;
            match (peeked, first) {
                (Ok(Ok(1)), [b'G' | b'H' | b'P']) => {
                    if let Err(why) = source.attend(stream, asks).await {
                        tracing::debug!(%peer, %why, "a piece did not leave whole");
                    }
                }
                (Ok(Ok(1)), _) => client(conn, peer.ip().to_canonical(), stream, asks).await,
                _ => {}
            }
        });
    }
}

/// A client of the coordinator.
async fn client(conn: ConnId, peer: IpAddr, stream: TcpStream, asks: mpsc::Sender<Ask>) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true); // Only slower without.
    let (from, to) = stream.into_split();
    let (out, given) = link::out();
    let local = local.ip().to_canonical();
    if asks.send(Ask::Opened { conn, peer, local, out }).await.is_err() {
        return;
    }
    let reading = link::read(from, &asks, |heard| Ask::Heard { conn, heard });
    let mut writing = std::pin::pin!(link::write(to, given));
    let wrote = tokio::select! {
        () = reading => false,
        () = &mut writing => true,
    };
    let _ = asks.send(Ask::Closed { conn }).await; // It may just have ended.
    if !wrote {
        // Why it is hung up on is still on its way.
        writing.await;
    }
}
