//! Writing what comes in to a download, at its place in the file. Nothing
//! more is read from the socket before it is written.

use std::io;
use std::sync::Arc;

use servent_core::node::{Input, StoreError};
use servent_core::wire::http::Chunks;

use super::conn::{Conn, End};
use super::pace::Pace;
use super::serve::REPORT_EVERY;
use crate::clock::Stopwatch;
use crate::files::PartFile;

/// Bytes gathered for one write.
const GATHER: usize = 256 * 1024;

/// How it is told where a body ends.
#[derive(Debug)]
pub(crate) enum Body {
    /// It has so many bytes.
    Sized(u64),
    /// By its last chunk.
    Chunks(Chunks),
    /// By the connection's end; it may have so many bytes.
    Line(u64),
}

/// What reading came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    More,
    /// The peer said that nothing more comes.
    End,
    /// The connection broke.
    Broken,
}

/// What there is to write, and whether the body ends behind it.
struct Taken {
    data: Vec<u8>,
    whole: bool,
    /// What came behind the body.
    unread: Vec<u8>,
}

impl Body {
    /// Bytes to read next, when so many are stored.
    fn room(&self, stored: u64, step: u64) -> usize {
        let room = match self {
            Self::Sized(length) => step.min(length - stored),
            Self::Chunks(_) | Self::Line(_) => step,
        };
        usize::try_from(room).unwrap_or(GATHER)
    }

    /// Takes what has come, when so many bytes are stored; `None` when it is no
    /// such body.
    fn take(&mut self, mut bytes: Vec<u8>, stored: u64, read: Read) -> Option<Taken> {
        match self {
            Self::Sized(length) => {
                let room = usize::try_from(*length - stored).unwrap_or(usize::MAX);
                bytes.truncate(room);
                Some(Taken { whole: bytes.len() == room, data: bytes, unread: Vec::new() })
            }
            Self::Chunks(chunks) => {
                let mut data = Vec::new();
                let used = chunks.feed(&bytes, &mut data).ok()?;
                Some(Taken { data, whole: chunks.is_over(), unread: bytes.split_off(used) })
            }
            Self::Line(most) => {
                let fits = bytes.len() as u64 <= *most - stored;
                let (whole, unread) = (read == Read::End, Vec::new());
                fits.then_some(Taken { data: bytes, whole, unread })
            }
        }
    }
}

impl Conn {
    /// Stores a body from `start` on, `early` first.
    pub(super) async fn store(
        &mut self,
        (part, pace): (Arc<PartFile>, Option<Arc<Pace>>),
        (start, mut body): (u64, Body),
        early: Vec<u8>,
    ) -> Result<(), End> {
        let (mut at, mut reported) = (start, start);
        let mut watch = Stopwatch::start();
        let (mut buffer, mut read) = (early, Read::More);
        // A line that is shaped takes small pieces when they are due.
        let step = pace.as_ref().map_or(GATHER as u64, |pace| pace.chunk().min(GATHER as u64));
        loop {
            let came = buffer.len() as u64;
            let taken = body.take(buffer, at - start, read).ok_or(End)?;
            buffer = taken.data;
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
            }
            if let Some(pace) = &pace
                && came > 0
            {
                self.rest(pace.after(came)).await;
            }
            let last = taken.whole || read != Read::More;
            if last || at > reported && watch.elapsed() >= REPORT_EVERY {
                if let Err(why) = settle(&part).await {
                    return self.disk_failed(why).await;
                }
                (watch, reported) = (Stopwatch::start(), at);
                self.report(Input::Stored { conn: self.id, bytes: at - start }).await?;
            }
            if taken.whole && !matches!(body, Body::Sized(_)) {
                self.report(Input::BodyEnded { conn: self.id, unread: taken.unread }).await?;
            }
            if last {
                return if read == Read::More { Ok(()) } else { Err(End) };
            }
            read = self.gather(&mut buffer, body.room(at - start, step), at > reported).await?;
        }
    }

    /// Waits for bytes and reads as many as there are, up to `room`. Comes back
    /// with nothing when something was asked, and soon when there is something
    /// to report.
    async fn gather(&self, buffer: &mut Vec<u8>, room: usize, soon: bool) -> Result<Read, End> {
        buffer.clear();
        tokio::select! {
            biased;
            () = self.outbox.changed() => {
                return if self.outbox.is_cut() { Err(End) } else { Ok(Read::More) };
            }
            ready = self.stream.readable() => if ready.is_err() { return Ok(Read::Broken) },
            () = tokio::time::sleep(REPORT_EVERY), if soon => return Ok(Read::More),
        }
        buffer.resize(room, 0);
        let mut filled = 0;
        let read = loop {
            match self.stream.try_read(&mut buffer[filled..]) {
                Ok(0) if filled < room => break Read::End,
                Ok(0) => break Read::More,
                Ok(n) => filled += n,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break Read::More,
                Err(_) => break Read::Broken,
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
