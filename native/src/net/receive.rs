//! Writing received bytes to a download, at their place in the file. Nothing
//! more is read from the socket before they are written.

use std::io;
use std::sync::Arc;

use servent_core::node::{ConnInput, Input, StoreError};
use servent_core::wire::http::Chunks;

use super::conn::{Conn, ConnectionOver};
use super::pace::Pace;
use super::serve::REPORT_EVERY;
use crate::clock::Stopwatch;
use crate::files::PartFile;

/// Bytes collected for one write.
const GATHER: usize = 256 * 1024;

/// How the end of a body is recognised.
#[derive(Debug)]
pub(crate) enum BodyLength {
    /// By its length in bytes.
    Sized(u64),
    /// By its last chunk.
    Chunks(Chunks),
    /// By the end of the connection; it may be at most this long.
    Line(u64),
}

/// The outcome of a read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadOutcome {
    More,
    /// The peer has ended its half.
    End,
    /// The connection broke.
    Broken,
    /// The node wants no more of it, and closes the connection.
    Unwanted,
}

/// Bytes to write, and whether the body ends with them.
struct TakenBytes {
    data: Vec<u8>,
    whole: bool,
    /// What was received after the body.
    unread: Vec<u8>,
}

impl BodyLength {
    /// How many bytes to read next, when `stored` are stored.
    fn room(&self, stored: u64, step: u64) -> usize {
        let room = match self {
            Self::Sized(length) => step.min(length - stored),
            Self::Chunks(_) | Self::Line(_) => step,
        };
        usize::try_from(room).unwrap_or(GATHER)
    }

    /// Processes received bytes, when `stored` are stored; `None` when they are
    /// not a valid body.
    fn take(&mut self, mut bytes: Vec<u8>, stored: u64, read: ReadOutcome) -> Option<TakenBytes> {
        match self {
            Self::Sized(length) => {
                let room = usize::try_from(*length - stored).unwrap_or(usize::MAX);
                bytes.truncate(room);
                Some(TakenBytes { whole: bytes.len() == room, data: bytes, unread: Vec::new() })
            }
            Self::Chunks(chunks) => {
                let mut data = Vec::new();
                let used = chunks.feed(&bytes, &mut data).ok()?;
                Some(TakenBytes { data, whole: chunks.is_over(), unread: bytes.split_off(used) })
            }
            Self::Line(most) => {
                let fits = bytes.len() as u64 <= *most - stored;
                let (whole, unread) = (read == ReadOutcome::End, Vec::new());
                fits.then_some(TakenBytes { data: bytes, whole, unread })
            }
        }
    }
}

impl Conn {
    /// Stores a body from offset `start` on, beginning with `early`.
    pub(super) async fn store(
        &mut self,
        (part, pace): (Arc<PartFile>, Option<Arc<Pace>>),
        (start, mut body): (u64, BodyLength),
        early: Vec<u8>,
    ) -> Result<(), ConnectionOver> {
        let (mut at, mut reported) = (start, start);
        let mut watch = Stopwatch::start();
        let (mut buffer, mut read) = (early, ReadOutcome::More);
        // A rate-limited transfer reads small chunks when they are due.
        let step = pace.as_ref().map_or(GATHER as u64, |pace| pace.chunk().min(GATHER as u64));
        loop {
            let came = buffer.len() as u64;
            let taken = body.take(buffer, at - start, read).ok_or(ConnectionOver)?;
            buffer = taken.data;
            if !buffer.is_empty() {
                let written;
                (buffer, written) = write_at(&part, buffer, at).await;
                if let Err(why) = written {
                    // What was received before the error is kept.
                    if at > start && settle(&part).await.is_ok() {
                        self.report(Input::Connection(
                            self.id,
                            ConnInput::Stored { bytes: at - start },
                        ))
                        .await?;
                    }
                    return self.disk_failed(why).await;
                }
                at += buffer.len() as u64;
            }
            if let Some(pace) = &pace
                && came > 0
            {
                self.rest(pace.after(came)).await;
            }
            let last = taken.whole || read != ReadOutcome::More;
            if last || at > reported && watch.elapsed() >= REPORT_EVERY {
                if let Err(why) = settle(&part).await {
                    return self.disk_failed(why).await;
                }
                (watch, reported) = (Stopwatch::start(), at);
                self.report(Input::Connection(self.id, ConnInput::Stored { bytes: at - start }))
                    .await?;
            }
            if taken.whole && !matches!(body, BodyLength::Sized(_)) {
                self.report(Input::Connection(
                    self.id,
                    ConnInput::BodyEnded { unread: taken.unread },
                ))
                .await?;
            }
            if last {
                return if read == ReadOutcome::More { Ok(()) } else { Err(ConnectionOver) };
            }
            read = self.gather(&mut buffer, body.room(at - start, step), at > reported).await?;
            if read == ReadOutcome::Unwanted {
                self.discard = true;
                return Ok(());
            }
        }
    }

    /// Waits for bytes and reads what is there, up to `room`. Returns with
    /// nothing when a job arrived, and early when there is progress to report.
    async fn gather(
        &self,
        buffer: &mut Vec<u8>,
        room: usize,
        soon: bool,
    ) -> Result<ReadOutcome, ConnectionOver> {
        buffer.clear();
        if self.outbox.is_closing() {
            return Ok(ReadOutcome::Unwanted);
        }
        tokio::select! {
            biased;
            () = self.outbox.changed() => {
                return if self.outbox.is_cut() { Err(ConnectionOver) } else { Ok(ReadOutcome::More) };
            }
            ready = self.stream.readable() => if ready.is_err() { return Ok(ReadOutcome::Broken) },
            () = tokio::time::sleep(REPORT_EVERY), if soon => return Ok(ReadOutcome::More),
        }
        buffer.resize(room, 0);
        let mut filled = 0;
        let read = loop {
            match self.stream.try_read(&mut buffer[filled..]) {
                Ok(0) if filled < room => break ReadOutcome::End,
                Ok(0) => break ReadOutcome::More,
                Ok(n) => filled += n,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break ReadOutcome::More,
                Err(_) => break ReadOutcome::Broken,
            }
        };
        buffer.truncate(filled);
        Ok(read)
    }
}

async fn write_at(
    part: &Arc<PartFile>,
    buffer: Vec<u8>,
    at: u64,
) -> (Vec<u8>, Result<(), StoreError>) {
    let part = Arc::clone(part);
    let wrote = tokio::task::spawn_blocking(move || {
        let wrote = part.write_at(&buffer, at);
        (buffer, wrote)
    });
    wrote.await.unwrap_or_else(|_| (Vec::new(), Err(StoreError::Failed)))
}

/// With the stronger durability, what is reported as stored is on the disk.
async fn settle(part: &Arc<PartFile>) -> Result<(), StoreError> {
    if !part.must_settle() {
        return Ok(());
    }
    let part = Arc::clone(part);
    let settled = tokio::task::spawn_blocking(move || part.settle());
    settled.await.unwrap_or(Err(StoreError::Failed))
}
