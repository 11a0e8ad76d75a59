//! Several parallel downloads of one servent.

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

/// The active downloads.
pub(super) struct Batch<'a> {
    handle: &'a Handle,
    /// The destination folder, for messages.
    folder: &'a Path,
    clock: Clock,
    answers: broadcast::Receiver<Answer>,
    records: BroadcastStream<Arc<Record>>,
    /// Submitted but not numbered yet: numbers are assigned in the same order.
    given: VecDeque<String>,
    numbered: BTreeMap<FetchId, String>,
    troubles: Troubles,
}

/// A download that has ended.
pub(super) struct Ended {
    pub(super) name: String,
    /// The size of the file, if it is complete.
    pub(super) outcome: Result<u64, Failure>,
}

/// An event of the batch.
pub(super) enum News {
    Ended(Ended),
    /// A problem with a source of one of them.
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

    /// The number of active downloads.
    pub(super) fn len(&self) -> usize {
        self.given.len() + self.numbered.len()
    }

    /// Starts one.
    pub(super) async fn begin(&mut self, get: Get) -> Result<(), Failure> {
        self.given.push_back(get.name.clone());
        Ok(self.handle.command(Command::Get(get)).await?)
    }

    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> Result<News, Failure> {
        loop {
            let answer = tokio::select! {
                // Report what went wrong before the failure it led to.
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
            return Ok(News::Ended(Ended { name, outcome }));
        }
    }
}
