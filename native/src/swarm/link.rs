//! Frames over a socket: one task reads, one writes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use servent_core::wire::pdtp::{Limits, Message, Reader, parse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc};

/// Turns of messages that may wait for a peer who reads slowly, and their
/// bytes; whoever falls further behind is hung up on.
const BEHIND: usize = 1_024;
const BEHIND_BYTES: usize = 1 << 20;
/// Bytes read at once.
const READ: usize = 16 * 1024;
/// A peer that takes nothing for so long is hung up on.
const STALL: Duration = Duration::from_secs(30);

/// What a socket said.
#[derive(Debug)]
pub(super) enum Heard {
    Messages(Vec<Message>),
    /// Nothing after it can be read.
    Unreadable(String),
}

/// What is to be said; without it the peer is hung up on once all is said.
#[derive(Debug)]
pub(super) struct Out {
    to: mpsc::Sender<Vec<u8>>,
    behind: Arc<Behind>,
}

/// What waits for a peer.
#[derive(Debug, Default)]
struct Behind {
    bytes: AtomicUsize,
    /// It is too much: nothing is said any more.
    cut: Notify,
}

/// The other end of [`Out`].
#[derive(Debug)]
pub(super) struct Given {
    from: mpsc::Receiver<Vec<u8>>,
    behind: Arc<Behind>,
}

/// What is to be said, and who says it.
pub(super) fn out() -> (Out, Given) {
    let ((to, from), behind) = (mpsc::channel(BEHIND), Arc::<Behind>::default());
    (Out { to, behind: Arc::clone(&behind) }, Given { from, behind })
}

impl Out {
    /// Says it after all that was said before; false when the peer has gone,
    /// or does not listen.
    pub(super) fn say(&self, bytes: Vec<u8>) -> bool {
        let before = self.behind.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        let listens = before < BEHIND_BYTES && self.to.try_send(bytes).is_ok();
        if !listens {
            self.behind.cut.notify_one();
        }
        listens
    }
}

/// Reads frames until the socket ends or nobody listens any more.
pub(super) async fn read<T>(
    mut from: OwnedReadHalf,
    to: &mpsc::Sender<T>,
    wrap: impl Fn(Heard) -> T,
) {
    let (mut reader, limits) = (Reader::default(), Limits::default());
    let mut buffer = vec![0; READ];
    loop {
        let n = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(n) => n,
        };
        let mut heard = Vec::new();
        let mut wrong = None;
        let taken = reader.take(&buffer[..n], |frame| match parse(frame, &limits) {
            Ok(messages) if wrong.is_none() => heard.extend(messages),
            Ok(_) => {}
            Err(why) => wrong = wrong.take().or_else(|| Some(why.to_string())),
        });
        let wrong = wrong.or_else(|| taken.err().map(|why| why.to_string()));
        if !heard.is_empty() && to.send(wrap(Heard::Messages(heard))).await.is_err() {
            return;
        }
        if let Some(why) = wrong {
            let _ = to.send(wrap(Heard::Unreadable(why))).await; // It may have ended.
            return;
        }
    }
}

/// Writes what it is given until nobody gives any more, then hangs up.
pub(super) async fn write(mut to: OwnedWriteHalf, mut given: Given) {
    while let Some(bytes) = given.from.recv().await {
        let written = tokio::select! {
            written = tokio::time::timeout(STALL, to.write_all(&bytes)) => written,
            () = given.behind.cut.notified() => return,
        };
        if !matches!(written, Ok(Ok(()))) {
            return;
        }
        given.behind.bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
    }
    let _: io::Result<()> = to.shutdown().await; // It may have hung up first.
}
