//! Pieces on their way: HTTP between peers, one request a connection.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use servent_core::wire::http::{
    ContentRange, HeadError, HeadLimits, HeadWriter, RangeSpec, RequestHead, ResponseHead,
};
use servent_core::wire::pdtp::Span;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;

use crate::net::Pace;

/// What a head may be. An id may have 4 095 bytes.
const HEAD: HeadLimits = HeadLimits { bytes: 16 * 1024, lines: 64 };
/// A peer that neither sends nor takes anything for so long is given up.
const STALL: Duration = Duration::from_secs(30);
/// A connection is there by then, or it is not.
pub(super) const DIAL: Duration = Duration::from_secs(10);
/// Bytes read, or handed to the system, at once.
const STEP: usize = 256 * 1024;
/// The name of a peer's own id.
pub(super) const PEER_ID: &str = "X-PDTP-Peer-Id";

/// Ends what takes longer than a peer may be silent.
async fn soon<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(STALL, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn head<T>(
    stream: &mut TcpStream,
    parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, HeadError>,
) -> io::Result<(T, Vec<u8>)> {
    soon(async {
        let mut bytes = Vec::with_capacity(1_024);
        loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match parse(&bytes) {
                Ok(Some((head, used))) => return Ok((head, bytes.split_off(used))),
                Ok(None) => {}
                Err(why) => return Err(io::Error::new(io::ErrorKind::InvalidData, why)),
            }
        }
    })
    .await
}

/// The head of a request and what came behind it.
pub(super) async fn request(stream: &mut TcpStream) -> io::Result<(RequestHead, Vec<u8>)> {
    head(stream, |bytes| RequestHead::parse(bytes, &HEAD)).await
}

/// The head of a response and what came behind it.
pub(super) async fn response(stream: &mut TcpStream) -> io::Result<(ResponseHead, Vec<u8>)> {
    head(stream, |bytes| ResponseHead::parse(bytes, &HEAD)).await
}

/// The bytes a request is about.
pub(super) fn span_of(head: &RequestHead) -> Span {
    match head.headers.get("Range").and_then(RangeSpec::parse) {
        Some(RangeSpec::Between(a, b)) => Span::new(a, b.saturating_add(1)),
        Some(RangeSpec::From(a)) => Span { start: a, end: None },
        Some(RangeSpec::Last(_)) | None => Span::ALL,
    }
}

/// A request for `start..end`, or with them.
pub(super) fn ask(method: &str, target: &str, (start, end): (u64, u64), id: &str) -> Vec<u8> {
    let mut head = HeadWriter::request(method, target);
    head.header("Host", "swarm")
        .header("Range", RangeSpec::Between(start, end.saturating_sub(1)))
        .header(PEER_ID, id)
        .header("Connection", "close");
    if method == "PUT" {
        head.header("Content-Length", end - start).header("Expect", "100-continue");
    }
    head.finish()
}

/// A response without a body.
pub(super) async fn answer(stream: &mut TcpStream, status: u16) -> io::Result<()> {
    let reason = match status {
        201 => "Created",
        403 => "Forbidden",
        404 => "Not Found",
        416 => "Range Not Satisfiable",
        503 => "Busy",
        _ => "No",
    };
    let mut head = HeadWriter::status(status, reason);
    head.header("Content-Length", 0).header("Connection", "close");
    let head = head.finish();
    soon(stream.write_all(&head)).await?;
    soon(stream.shutdown()).await
}

/// Asks for the body of a `PUT`.
pub(super) async fn go_on(stream: &mut TcpStream) -> io::Result<()> {
    soon(stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")).await
}

/// The head of a 206, then the bytes.
pub(super) async fn serve(
    stream: &mut TcpStream,
    file: &File,
    (start, end): (u64, u64),
    size: u64,
    pace: Option<&Pace>,
) -> io::Result<()> {
    let mut head = HeadWriter::status(206, "Partial Content");
    head.header("Content-Range", ContentRange { range: Some((start, end)), size: Some(size) })
        .header("Content-Length", end - start)
        .header("Connection", "close");
    let head = head.finish();
    soon(stream.write_all(&head)).await?;
    send(stream, file, (start, end), pace).await?;
    soon(stream.shutdown()).await?;
    // The last bytes are the peer's when it has closed as well.
    soon(stream.read(&mut [0])).await.map(|_| ())
}

/// The bytes `start..end`, from the page cache to the socket.
pub(super) async fn send(
    stream: &TcpStream,
    file: &File,
    (start, end): (u64, u64),
    pace: Option<&Pace>,
) -> io::Result<()> {
    let mut at = start;
    let step = pace.map_or(STEP as u64, |pace| pace.chunk().min(STEP as u64));
    while at < end {
        soon(stream.writable()).await?;
        let count = usize::try_from(step.min(end - at)).unwrap_or(STEP);
        let sent = stream.try_io(Interest::WRITABLE, || {
            Ok(rustix::fs::sendfile(stream, file, Some(&mut at), count)?)
        });
        match sent {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => rest(pace, n).await,
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

async fn rest(pace: Option<&Pace>, bytes: usize) {
    if let Some(pace) = pace {
        tokio::time::sleep(pace.after(bytes as u64)).await;
    }
}

/// Writes what comes in to `start..end`; how much came, whatever happened.
pub(super) async fn take(
    stream: &mut TcpStream,
    early: &[u8],
    file: &File,
    (start, end): (u64, u64),
    pace: Option<&Pace>,
) -> (u64, io::Result<()>) {
    let mut at = start;
    let done = async {
        let first = early.len().min(usize::try_from(end - start).unwrap_or(usize::MAX));
        file.write_all_at(&early[..first], at)?;
        at += first as u64;
        let step = pace.map_or(STEP, |p| usize::try_from(p.chunk()).unwrap_or(STEP).min(STEP));
        let mut buffer = vec![0; step];
        while at < end {
            let most = usize::try_from(end - at).unwrap_or(step).min(step);
            let n = soon(stream.read(&mut buffer[..most])).await?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.write_all_at(&buffer[..n], at)?;
            at += n as u64;
            rest(pace, n).await;
        }
        Ok(())
    };
    let done = done.await;
    (at - start, done)
}
