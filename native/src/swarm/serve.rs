//! The coordinator's host.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::swarm::manager::View;
use servent_core::swarm::{Config, Event, FileSpec, Input, Manager, Output, Row};
use servent_core::time::Instant;
use servent_core::wire::pdtp::{Message, Span, Text, encode};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::error::SwarmError;
use super::link::{self, Heard};
use super::pieces::{CHUNK, Hashed, hash_file};
use super::source::{Offer, Source};
use super::url_of;
use crate::clock::Clock;
use crate::driver::random_seed;
use crate::net::{Pace, bind, raise_descriptors};
use crate::store::{Durability, Put, Rows};

/// What may wait for the coordinator's task, and is taken in one turn.
const ASKS: usize = 1_024;
/// How often the store is flushed to the disk.
const FLUSH_EVERY: Duration = Duration::from_secs(5);
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
    Opened { conn: ConnId, peer: IpAddr, local: IpAddr, out: mpsc::Sender<Vec<u8>> },
    Heard { conn: ConnId, heard: Heard },
    Closed { conn: ConnId },
    MayServe { peer_id: Text, url: Text, span: Span, reply: oneshot::Sender<bool> },
    View { clients: u32, reply: oneshot::Sender<View> },
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

    /// The swarm as the coordinator sees it, with so many clients a file.
    ///
    /// # Errors
    /// It has ended.
    pub async fn view(&self, clients: u32) -> Result<View, SwarmError> {
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
    let mut loop_ = Loop::new(clock, rows);
    for (_, value) in loop_.rows.all()? {
        let row: Row =
            serde_json::from_slice(&value).map_err(|why| loop_.rows.damaged(&why.to_string()))?;
        loop_.feed(&mut manager, Input::Restore(row));
    }
    let (files, offers) = hash_all(&options).await?;
    for (url, hashed) in &files {
        let spec = FileSpec {
            url: url.clone(),
            size: hashed.size,
            chunk: options.chunk,
            hashes: hashed.pieces.clone().into(),
        };
        loop_.feed(&mut manager, Input::Serve(spec));
    }
    let addrs: Vec<SocketAddr> = listeners.iter().filter_map(|l| l.local_addr().ok()).collect();
    for addr in addrs.first().into_iter().chain(&options.proxies) {
        loop_.feed(&mut manager, Input::Source { addr: *addr, slots: options.slots });
    }
    loop_.finish_turn()?;
    let (asks, asked) = mpsc::channel(ASKS);
    let pace = options.upload_rate.map(Pace::new);
    let source = Arc::new(Source { offers, pace, sent: AtomicU64::new(0) });
    let room =
        Arc::new(Semaphore::new(raise_descriptors().connections(64).min(CONNECTIONS) as usize));
    let numbers = Arc::new(AtomicU64::new(0));
    for listener in listeners {
        let (asks, source) = (asks.clone(), Arc::clone(&source));
        tokio::spawn(accept(listener, asks, source, Arc::clone(&room), Arc::clone(&numbers)));
    }
    tokio::spawn(loop_.run(manager, asked));
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
            tokio::time::sleep(Duration::from_millis(50)).await;
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
                    if let Err(why) = source.answer(stream, asks).await {
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
    let (out, given) = mpsc::channel(link::BEHIND);
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

/// A client's connection, as the coordinator's task knows it.
struct Open {
    local: IpAddr,
    out: mpsc::Sender<Vec<u8>>,
    merge: bool,
}

/// The coordinator's task, beside the coordinator.
struct Loop {
    clock: Clock,
    rows: Rows,
    fx: Fx<Output, Event>,
    open: BTreeMap<ConnId, Open>,
    puts: Vec<Put>,
    /// What is to be said, and to whom nothing more.
    says: BTreeMap<ConnId, Vec<Message>>,
    closes: Vec<ConnId>,
    gone: Vec<ConnId>,
}

impl Loop {
    fn new(clock: Clock, rows: Rows) -> Self {
        Self {
            clock,
            rows,
            fx: Fx::new(),
            open: BTreeMap::new(),
            puts: Vec::new(),
            says: BTreeMap::new(),
            closes: Vec::new(),
            gone: Vec::new(),
        }
    }

    async fn run(mut self, mut manager: Manager, mut asked: mpsc::Receiver<Ask>) {
        let mut batch = Vec::with_capacity(ASKS);
        let mut flush = tokio::time::interval(FLUSH_EVERY);
        loop {
            let due = manager.poll_timeout().map(|(at, _)| self.clock.wake_at(at));
            let timer = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let mut flushes = false;
            tokio::select! {
                _ = asked.recv_many(&mut batch, ASKS) => {}
                () = timer => {}
                _ = flush.tick() => flushes = true,
            }
            for ask in batch.drain(..) {
                if let Ask::Stop { reply } = ask {
                    let _ = self.rows.flush(); // The rows are with the system already.
                    let _ = reply.send(()); // Nobody may wait.
                    return;
                }
                self.take(&mut manager, ask);
            }
            self.timers(&mut manager);
            let turned = self.finish_turn();
            let flushed = if flushes { self.rows.flush() } else { Ok(()) };
            if let Err(why) = turned.and(flushed.map_err(Into::into)) {
                return tracing::error!(%why, "the coordinator cannot go on");
            }
            for conn in std::mem::take(&mut self.gone) {
                self.feed(&mut manager, Input::Closed { conn });
            }
        }
    }

    fn timers(&mut self, manager: &mut Manager) {
        let now = self.clock.now();
        while manager.poll_timeout().is_some_and(|(at, _)| at <= now) {
            manager.handle_timeout(now, &mut self.fx);
            self.gather(now);
        }
    }

    fn take(&mut self, manager: &mut Manager, ask: Ask) {
        match ask {
            Ask::Opened { conn, peer, local, out } => {
                self.open.insert(conn, Open { local, out, merge: false });
                self.feed(manager, Input::Opened { conn, peer });
            }
            Ask::Heard { conn, heard: Heard::Messages(messages) } => {
                for message in messages {
                    self.feed(manager, Input::Message { conn, message });
                }
            }
            Ask::Heard { conn, heard: Heard::Unreadable(why) } => {
                self.feed(manager, Input::Unreadable { conn, why });
            }
            Ask::Closed { conn } => {
                // What is still to be said is said first.
                self.closes.push(conn);
                self.feed(manager, Input::Closed { conn });
            }
            Ask::MayServe { peer_id, url, span, reply } => {
                let _ = reply.send(manager.source_may_serve(&peer_id, &url, span));
            }
            Ask::View { clients, reply } => {
                let _ = reply.send(manager.view(0, clients, self.clock.now()));
            }
            Ask::Stop { .. } => {}
        }
    }

    fn feed(&mut self, manager: &mut Manager, input: Input) {
        let now = self.clock.now();
        manager.handle(now, input, &mut self.fx);
        self.gather(now);
    }

    fn gather(&mut self, _now: Instant) {
        for effect in self.fx.drain() {
            match effect {
                Effect::Event(event) => tracing::debug!(?event),
                Effect::Output(Output::Save(row)) => {
                    let key = row.owner.to_string().into_bytes();
                    self.puts.push((key, Some(serde_json::to_vec(&row).unwrap_or_default())));
                }
                Effect::Output(Output::Forget(owner)) => {
                    self.puts.push((owner.to_string().into_bytes(), None));
                }
                Effect::Output(Output::Send { conn, message }) => {
                    self.says.entry(conn).or_default().push(message);
                }
                Effect::Output(Output::Close { conn }) => self.closes.push(conn),
            }
        }
    }

    /// Saves what the turn promises, then says it.
    fn finish_turn(&mut self) -> Result<(), SwarmError> {
        if !self.puts.is_empty() {
            self.rows.commit(&self.puts)?;
            self.puts.clear();
        }
        for (conn, mut messages) in std::mem::take(&mut self.says) {
            let Some(open) = self.open.get_mut(&conn) else { continue };
            messages.iter_mut().for_each(|message| from_here(message, open.local));
            let mut bytes = Vec::new();
            encode(&messages, open.merge, &mut bytes);
            let agreed = messages.iter().rev().find_map(|message| match message {
                Message::Extensions(extensions) => Some(extensions.merge),
                _ => None,
            });
            open.merge = agreed.unwrap_or(open.merge);
            if open.out.try_send(bytes).is_err() {
                // It reads too slowly, or has gone.
                self.open.remove(&conn);
                self.gone.push(conn);
            }
        }
        for conn in self.closes.drain(..) {
            self.open.remove(&conn);
        }
        Ok(())
    }
}

/// Our own source is where the client has found us.
fn from_here(message: &mut Message, local: IpAddr) {
    if let Message::Transfer(transfer) = message
        && transfer.about.peer_id.is_empty()
        && transfer.about.peer.is_unspecified()
    {
        transfer.about.peer = local;
    }
}
