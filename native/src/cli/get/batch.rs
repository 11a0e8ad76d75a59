//! Many downloads of one servent at a time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use servent::Clock;
use servent::driver::Handle;
use servent_core::id::FetchId;
use servent_core::node::{Answer, Command, Get};
use servent_core::trace::Record;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, channel};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::BroadcastStream;

use super::told::Troubles;
use crate::exit::{Exit, Failure};

/// Downloads under way.
pub(super) struct Batch<'a> {
    handle: &'a Handle,
    /// Where the files are to be, for what is said of them.
    folder: &'a Path,
    clock: Clock,
    answers: broadcast::Receiver<Answer>,
    records: BroadcastStream<Arc<Record>>,
    /// Given and not numbered yet: numbers come in the same order.
    given: VecDeque<String>,
    numbered: BTreeMap<FetchId, String>,
    troubles: Troubles,
}

/// One of them is over.
pub(super) struct Ended {
    pub(super) name: String,
    /// Its bytes, when they are there.
    pub(super) outcome: Result<u64, Failure>,
}

/// What happened.
pub(super) enum News {
    Ended(Ended),
    /// A source of one of them is in trouble.
    Trouble {
        name: String,
        at: SocketAddr,
        what: String,
    },
}

impl<'a> Batch<'a> {
    pub(super) fn new(handle: &'a Handle, folder: &'a Path) -> Self {
        Self {
            handle,
            folder,
            clock: Clock::new(),
            answers: handle.answers(),
            records: BroadcastStream::new(handle.records().unwrap_or_else(|| channel(1).1)),
            given: VecDeque::new(),
            numbered: BTreeMap::new(),
            troubles: Troubles::default(),
        }
    }

    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.given.len() + self.numbered.len()
    }

    /// Begins one.
    pub(super) async fn begin(&mut self, get: Get) -> Result<(), Failure> {
        self.given.push_back(get.name.clone());
        Ok(self.handle.command(Command::Get(get)).await?)
    }

    /// Waits for the next news.
    pub(super) async fn next(&mut self) -> Result<News, Failure> {
        loop {
            let answer = tokio::select! {
                // What went wrong is told before the end it led to.
                biased;
                Some(record) = self.records.next() => {
                    let told = record.ok().and_then(|record| self.troubles.note(self.clock.now(), &record));
                    if let Some((fetch, at, what)) = told
                        && let Some(name) = self.numbered.get(&fetch)
                    {
                        return Ok(News::Trouble { name: name.clone(), at, what });
                    }
                    continue;
                }
                answer = self.answers.recv() => answer,
            };
            let (fetch, outcome) = match answer {
                Ok(Answer::Fetching { fetch }) => {
                    if let Some(name) = self.given.pop_front() {
                        self.numbered.insert(fetch, name);
                    }
                    continue;
                }
                Ok(Answer::Fetched { fetch, bytes, .. }) => (fetch, Ok(bytes)),
                Ok(Answer::Failed { fetch, why }) => (fetch, Err(why)),
                Ok(_) => continue,
                // What it has missed nobody can tell it.
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
            return Ok(News::Ended(Ended { name, outcome }));
        }
    }
}
