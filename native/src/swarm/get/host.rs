//! The task that owns the client.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::swarm::client::{Client, Config, Event, Input, Job, Outcome, Output, Request};
use servent_core::wire::http::Method as HttpMethod;
use servent_core::wire::pdtp::{Message, Method, Span, Text, encode};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::super::error::SwarmError;
use super::super::link::{self, Heard};
use super::super::part::{Left, Part};
use super::super::pieces::hash_span;
use super::super::{http, url_from};
use super::jobs::{Caller, End, Slice};
use super::{GetOptions, NEWS, Progress};
use crate::clock::{Clock, Stopwatch};
use crate::net::Pace;

/// How long transfers to peers may still take at the end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Something for the client's task.
#[derive(Debug)]
pub(in super::super) enum News {
    /// The coordinator is there; what is said to it goes this way.
    Linked {
        coordinator: IpAddr,
        out: mpsc::Sender<Vec<u8>>,
    },
    Heard(Heard),
    /// It is gone, or was not there.
    Unlinked,
    Caller(Box<Caller>),
    Ended {
        job: Job,
        end: End,
    },
    Stop,
}

/// A transfer that runs.
struct Doing {
    task: AbortHandle,
    bytes: u64,
    way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    FromSource,
    FromPeer,
    ToPeer,
}

/// The client and everything it acts upon.
pub(in super::super) struct Host {
    clock: Clock,
    client: Client,
    fx: Fx<Output, Event>,
    options: GetOptions,
    id: Text,
    part: Part,
    news: mpsc::Sender<News>,
    tell: watch::Sender<Progress>,
    up: Option<Arc<Pace>>,
    down: Option<Arc<Pace>>,
    out: Option<mpsc::Sender<Vec<u8>>>,
    doing: BTreeMap<u32, Doing>,
    /// What the transfers that are about to begin come from.
    sources: BTreeSet<u32>,
    callers: BTreeMap<ConnId, Caller>,
    /// Peers we connected to, and those that came, by their ids: often the
    /// same ones.
    peers: (BTreeSet<SocketAddr>, BTreeSet<Text>),
    size: u64,
    was_online: bool,
    done: bool,
    stopped: bool,
    failed: Option<SwarmError>,
}

impl Host {
    pub(super) fn new(
        clock: Clock,
        config: Config,
        options: GetOptions,
        part: Part,
        news: mpsc::Sender<News>,
        tell: watch::Sender<Progress>,
    ) -> Self {
        let pace = |rate: Option<u64>| rate.map(|rate| Arc::new(Pace::new(rate)));
        Self {
            clock,
            id: config.id.clone(),
            client: Client::new(config),
            fx: Fx::new(),
            up: pace(options.rates.0),
            down: pace(options.rates.1),
            options,
            part,
            news,
            tell,
            out: None,
            doing: BTreeMap::new(),
            sources: BTreeSet::new(),
            callers: BTreeMap::new(),
            peers: Default::default(),
            size: 0,
            was_online: false,
            done: false,
            stopped: false,
            failed: None,
        }
    }

    pub(super) async fn run(
        mut self,
        left: Left,
        mut heard: mpsc::Receiver<News>,
    ) -> Result<Progress, SwarmError> {
        let ended = self.turns(left, &mut heard).await;
        for doing in self.doing.values() {
            doing.task.abort();
        }
        let progress = self.tell.borrow().clone();
        ended.map(|()| progress)
    }

    async fn turns(
        &mut self,
        left: Left,
        heard: &mut mpsc::Receiver<News>,
    ) -> Result<(), SwarmError> {
        let Left { chunk, have } = left;
        self.tell.send_modify(|p| p.resumed = have.len() as u32);
        self.feed(Input::Want { url: self.options.url.clone(), chunk, have })?;
        let mut batch = Vec::with_capacity(NEWS);
        let mut over: Option<(Stopwatch, Duration)> = None;
        loop {
            self.wait(heard, &mut batch, over.as_ref()).await;
            for news in batch.drain(..) {
                self.take(news)?;
            }
            self.timers()?;
            if let Some(why) = self.failed.take() {
                return Err(why);
            }
            if self.done && self.tell.borrow().done.is_none() {
                self.complete().await?;
            }
            if (self.done || self.stopped) && over.is_none() {
                let wait = if self.stopped { Duration::ZERO } else { self.options.seed_for };
                over = Some((Stopwatch::start(), wait));
            }
            if self.stopped {
                return self.goodbye();
            }
            if let Some((watch, wait)) = &over {
                let (spent, sending) = (watch.elapsed(), self.client.running().1);
                if spent >= *wait && (sending == 0 || spent >= *wait + LAST_WORDS) {
                    return self.goodbye();
                }
            }
        }
    }

