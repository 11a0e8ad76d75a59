//! Several parallel downloads of one servent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use servent::Clock;
use servent::driver::Handle;
use servent_core::fetch::{self, FetchFailure};
use servent_core::id::FetchId;
use servent_core::node::{FetchCommand, FetchView, Get, NodeAnswer, NodeCommand};
use servent_core::wire::http::{BodyEncoding, HttpDate};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::BroadcastStream;

use super::links::KnownFile;
use crate::cli::get::job::Whole;
use crate::cli::get::troubles::{self, SourceTroubles};
use crate::exit::{Exit, Failure};

/// The active downloads.
pub(crate) struct Batch<'a> {
    handle: &'a Handle,
    /// The destination folder, for messages.
    folder: &'a Path,
    clock: Clock,
    answers: broadcast::Receiver<NodeAnswer>,
    fetching: BroadcastStream<fetch::Event>,
    /// Submitted but not numbered yet: numbers are assigned in the same order.
    given: VecDeque<Get>,
    numbered: BTreeMap<FetchId, String>,
    /// Redirects of downloads that are not numbered yet.
    moved: BTreeMap<FetchId, (SocketAddr, String)>,
    /// What is said of downloads that are not numbered yet.
    described: BTreeMap<FetchId, KnownFile>,
    /// Incomplete downloads of earlier commands, by name.
    earlier: BTreeMap<String, FetchView>,
    troubles: SourceTroubles,
    /// The bytes that were there when each of them began.
    had: BTreeMap<FetchId, u64>,
    /// Those that come encoded.
    encoded: BTreeMap<FetchId, BodyEncoding>,
    /// The names that sources give them.
    named: BTreeMap<FetchId, String>,
    /// Those of which only overlapping bytes say that they are of one version.
    unvouched: BTreeSet<FetchId>,
}

/// A download that has ended.
pub(crate) struct EndedDownload {
    pub(crate) name: String,
    pub(crate) outcome: Result<Whole, Failure>,
}

/// An event of the batch.
pub(crate) enum BatchEvent {
    Ended(EndedDownload),
    /// A problem with a source of one of them.
    Trouble {
        name: String,
        at: SocketAddr,
        what: String,
    },
    /// The source of one of them says this of the file that it begins to send.
    Described {
        fetch: FetchId,
        name: String,
        known: KnownFile,
    },
    /// The source of one of them redirects us to `to`.
    Moved {
        fetch: FetchId,
        name: String,
        at: SocketAddr,
        to: String,
    },
}

impl<'a> Batch<'a> {
    pub(crate) fn new(handle: &'a Handle, folder: &'a Path) -> Self {
        Self {
            handle,
            folder,
            clock: Clock::new(),
            answers: handle.answers(),
            fetching: BroadcastStream::new(handle.fetching()),
            given: VecDeque::new(),
            numbered: BTreeMap::new(),
            moved: BTreeMap::new(),
            described: BTreeMap::new(),
            earlier: BTreeMap::new(),
            troubles: SourceTroubles::default(),
            had: BTreeMap::new(),
            encoded: BTreeMap::new(),
            named: BTreeMap::new(),
            unvouched: BTreeSet::new(),
        }
    }

    /// Remembers which downloads earlier commands left incomplete, so that none
    /// of them is mistaken for another of the same name.
    pub(crate) fn after(mut self, earlier: Vec<FetchView>) -> Self {
        self.earlier = earlier.into_iter().map(|view| (view.name.clone(), view)).collect();
        self
    }

    /// The number of active downloads.
    pub(crate) fn len(&self) -> usize {
        self.given.len() + self.numbered.len()
    }

    /// Starts one.
    pub(crate) async fn begin(&mut self, get: Get) -> Result<(), Failure> {
        self.given.push_back(get.clone());
        Ok(self.handle.command(NodeCommand::Fetch(FetchCommand::Get(get))).await?)
    }

    /// Ends one of them.
    pub(crate) async fn cancel(&mut self, fetch: FetchId) -> Result<(), Failure> {
        self.numbered.remove(&fetch);
        self.troubles.forget(fetch);
        Ok(self.handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?)
    }

    /// The downloads that the servent has whose names begin like this.
    pub(crate) async fn named(&self, prefix: &str) -> Result<Vec<(FetchId, String)>, Failure> {
        let fetches = self.handle.view(1, 0).await?.fetches.into_iter();
        let named = fetches.filter(|view| view.name.starts_with(prefix));
        Ok(named.map(|view| (FetchId(view.fetch), view.name)).collect())
    }

    /// Where a download that has ended is.
    pub(crate) fn path_of(&self, fetch: FetchId) -> Option<PathBuf> {
        self.handle.path_of(fetch)
    }

    /// Bytes that are here of the active downloads.
    pub(crate) async fn arrived(&self) -> Result<u64, Failure> {
        let view = self.handle.view(1, 0).await?;
        let ours = view.fetches.iter().filter(|fetch| self.name(fetch.fetch).is_some());
        Ok(ours.map(|fetch| fetch.have).sum())
    }

    /// The name of an active download, by its number.
    pub(crate) fn name(&self, fetch: u32) -> Option<&str> {
        self.numbered.get(&FetchId(fetch)).map(String::as_str)
    }

