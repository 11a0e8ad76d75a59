//! A connection between peers. It carries one request after another, and the
//! bytes of pieces behind them.

use std::fs::File;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use servent_core::wire::http::{HeadError, RequestHead, ResponseHead};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;

use super::http::{self, DIAL, HEAD, IDLE, STALL, TURN};
use crate::net::{Cork, Pace};

/// Bytes read, or handed to the system, at once.
const STEP: usize = 256 * 1024;

/// A connection, and what came on it that nobody has read yet.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    early: Vec<u8>,
    /// The last request or response ended where the next one begins.
    clean: bool,
}

/// Bytes of a file that move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move<'a> {
    pub(super) file: &'a File,
    /// Which of them.
    pub(super) range: (u64, u64),
    /// How fast they may.
    pub(super) pace: Option<&'a Pace>,
}

/// Ends what takes longer than a peer may be silent.
async fn soon<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    within(STALL, work).await
}

async fn within<T>(time: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn rest(pace: Option<&Pace>, bytes: usize) {
    if let Some(pace) = pace {
        tokio::time::sleep(pace.after(bytes as u64)).await;
    }
}

fn step(pace: Option<&Pace>) -> usize {
    pace.map_or(STEP, |pace| usize::try_from(pace.chunk()).unwrap_or(STEP).min(STEP))
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true); // Only slower without.
        Self { stream, early: Vec::new(), clean: true }
    }

    pub(super) async fn dial(to: SocketAddr) -> io::Result<Self> {
        Ok(Self::new(within(DIAL, TcpStream::connect(to)).await?))
    }

    /// True when another request can follow.
    pub(super) const fn is_clean(&self) -> bool {
        self.clean
    }

    /// True when nothing lies unread and nobody has hung up, as far as one
    /// can tell without waiting.
    pub(super) fn is_fresh(&self) -> bool {
        let silent = |read: io::Result<usize>| {
            read.is_err_and(|why| why.kind() == io::ErrorKind::WouldBlock)
        };
        self.clean && self.early.is_empty() && silent(self.stream.try_read(&mut [0]))
    }

    /// Nothing can follow: what comes next is not a request or a response.
    pub(super) const fn spoil(&mut self) {
        self.clean = false;
    }

    /// The next request; `None` when the peer has no more.
    pub(super) async fn request(&mut self, first: bool) -> io::Result<Option<RequestHead>> {
        if self.early.is_empty() {
            let wait = if first { STALL } else { IDLE };
            if within(wait, self.stream.read_buf(&mut self.early)).await? == 0 {
                return Ok(None);
            }
        }
        self.clean = false;
        let head = self.head(STALL, |bytes| RequestHead::parse(bytes, &HEAD)).await?;
        self.clean = head.keep_alive();
        Ok(Some(head))
    }

    /// The response to what was asked. A response without a body leaves the
    /// connection ready for more.
    pub(super) async fn response(&mut self) -> io::Result<ResponseHead> {
        let clean = std::mem::replace(&mut self.clean, false);
        let head = self.head(TURN, |bytes| ResponseHead::parse(bytes, &HEAD)).await?;
        // What has a body is in order again when that has been read.
        let whole = matches!(head.status, 100..200) || head.content_length() == Some(0);
        self.clean = clean && whole && head.keep_alive();
        Ok(head)
    }

    async fn head<T>(
        &mut self,
        wait: Duration,
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, HeadError>,
    ) -> io::Result<T> {
        within(wait, async {
            loop {
                match parse(&self.early) {
                    Ok(Some((head, used))) => {
                        self.early.drain(..used);
                        return Ok(head);
                    }
                    Ok(None) => {}
                    Err(why) => return Err(io::Error::new(io::ErrorKind::InvalidData, why)),
                }
                if self.stream.read_buf(&mut self.early).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        })
        .await
    }

    /// Waits until the peer hangs up. What it says meanwhile is kept, so far
    /// as a head may be long.
    pub(super) async fn gone(&mut self) {
        while self.early.len() < HEAD.bytes as usize {
            if !matches!(self.stream.read_buf(&mut self.early).await, Ok(1..)) {
                return;
            }
        }
        std::future::pending().await
    }

    /// Says something whole.
    pub(super) async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        soon(self.stream.write_all(bytes)).await
    }

    /// Answers without a body.
    pub(super) async fn answer(&mut self, status: u16) -> io::Result<()> {
        self.say(&http::status(status, self.clean)).await
    }

    /// Tells that nothing more comes, and gives what was said time to arrive.
    pub(super) async fn close(mut self) {
        let quiet = async {
            self.stream.shutdown().await?;
            while self.stream.read(&mut [0; 1_024]).await? > 0 {}
            Ok(())
        };
        let _ = within(Duration::from_secs(2), quiet).await; // It may have gone.
    }

    /// Bytes of a file, from the page cache to the socket; `each` hears of
    /// every step.
    pub(super) async fn send(
        &mut self,
        what: Move<'_>,
        mut each: impl FnMut(u64),
    ) -> io::Result<()> {
        let keep = std::mem::replace(&mut self.clean, false);
        let ((mut at, end), most) = (what.range, step(what.pace));
        let stream = &self.stream;
        // A line that is shaped sends small pieces when they are due.
        let _whole_packets = what.pace.is_none().then(|| Cork::new(stream));
        while at < end {
            soon(stream.writable()).await?;
            let count = usize::try_from(end - at).unwrap_or(most).min(most);
            let sent = stream.try_io(Interest::WRITABLE, || {
                Ok(rustix::fs::sendfile(stream, what.file, Some(&mut at), count)?)
            });
            match sent {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    each(n as u64);
                    rest(what.pace, n).await;
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(why) => return Err(why),
            }
        }
        self.clean = keep;
        Ok(())
    }

    /// Writes what comes in to its place in the file; how much came,
    /// whatever happened.
    pub(super) async fn take(&mut self, what: Move<'_>, keep: bool) -> (u64, io::Result<()>) {
        self.clean = false;
        let start = what.range.0;
        let mut at = start;
        let done = self.fill(what, &mut at).await;
        self.clean = keep && done.is_ok();
        (at - start, done)
    }

    async fn fill(&mut self, what: Move<'_>, at: &mut u64) -> io::Result<()> {
        let end = what.range.1;
        let first = self.early.len().min(usize::try_from(end - *at).unwrap_or(usize::MAX));
        what.file.write_all_at(&self.early[..first], *at)?;
        self.early.drain(..first);
        *at += first as u64;
        rest(what.pace, first).await;
        let step = step(what.pace);
        let mut buffer = vec![0; step];
        while *at < end {
            let most = usize::try_from(end - *at).unwrap_or(step).min(step);
            let n = soon(self.stream.read(&mut buffer[..most])).await?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            what.file.write_all_at(&buffer[..n], *at)?;
            *at += n as u64;
            rest(what.pace, n).await;
        }
        Ok(())
    }
}
