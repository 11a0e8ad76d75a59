//! Outgoing connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use servent_core::id::ConnId;
use servent_core::node::{ConnInput, DialError, Input};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::eyeballs::first_to_answer;
use crate::net::route::KnownRoute;
use crate::net::stream::Stream;
use crate::net::{Outbox, Report, Reports, SourceNames, Trust, conn};
use crate::sys::has_no_descriptor;

/// How long the address that a download knows is tried alone.
const ALONE: Duration = Duration::from_millis(250);
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
        dialed = connect(to, (&names, &trust), &room) => dialed,
        () = cut(&outbox) => {
            let _ = reports.send(Report::Input(Input::Connection(id, ConnInput::Closed))).await;
            return;
        }
    };
    match dialed {
        Ok((stream, local, permit)) => {
            if reports
                .send(Report::Input(Input::Connection(id, ConnInput::Dialed { local })))
                .await
                .is_ok()
            {
                let proxy = trust.proxies().at(to);
                let stream = (Stream::new(stream, trust).through(proxy), None);
                conn::run(id, stream, outbox, reports, permit).await;
            }
        }
        Err(why) => {
            let _ = reports
                .send(Report::Input(Input::Connection(id, ConnInput::DialFailed { why })))
                .await;
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
    (names, trust): (&SourceNames, &Trust),
    room: &Arc<Semaphore>,
) -> Result<(TcpStream, SocketAddr, OwnedSemaphorePermit), DialError> {
    let permit = Arc::clone(room).try_acquire_owned().map_err(|_| DialError::NoDescriptor)?;
    if let Some(KnownRoute(route)) = trust.proxies().route(to) {
        let opened = tokio::time::timeout(DIAL_TIMEOUT, route.open());
        let stream = opened.await.map_err(|_| DialError::TimedOut)?;
        let stream = stream.map_err(|why| dial_error(&why))?;
        let local = stream.local_addr().map_err(|why| dial_error(&why))?;
        return Ok((stream, local, permit));
    }
    // Behind a proxy the name of a source is not that of its address.
    let proxied = trust.proxies().at(to).is_some();
    let first = if proxied { to } else { names.first(to) };
    let mut dialed = std::pin::pin!(open(first));
    // Most answer before their name has to be looked up once more.
    let early = tokio::time::timeout(ALONE, &mut dialed).await;
    let stream = match early {
        Ok(Ok(stream)) => stream,
        early => {
            let others = if proxied { Vec::new() } else { names.others(to).await };
            let others = async {
                let reached = first_to_answer(&others, open).await;
                let (at, stream) = reached.map_err(|why| why.unwrap_or(DialError::Unreachable))?;
                names.reached(to, at);
                Ok(stream)
            };
            match early {
                Ok(why) => others.await.or(why)?,
                Err(_) => either(dialed, others).await?,
            }
        }
    };
    let local = stream.local_addr().map_err(|why| dial_error(&why))?;
    Ok((stream, local, permit))
}

/// The result of whichever succeeds first; if neither does, the error of the first.
async fn either<T, E>(
    first: impl Future<Output = Result<T, E>>,
    second: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let (mut first, mut second) = (std::pin::pin!(first), std::pin::pin!(second));
    tokio::select! {
        made = &mut first => match made {
            Ok(made) => Ok(made),
            Err(why) => second.await.or(Err(why)),
        },
        made = &mut second => match made {
            Ok(made) => Ok(made),
            Err(_) => first.await,
        },
    }
}

async fn open(to: SocketAddr) -> Result<TcpStream, DialError> {
    tokio::time::timeout(DIAL_TIMEOUT, TcpStream::connect(to))
        .await
        .map_err(|_| DialError::TimedOut)?
        .map_err(|why| dial_error(&why))
}

fn dial_error(why: &io::Error) -> DialError {
    match why.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => DialError::Refused,
        io::ErrorKind::TimedOut => DialError::TimedOut,
        _ if has_no_descriptor(why) => DialError::NoDescriptor,
        _ => DialError::Unreachable,
    }
}
