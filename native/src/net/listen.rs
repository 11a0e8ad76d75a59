//! Listening sockets, IPv4 and IPv6.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use servent_core::id::ConnId;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::identity::Identity;
use super::stream::Stream;
use super::udp::canonical;
use super::{Outbox, Pages, Report, Reports, Trust, conn};
use crate::Seldom;
use crate::error::StartError;
use crate::sys::is_port_in_use;

/// Connections the system may queue before we accept them.
const ACCEPT_QUEUE: i32 = 4_096;
/// How long to wait when no descriptor is available.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on every address. `[::]` accepts IPv4 as well, unless an IPv4
/// address with the same port is requested too.
///
/// # Errors
/// The first address that cannot be bound.
pub(crate) fn bind(addrs: &[SocketAddr]) -> Result<Vec<TcpListener>, StartError> {
    addrs
        .iter()
        .map(|&at| {
            let beside = addrs.iter().any(|a| a.is_ipv4() && a.port() == at.port());
            bind_one(at, beside && at.port() != 0).map_err(|why| match is_port_in_use(&why) {
                true => StartError::PortInUse { at },
                false => StartError::Listen { at, why },
            })
        })
        .collect()
}

fn bind_one(at: SocketAddr, only_v6: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
    if at.is_ipv6() {
        let any = at.ip().is_unspecified();
        socket.set_only_v6(only_v6 || !any)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&at.into())?;
    socket.listen(ACCEPT_QUEUE)?;
    TcpListener::from_std(socket.into())
}

/// Assigns even connection numbers to accepted connections.
#[derive(Debug, Default)]
struct ConnectionNumbers(AtomicU64);

impl ConnectionNumbers {
    fn next(&self) -> ConnId {
        ConnId(self.0.fetch_add(2, Ordering::Relaxed) + 2)
    }
}

/// The certificates we trust, our own identity as a server, and the pages we
/// answer.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub(crate) trust: Arc<Trust>,
    /// With it, accepted connections are TLS; without it, plain.
    pub(crate) identity: Option<Identity>,
    /// Whose pages may open WebSockets; `None`: there are no WebSockets.
    pub(crate) pages: Option<Arc<Pages>>,
}

impl Admission {
    /// Where there is an identity there are no WebSockets: a browser would not
    /// trust it.
    pub(crate) fn new(
        trust: &Arc<Trust>,
        identity: Option<Identity>,
        pages: Option<Arc<Pages>>,
    ) -> Self {
        let pages = pages.filter(|_| identity.is_none());
        Self { trust: Arc::clone(trust), identity, pages }
    }
}

/// Where connections come in: from listening sockets, and from routes to peers that
/// reach none of these.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionEntry {
    numbers: Arc<ConnectionNumbers>,
    /// Limits the connections in total.
    room: Arc<Semaphore>,
    admission: Admission,
    reports: Reports,
}

impl ConnectionEntry {
    pub(crate) fn new(room: &Arc<Semaphore>, admission: Admission, reports: &Reports) -> Self {
        let (room, reports) = (Arc::clone(room), reports.clone());
        Self { numbers: Arc::default(), room, admission, reports }
    }

    /// By what we are known to those who come in.
    pub(crate) const fn identity(&self) -> Option<&Identity> {
        self.admission.identity.as_ref()
    }

    /// Lets a connection in under the address of its peer, once there is room; false
    /// when the node's task has ended.
    pub(crate) async fn admit(&self, stream: TcpStream, peer: SocketAddr) -> bool {
        let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return false };
        self.begin(stream, (peer, None), permit).await
    }

    /// `local`: our own address, as the peer knows it.
    async fn begin(
        &self,
        stream: TcpStream,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        permit: OwnedSemaphorePermit,
    ) -> bool {
        let (id, outbox) = (self.numbers.next(), Arc::new(Outbox::default()));
        let (trust, identity) = (Arc::clone(&self.admission.trust), &self.admission.identity);
        let stream = match Stream::accepted(stream, trust, identity.as_ref()) {
            Ok(stream) => stream,
            Err(why) => {
                tracing::warn!(%why, "no peer can be talked to in private");
                return true;
            }
        };
        let (peer, sent) = (canonical(peer), Arc::clone(&outbox));
        let accepted = Report::Accepted { conn: id, peer, local, outbox: sent };
        if self.reports.send(accepted).await.is_err() {
            return false;
        }
        let stream = (stream, self.admission.pages.clone());
        tokio::spawn(conn::run(id, stream, outbox, self.reports.clone(), permit));
        true
    }
}

/// Accepts until the node's task ends; while there is no room for more, new
/// connections wait in the system's queue.
pub(crate) async fn accept(listener: TcpListener, entry: ConnectionEntry) {
    let mut failures = Seldom::default();
    loop {
        let Ok(permit) = Arc::clone(&entry.room).acquire_owned().await else { return };
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let local = stream.local_addr().ok().map(canonical);
                    if !entry.begin(stream, (peer, local), permit).await {
                        return;
                    }
                }
                Err(why) => {
                    if let Some(before) = failures.tell() {
                        tracing::warn!(%why, before, "cannot accept");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            () = entry.reports.closed() => return,
        }
    }
}