    async fn wait(
        &self,
        heard: &mut mpsc::Receiver<News>,
        batch: &mut Vec<News>,
        over: Option<&(Stopwatch, Duration)>,
    ) {
        let due = self.client.poll_timeout().map(|(at, _)| self.clock.wake_at(at));
        let timer = async {
            match due {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let end = async {
            match over {
                Some((watch, wait)) => {
                    let left = wait.saturating_sub(watch.elapsed());
                    tokio::time::sleep(left.max(Duration::from_millis(50))).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = heard.recv_many(batch, NEWS) => {}
            () = timer => {}
            () = end => {}
        }
    }

    fn timers(&mut self) -> Result<(), SwarmError> {
        let now = self.clock.now();
        while self.client.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.client.handle_timeout(now, &mut self.fx);
            self.carry_out()?;
        }
        Ok(())
    }

    fn take(&mut self, news: News) -> Result<(), SwarmError> {
        match news {
            News::Linked { coordinator, out } => {
                self.out = Some(out);
                self.was_online = true;
                self.feed(Input::Online { coordinator })
            }
            News::Heard(Heard::Messages(messages)) => {
                messages.into_iter().try_for_each(|message| self.feed(Input::Message(message)))
            }
            News::Heard(Heard::Unreadable(why)) => {
                tracing::warn!(%why, "the coordinator cannot be understood");
                Ok(())
            }
            News::Unlinked => {
                self.out = None;
                if !self.was_online {
                    let at: Vec<_> =
                        self.options.coordinator.iter().map(ToString::to_string).collect();
                    return Err(SwarmError::Unreachable(at.join(", ")));
                }
                self.feed(Input::Offline)
            }
            News::Caller(caller) => self.caller(*caller),
            News::Ended { job, end } => self.ended(job, end),
            News::Stop => {
                self.stopped = true;
                Ok(())
            }
        }
    }

    fn caller(&mut self, caller: Caller) -> Result<(), SwarmError> {
        let method = match &caller.head.method {
            HttpMethod::Get => Method::Get,
            HttpMethod::Other(other) if other == "PUT" => Method::Put,
            _ => return Ok(()),
        };
        let request = Request {
            conn: caller.conn,
            peer: caller.peer.ip().to_canonical(),
            peer_id: caller.id(),
            method,
            url: url_from(&caller.head.target),
            span: http::span_of(&caller.head),
        };
        self.callers.insert(caller.conn, caller);
        self.feed(Input::Incoming(request))
    }

    fn ended(&mut self, job: Job, end: End) -> Result<(), SwarmError> {
        let outcome = end.map_err(|why| SwarmError::file(self.part.path(), why))?;
        if let Some(doing) = self.doing.remove(&job.0)
            && matches!(outcome, Outcome::Whole { .. })
        {
            self.tell.send_modify(|p| match doing.way {
                Way::FromSource => p.from_source += doing.bytes,
                Way::FromPeer => p.from_peers += doing.bytes,
                Way::ToPeer => p.given += doing.bytes,
            });
        }
        self.feed(Input::Ended { job, outcome })
    }

    fn feed(&mut self, input: Input) -> Result<(), SwarmError> {
        self.client.handle(self.clock.now(), input, &mut self.fx);
        self.carry_out()
    }

    /// Remembers what is right before anybody is told of it.
    fn carry_out(&mut self) -> Result<(), SwarmError> {
        let effects: Vec<_> = self.fx.drain().collect();
        let mut kept = Vec::new();
        for effect in &effects {
            match effect {
                Effect::Output(Output::Keep { piece, .. }) => kept.push(*piece),
                Effect::Output(Output::Info { size, chunk, .. }) => {
                    self.size = *size;
                    self.part.room(*size, *chunk)?;
                }
                _ => {}
            }
        }
        if !kept.is_empty() {
            self.part.keep(&kept)?;
        }
        let mut says = Vec::new();
        for effect in effects {
            match effect {
                Effect::Event(event) => self.note(&event),
                Effect::Output(Output::Send(message)) => says.push(message),
                Effect::Output(output) => self.act(output),
            }
        }
        self.say(&says);
        // After a goodbye nothing is known any more.
        let Some((held, pieces)) = self.client.progress(&self.options.url) else { return Ok(()) };
        let (receiving, sending) = self.client.running();
        let (online, size) = (self.out.is_some(), self.size);
        let peers = self.peers.0.len().max(self.peers.1.len()) as u32;
        self.tell.send_if_modified(|p| {
            let before = p.clone();
            (p.online, p.size, p.pieces, p.held) = (online, size, pieces, held);
            (p.receiving, p.sending, p.peers) = (receiving, sending, peers);
            *p != before
        });
        Ok(())
    }

    fn say(&mut self, messages: &[Message]) {
        let Some(out) = &self.out else { return };
        if messages.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        encode(messages, self.client.agreed().merge, &mut bytes);
        if out.try_send(bytes).is_err() {
            self.out = None; // Its task ends, and says so.
        }
    }

    fn note(&mut self, event: &Event) {
        tracing::debug!(?event);
        match event {
            Event::Receiving { job, from, source, .. } => {
                if *source {
                    self.sources.insert(job.0);
                } else {
                    self.peers.0.extend(*from);
                }
            }
            Event::Sending { to: Some(to), .. } => {
                self.peers.0.insert(*to);
            }
            Event::Wrong { .. } => self.tell.send_modify(|p| p.wrong += 1),
            Event::Complaint { message } => {
                tracing::warn!(%message, "the coordinator complains");
            }
            _ => {}
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Connect => self.connect(),
            Output::Fetch { job, from, span, piece, .. } => {
                let way = if self.sources.remove(&job.0) { Way::FromSource } else { Way::FromPeer };
                if let Some(slice) = self.slice(span, piece, way) {
                    self.begin(job, way, &slice.clone(), slice.fetch(from));
                }
            }
            Output::Take { job, conn, span, piece, .. } => {
                let slice = self.slice(span, piece, Way::FromPeer);
                if let (Some(slice), Some(caller)) = (slice, self.callers.remove(&conn)) {
                    self.peers.1.insert(caller.id());
                    self.begin(job, Way::FromPeer, &slice.clone(), slice.take(caller));
                }
            }
            Output::Serve { job, conn, span, .. } => {
                let slice = self.slice(span, span, Way::ToPeer);
                if let (Some(slice), Some(caller)) = (slice, self.callers.remove(&conn)) {
                    self.peers.1.insert(caller.id());
                    self.begin(job, Way::ToPeer, &slice.clone(), slice.serve(caller));
                }
            }
            Output::Push { job, to, span, .. } => {
                if let Some(slice) = self.slice(span, span, Way::ToPeer) {
                    self.begin(job, Way::ToPeer, &slice.clone(), slice.push(to));
                }
            }
            Output::Refuse { conn, status } => {
                if let Some(mut caller) = self.callers.remove(&conn) {
                    tokio::spawn(async move {
                        let _ = http::answer(&mut caller.stream, status).await; // It may be gone.
                    });
                }
            }
            Output::Abort { job } => {
                if let Some(doing) = self.doing.remove(&job.0) {
                    doing.task.abort();
                }
            }
            Output::Done { .. } => self.done = true,
            Output::Failed { why, .. } => self.failed = Some(SwarmError::Refused(why)),
            Output::Send(_) | Output::Info { .. } | Output::Keep { .. } => {}
        }
    }

    fn slice(&self, span: Span, piece: Span, way: Way) -> Option<Slice> {
        let range = |span: Span| (span.start, span.end.unwrap_or(self.size));
        let pace = if way == Way::ToPeer { &self.up } else { &self.down };
        Some(Slice {
            file: self.part.file()?,
            url: self.options.url.clone(),
            id: self.id.clone(),
            range: range(span),
            piece: range(piece),
            size: self.size,
            pace: pace.clone(),
        })
    }

    fn begin(
        &mut self,
        job: Job,
        way: Way,
        slice: &Slice,
        work: impl Future<Output = End> + Send + 'static,
    ) {
        let news = self.news.clone();
        let task = tokio::spawn(async move {
            let end = work.await;
            let _ = news.send(News::Ended { job, end }).await; // It may have ended.
        });
        let bytes = slice.range.1 - slice.range.0;
        self.doing.insert(job.0, Doing { task: task.abort_handle(), bytes, way });
    }

    fn connect(&self) {
        let (to, news) = (self.options.coordinator.clone(), self.news.clone());
        tokio::spawn(async move {
            if let Ok(stream) = dial(&to).await {
                linked(stream, &news).await;
            }
            let _ = news.send(News::Unlinked).await; // It may have ended.
        });
    }

    /// All is here: is it what was asked for? Then it gets its name.
    async fn complete(&mut self) -> Result<(), SwarmError> {
        let Some(file) = self.part.file() else { return Err(SwarmError::Gone) };
        let size = self.size;
        let hashed = tokio::task::spawn_blocking(move || hash_span(&file, 0, size)).await;
        let found = hashed
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
            .map_err(|why| SwarmError::file(self.part.path(), why))?;
        if self.options.sha256.is_some_and(|wanted| wanted != found) {
            let path = self.options.target.clone();
            return Err(SwarmError::Other { path, found: found.to_string() });
        }
        self.part.complete()?;
        self.tell.send_modify(|p| p.done = Some(found.to_string()));
        Ok(())
    }

    /// Nobody is sent here any more.
    fn goodbye(&mut self) -> Result<(), SwarmError> {
        self.feed(Input::Leave { url: self.options.url.clone() })?;
        self.out = None;
        Ok(())
    }
}

/// The first of the addresses that answers.
async fn dial(to: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for at in to {
        let dialed = tokio::time::timeout(http::DIAL, TcpStream::connect(at)).await;
        match dialed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => return Ok(stream),
            Err(why) => failed = why,
        }
    }
    Err(failed)
}

/// Carries what is said until one side hangs up.
async fn linked(stream: TcpStream, news: &mpsc::Sender<News>) {
    let Ok(peer) = stream.peer_addr() else { return };
    let _ = stream.set_nodelay(true); // Only slower without.
    let (from, to) = stream.into_split();
    let (out, given) = mpsc::channel(link::BEHIND);
    let coordinator = peer.ip().to_canonical();
    if news.send(News::Linked { coordinator, out }).await.is_err() {
        return;
    }
    let reading = link::read(from, news, News::Heard);
    tokio::select! {
        () = reading => {}
        () = link::write(to, given) => {}
    }
}
