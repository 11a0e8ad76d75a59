//! The bytes of pages that reach each other through us.

use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::SockRef;
use tokio::sync::OwnedSemaphorePermit;

use super::door::frames::Frames;
use super::door::handshake::{Upgrade, refusal};
use super::door::relay::{Calling, HeldLine, MOVED, RefusedRelay, Relay, What, Wish};
use crate::net::stream::Stream;

/// Bytes that are passed on at a time.
const READ: usize = 64 * 1024;
/// Bytes that a page may send on its line, which is for what it is told: each asks
/// for a word, by which the page sees that the line is open.
const CHATTER: usize = 4 * 1024;
/// How often a line on which nothing is told gets an empty one: proxies end
/// connections on which nothing happens for a minute.
const EMPTY: Duration = Duration::from_secs(25);
/// One who accepts nothing for this long is given up.
const STALL: Duration = Duration::from_secs(30);
/// The code with which a line ends that another tab with the same secret has
/// taken over (RFC 6455 §7.4.2 leaves those from 4000 on to us).
const MOVED_CODE: u16 = 4001;
/// How long to wait for a peer to read why it was refused.
const LINGER: Duration = Duration::from_secs(1);

/// A page's connection, with its share of the descriptor limit.
pub(in crate::net) struct Through {
    stream: Stream,
    _permit: OwnedSemaphorePermit,
}

impl fmt::Debug for Through {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.tcp().fmt(f)
    }
}

/// The reply to an upgrade, and the connection from then on.
type Opening = (Vec<u8>, Box<Frames>);

/// Pages that reach each other through us.
pub(in crate::net) type Switchboard = Relay<Through>;

/// Does what a page wishes other than to speak with the servent itself, until
/// its connection ends.
pub(in crate::net) async fn run(
    (stream, permit): (Stream, OwnedSemaphorePermit),
    upgrade: Upgrade,
    relay: Arc<Switchboard>,
) {
    let Ok(peer) = stream.tcp().peer_addr() else { return };
    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    let through = Through { stream, _permit: permit };
    let Upgrade { wish, reply, frames, .. } = upgrade;
    let opening = (reply, frames);
    // How a connection ends, and why, is all the same to us.
    let _ = match wish {
        Wish::Servent => Ok(()),
        Wish::Listen(at, secret) => match relay.listen((at, &secret), peer.ip()) {
            Ok(line) => listen(through, line, opening).await,
            Err(why) => refuse(&through.stream, why).await,
        },
        Wish::Call(what, to) => match relay.call((what, to), peer) {
            Ok(call) => call_out(through, call, opening, &relay).await,
            Err(why) => refuse(&through.stream, why).await,
        },
        Wish::Take(ticket) => match relay.take(&ticket) {
            Ok(answer) => open(through, opening).await.map(|through| {
                // Without a waiting task the connection ends with it.
                drop(answer.send(through));
            }),
            Err(why) => refuse(&through.stream, why).await,
        },
    };
}

/// Tells a page who calls it, until it is gone.
async fn listen(through: Through, mut line: HeldLine<Through>, opening: Opening) -> io::Result<()> {
    let through = open(through, opening).await?;
    let (stream, mut chatter) = (&through.stream, CHATTER);
    loop {
        tokio::select! {
            told = line.told.recv() => match told {
                Some(told) if told == MOVED => {
                    write(stream, told.as_bytes()).await?;
                    stream.farewell_with(MOVED_CODE);
                    return end(stream).await;
                }
                Some(told) => write(stream, told.as_bytes()).await?,
                // It was put out.
                None => return end(stream).await,
            },
            () = tokio::time::sleep(EMPTY) => write(stream, b"\n").await?,
            ready = stream.readable() => {
                ready?;
                let mut buffer = [0; 512];
                match read(stream, &mut buffer)? {
                    Some(0) => return Ok(()),
                    Some(n) if n > chatter => return end(stream).await,
                    read => {
                        chatter -= read.unwrap_or(0);
                        if read.is_some() {
                            write(stream, b"\n").await?;
                        }
                    }
                }
            }
        }
    }
}