    /// A download has got its number. One that an earlier command began under
    /// the same name from elsewhere is removed, or goes on from here when bytes of it
    /// are there.
    async fn numbered(&mut self, fetch: FetchId) -> Result<(), Failure> {
        let Some(Get { name, sources, .. }) = self.given.pop_front() else { return Ok(()) };
        let other = self.earlier.get(&name).filter(|other| other.fetch != fetch.0);
        if let Some(other) = other {
            let former = FetchId(other.fetch);
            if other.have > 0 {
                self.cancel(fetch).await?;
                let relink = FetchCommand::Relink { fetch: former, sources };
                self.handle.command(NodeCommand::Fetch(relink)).await?;
                self.numbered.insert(former, name);
                return Ok(());
            }
            let gone = FetchCommand::Cancel { fetch: former };
            self.handle.command(NodeCommand::Fetch(gone)).await?;
        }
        self.numbered.insert(fetch, name);
        Ok(())
    }

    /// Waits for the next event.
    pub(crate) async fn next(&mut self) -> Result<BatchEvent, Failure> {
        loop {
            let event = tokio::select! {
                // Report what went wrong before the failure it led to.
                biased;
                Some(event) = self.fetching.next() => match event {
                    Ok(event) => self.happened(event),
                    Err(_) => None,
                },
                answer = self.answers.recv() => match answer {
                    Ok(answer) => self.answered(answer).await?,
                    // Lost answers cannot be recovered.
                    Err(RecvError::Lagged(_) | RecvError::Closed) => {
                        return Err(Failure::new(Exit::Failed, "the servent ended"));
                    }
                },
            };
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }

    /// What an event of the downloads is to the command.
    fn happened(&mut self, event: fetch::Event) -> Option<BatchEvent> {
        match &event {
            fetch::Event::Moved { fetch, at, to } => {
                let (fetch, at, to) = (*fetch, *at, to.clone());
                if !self.troubles.is_sent(fetch, at, &to) {
                    return None;
                }
                if let Some(name) = self.numbered.get(&fetch).cloned() {
                    return Some(BatchEvent::Moved { fetch, name, at, to });
                }
                if !self.given.is_empty() {
                    self.moved.insert(fetch, (at, to));
                }
                return None;
            }
            fetch::Event::Described { fetch, size: Some(size), modified } => {
                let modified = modified.as_deref().and_then(HttpDate::parse);
                let modified = modified.map(HttpDate::to_unix);
                let known = KnownFile { size: *size, modified, sha1: None };
                match self.numbered.get(fetch).cloned() {
                    Some(name) => {
                        return Some(BatchEvent::Described { fetch: *fetch, name, known });
                    }
                    None => _ = self.described.insert(*fetch, known),
                }
            }
            fetch::Event::Begun { fetch, have, .. } => _ = self.had.insert(*fetch, *have),
            fetch::Event::Unvouched { fetch } => _ = self.unvouched.insert(*fetch),
            fetch::Event::Encoded { fetch, encoding } => {
                self.encoded.insert(*fetch, *encoding);
            }
            fetch::Event::Named { fetch, name } => {
                self.named.insert(*fetch, name.clone());
            }
            _ => {}
        }
        let (fetch, at, what) = self.troubles.note(self.clock.now(), &event)?;
        let name = self.numbered.get(&fetch)?.clone();
        Some(BatchEvent::Trouble { name, at, what })
    }

    /// What an answer of the node is to the command.
    async fn answered(&mut self, answer: NodeAnswer) -> Result<Option<BatchEvent>, Failure> {
        let (fetch, outcome) = match answer {
            NodeAnswer::Fetching { fetch } => {
                self.numbered(fetch).await?;
                let Some(name) = self.numbered.get(&fetch).cloned() else { return Ok(None) };
                if let Some((at, to)) = self.moved.remove(&fetch) {
                    return Ok(Some(BatchEvent::Moved { fetch, name, at, to }));
                }
                let known = self.described.remove(&fetch);
                return Ok(known.map(|known| BatchEvent::Described { fetch, name, known }));
            }
            NodeAnswer::Fetched { fetch, bytes, sha1 } => {
                let had = self.had.remove(&fetch).unwrap_or_default();
                let vouched = !self.unvouched.remove(&fetch);
                let came = bytes.saturating_sub(had);
                let named = self.named.remove(&fetch);
                let whole = Whole { fetch, size: bytes, came, sha1, vouched, named };
                let encoding = self.encoded.remove(&fetch);
                (fetch, Ok(whole.decoded(self.handle, encoding)))
            }
            NodeAnswer::Failed { fetch, why } => (fetch, Err(why)),
            _ => return Ok(None),
        };
        let Some(name) = self.numbered.remove(&fetch) else { return Ok(None) };
        let outcome = match outcome {
            Ok(whole) => whole,
            Err(why) => Err(self.failed(fetch, &name, why)),
        };
        self.troubles.forget(fetch);
        Ok(Some(BatchEvent::Ended(EndedDownload { name, outcome })))
    }

    /// Why one of them failed.
    fn failed(&self, fetch: FetchId, name: &str, why: FetchFailure) -> Failure {
        let former = self.earlier.get(name).filter(|other| other.fetch == fetch.0);
        match former.filter(|_| self.troubles.is_another(fetch)) {
            Some(other) => troubles::of_another(name, other),
            None => self.troubles.failed(fetch, why, &self.folder.join(name), self.handle),
        }
    }
}
