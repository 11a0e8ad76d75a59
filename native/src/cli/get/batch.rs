//! Several parallel downloads of one servent.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use servent::Clock;
use servent::driver::Handle;
use servent_core::fetch;
use servent_core::id::FetchId;
use servent_core::node::{FetchCommand, FetchView, Get, NodeAnswer, NodeCommand};
use servent_core::wire::http::HttpDate;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::BroadcastStream;

use super::job::Whole;
use super::links::KnownFile;
use super::troubles::{self, SourceTroubles};
use crate::exit::{Exit, Failure};

/// The active downloads.
pub(super) struct Batch<'a> {
    handle: &'a Handle,
    /// The destination folder, for messages.
    folder: &'a Path,
    clock: Clock,
    answers: broadcast::Receiver<NodeAnswer>,
    fetching: BroadcastStream<fetch::Event>,
    /// Submitted but not numbered yet: numbers are assigned in the same order.
    given: VecDeque<String>,
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
    /// Those of which only overlapping bytes say that they are of one version.
    unvouched: BTreeSet<FetchId>,
}

/// A download that has ended.
pub(super) struct EndedDownload {
    pub(super) name: String,
    pub(super) outcome: Result<Whole, Failure>,
}

/// An event of the batch.
pub(super) enum BatchEvent {
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
    pub(super) fn new(handle: &'a Handle, folder: &'a Path) -> Self {
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
            unvouched: BTreeSet::new(),
        }
    }

    /// Remembers which downloads earlier commands left incomplete, so that none
    /// of them is mistaken for another of the same name.
    pub(super) fn after(mut self, earlier: Vec<FetchView>) -> Self {
        self.earlier = earlier.into_iter().map(|view| (view.name.clone(), view)).collect();
        self
    }

    /// The number of active downloads.
    pub(super) fn len(&self) -> usize {
        self.given.len() + self.numbered.len()
    }

    /// Starts one.
    pub(super) async fn begin(&mut self, get: Get) -> Result<(), Failure> {
        self.given.push_back(get.name.clone());
        Ok(self.handle.command(NodeCommand::Fetch(FetchCommand::Get(get))).await?)
    }

    /// Ends one of them.
    pub(super) async fn cancel(&mut self, fetch: FetchId) -> Result<(), Failure> {
        self.numbered.remove(&fetch);
        self.troubles.forget(fetch);
        Ok(self.handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?)
    }

    /// Pauses the active ones, which saves what has come of them; the same
    /// request continues them. A servent that stops saves nothing more, as if
    /// it were killed.
    pub(super) async fn pause(&self) {
        for &fetch in self.numbered.keys() {
            // If the servent has ended, `Handle::stop` says how.
            let _ = self.handle.command(NodeCommand::Fetch(FetchCommand::Pause { fetch })).await;
        }
    }

    /// Where a download that has ended is.
    pub(super) fn path_of(&self, fetch: FetchId) -> Option<PathBuf> {
        self.handle.path_of(fetch)
    }

    /// Bytes that are here of the active downloads.
    pub(super) async fn arrived(&self) -> Result<u64, Failure> {
        let view = self.handle.view(1, 0).await?;
        let ours = view.fetches.iter().filter(|fetch| self.name(fetch.fetch).is_some());
        Ok(ours.map(|fetch| fetch.have).sum())
    }

    /// The name of an active download, by its number.
    pub(super) fn name(&self, fetch: u32) -> Option<&str> {
        self.numbered.get(&FetchId(fetch)).map(String::as_str)
    }

    /// A download has got its number. One that an earlier command began under
    /// the same name from elsewhere is removed.
    ///
    /// # Errors
    /// Bytes of that one are here, and only the user knows whether they belong
    /// to this file.
    async fn numbered(&mut self, fetch: FetchId) -> Result<Option<EndedDownload>, Failure> {
        let Some(name) = self.given.pop_front() else { return Ok(None) };
        let other = self.earlier.get(&name).filter(|other| other.fetch != fetch.0);
        if let Some(other) = other {
            if other.have > 0 {
                let outcome = Err(troubles::of_another(&name, other));
                self.cancel(fetch).await?;
                return Ok(Some(EndedDownload { name, outcome }));
            }
            let fetch = FetchId(other.fetch);
            self.handle.command(NodeCommand::Fetch(FetchCommand::Cancel { fetch })).await?;
        }
        self.numbered.insert(fetch, name);
        Ok(None)
    }

    /// Waits for the next event.
    #[expect(clippy::too_many_lines, reason = "one arm for each answer of the node")]
    pub(super) async fn next(&mut self) -> Result<BatchEvent, Failure> {
        loop {
            let answer = tokio::select! {
                // Report what went wrong before the failure it led to.
                biased;
                Some(event) = self.fetching.next() => {
                    let Ok(event) = event else { continue };
                    if let fetch::Event::Moved { fetch, at, to } = &event {
                        let (fetch, at, to) = (*fetch, *at, to.clone());
                        if !self.troubles.is_sent(fetch, at, &to) {
                            continue;
                        }
                        if let Some(name) = self.numbered.get(&fetch) {
                            return Ok(BatchEvent::Moved { fetch, name: name.clone(), at, to });
                        }
                        if !self.given.is_empty() {
                            self.moved.insert(fetch, (at, to));
                        }
                        continue;
                    }
                    if let fetch::Event::Described { fetch, size: Some(size), modified } = &event {
                        let modified = modified.as_deref().and_then(HttpDate::parse);
                        let modified = modified.map(HttpDate::to_unix);
                        let known = KnownFile { size: *size, modified, sha1: None };
                        match self.numbered.get(fetch) {
                            Some(name) => {
                                let (fetch, name) = (*fetch, name.clone());
                                return Ok(BatchEvent::Described { fetch, name, known });
                            }
                            None => _ = self.described.insert(*fetch, known),
                        }
                    }
                    if let fetch::Event::Begun { fetch, have, .. } = event {
                        self.had.insert(fetch, have);
                    }
                    if let fetch::Event::Unvouched { fetch } = event {
                        self.unvouched.insert(fetch);
                    }
                    let told = self.troubles.note(self.clock.now(), &event);
                    if let Some((fetch, at, what)) = told
                        && let Some(name) = self.numbered.get(&fetch)
                    {
                        return Ok(BatchEvent::Trouble { name: name.clone(), at, what });
                    }
                    continue;
                }
                answer = self.answers.recv() => answer,
            };
            let (fetch, outcome) = match answer {
                Ok(NodeAnswer::Fetching { fetch }) => match self.numbered(fetch).await? {
                    Some(ended) => return Ok(BatchEvent::Ended(ended)),
                    None => {
                        let Some(name) = self.numbered.get(&fetch).cloned() else { continue };
                        if let Some((at, to)) = self.moved.remove(&fetch) {
                            return Ok(BatchEvent::Moved { fetch, name, at, to });
                        }
                        match self.described.remove(&fetch) {
                            Some(known) => return Ok(BatchEvent::Described { fetch, name, known }),
                            None => continue,
                        }
                    }
                },
                Ok(NodeAnswer::Fetched { fetch, bytes, sha1 }) => {
                    let had = self.had.remove(&fetch).unwrap_or_default();
                    let vouched = !self.unvouched.remove(&fetch);
                    (
                        fetch,
                        Ok(Whole {
                            fetch,
                            size: bytes,
                            came: bytes.saturating_sub(had),
                            sha1,
                            vouched,
                        }),
                    )
                }
                Ok(NodeAnswer::Failed { fetch, why }) => (fetch, Err(why)),
                Ok(_) => continue,
                // Lost answers cannot be recovered.
                Err(RecvError::Lagged(_) | RecvError::Closed) => {
                    return Err(Failure::new(Exit::Failed, "the servent ended"));
                }
            };
            let Some(name) = self.numbered.remove(&fetch) else { continue };
            let outcome = outcome.map_err(|why| {
                let file = self.folder.join(&name);
                self.troubles.failed(fetch, why, (&file, self.handle.disk_trouble()))
            });
            self.troubles.forget(fetch);
            return Ok(BatchEvent::Ended(EndedDownload { name, outcome }));
        }
    }
}