/// Puts a caller through. Its upgrade is answered at once, because a browser opens
/// no other WebSocket to us before that, not even in another tab; an empty
/// message tells it that the page has answered.
async fn call_out(
    through: Through,
    mut call: Calling<Through>,
    opening: Opening,
    relay: &Switchboard,
) -> io::Result<()> {
    let through = open(through, opening).await?;
    let Ok(answer) = call.answered().await else {
        drop(call); // No task takes it any more.
        return end(&through.stream).await;
    };
    write(&through.stream, b"").await?;
    let (caller, called) = (&through.stream, &answer.stream);
    let (most, total, time) = match call.what {
        What::Bytes => (relay.limits.bytes, Some(&relay.bytes), Duration::MAX),
        What::Signal => (relay.limits.signal_bytes, None, relay.limits.signal),
    };
    let counts = (AtomicU64::new(most), total);
    let passed = tokio::select! {
        passed = pass(caller, called, &counts) => passed,
        passed = pass(called, caller, &counts) => passed,
        () = tokio::time::sleep(time) => Ok(()),
    };
    if call.what == What::Signal && counts.0.load(Ordering::Relaxed) == 0 {
        let _ = relay.refuse::<()>(RefusedRelay::TooMuch); // Counted there.
    }
    let _ = tokio::join!(end(caller), end(called));
    passed
}

/// Passes bytes on until one end is there, or the limit.
async fn pass(
    from: &Stream,
    to: &Stream,
    (left, total): &(AtomicU64, Option<&AtomicU64>),
) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    loop {
        from.readable().await?;
        let Some(n) = read(from, &mut buffer)? else { continue };
        if n == 0 {
            return Ok(());
        }
        write(to, &buffer[..n]).await?;
        if let Some(total) = total {
            total.fetch_add(n as u64, Ordering::Relaxed);
        }
        let still = left.load(Ordering::Relaxed).saturating_sub(n as u64);
        left.store(still, Ordering::Relaxed);
        if still == 0 {
            return Ok(());
        }
    }
}

/// Reads what is there: `None` when that is nothing, 0 at the end.
fn read(stream: &Stream, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    if stream.is_refused() {
        return Ok(Some(0)); // It was told why; what else it sends is no message.
    }
    match stream.try_read(buffer) {
        Ok(n) => Ok(Some(n)),
        Err(why) if why.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(why) => Err(why),
    }
}

/// Sends all of it, and does not return before. Nothing is an empty message.
async fn write(stream: &Stream, mut data: &[u8]) -> io::Result<()> {
    loop {
        match stream.try_write(data) {
            Ok(n) => data = &data[n..],
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::timeout(STALL, stream.writable()).await??;
                continue;
            }
            Err(why) => return Err(why),
        }
        if data.is_empty() {
            return flush(stream).await;
        }
    }
}

async fn flush(stream: &Stream) -> io::Result<()> {
    while !stream.flush()? {
        tokio::time::timeout(STALL, stream.writable()).await??;
    }
    Ok(())
}

/// Answers the upgrade.
async fn open(mut through: Through, (reply, frames): Opening) -> io::Result<Through> {
    write(&through.stream, &reply).await?;
    through.stream.upgrade(frames);
    Ok(through)
}

/// Says why a page is not put through. A browser shows no page more than that
/// its connection has failed.
async fn refuse(stream: &Stream, why: RefusedRelay) -> io::Result<()> {
    let (status, text) = match why {
        RefusedRelay::NoPage => ("404 Not Found", "No page has this address.\n"),
        RefusedRelay::Taken => ("409 Conflict", "Another page has this address.\n"),
        RefusedRelay::Full => ("503 Service Unavailable", "There are as many as there may be.\n"),
        RefusedRelay::TooMuch => ("413 Content Too Large", "That is no signal.\n"),
        RefusedRelay::Silent => ("504 Gateway Timeout", "The page does not read.\n"),
    };
    write(stream, &refusal(status, text)).await?;
    end(stream).await
}

/// Says goodbye, and waits a little for the other end to have read it.
async fn end(stream: &Stream) -> io::Result<()> {
    stream.farewell();
    let goodbye = async {
        flush(stream).await?;
        SockRef::from(stream.tcp()).shutdown(Shutdown::Write)?;
        let mut buffer = [0; 512];
        loop {
            stream.tcp().readable().await?;
            match stream.tcp().try_read(&mut buffer) {
                Ok(0) => return Ok(()),
                Err(why) if why.kind() != io::ErrorKind::WouldBlock => return Err(why),
                _ => {}
            }
        }
    };
    tokio::time::timeout(LINGER, goodbye).await?
}
