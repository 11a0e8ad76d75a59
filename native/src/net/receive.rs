//! Writing what comes in to a download, at its place in the file. Nothing
//! more is read from the socket before it is written.

use std::io;
use std::sync::Arc;

use servent_core::node::{Input, StoreError};

use super::conn::{Conn, End};
use super::pace::Pace;
use super::serve::REPORT_EVERY;
use crate::clock::Stopwatch;
use crate::files::PartFile;

/// Bytes gathered for one write.
const GATHER: usize = 256 * 1024;

impl Conn {
    /// Stores the next `end - start` bytes, `early` first.
    pub(super) async fn store(
        &mut self,
        (part, pace): (Arc<PartFile>, Option<Arc<Pace>>),
        start: u64,
        end: u64,
        mut early: Vec<u8>,
    ) -> Result<(), End> {
        let (mut at, mut reported) = (start, start);
        let mut watch = Stopwatch::start();
        let mut ended = false;
        early.truncate(usize::try_from(end - start).unwrap_or(usize::MAX));
        let mut buffer = early;
        // A line that is shaped takes small pieces when they are due.
        let step = pace.as_ref().map_or(GATHER as u64, |pace| pace.chunk().min(GATHER as u64));
        loop {
            if !buffer.is_empty() {
                let written;
                (buffer, written) = write_at(&part, buffer, at).await;
                if let Err(why) = written {
                    // What came before it is kept.
                    if at > start && settle(&part).await.is_ok() {
                        self.report(Input::Stored { conn: self.id, bytes: at - start }).await?;
                    }
                    return self.disk_failed(why).await;
                }
                at += buffer.len() as u64;
                if let Some(pace) = &pace {
                    self.rest(pace.after(buffer.len() as u64)).await;
                }
            }
            let last = at == end || ended;
            if last || at > reported && watch.elapsed() >= REPORT_EVERY {
                if let Err(why) = settle(&part).await {
                    return self.disk_failed(why).await;
                }
                (watch, reported) = (Stopwatch::start(), at);
                self.report(Input::Stored { conn: self.id, bytes: at - start }).await?;
            }
            if last {
                return if ended { Err(End) } else { Ok(()) };
            }
            let room = usize::try_from(step.min(end - at)).unwrap_or(GATHER);
            ended = self.gather(&mut buffer, room, at > reported).await?;
        }
    }

    /// Waits for bytes and reads as many as there are, up to `room`. True at
    /// the peer's end. Comes back with nothing when something was asked, and
    /// soon when there is something to report.
    async fn gather(&self, buffer: &mut Vec<u8>, room: usize, soon: bool) -> Result<bool, End> {
        buffer.clear();
        tokio::select! {
            biased;
            () = self.outbox.changed() => {
                return if self.outbox.is_cut() { Err(End) } else { Ok(false) };
            }
            ready = self.stream.readable() => if ready.is_err() { return Ok(true) },
            () = tokio::time::sleep(REPORT_EVERY), if soon => return Ok(false),
        }
        buffer.resize(room, 0);
        let mut filled = 0;
        let ended = loop {
            match self.stream.try_read(&mut buffer[filled..]) {
                Ok(0) => break filled < room,
                Ok(n) => filled += n,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break false,
                Err(_) => break true,
            }
        };
        buffer.truncate(filled);
        Ok(ended)
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
