//! The task that owns the client.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::swarm::client::{Client, Config, Event, Input, Job, Outcome, Output};
use servent_core::wire::pdtp::{Hash, Message, Reason, Text, encode};
use tokio::sync::{mpsc, oneshot, watch};

use super::super::error::SwarmError;
use super::super::link::{self, Heard};
use super::super::part::{Left, Part};
use super::super::pieces::hash_span;
use super::super::pool::Pool;
use super::door::Order;
use super::jobs::End;
use super::{GetOptions, NEWS, Progress, door};
use crate::clock::{Clock, Stopwatch};
use crate::net::Pace;

/// How long transfers to peers may still take at the end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);
/// The shortest sleep before the end is looked at again.
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// Something for the client's task.
#[derive(Debug)]
pub(in super::super) enum News {
    /// The coordinator is there; what is said to it goes this way.
    Linked {
        coordinator: IpAddr,
        out: link::Out,
    },
    Heard(Heard),
    /// It is gone, or was not there.
    Unlinked,
    /// A peer asks for something.
    Caller(door::Caller),
    /// It did not wait for the answer.
    Gone {
        conn: ConnId,
    },
    Ended {
        job: Job,
        end: End,
    },
    /// What the whole hashes to.
    Digested(io::Result<Hash>),
    Stop,
}

/// A transfer that runs. It ends with its handle.
pub(super) struct Doing {
    pub(super) _halt: oneshot::Sender<()>,
    pub(super) bytes: u64,
    /// Where its piece begins.
    pub(super) piece: u64,
    pub(super) way: Way,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    FromSource,
    FromPeer,
    ToPeer,
}

/// The client and everything it acts upon.
pub(in super::super) struct Host {
    pub(super) clock: Clock,
    pub(super) client: Client,
    pub(super) fx: Fx<Output, Event>,
    pub(super) options: GetOptions,
    pub(super) id: Text,
    pub(super) part: Part,
    pub(super) news: mpsc::Sender<News>,
    pub(super) tell: watch::Sender<Progress>,
    pub(super) up: Option<Arc<Pace>>,
    pub(super) down: Option<Arc<Pace>>,
    pub(super) out: Option<link::Out>,
    pub(super) doing: BTreeMap<u32, Doing>,
    /// What the transfers that are about to begin come from.
    pub(super) sources: BTreeSet<u32>,
    pub(super) callers: BTreeMap<ConnId, (Text, oneshot::Sender<Order>)>,
    /// Peers we connected to, and those that came, by their ids: often the
    /// same ones.
    pub(super) peers: (BTreeSet<SocketAddr>, BTreeSet<Text>),
    /// Connections to peers.
    pub(super) pool: Arc<Pool>,
    /// Transfers that could not begin.
    pub(super) unbegun: Vec<Job>,
    /// Digests of pieces that have come, until somebody says that they are
    /// right.
    pub(super) digests: BTreeMap<u64, Hash>,
    pub(super) size: u64,
    pub(super) chunk: u64,
    pub(super) was_online: bool,
    pub(super) done: bool,
    pub(super) digesting: bool,
    pub(super) stopped: bool,
    pub(super) failed: Option<SwarmError>,
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
            pool: Arc::default(),
            unbegun: Vec::new(),
            digests: BTreeMap::new(),
            size: 0,
            chunk: 0,
            was_online: false,
            done: false,
            digesting: false,
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
        self.doing.clear();
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
            self.give_up()?;
            if let Some(why) = self.failed.take() {
                return Err(why);
            }
            let whole = self.tell.borrow().done.is_some();
            if self.done && !std::mem::replace(&mut self.digesting, self.done) {
                self.digest()?;
            }
            if (whole || self.stopped) && over.is_none() {
                let wait = if self.stopped { Duration::ZERO } else { self.options.seed_for };
                over = Some((Stopwatch::start(), wait));
            }
            if self.stopped {
                return self.goodbye(heard).await;
            }
            if let Some((watch, wait)) = &over {
                let (spent, sending) = (watch.elapsed(), self.client.running().1);
                if spent >= *wait && (sending == 0 || spent >= *wait + LAST_WORDS) {
                    return self.goodbye(heard).await;
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
                    tokio::time::sleep(left.max(LEAST_WAIT)).await;
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
            News::Caller(door::Caller { request, order }) => {
                self.callers.insert(request.conn, (request.peer_id.clone(), order));
                self.feed(Input::Incoming(request))
            }
            News::Gone { conn } => {
                self.callers.remove(&conn);
                self.feed(Input::Gone { conn })
            }
            News::Ended { job, end } => self.ended(job, end),
            News::Digested(found) => self.complete(found),
            News::Stop => {
                self.stopped = true;
                Ok(())
            }
        }
    }

    /// What could not begin has failed.
    fn give_up(&mut self) -> Result<(), SwarmError> {
        while let Some(job) = self.unbegun.pop() {
            let outcome = Outcome::Broken { reason: Reason::Data, bytes: 0 };
            self.feed(Input::Ended { job, outcome })?;
        }
        Ok(())
    }

    fn ended(&mut self, job: Job, end: End) -> Result<(), SwarmError> {
        let outcome = end.map_err(|why| SwarmError::file(self.part.path(), why))?;
        if let Some(doing) = self.doing.remove(&job.0)
            && let Outcome::Whole { hash, .. } = &outcome
        {
            if let Some(hash) = hash {
                self.digests.insert(doing.piece, *hash);
            }
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
                Effect::Output(Output::Keep { piece, .. }) => {
                    let digest = self.digests.remove(&(u64::from(*piece) * self.chunk));
                    kept.extend(digest.map(|digest| (*piece, digest)));
                }
                Effect::Output(Output::Info { size, chunk, .. }) => {
                    (self.size, self.chunk) = (*size, *chunk);
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
        if !out.say(bytes) {
            self.out = None; // Its task ends, and says so.
        }
    }

    /// All is here: reads it once more, while peers go on being served.
    fn digest(&self) -> Result<(), SwarmError> {
        let (Some(file), size) = (self.part.file(), self.size) else {
            return Err(SwarmError::Gone);
        };
        let news = self.news.clone();
        tokio::spawn(async move {
            let digested = tokio::task::spawn_blocking(move || hash_span(&file, 0, size)).await;
            let digested = digested.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            let _ = news.send(News::Digested(digested)).await; // It may have ended.
        });
        Ok(())
    }

    /// Is it what was asked for? Then it gets its name.
    fn complete(&self, found: io::Result<Hash>) -> Result<(), SwarmError> {
        let found = found.map_err(|why| SwarmError::file(self.part.path(), why))?;
        if self.options.sha256.is_some_and(|wanted| wanted != found) {
            let path = self.options.target.clone();
            return Err(SwarmError::Other { path, found: found.to_string() });
        }
        self.part.complete()?;
        self.tell.send_modify(|p| p.done = Some(found.to_string()));
        Ok(())
    }

    /// Tells that nobody is to be sent here any more, and lets that arrive.
    async fn goodbye(&mut self, heard: &mut mpsc::Receiver<News>) -> Result<(), SwarmError> {
        let online = self.out.is_some();
        self.feed(Input::Leave { url: self.options.url.clone() })?;
        self.out = None;
        let gone =
            async { while online && !matches!(heard.recv().await, None | Some(News::Unlinked)) {} };
        let _ = tokio::time::timeout(GOODBYE, gone).await; // It was told, or is not there.
        Ok(())
    }
}
