//! The jobs of a connection's task, queued from the node's task to the socket.
//! Pushing never waits; the length is limited by what one connection can have
//! in flight (see [`Outbox::push`]).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::pace::{Pace, Paces};
use super::receive::BodyLength;
use crate::files::{PartFile, SourceFile};
use crate::inbox::InboxFolder;
use crate::library::LibraryFile;

/// Limit of jobs queued on one connection. The node answers at most
/// `Limits::pipeline` requests ahead, with at most two jobs each.
const MAX_JOBS: usize = 1_024;
/// Limit of bytes of small writes queued on one connection; a safety limit
/// above `Limits::backlog`, which the node enforces itself.
const MAX_BYTES: usize = 4 << 20;

/// A job for a connection's task; jobs are done in order.
#[derive(Debug)]
pub(crate) enum ConnectionJob {
    /// Send these bytes.
    Write(Vec<u8>),
    /// Send a part of a file.
    Serve { file: ServeFrom, start: u64, end: u64, pace: Paces },
    /// Write the received body to a download.
    Store {
        part: Arc<PartFile>,
        start: u64,
        body: BodyLength,
        early: Vec<u8>,
        pace: Option<Arc<Pace>>,
    },
    /// Receive a file for the inbox.
    Arrive { inbox: Arc<InboxFolder>, body: BodyLength, early: Vec<u8> },
    /// Give the file that was received for the inbox a name.
    Commit { name: String },
    /// Report that a job cannot be done: its file is missing.
    Refuse(servent_core::node::StoreError),
    /// Close once all earlier jobs are done.
    Close,
}

/// A file to send from; it is opened when its job begins.
#[derive(Debug, Clone)]
pub(crate) enum ServeFrom {
    /// A shared file.
    Shared(Arc<LibraryFile>),
    /// The part of a download that is already there.
    Part(Arc<PartFile>),
    /// A file of a swarm we are the source of.
    Source(Arc<SourceFile>),
}

/// The jobs of one connection.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<ConnectionJob>,
    bytes: usize,
    taken: bool,
    closing: bool,
    cut: bool,
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job. A connection with more queued than a correct node ever asks
    /// for is cut. Consecutive writes are merged into one job: one turn may
    /// produce thousands of small messages for a neighbour before its task
    /// runs.
    pub(crate) fn push(&self, job: ConnectionJob) {
        let mut state = self.state();
        if let ConnectionJob::Write(data) = &job {
            state.bytes += data.len();
        }
        state.closing |= matches!(job, ConnectionJob::Close);
        match (state.jobs.back_mut(), job) {
            (Some(ConnectionJob::Write(before)), ConnectionJob::Write(data)) => {
                before.extend_from_slice(&data)
            }
            (_, job) => state.jobs.push_back(job),
        }
        if state.jobs.len() > MAX_JOBS || state.bytes > MAX_BYTES {
            state.cut = true;
        }
        drop(state);
        self.wake.notify_one();
    }

    /// The node has processed the bytes reported last and has pushed all jobs
    /// that follow from them: the next bytes may be read.
    pub(crate) fn taken(&self) {
        self.state().taken = true;
        self.wake.notify_one();
    }

    /// Drops the queue and ends the connection at once.
    pub(crate) fn cut(&self) {
        let mut state = self.state();
        state.cut = true;
        state.jobs.clear();
        drop(state);
        self.wake.notify_one();
    }

    /// The next job.
    pub(super) fn pop(&self) -> Option<ConnectionJob> {
        let mut state = self.state();
        let job = state.jobs.pop_front();
        if let Some(ConnectionJob::Write(data)) = &job {
            state.bytes -= data.len();
        }
        if state.jobs.is_empty() {
            state.jobs = VecDeque::new(); // An idle connection holds no buffer.
        }
        job
    }

    /// True once after each [`Outbox::taken`].
    pub(super) fn take_taken(&self) -> bool {
        std::mem::take(&mut self.state().taken)
    }

    pub(super) fn is_cut(&self) -> bool {
        self.state().cut
    }
    pub(super) fn is_closing(&self) -> bool {
        self.state().closing
    }
    /// Bytes of small writes in the queue.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }
    /// Waits for a change since the last wait.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_with_too_much_waiting_is_cut() {
        let outbox = Outbox::default();
        for _ in 0..4 {
            outbox.push(ConnectionJob::Write(vec![0; 1 << 20]));
        }
        assert!(!outbox.is_cut());
        outbox.push(ConnectionJob::Write(vec![0]));
        assert!(outbox.is_cut());
    }

    #[test]
    fn many_small_writes_in_a_row_are_one_job() {
        let outbox = Outbox::default();
        for n in 0..20_000_u16 {
            outbox.push(ConnectionJob::Write(n.to_le_bytes().to_vec()));
        }
        assert!(!outbox.is_cut());
        outbox.push(ConnectionJob::Close);
        outbox.push(ConnectionJob::Write(vec![1]));
        assert!(matches!(outbox.pop(), Some(ConnectionJob::Write(all)) if all.len() == 40_000));
        assert_eq!(outbox.bytes(), 1);
        assert!(matches!(outbox.pop(), Some(ConnectionJob::Close)));
        assert!(matches!(outbox.pop(), Some(ConnectionJob::Write(_))));
    }

    #[test]
    fn bytes_are_counted_down_as_jobs_are_taken() {
        let outbox = Outbox::default();
        outbox.push(ConnectionJob::Write(vec![0; 10]));
        outbox.push(ConnectionJob::Close);
        assert_eq!(outbox.bytes(), 10);
        assert!(outbox.is_closing());
        assert!(matches!(outbox.pop(), Some(ConnectionJob::Write(_))));
        assert_eq!(outbox.bytes(), 0);
        assert!(matches!(outbox.pop(), Some(ConnectionJob::Close)));
        assert!(outbox.pop().is_none());
    }
}
