//! Sending a part of a file: the system moves it from the page cache to the
//! socket without copying it through this program's memory, except inside TLS
//! and WebSockets.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::time::Duration;

use servent_core::node::{ConnInput, Input, StoreError};

use super::conn::{Conn, ConnectionOver};
use super::outbox::ServeFrom;
use super::pace::Paces;
use super::websocket::OURS;
use crate::clock::Stopwatch;
use crate::sys::{Cork, FileAt as _, is_of_the_disk, send_file, unacknowledged};

/// Bytes handed to the system in one call, so that one upload does not keep a
/// worker from the others.
const CHUNK: u64 = 1 << 20;
/// How often progress is reported at most; it is also reported at the end.
pub(super) const REPORT_EVERY: Duration = Duration::from_millis(100);

thread_local! {
    static COPY: RefCell<Vec<u8>> = RefCell::new(vec![0; OURS]);
}

impl ServeFrom {
    /// The file, open.
    pub(crate) fn open(&self) -> Result<File, StoreError> {
        match self {
            Self::Shared(shared) => shared.open(),
            Self::Part(part) => part.reader(),
            Self::Source(source) => source.open(),
        }
    }
}

impl Conn {
    /// Sends `start..end` and reports progress.
    pub(super) async fn serve(
        &mut self,
        from: ServeFrom,
        start: u64,
        end: u64,
        pace: Paces,
    ) -> Result<(), ConnectionOver> {
        let sent = match from.open() {
            Ok(file) => self.pour(&file, start..end, &pace).await?,
            Err(why) => Err(why),
        };
        match sent {
            Ok(()) if self.outbox.is_cut() => Ok(()),
            Ok(()) => {
                self.report(Input::Connection(self.id, ConnInput::Served { bytes: end - start }))
                    .await
            }
            Err(why) => self.disk_failed(why).await,
        }
    }

    /// Sends a part of a file, or as much of it as could be read or was
    /// accepted until the connection was cut.
    async fn pour(
        &self,
        file: &File,
        part: Range<u64>,
        pace: &Paces,
    ) -> Result<Result<(), StoreError>, ConnectionOver> {
        let (mut at, mut reported) = (part.start, 0);
        let mut watch = Stopwatch::start();
        // A rate-limited transfer sends small chunks when they are due.
        let _whole_packets = pace.is_free().then(|| Cork::new(self.stream.tcp()));
        while at < part.end {
            // The limits may change while it runs.
            let most = pace.chunk(CHUNK).min(part.end - at);
            let sent = match self.stream.is_wrapped() {
                true => self.copy(file, &mut at, most),
                false => self.hand_over(file, &mut at, most),
            };
            match sent {
                Ok(0) => return Ok(Err(StoreError::Changed)),
                Ok(_) if pace.is_free() => tokio::task::coop::consume_budget().await,
                Ok(n) => self.rest(pace.after(n as u64)).await,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    // The reader may be slow but alive: check what it has
                    // acknowledged.
                    let ready = tokio::time::timeout(REPORT_EVERY, self.writable()).await;
                    if let Ok(Err(over)) = ready {
                        self.report_sent(at - part.start, reported).await?;
                        return Err(over);
                    }
                }
                Err(why) if is_of_the_disk(&why) => return Ok(Err(StoreError::Failed)),
                Err(_) => {
                    self.report_sent(at - part.start, reported).await?;
                    return Err(ConnectionOver);
                }
            }
            if self.outbox.is_cut() {
                break;
            }
            if at < part.end && watch.elapsed() >= REPORT_EVERY {
                watch = Stopwatch::start();
                reported = self.report_sent(at - part.start, reported).await?;
            }
        }
        self.flush().await?;
        Ok(Ok(()))
    }

    /// Reports how many of the bytes that the system has taken the reader has, if they
    /// are more than were reported; returns what is reported now.
    async fn report_sent(&self, taken: u64, reported: u64) -> Result<u64, ConnectionOver> {
        let bytes = taken.saturating_sub(unacknowledged(self.stream.tcp()));
        if bytes > reported {
            self.report(Input::Connection(self.id, ConnInput::Served { bytes })).await?;
        }
        Ok(bytes.max(reported))
    }

    /// Has the system send bytes of the file directly.
    fn hand_over(&self, file: &File, at: &mut u64, most: u64) -> io::Result<usize> {
        let count = usize::try_from(most).unwrap_or(usize::MAX);
        send_file(self.stream.tcp(), file, at, count)
    }

    /// Reads bytes of the file and writes them, encrypted or in messages.
    fn copy(&self, file: &File, at: &mut u64, most: u64) -> io::Result<usize> {
        if !self.stream.flush()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = usize::try_from(most).unwrap_or(usize::MAX);
        COPY.with_borrow_mut(|buffer| {
            let count = count.min(self.stream.takes());
            let read = file.read_at(&mut buffer[..count], *at)?;
            let sent = if read == 0 { 0 } else { self.stream.try_write(&buffer[..read])? };
            *at += sent as u64;
            Ok(sent)
        })
    }

    /// Pauses to keep to a rate, unless the connection is cut meanwhile.
    pub(super) async fn rest(&self, pause: Duration) {
        let pause = tokio::time::sleep(pause);
        tokio::pin!(pause);
        while !self.outbox.is_cut() {
            tokio::select! {
                () = &mut pause => return,
                () = self.outbox.changed() => {}
            }
        }
    }
}
