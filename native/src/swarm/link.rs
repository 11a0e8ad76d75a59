//! Frames over a socket: one task reads, one writes.

use std::io;
use std::time::Duration;

use servent_core::wire::pdtp::{Limits, Message, Reader, parse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Turns of messages that may wait for a peer who reads slowly; whoever
/// falls further behind is hung up on.
pub(super) const BEHIND: usize = 1_024;
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
pub(super) async fn write(mut to: OwnedWriteHalf, mut given: mpsc::Receiver<Vec<u8>>) {
    while let Some(bytes) = given.recv().await {
        let written = tokio::time::timeout(STALL, to.write_all(&bytes)).await;
        if !matches!(written, Ok(Ok(()))) {
            return;
        }
    }
    let _: io::Result<()> = to.shutdown().await; // It may have hung up first.
}
