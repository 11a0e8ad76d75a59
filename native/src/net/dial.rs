//! Outgoing connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use servent_core::id::ConnId;
use servent_core::node::{DialError, Input};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::stream::Stream;
use super::{Outbox, Report, Reports, SourceNames, Trust, conn};

/// How long connecting may take.
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects, reports, and becomes the connection's task.
pub(crate) async fn run(
    id: ConnId,
    to: SocketAddr,
    outbox: Arc<Outbox>,
    (room, trust, names): (Arc<Semaphore>, Arc<Trust>, Arc<SourceNames>),
    reports: Reports,
) {
    let dialed = tokio::select! {
        dialed = connect(to, &names, &room) => dialed,
        () = cut(&outbox) => {
            let _ = reports.send(Report::Input(Input::Closed { conn: id })).await;
            return;
        }
    };
    match dialed {
        Ok((stream, local, permit)) => {
            if reports.send(Report::Input(Input::Dialed { conn: id, local })).await.is_ok() {
                let stream = (Stream::new(stream, trust), None);
                conn::run(id, stream, outbox, reports, permit).await;
            }
        }
        Err(why) => {
            let _ = reports.send(Report::Input(Input::DialFailed { conn: id, why })).await;
        }
    }
}

/// Returns when the node gives up this connection. Queued writes stay queued.
async fn cut(outbox: &Outbox) {
    while !outbox.is_cut() && !outbox.is_closing() {
        outbox.changed().await;
    }
}

/// Connects to an address, or else to another one of its name.
async fn connect(
    to: SocketAddr,
    names: &SourceNames,
    room: &Arc<Semaphore>,
) -> Result<(TcpStream, SocketAddr, OwnedSemaphorePermit), DialError> {
    let permit = Arc::clone(room).try_acquire_owned().map_err(|_| DialError::NoDescriptor)?;
    let mut dialed = open(names.first(to)).await;
    if dialed.is_err() {
        for other in names.others(to).await {
            if let Ok(stream) = open(other).await {
                names.reached(to, other);
                dialed = Ok(stream);
                break;
            }
        }
    }
    let stream = dialed?;
    let local = stream.local_addr().map_err(|why| dial_error(&why))?;
    Ok((stream, local, permit))
}

async fn open(to: SocketAddr) -> Result<TcpStream, DialError> {
    tokio::time::timeout(DIAL_TIMEOUT, TcpStream::connect(to))
        .await
        .map_err(|_| DialError::TimedOut)?
        .map_err(|why| dial_error(&why))
}

fn dial_error(why: &io::Error) -> DialError {
    use rustix::io::Errno;
    match why.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => DialError::Refused,
        io::ErrorKind::TimedOut => DialError::TimedOut,
        _ => match Errno::from_io_error(why) {
            Some(Errno::MFILE | Errno::NFILE) => DialError::NoDescriptor,
            _ => DialError::Unreachable,
        },
    }
}
